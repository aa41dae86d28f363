"""Who asks: keys and tokens prove it, and nothing in a request can claim it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from starlette.testclient import TestClient
from surface_catalogue import LOOPBACK, SUPPORT

from toolsearch import Principal, ToolIndex
from toolsearch.model.errors import AuthenticationError, PolicyError, RequestError
from toolsearch.serve.access_tokens import TokenVerifier, principal_of
from toolsearch.serve.auth import authenticator, is_loopback
from toolsearch.serve.http.app import create_app
from toolsearch.serve.keys import new_key, read_keys
from toolsearch.serve.settings import JwtClaims, Settings, load_settings

NOW = datetime(2026, 9, 17, tzinfo=UTC)
SECRET = "a-shared-secret-of-more-than-32-bytes"
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC = ec.generate_private_key(ec.SECP256R1())


def bearer(credential: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {credential}"}


def hs256(**changes: Any) -> Settings:
    values: dict[str, Any] = {
        "jwt_algorithms": ("HS256",),
        "jwt_secret": SECRET,
        "jwt_issuer": "https://issuer",
        "jwt_audience": "toolsearch",
    }
    return load_settings(**{**values, **changes})


def claims(**changes: Any) -> dict[str, Any]:
    values = {
        "sub": "s1",
        "tenant": "acme",
        "environment": "production",
        "roles": ["support"],
        "scope": "orders.read orders.write",
        "iss": "https://issuer",
        "aud": "toolsearch",
        "exp": datetime.now(UTC) + timedelta(minutes=5),
    }
    return {name: value for name, value in {**values, **changes}.items() if value is not None}


def token(payload: Mapping[str, Any], *, key: Any = SECRET, algorithm: str = "HS256", **header: str) -> str:
    return jwt.encode(dict(payload), key, algorithm=algorithm, headers=header or None)


def pem(path: Path, key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> Path:
    path.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return path


@pytest.mark.parametrize(
    "headers",
    [{}, bearer("tsk_wrong"), {"X-API-Key": "wrong"}, {"Authorization": "Basic eDp5"}, bearer("a.b.c"), bearer("")],
)
def test_without_valid_credentials_401(secured_client: TestClient, headers: dict[str, str]) -> None:
    answer = secured_client.post("/v1/search", json={"text": "x"}, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert answer.json()["code"] == "unauthenticated"
    assert "Authorization: Bearer" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["/v1/tools", "/v1/decisions/x", "/metrics", "/v1/nowhere"])
def test_everything_about_the_catalogue_needs_credentials(secured_client: TestClient, path: str) -> None:
    assert secured_client.get(path).status_code == 401


@pytest.mark.parametrize("path", ["/", "/healthz", "/livez", "/openapi.json"])
def test_open_paths_need_none(secured_client: TestClient, path: str) -> None:
    assert secured_client.get(path).status_code < 300


def test_a_key_is_its_principal(secured_client: TestClient, keys: dict[str, str]) -> None:
    seen = {
        subject: {tool["ref"] for tool in secured_client.get("/v1/tools", headers=bearer(keys[subject])).json()}
        for subject in ("s1", "guest")
    }
    assert seen["s1"] == {"orders/orders.get@1", "orders/orders.cancel@1", "weather/weather.today@1"}
    assert seen["guest"] == {"weather/weather.today@1"}
    assert secured_client.get("/v1/tools", headers={"X-API-Key": keys["s1"]}).status_code == 200


def test_nothing_in_a_request_widens(secured_client: TestClient, keys: dict[str, str]) -> None:
    guest = bearer(keys["guest"])
    claimed = secured_client.post(
        "/v1/search", json={"text": "order", "principal": {"roles": ["support"]}}, headers=guest
    )
    assert claimed.status_code == 422
    for name in ("X-Principal", "X-Roles", "X-Subject", "X-Forwarded-User"):
        listed = secured_client.get("/v1/tools", headers={**guest, name: "support"}).json()
        assert [tool["ref"] for tool in listed] == ["weather/weather.today@1"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/v1/tools", {"identity": {"name": "x"}}),
        ("DELETE", "/v1/tools/orders/orders.get@1", None),
        ("DELETE", "/v1/tools/vault/vault.open@1", None),
        ("PUT", "/v1/rules", {"rules": []}),
        ("GET", "/metrics", None),
    ],
)
def test_administration_needs_the_role(
    secured_client: TestClient, keys: dict[str, str], method: str, path: str, body: object
) -> None:
    refused = secured_client.request(
        method, path, json=body, headers={**bearer(keys["s1"]), "Content-Type": "application/json"}
    )
    assert refused.status_code == 403
    assert "toolsearch-admin" in refused.json()["detail"]
    assert (
        secured_client.request(
            method, path, json=body, headers={**bearer(keys["root"]), "Content-Type": "application/json"}
        ).status_code
        == 200
    )


def test_why_not_is_an_unknown_tool_to_others(secured_client: TestClient, keys: dict[str, str]) -> None:
    ask = {"ref": "vault/vault.open@1", "principal": {"tenant": "acme"}}
    for_others = secured_client.post("/v1/why-not", json=ask, headers=bearer(keys["s1"]))
    assert (for_others.status_code, for_others.json()["code"]) == (404, "tool_unknown")
    assert secured_client.post("/v1/why-not", json=ask, headers=bearer(keys["root"])).json()["allowed"] is False


def test_credentials_come_before_the_body(secured_client: TestClient) -> None:
    assert secured_client.post("/v1/search", content=b"x" * 2_000_000).status_code == 401


def test_only_administrators_may_send_much(index: ToolIndex, tmp_path: Path, keys: dict[str, str]) -> None:
    small = load_settings(api_keys_file=tmp_path / "keys.yaml", body_limit_bytes=1024)
    body = {"identity": {"name": "x"}, "capability": {"does": "x" * 5_000}}
    with TestClient(create_app(index, settings=small), base_url=LOOPBACK) as client:
        assert client.put("/v1/tools", json=body, headers=bearer(keys["s1"])).status_code == 413
        assert client.put("/v1/tools", json=body, headers=bearer(keys["root"])).status_code == 200


def test_keys_expire(tmp_path: Path) -> None:
    secret, digest = new_key()
    entry = {"sha256": digest, "principal": {"subject": "ci"}, "expires": NOW}
    (tmp_path / "keys.json").write_text(json.dumps({"keys": [entry]}, default=str))
    door = authenticator(load_settings(api_keys_file=tmp_path / "keys.json"))
    before = door.principal(authorization=None, api_key=secret, now=NOW - timedelta(seconds=1))
    assert before == Principal(subject="ci")
    with pytest.raises(AuthenticationError, match="expired"):
        door.principal(authorization=None, api_key=secret, now=NOW)


@pytest.mark.parametrize(
    "text",
    ["", "keys: []", "keys: [{sha256: abc, principal: {}}]", "keys: [{principal: {}}]", "[", "\x00", "keys: 1"],
)
def test_a_wrong_keys_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "keys.yaml").write_text(text)
    with pytest.raises(PolicyError, match="keys file"):
        read_keys(tmp_path / "keys.yaml")


def test_a_missing_keys_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="No such file"):
        authenticator(load_settings(api_keys_file=tmp_path / "none.yaml"))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_without_credentials_only_loopback(index: ToolIndex, host: str) -> None:
    with pytest.raises(PolicyError, match="TOOLSEARCH_API_KEYS_FILE") as refused:
        create_app(index, settings=load_settings(host=host))
    assert host in str(refused.value)


def test_with_credentials_any_address(index: ToolIndex, secured: Settings) -> None:
    create_app(index, settings=secured.model_copy(update={"host": "0.0.0.0"}))


@pytest.mark.parametrize(
    ("host", "answered"),
    [
        ("127.0.0.1:8765", True),
        ("localhost", True),
        ("[::1]:8765", True),
        ("evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("", False),
    ],
)
def test_without_credentials_a_foreign_host_name_is_refused(client: TestClient, host: str, answered: bool) -> None:
    assert client.get("/v1/tools", headers={"Host": host}).status_code == (200 if answered else 421)


def test_loopback_names() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.1.2.3", "::1", "localhost", "LOCALHOST")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "", "localhost.example", "10.0.0.1")))


def test_a_token_is_its_principal() -> None:
    verifier = TokenVerifier.of(hs256())
    assert verifier.principal(token(claims())) == SUPPORT.model_copy(update={"scopes": ("orders.read", "orders.write")})


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
@pytest.mark.parametrize("file", ["pem", "jwks"])
def test_public_keys_verify(tmp_path: Path, algorithm: str, file: str) -> None:
    private = RSA if algorithm == "RS256" else EC
    values: dict[str, Any] = {"jwt_algorithms": (algorithm,), "jwt_secret": None}
    if file == "pem":
        values["jwt_public_key_file"] = pem(tmp_path / "key.pem", private)
    else:
        values["jwt_jwks_file"] = jwks(tmp_path / "jwks.json")
    verifier = TokenVerifier.of(hs256(**values))
    good = token(claims(), key=private, algorithm=algorithm, kid=algorithm)
    assert verifier.principal(good).subject == "s1"
    with pytest.raises(AuthenticationError):
        verifier.principal(token(claims()))
    if file == "jwks":
        with pytest.raises(AuthenticationError, match="key id"):
            verifier.principal(token(claims(), key=private, algorithm=algorithm, kid="other"))


def jwks(path: Path) -> Path:
    entries = [
        {**jwt.get_algorithm_by_name(name).to_jwk(key.public_key(), as_dict=True), "kid": name}
        for name, key in (("RS256", RSA), ("ES256", EC))
    ]
    path.write_text(json.dumps({"keys": entries}))
    return path


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"exp": datetime(2020, 1, 1, tzinfo=UTC)}, "expired"),
        ({"exp": None}, "exp"),
        ({"iss": "https://other"}, "ssuer"),
        ({"iss": None}, "iss"),
        ({"aud": "other"}, "udience"),
        ({"aud": None}, "aud"),
        ({"sub": None}, "sub"),
        ({"roles": 7}, "roles"),
        ({"scope": {"a": 1}}, "scopes"),
        ({"tenant": ["a"]}, "tenant"),
        ({"nbf": datetime(2100, 1, 1, tzinfo=UTC)}, "not yet valid"),
    ],
)
def test_wrong_claims_are_named(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(AuthenticationError, match=says):
        TokenVerifier.of(hs256()).principal(token(claims(**changes)))


def test_forged_tokens_are_refused(tmp_path: Path) -> None:
    verifier = TokenVerifier.of(hs256())
    unsigned = jwt.encode(claims(), None, algorithm="none")
    other_secret = token(claims(), key="another-secret-of-more-than-32-bytes!")
    good = token(claims())
    for forged in (unsigned, other_secret, good[:-2], good + ".x", "..", "a.b.c", "é.é.é"):
        with pytest.raises(AuthenticationError):
            verifier.principal(forged)


def test_a_public_key_is_never_a_secret(tmp_path: Path) -> None:
    """A token signed by HS256 with the published RSA key as its secret must not pass (RFC 8725, 2.1)."""
    path = pem(tmp_path / "key.pem", RSA)
    both = TokenVerifier.of(hs256(jwt_algorithms=("RS256", "HS256"), jwt_public_key_file=path))
    header = jwt.utils.base64url_encode(b'{"alg":"HS256","typ":"JWT"}')
    body = jwt.utils.base64url_encode(json.dumps({**claims(), "exp": 4_000_000_000}).encode())
    import hashlib
    import hmac

    signature = hmac.digest(path.read_bytes(), header + b"." + body, hashlib.sha256)
    forged = b".".join((header, body, jwt.utils.base64url_encode(signature))).decode()
    with pytest.raises(AuthenticationError):
        both.principal(forged)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"jwt_secret": None}, "TOOLSEARCH_JWT_SECRET"),
        ({"jwt_secret": "short"}, "32"),
        ({"jwt_issuer": None}, "TOOLSEARCH_JWT_ISSUER"),
        ({"jwt_audience": None}, "TOOLSEARCH_JWT_AUDIENCE"),
        ({"jwt_algorithms": ("RS256",)}, "TOOLSEARCH_JWT_PUBLIC_KEY_FILE"),
        ({"jwt_algorithms": ()}, "TOOLSEARCH_JWT_ALGORITHMS"),
    ],
)
def test_incomplete_token_settings_are_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        authenticator(hs256(**changes))


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"keys": [{}]}', '{"keys": []}', "-----BEGIN PUBLIC KEY-----"])
def test_wrong_key_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "keys").write_text(text)
    for setting in ("jwt_public_key_file", "jwt_jwks_file"):
        with pytest.raises(PolicyError, match="token key file"):
            authenticator(hs256(jwt_algorithms=("ES256",), **{setting: tmp_path / "keys"}))


def test_a_key_of_the_wrong_kind_is_refused(tmp_path: Path) -> None:
    private = RSA.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "private.pem").write_bytes(private)
    for path in (pem(tmp_path / "rsa.pem", RSA), tmp_path / "private.pem"):
        with pytest.raises(PolicyError, match="PEM public key for ES256"):
            authenticator(hs256(jwt_algorithms=("ES256",), jwt_public_key_file=path))


def test_claims_can_be_named_otherwise() -> None:
    names = JwtClaims(subject="sub", roles="realm_access.roles", tenant="https://acme.example/tenant")
    payload = {"sub": "x", "realm_access": {"roles": ["a"]}, "https://acme.example/tenant": "t", "roles": ["no"]}
    assert principal_of(payload, claims=names) == Principal(subject="x", tenant="t", roles=("a",))


def test_tokens_and_keys_work_side_by_side(index: ToolIndex, tmp_path: Path, keys: dict[str, str]) -> None:
    both = hs256(api_keys_file=tmp_path / "keys.yaml")
    with TestClient(create_app(index, settings=both), base_url=LOOPBACK) as client:
        assert client.get("/v1/tools", headers=bearer(token(claims()))).status_code == 200
        assert client.get("/v1/tools", headers=bearer(keys["guest"])).status_code == 200
        assert client.get("/v1/tools", headers=bearer(token(claims(aud="x")))).status_code == 401


def test_settings_by_strength(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s.toml").write_text('port = 1\nhost = "127.0.0.3"\nqueue = 3\n[local_principal]\nsubject = "me"\n')
    monkeypatch.setenv("TOOLSEARCH_CONFIG", str(tmp_path / "s.toml"))
    monkeypatch.setenv("TOOLSEARCH_PORT", "2")
    monkeypatch.setenv("TOOLSEARCH_HOST", "127.0.0.2")
    found = load_settings(port=3)
    assert (found.port, found.host, found.queue, found.workers) == (3, "127.0.0.2", 3, 4)
    assert found.local_principal == Principal(subject="me")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("portt = 1", "did you mean port"),
        ("port = 70000", "65535"),
        ("port =", "not TOML"),
        ("zzz = 1", "configuration.md"),
    ],
)
def test_wrong_settings_are_named(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(RequestError, match=says):
        load_settings(config=tmp_path / "s.toml")


def test_a_variable_that_is_not_json_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLSEARCH_JWT_ALGORITHMS", "RS256")
    with pytest.raises(RequestError, match=r"jwt_algorithms.*JSON"):
        load_settings()
    monkeypatch.setenv("TOOLSEARCH_JWT_ALGORITHMS", '["none"]')
    with pytest.raises(RequestError, match=r"jwt_algorithms\.0"):
        load_settings()


def test_a_named_settings_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="No such file"):
        load_settings(config=tmp_path / "none.toml")


def test_secrets_are_not_shown() -> None:
    assert SECRET not in repr(hs256())


def test_a_keys_file_as_documented(tmp_path: Path) -> None:
    entry = {"sha256": "0" * 64, "principal": {"subject": "ci"}, "note": "build server"}
    (tmp_path / "k.yaml").write_text(yaml.safe_dump({"keys": [entry]}))
    assert read_keys(tmp_path / "k.yaml")[0].note == "build server"
