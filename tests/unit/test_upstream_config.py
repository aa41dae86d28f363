"""Configuration files of MCP servers: the shapes people have, what is refused, and that no secret shows."""

import ipaddress
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.calls.upstream import UpstreamServer, http_server, is_config, read_config, read_config_data
from toolsearch.calls.upstream.address import check_address, reach_of
from toolsearch.calls.upstream.expand import expanded
from toolsearch.model.errors import UpstreamConfigError

CLAUDE_DESKTOP = {
    "globalShortcut": "Alt+Space",
    "mcpServers": {
        "filesystem": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv"]},
        "off": {"command": "npx", "disabled": True},
    },
}
CURSOR = {
    "mcpServers": {
        "git": {"type": "stdio", "command": "uvx", "args": ["mcp-server-git"], "env": {"TOKEN": "${env:TOKEN}"}},
        "remote": {"url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Bearer ${env:TOKEN}"}},
    }
}
VS_CODE = {
    "inputs": [{"type": "promptString", "id": "key", "description": "API key", "password": True}],
    "servers": {
        "api": {"type": "http", "url": "https://api.example.com/mcp", "headers": {"X-Key": "${input:key}"}},
        "old": {"type": "sse", "url": "https://old.example.com/sse"},
        "local": {"type": "stdio", "command": "python", "args": ["server.py"], "cwd": "/srv/app"},
    },
}
CLAUDE_CODE = {"mcpServers": {"api": {"type": "http", "url": "${API:-https://api.example.com}/mcp", "headers": {}}}}


def test_claude_desktop() -> None:
    report = read_config_data(CLAUDE_DESKTOP)
    assert [server.name for server in report.servers] == ["filesystem"]
    assert report.disabled == ("off",)
    assert report.servers[0].transport == "stdio"
    assert report.servers[0].args[1].get_secret_value() == "@modelcontextprotocol/server-filesystem"


def test_cursor() -> None:
    git, remote = read_config_data(CURSOR, environment={"TOKEN": "abc"}).servers
    assert git.env["TOKEN"].get_secret_value() == "abc"
    assert remote.transport == "streamable-http"
    assert remote.headers["Authorization"].get_secret_value() == "Bearer abc"


def test_vs_code() -> None:
    report = read_config_data(VS_CODE, inputs={"key": "k-1"})
    assert [(server.name, server.transport) for server in report.servers] == [
        ("api", "streamable-http"),
        ("local", "stdio"),
        ("old", "sse"),
    ]
    assert report.servers[0].headers["X-Key"].get_secret_value() == "k-1"
    assert report.servers[1].cwd == "/srv/app"
    refused = read_config_data(VS_CODE).refused
    assert [(error.path, "input 'key'" in str(error)) for error in refused] == [("/servers/api", True)]


