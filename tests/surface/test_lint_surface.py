"""Library, command line, HTTP and the command behind a server give one report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from surface_catalogue import ADMIN, CATALOGUE, GUEST, LOOPBACK, RULES, SUPPORT

from toolsearch import ToolIndex
from toolsearch.cli.app import main
from toolsearch.cli.remote_lint import RemoteLint
from toolsearch.contracts.lint.check import LintOptions
from toolsearch.contracts.lint.finding import Severity
from toolsearch.serve.http.app import create_app
from toolsearch.serve.settings import load_settings


class Behind(RemoteLint):
    """The client of a server that runs in this process."""

    def __init__(self, client: TestClient) -> None:
        self._client = client

    def send(self, method: str, path: str, body: str | None = None) -> bytes:
        return self._client.request(method, path, content=body).raise_for_status().content


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with ToolIndex.create(tmp_path / "index", rules=RULES, encoder="hashed") as index:
        index.add(CATALOGUE)
    return tmp_path / "index"


@pytest.fixture
def client(folder: Path) -> Iterator[TestClient]:
    app = create_app(ToolIndex.open(folder), settings=load_settings(local_principal=SUPPORT))
    with TestClient(app, base_url=LOOPBACK) as made:
        yield made


def test_one_report_everywhere(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ToolIndex.open(folder) as index:
        by_library = index.lint(principal=SUPPORT)
    (tmp_path / "principal.json").write_text(SUPPORT.model_dump_json())
    words = ("lint", "-i", folder, "--principal", tmp_path / "principal.json", "--format", "json")
    with pytest.raises(SystemExit):
        main([str(word) for word in words])
    assert capsys.readouterr().out == f"{by_library.model_dump_json()}\n"
    app = create_app(ToolIndex.open(folder), settings=load_settings(local_principal=SUPPORT))
    with TestClient(app, base_url=LOOPBACK) as client:
        assert client.get("/v1/lint").text == by_library.model_dump_json()
        assert Behind(client).lint(principal=SUPPORT) == by_library


def test_options_hold_behind_a_server(client: TestClient) -> None:
    options = LintOptions(select=("TS3", "use-when-missing"), ignore=("TS302",), severities={"TS203": Severity.ERROR})
    report = Behind(client).lint(principal=SUPPORT, options=options)
    assert {finding.rule for finding in report.findings} <= {"TS203"} | {f"TS3{at:02}" for at in range(1, 30)} - {
        "TS302"
    }
    assert {finding.severity for finding in report.findings if finding.rule == "TS203"} <= {Severity.ERROR}


def test_each_principal_has_its_own_report(folder: Path) -> None:
    with ToolIndex.open(folder) as index:
        for principal in (GUEST, SUPPORT, ADMIN):
            report = index.lint(principal=principal)
            visible = {tool.ref for tool in index.tools(principal=principal)}
            assert report.tools == len(visible)
            assert {finding.ref for finding in report.findings} <= visible
            assert {ref for finding in report.findings for ref in finding.related} <= visible
