"""The import job: replace and never merge, what is refused, what stays, what is unchanged."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolsearch import Principal, RuleBook, SearchRequest, ToolIndex
from toolsearch.calls.importing import (
    DataSource,
    FileSource,
    ImportReport,
    Reading,
    ServerSource,
    import_readings,
    import_sources,
    sources_from,
)
from toolsearch.calls.importing.reading import merged
from toolsearch.contracts.read import read_data
from toolsearch.model.errors import RequestError, UpstreamConfigError, UpstreamError

ANYONE = Principal(subject="anyone")


def tool(name: str, text: str = "") -> dict[str, Any]:
    return {"name": name, "description": text or f"Count the {name}.", "inputSchema": {"type": "object"}}


def data(server: str, *tools: dict[str, Any] | str) -> DataSource:
    listed = [tool(one) if isinstance(one, str) else one for one in tools]
    return DataSource(data={"tools": listed}, server=server)


@pytest.fixture
def index() -> Any:
    with ToolIndex.create(None, rules=RuleBook.public(), encoder="hashed") as made:
        yield made


def refs(index: ToolIndex) -> list[str]:
    return [summary.ref for summary in index.tools(principal=ANYONE)]


def test_a_server_is_replaced_and_others_are_untouched(index: ToolIndex) -> None:
    import_sources(index, [data("a", "x", "y"), data("b", "x")])
    report = import_sources(index, [data("a", "y", tool("z"), tool("w"))])
    assert refs(index) == ["a/w@1", "a/y@1", "a/z@1", "b/x@1"]
    (server,) = report.servers
    assert (server.added, server.unchanged, server.removed) == (("a/w@1", "a/z@1"), ("a/y@1",), ("a/x@1",))
    changed = import_sources(index, [data("a", tool("y", "Count the y twice."), "z", "w")]).servers[0]
    assert (changed.replaced, changed.marked) == (("a/y@1",), ("a/y@1",))


def test_what_a_server_changes_at_its_callers_cost_waits(index: ToolIndex) -> None:
    import_sources(index, [data("a", "x", "y")])
    stricter = {**tool("x"), "inputSchema": {"type": "object", "properties": {"n": {}}, "required": ["n"]}}
    server = import_sources(index, [data("a", stricter, "y")]).servers[0]
    assert (server.held, server.replaced, server.unchanged) == (("a/x@1",), (), ("a/y@1",))
    assert index.versions.reject("a/x").action == "reject"
    assert import_sources(index, [data("a", stricter, "y")]).servers[0].turned_down == ("a/x@1",)
    reviewed = import_sources(index, [data("a", stricter, "y")], trusted=True).servers[0]
    assert reviewed.replaced == ("a/x@1", "a/y@1")


def test_the_same_list_again_changes_nothing(index: ToolIndex) -> None:
    first = import_sources(index, [data("a", "x", "y")])
    again = import_sources(index, [data("a", "y", "x")])
    assert again.generation == first.generation
    assert not again.servers[0].changed
    assert again.whole


def test_an_empty_list_empties_the_server(index: ToolIndex) -> None:
    import_sources(index, [data("a", "x"), data("b", "x")])
    report = import_sources(index, [data("a")])
    assert report.servers[0].removed == ("a/x@1",)
    assert refs(index) == ["b/x@1"]


def test_a_refused_definition_takes_no_tool_away(index: ToolIndex) -> None:
    import_sources(index, [data("a", "x", "y")])
    wrong = {**tool("x"), "inputSchema": 5}
    report = import_sources(index, [data("a", wrong, "z")])
    assert refs(index) == ["a/x@1", "a/y@1", "a/z@1"]
    assert not report.whole
    assert report.refused[0].source == "data"
    assert report.refused[0].path == "/tools/0/inputSchema"


@pytest.mark.extras
def test_a_live_server_keeps_only_the_tool_that_was_refused(index: ToolIndex) -> None:
    import_sources(index, [data("a", "x", "y")])
    listing = [{**tool("x"), "annotations": {"title": 5}}, tool("z")]
    report = import_readings(index, [live_reading("a", listing)])
    assert refs(index) == ["a/x@1", "a/z@1"]
    assert report.servers[0].refused[0].path.startswith("/0")


def live_reading(server: str, tools: list[dict[str, Any]]) -> Reading:
    pytest.importorskip("mcp")
    from toolsearch.calls.importing.reading import reading_of
    from toolsearch.calls.upstream.listing import Listing

    listing = Listing(server=server, tools=tuple(tools), title="", protocol="", announces=False)
    return reading_of(listing, origin="here", trusted=False)


@pytest.mark.extras
def test_a_live_server_cannot_speak_for_another(index: ToolIndex) -> None:
    hostile = {"type": "namespace", "name": "bank", "tools": [tool("pay")]}
    reading = live_reading("a", [hostile, tool("x")])
    assert [str(contract.ref) for contract in reading.contracts] == ["a/x@1"]


def test_a_server_that_is_down_keeps_its_tools_and_is_stale(index: ToolIndex) -> None:
    import_sources(index, [data("a", "x")])
    down = Reading(server="a", origin="there", error="server 'a' is on fire")
    report = import_readings(index, [down, *readings_of(data("b", "x"))])
    assert refs(index) == ["a/x@1", "b/x@1"]
    assert report.servers[0].error == "server 'a' is on fire"
    rows = {row.server: row for row in index.sources()}
    assert (rows["a"].stale, rows["a"].error, rows["a"].tools) == (True, "server 'a' is on fire", 1)
    assert rows["a"].read_at is not None
    assert not rows["b"].stale
    import_sources(index, [data("a", "x")])
    assert not index.sources()[0].stale
    assert index.sources()[0].failed_at is None


def test_a_server_that_never_worked_is_listed_as_stale(index: ToolIndex) -> None:
    import_readings(index, [Reading(server="a", origin="there", error="no")])
    (row,) = index.sources()
    assert (row.stale, row.read_at, row.tools) == (True, None, 0)


def readings_of(*sources: DataSource) -> list[Reading]:
    return [
        Reading(
            server=str(source.server),
            origin="data",
            contracts=read_data(source.data, server=source.server).contracts,
        )
        for source in sources
    ]


def test_several_sources_of_one_server_are_together_what_it_has(index: ToolIndex) -> None:
    report = import_sources(index, [data("a", "x"), data("a", "y"), data("a", tool("x", "Something else."))])
    assert refs(index) == ["a/x@1", "a/y@1"]
    assert "is defined differently" in report.servers[0].refused[0].message


def test_files_and_folders(index: ToolIndex, tmp_path: Path) -> None:
    (tmp_path / "clock.json").write_text(json.dumps([tool("now")]))
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.yaml").write_text("tools:\n- {name: sum, inputSchema: {type: object}}\n")
    (tmp_path / "more" / "b.json").write_text("{")
    report = import_sources(index, [FileSource(path=tmp_path / "clock.json"), FileSource(path=tmp_path / "more")])
    assert refs(index) == ["clock/now@1", "more/sum@1"]
    assert [(refusal.source.endswith("b.json"), refusal.path) for refusal in report.refused] == [(True, "1:2")]
    missing = import_sources(index, [FileSource(path=tmp_path / "nope.json")])
    assert missing.refused[0].message == "does not exist (name a file or a folder)"
    assert missing.servers == ()


def test_a_searchable_index_on_disk_after_the_import(tmp_path: Path) -> None:
    with ToolIndex.create(tmp_path / "index", rules=RuleBook.public(), encoder="hashed") as made:
        import_sources(made, [data("a", "apples", "pears")])
    with ToolIndex.open(tmp_path / "index") as again:
        found = again.search(SearchRequest(text="count the apples"), principal=ANYONE)
        assert found.candidates[0].ref == "a/apples@1"
        assert again.sources()[0].tools == 2


def test_progress_is_told(index: ToolIndex) -> None:
    told: list[tuple[str, int, int]] = []
    import_sources(index, [data("a", "x"), data("b", "y")], progress=lambda *step: told.append(step))
    assert told[:2] == [("reading", 1, 2), ("reading", 2, 2)]
    assert told[-1][0] == "embedding"
    assert told[-1][1] == told[-1][2]


def test_words_of_a_command_line(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_text(
        json.dumps({"mcpServers": {"git": {"command": "uvx"}, "odd": {"comand": "x"}, "time": {"command": "uvx"}}})
    )
    config = str(tmp_path / "mcp.json")
    named = sources_from([config, "https://mcp.example.com/mcp", "tools.json"])
    names = [source.server.name for source in named.sources if isinstance(source, ServerSource)]
    assert names == ["git", "time", "mcp.example.com"]
    assert named.sources[-1] == FileSource(path=Path("tools.json"))
    assert named.refused[0].path == "/mcpServers/odd"
    assert [source.server.name for source in sources_from([config], server="time").sources] == ["time"]
    with pytest.raises(UpstreamConfigError, match="unknown key 'comand'"):
        sources_from([config], server="odd")
    with pytest.raises(UpstreamConfigError, match="lists no server 'nope'"):
        sources_from([config], server="nope")
    with pytest.raises(RequestError, match="names no host"):
        sources_from(["https:///mcp"])


def test_who_imported_stands_in_the_history(index: ToolIndex) -> None:
    import_sources(index, [data("a", "x")], author="ann")
    (event,) = index._live.registry.events(server="a", name="x")
    assert event.author == "ann"


NAMES = st.lists(st.sampled_from(["v", "w", "x", "y", "z"]), unique=True, max_size=5)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(steps=st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), NAMES), max_size=6))
def test_after_any_imports_each_server_has_its_last_list(steps: list[tuple[str, list[str]]]) -> None:
    with ToolIndex.create(None, rules=RuleBook.public(), encoder="hashed") as made:
        last: dict[str, list[str]] = {}
        for server, names in steps:
            import_sources(made, [data(server, *names)])
            last[server] = names
        assert refs(made) == sorted(f"{server}/{name}@1" for server, names in last.items() for name in names)


def test_a_reading_goes_through_json_and_back() -> None:
    (reading,) = readings_of(data("a", "x", "y"))
    again = Reading.model_validate_json(reading.model_dump_json(by_alias=True))
    assert again == reading
    assert [one.fingerprint for one in again.contracts] == [one.fingerprint for one in reading.contracts]
    with pytest.raises(ValueError, match="is not of the server 'b'"):
        Reading(server="b", origin="", contracts=reading.contracts)


def test_merging_keeps_order_and_marks_what_is_incomplete() -> None:
    first, second = readings_of(data("b", "x"), data("a", "x"))
    down = Reading(server="a", origin="there", error="no")
    found = merged([first, second, down])
    assert [reading.server for reading in found] == ["a", "b"]
    assert not found[0].complete
    assert found[0].error == ""


def test_reports_are_whole_only_if_nothing_is_missing() -> None:
    assert ImportReport().whole
    assert UpstreamError("x", server="a").server == "a"
