"""A disk that takes nothing: what is there answers, what was accepted holds, and nobody is told that it is damaged."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

import toolsearch.engine.writer
from toolsearch import Principal, RuleBook, ToolIndex
from toolsearch.cli.app import app
from toolsearch.model.contract import ToolContract
from toolsearch.model.errors import IndexNotWritable, IndexStateError
from toolsearch.store.database import Database

ANYONE = Principal(subject="anyone")


def tool(name: str) -> ToolContract:
    return ToolContract.model_validate(
        {"identity": {"name": name, "server": "sky"}, "capability": {"does": f"Get the {name} of a city."}}
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with ToolIndex.create(tmp_path / "index", rules=RuleBook.public(), encoder="hashed") as index:
        index.add([tool("weather")])
    return tmp_path / "index"


def refuse(*_args: object, **_kwargs: object) -> None:
    raise IndexNotWritable("No space left on device")


def test_an_accepted_change_is_not_reported_as_failed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with ToolIndex.open(folder) as index:
        with monkeypatch.context() as full, caplog.at_level(logging.WARNING):
            full.setattr(toolsearch.engine.writer, "write_snapshot", refuse)
            assert index.add([tool("tide")]).added == ("sky/tide@1",)
        assert "snapshot is not" in caplog.text
        assert {each.ref for each in index.tools(principal=ANYONE)} == {"sky/tide@1", "sky/weather@1"}
    with ToolIndex.open(folder) as again:
        assert {each.ref for each in again.tools(principal=ANYONE)} == {"sky/tide@1", "sky/weather@1"}


def test_a_rebuild_that_was_asked_for_says_that_it_failed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolsearch.engine.writer, "write_snapshot", refuse)
    with pytest.raises(IndexNotWritable):
        ToolIndex.open(folder, rebuild=True)


def test_a_search_is_answered_where_its_record_cannot_be_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    index = ToolIndex.open(folder)
    assert index.search("the weather in a city", principal=ANYONE).candidates
    monkeypatch.setattr("toolsearch.store.registry.Registry.record_decisions", refuse)
    with caplog.at_level(logging.WARNING):
        index.close()
    assert "decision records are lost" in caplog.text


@pytest.mark.parametrize("said", ["No space left on device", "Read-only file system", "Permission denied"])
def test_a_disk_that_takes_nothing_is_not_called_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    def fail(*_args: object, **_kwargs: object) -> None:
        raise duckdb.IOException(f"IO Error: Cannot open file: {said}")

    monkeypatch.setattr(duckdb, "connect", fail)
    with pytest.raises(IndexStateError) as caught:
        Database.open(tmp_path / "registry.duckdb")
    assert caught.value.code == "index_not_writable"
    assert "free space" in str(caught.value)


def test_a_read_only_folder_can_be_searched_by_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    monkeypatch.setattr("os.access", lambda _path, mode: mode != os.W_OK)
    done = CliRunner().invoke(app, ["search", "the weather in a city", "-i", str(folder)])
    assert done.exit_code == 0, done.output
    assert "sky/weather@1" in done.output
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
