"""JSON Web Tokens: verified against an allow-list of algorithms, then mapped to a principal.

Each algorithm is bound to its own kind of key, so that a public key can never be taken for a shared secret
(RFC 8725, section 3.1). `exp`, `iss` and `aud` are required.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jwt
from pydantic import ValidationError

from toolsearch import Principal
from toolsearch.model.errors import AuthenticationError, PolicyError
from toolsearch.serve.settings import JwtClaims, Settings

_KEY_TYPES = {"RS256": "RSA", "ES256": "EC"}
_MIN_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenVerifier:
    """Verifies tokens and reads the principal from their claims.

    Attributes:
        keys: (algorithm, key id or None for any, key) in the order tried.
        issuer: Required `iss`.
        audience: Required `aud`.
        leeway_s: Seconds of clock difference allowed.
        claims: Names of the claims.
    """

    keys: tuple[tuple[str, str | None, Any], ...]
    issuer: str
    audience: str
    leeway_s: int
    claims: JwtClaims

    @classmethod
    def of(cls, settings: Settings) -> TokenVerifier:
        """Build the verifier that the settings describe.

        Raises:
            PolicyError: If issuer, audience or a key for an accepted algorithm is missing, or a key does not fit.
        """
        if settings.jwt_issuer is None or settings.jwt_audience is None:
            raise PolicyError("tokens need TOOLSEARCH_JWT_ISSUER and TOOLSEARCH_JWT_AUDIENCE to be set")
        keys = [
            key
            for algorithm in settings.jwt_algorithms
            for key in ([_secret(settings)] if algorithm == "HS256" else _public_keys(settings, algorithm=algorithm))
        ]
        return cls(
            keys=tuple(keys),
            issuer=settings.jwt_issuer,
            audience=settings.jwt_audience,
            leeway_s=settings.jwt_leeway_s,
            claims=settings.jwt_claims,
        )

    def principal(self, token: str) -> Principal:
        """Return the principal that a token names.

        Raises:
            AuthenticationError: If the token is not valid here and now.
        """
        try:
            header = jwt.get_unverified_header(token)
            algorithm, key = self._key_for(header)
            payload = jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                issuer=self.issuer,
                audience=self.audience,
                leeway=self.leeway_s,
                options={"require": ["exp", "iss", "aud", *_needed(self.claims.subject)]},
            )
        except jwt.ExpiredSignatureError:
            raise AuthenticationError("the token has expired; get a new one") from None
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
            raise AuthenticationError(f"the token is not valid: {_short(error)}") from None
        return principal_of(payload, claims=self.claims)

    def _key_for(self, header: Mapping[str, Any]) -> tuple[str, Any]:
        for algorithm, key_id, key in self.keys:
            if header.get("alg") == algorithm and key_id in (None, header.get("kid")):
                return algorithm, key
        accepted = ", ".join(dict.fromkeys(algorithm for algorithm, _, _ in self.keys))
        raise AuthenticationError(f"no key for the token's algorithm and key id; accepted: {accepted}")


def principal_of(payload: Mapping[str, Any], *, claims: JwtClaims) -> Principal:
    """Map verified claims to a principal; an absent claim leaves its field empty.

    Raises:
        AuthenticationError: If the subject is missing or a claim has another type than its field.
    """
    try:
        return Principal.model_validate(
            {
                "subject": _claim(payload, claims.subject),
                "tenant": _claim(payload, claims.tenant),
                "environment": _claim(payload, claims.environment),
                "roles": _words(_claim(payload, claims.roles)),
                "scopes": _words(_claim(payload, claims.scopes)),
            }
        )
    except ValidationError as error:
        field = str(error.errors(include_input=False)[0]["loc"][0])
        raise AuthenticationError(f"the token's claim for {field} is missing or has the wrong type") from None


def _needed(claim: str) -> tuple[str, ...]:
    return () if "." in claim else (claim,)


def _claim(payload: Mapping[str, Any], path: str) -> Any:
    if path in payload:  # namespaced claims are URLs with dots
        return payload[path]
    value: Any = payload
    for part in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return value


def _words(value: Any) -> Any:
    """Read a list claim, or the space-separated text of OAuth 2 `scope` (RFC 6749, section 3.3)."""
    if value is None:
        return ()
    return value.split() if isinstance(value, str) else value


def _short(error: Exception) -> str:
    return str(error).split("\n", 1)[0][:200]


def _secret(settings: Settings) -> tuple[str, None, bytes]:
    if settings.jwt_secret is None:
        raise PolicyError("HS256 tokens need TOOLSEARCH_JWT_SECRET to be set")
    secret = settings.jwt_secret.get_secret_value().encode("utf-8")
    if len(secret) < _MIN_SECRET_BYTES:
        raise PolicyError(
            f"TOOLSEARCH_JWT_SECRET has {len(secret)} bytes; HS256 needs at least {_MIN_SECRET_BYTES} (RFC 7518, 3.2)"
        )
    return "HS256", None, secret


def _public_keys(settings: Settings, *, algorithm: str) -> list[tuple[str, str | None, Any]]:
    if settings.jwt_jwks_file is not None:
        keys = _jwks(settings.jwt_jwks_file, algorithm=algorithm)
    elif settings.jwt_public_key_file is not None:
        keys = [(algorithm, None, _pem(settings.jwt_public_key_file, algorithm=algorithm))]
    else:
        raise PolicyError(
            f"{algorithm} tokens need TOOLSEARCH_JWT_PUBLIC_KEY_FILE or TOOLSEARCH_JWT_JWKS_FILE to be set"
        )
    return keys


def _pem(path: Path, *, algorithm: str) -> Any:
    try:
        return jwt.get_algorithm_by_name(algorithm).prepare_key(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PolicyError(f"token key file {path}: {error.strerror or error}") from None
    except (jwt.PyJWTError, ValueError, TypeError, NotImplementedError):
        raise PolicyError(f"token key file {path} holds no PEM public key for {algorithm}") from None


def _jwks(path: Path, *, algorithm: str) -> list[tuple[str, str | None, Any]]:
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["keys"]
        keys = [jwt.PyJWK(_public(entry), algorithm) for entry in entries if entry["kty"] == _KEY_TYPES[algorithm]]
    except OSError as error:
        raise PolicyError(f"token key file {path}: {error.strerror or error}") from None
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        raise PolicyError(f"token key file {path} is not a JWKS document of public keys") from None
    if not keys:
        raise PolicyError(f"token key file {path} holds no key for {algorithm}")
    return [(algorithm, key.key_id, key.key) for key in keys]


def _public(entry: dict[str, Any]) -> dict[str, Any]:
    if "d" in entry:
        raise ValueError("a private key")
    return entry
