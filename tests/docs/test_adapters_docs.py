"""docs/adapters.md shows lines of the examples, which are run; docs/client.md's commands are sent to a server."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
from starlette.testclient import TestClient

from toolsearch import Principal
from toolsearch.eval.catalogue import open_catalogue
from toolsearch.serve.http.app import create_app
from toolsearch.serve.settings import load_settings

ROOT = Path(__file__).parents[2]
ADAPTERS = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")
CLIENT = (ROOT / "docs" / "client.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^curl .*?(?<!\\)$", "\n".join(re.findall(r"```sh\n(.*?)```", CLIENT, re.DOTALL)), re.M | re.S)
BASE = "http://127.0.0.1:8765"


def plain(code: str) -> str:
    """Return code without indentation and line breaks."""
    return "".join(textwrap.dedent(code).split())


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", ADAPTERS, re.DOTALL))
def test_shown_code_stands_in_an_example(code: str) -> None:
    assert any(plain(code) in plain(path.read_text(encoding="utf-8")) for path in (ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("code", re.findall(r"```ts\n(.*?)```", ADAPTERS, re.DOTALL))
def test_shown_typescript_stands_in_the_example(code: str) -> None:
    sources = (ROOT / "examples" / "vercel-ai-sdk").glob("*.ts")
    assert any(plain(code) in plain(path.read_text(encoding="utf-8")) for path in sources)


@pytest.fixture(scope="module")
def server() -> Iterator[TestClient]:
    ann = Principal(
        subject="ann", tenant="acme", environment="production", roles=("support",), scopes=("orders.read", "crm.read")
    )
    settings = load_settings(local_principal=ann)
    with (
        open_catalogue(ROOT / "indexes" / "starter", encoder="hashed") as index,
        TestClient(create_app(index, settings=settings), base_url=BASE) as made,
    ):
        yield made


def test_each_command_is_answered(server: TestClient) -> None:
    assert len(COMMANDS) == 7
    for command in COMMANDS:
        words = shlex.split(command.replace("\\\n", " "))
        (url,) = [word for word in words if word.startswith(BASE)]
        body = words[words.index("-d") + 1] if "-d" in words else None
        headers = dict([words[words.index("-H") + 1].split(": ")]) if "-H" in words else {}
        method = words[words.index("-X") + 1] if "-X" in words else "GET" if body is None else "POST"
        answer = server.request(method, url, content=body, headers=headers)
        assert answer.status_code in {200, 204}, f"{command}: {answer.text}"


def test_the_python_lines_are_those_of_a_client() -> None:
    for code in re.findall(r"```python\n(.*?)```", CLIENT, re.DOTALL):
        compile(code, "client.md", "exec")