def test_claude_code_defaults() -> None:
    assert read_config_data(CLAUDE_CODE).servers[0].place == "https://api.example.com"
    given = read_config_data(CLAUDE_CODE, environment={"API": "https://other.example.com"}).servers[0]
    assert given.place == "https://other.example.com"


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("npx", "not a server"),
        ({}, "has a url"),
        ({"comand": "npx"}, "unknown key 'comand'; did you mean 'command'?"),
        ({"command": "npx", "envFile": ".env"}, "unknown key 'envFile'; write its variables under `env`"),
        ({"command": "npx", "shell": True}, "unknown key 'shell'"),
        ({"command": "npx", "url": "https://x.example"}, "neither url nor headers"),
        ({"url": "https://x.example", "args": ["a"]}, "neither command, args"),
        ({"command": ""}, "no name of a program"),
        ({"command": "./run.sh"}, "relative path"),
        ({"command": "bin/run"}, "relative path"),
        ({"command": "/srv/../bin/sh"}, "climbs"),
        ({"command": "~/run"}, "no name of a program"),
        ({"command": "a\nb"}, "control character"),
        ({"command": "npx", "cwd": "here"}, "cwd is not an absolute path"),
        ({"command": "npx", "cwd": "/srv/.."}, "cwd is not an absolute path"),
        ({"command": "npx", "args": "a b"}, "args is a str, not a list"),
        ({"command": "npx", "args": [1]}, "args[0] is a int, not a string"),
        ({"command": "npx", "args": ["${env:NOPE}"]}, "args[0]: variable 'NOPE' is not in the environment"),
        ({"command": "npx", "args": ["${workspaceFolder}"]}, "'workspaceFolder' is not in the environment"),
        ({"command": "npx", "args": ["${command:pick}"]}, "${command:pick} is not known"),
        ({"command": "npx", "env": {"A-B": "x"}}, "'A-B' cannot be a variable"),
        ({"command": "npx", "env": {"A": None}}, "env.A is a NoneType"),
        ({"command": "npx", "type": "websocket"}, "has the type 'websocket'"),
        ({"url": "ftp://x.example"}, "scheme 'ftp'"),
        ({"url": "file:///etc/passwd"}, "scheme 'file'"),
        ({"url": "https://user:word@x.example"}, "holds credentials"),
        ({"url": "https://"}, "names no host"),
        ({"url": "https://x.example:99999"}, "cannot be read"),
        ({"url": "https://x.example/#part"}, "fragment"),
        ({"url": "https://x.example\\@evil.example/"}, "backslash"),
        ({"url": "http://169.254.169.254/latest"}, "never connected to"),
        ({"url": "http://[::ffff:169.254.169.254]/"}, "never connected to"),
        ({"url": "http://10.0.0.1/"}, "private address"),
        ({"url": "http://[fd00::1]/"}, "private address"),
        ({"url": "http://0.0.0.0/"}, "never connected to"),
        ({"url": "https://x.example", "headers": {"Host": "y.example"}}, "header 'Host' cannot be set"),
        ({"url": "https://x.example", "headers": {"X-A": "a\r\nX-B: b"}}, "control character"),
    ],
)
def test_an_odd_entry_is_refused_by_name_and_the_others_stay(entry: object, says: str) -> None:
    report = read_config_data({"mcpServers": {"odd": entry, "fine": {"command": "npx"}}}, source="mcp.json")
    assert [server.name for server in report.servers] == ["fine"]
    assert len(report.refused) == 1
    assert str(report.refused[0]).startswith("mcp.json:/mcpServers/odd: ")
    assert says in str(report.refused[0])


def test_private_addresses_can_be_allowed_and_link_local_ones_cannot() -> None:
    assert http_server("http://10.0.0.1/mcp", name="lan", allow_private=True).place == "http://10.0.0.1"
    with pytest.raises(UpstreamConfigError, match="never connected to"):
        http_server("http://169.254.169.254/", name="meta", allow_private=True)


def test_names_are_cleaned_and_must_stay_apart() -> None:
    report = read_config_data({"mcpServers": {"my server": {"command": "a"}, "my_server": {"command": "b"}}})
    assert [server.name for server in report.servers] == ["my_server"]
    assert "rename one" in str(report.refused[0])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is not JSON"),
        ('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', "'a' stands twice"),
        ("[]", "has neither"),
        ('{"servers": ["x"]}', "has neither"),
        ('{"openapi": "3.1.0", "servers": {}}', "has neither"),
        ("\xff", "is not JSON"),
        ("// comment\n{}", "comments are not read"),
    ],
)
def test_a_file_that_is_none(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(UpstreamConfigError, match=says):
        read_config(tmp_path / "mcp.json")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UpstreamConfigError, match="cannot be read"):
        read_config(tmp_path / "mcp.json")


def test_only_the_given_environment_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TOKEN", "of the process")
    (tmp_path / "mcp.json").write_text(json.dumps(CURSOR))
    assert "'TOKEN' is not in the environment" in str(read_config(tmp_path / "mcp.json").refused[0])


def test_nothing_is_expanded_twice() -> None:
    assert expanded("${env:A}", environment={"A": "${env:B}", "B": "secret"}, inputs={}) == "${env:B}"


def test_one_server_of_a_file() -> None:
    report = read_config_data(VS_CODE)
    assert [server.name for server in report.named(("old",)).servers] == ["old"]
    with pytest.raises(UpstreamConfigError, match="lists no server 'nope'; it lists local, old"):
        report.named(("nope",))
    with pytest.raises(UpstreamConfigError, match="input 'key' is not given"):
        report.named(("api",))


def test_the_documented_configuration_is_read() -> None:
    page = (Path(__file__).parents[2] / "docs" / "import.md").read_text(encoding="utf-8")
    example = json.loads(re.findall(r"```json\n(.*?)```", page, re.DOTALL)[0])
    report = read_config_data(example, environment={"GIT_TOKEN": "a", "SHOP_TOKEN": "b"})
    assert [server.name for server in report.servers] == ["files", "git", "shop"]
    assert report.refused == ()


def test_what_is_a_configuration() -> None:
    assert is_config(CLAUDE_DESKTOP)
    assert is_config(VS_CODE)
    assert not is_config({"swagger": "2.0", "servers": {"a": {}}})
    assert not is_config([CLAUDE_DESKTOP])


SECRETS = st.text(alphabet="abcdefghijklmnopqrstuvwxyz0123456789", min_size=12, max_size=40)


@given(secret=SECRETS, place=st.sampled_from(["args", "flag", "env", "headers", "path", "query", "command", "url"]))
def test_no_secret_shows_in_any_text(secret: str, place: str) -> None:
    entry = {
        "args": {"command": "npx", "args": ["--token", "${env:S}"]},
        "flag": {"command": "npx", "args": ["--token=${env:S}"]},
        "env": {"command": "npx", "env": {"TOKEN": "${env:S}"}},
        "headers": {"url": "https://x.example", "headers": {"Authorization": "Bearer ${env:S}"}},
        "path": {"url": "https://x.example/s/${env:S}/mcp"},
        "query": {"url": "https://x.example/mcp?key=${env:S}"},
        "command": {"command": "../${env:S}"},
        "url": {"url": "ftp://x.example/${env:S}"},
    }[place]
    report = read_config_data({"mcpServers": {"one": entry}}, environment={"S": secret})
    for error in report.refused:
        assert secret not in f"{error}{error!r}"
    for server in report.servers:
        texts = [str(server), repr(server), server.place, server.model_dump_json(), str(server.model_dump())]
        assert not [text for text in texts if secret in text]
        carriers = [f"Bearer {secret}", f"--token={secret}", f"https://x.example/s/{secret}/mcp?key={secret}"]
        assert secret not in server.redacted(" and ".join(carriers))
        with pytest.raises(ValueError, match="frozen") as raised:
            server.name = "other"  # type: ignore[misc]
        assert secret not in str(raised.value)


@pytest.mark.parametrize(
    ("address", "reach"),
    [
        ("127.0.0.1", "loopback"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("10.1.2.3", "private"),
        ("172.16.0.1", "private"),
        ("192.168.1.1", "private"),
        ("100.64.0.1", "private"),
        ("fd12::1", "private"),
        ("64:ff9b::a00:1", "private"),
        ("2002:a00:1::", "private"),
        ("169.254.169.254", "never"),
        ("fe80::1", "never"),
        ("224.0.0.1", "never"),
        ("0.0.0.0", "never"),
        ("::", "never"),
        ("8.8.8.8", "public"),
        ("2606:4700::1111", "public"),
    ],
)
def test_reach(address: str, reach: str) -> None:
    assert reach_of(ipaddress.ip_address(address)) == reach


def test_only_its_own_names_lead_to_loopback() -> None:
    for host in ("localhost", "app.localhost", "127.0.0.1", "::1", "LOCALHOST."):
        check_address(ipaddress.ip_address("127.0.0.1"), host=host, allow_private=False)
    for host in ("evil.example", "2130706433", "localhost.example"):
        with pytest.raises(ValueError, match="loopback address"):
            check_address(ipaddress.ip_address("127.0.0.1"), host=host, allow_private=False)


def test_a_server_is_one_kind_or_the_other() -> None:
    with pytest.raises(ValueError, match="has a command"):
        UpstreamServer(name="x", transport="stdio")
