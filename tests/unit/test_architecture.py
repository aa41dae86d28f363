"""The shape of the house: thirteen rooms on floors, who may import whom, what is public, how light an import is."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

import toolsearch

ROOT = Path(toolsearch.__file__).parent
MAX_LINES = 500

ROOMS = (
    "model",
    "text",
    "store",
    "contracts",
    "search",
    "engine",
    "calls",
    "eval",
    "learn",
    "client",
    "serve",
    "cli",
    "adapters",
)
"""The rooms, lowest first. A module imports its own room and lower ones; `learn` judges what it fits with `eval`."""

FLOORS = {
    "text": (("analysis",), ("embed",)),
    "contracts": (("poison",), ("enrich",), ("export",), ("read",), ("lint", "change")),
    "search": (("visibility",), ("index",), ("understand", "inputs"), ("rank",)),
    "engine": (),
    "calls": (("upstream",), ("importing", "gateway")),
}
"""The folders of a room, lowest first; those side by side import nothing of each other."""

FORBIDDEN = [
    ("toolsearch.search.visibility", "toolsearch.search.index", "permission must not depend on the index"),
    ("toolsearch.search.visibility", "toolsearch.search.rank", "permission must not depend on relevance"),
    ("toolsearch.search.visibility", "toolsearch.text.embed", "permission must not depend on relevance"),
    ("toolsearch.eval.metrics", "toolsearch", "metrics stand on their own"),
    ("toolsearch.contracts.read", "toolsearch.search", "readers know contracts only"),
    ("toolsearch.search.rank", "toolsearch.store", "stages read no files"),
    ("toolsearch", "benchmarks", "what is measured here does not ship"),
    ("toolsearch", "tests", "tests do not ship"),
]

# Heavy packages and the modules that may import them.
HOMES = {
    "faiss": {"toolsearch.search.index.vectors"},
    "duckdb": {"toolsearch.store.database"},
    "jsonschema": {"toolsearch.search.inputs"},
    "onnxruntime": {"toolsearch.text.embed.onnx", "toolsearch.text.embed.bundled"},
    "tokenizers": {"toolsearch.text.embed.onnx", "toolsearch.text.embed.bundled"},
    "sentence_transformers": {"toolsearch.text.embed.sentence_transformers", "toolsearch.text.embed.cross_encoder"},
    "torch": set(),
    "rank_bm25": {"toolsearch.search.index.reference"},
    "fastapi": {"toolsearch.serve"},
    "typer": {"toolsearch.cli"},
    "rich": {"toolsearch.cli"},
    "mcp": {"toolsearch.adapters.openai_agents", "toolsearch.calls.upstream", "toolsearch.serve"},
    "httpx2": {"toolsearch.client", "toolsearch.calls.upstream"},
    "agents": {"toolsearch.adapters.openai_agents"},
    "pydantic_ai": {"toolsearch.adapters.pydantic_ai"},
}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


@cache
def imports(name: str) -> tuple[str, ...]:
    """Return the absolute names a module imports, `from x import y` as `x.y` where that is a module."""
    found = []
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative import"
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [each if each in MODULES else str(node.module) for each in inner]
    return tuple(found)


def within(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(f"{prefix}.")


def room(name: str) -> str:
    """Return the room of a module; "" for the package itself."""
    return name.split(".")[1] if "." in name else ""


def folder(name: str) -> str:
    """Return the folder of a module inside its room; "" where it stands in the room itself."""
    inside = MODULES[name].relative_to(ROOT).parts
    return inside[1] if len(inside) > 2 else ""


def arrows() -> list[tuple[str, str]]:
    """Return (importer, imported) between modules of ours."""
    return [(name, target) for name in MODULES for target in imports(name) if target in MODULES]


def test_every_module_stands_in_a_room() -> None:
    assert {room(name) for name in MODULES} - {""} == set(ROOMS)
    assert [path.name for path in ROOT.glob("*.py")] == ["__init__.py"]
    inside = {(room(name), folder(name)) for name in MODULES if room(name) in FLOORS and folder(name)}
    known = {(name, each) for name, floors in FLOORS.items() for floor in floors for each in floor}
    assert sorted(inside - known - {("engine", "sessions")}) == []


def test_rooms_import_downward_only() -> None:
    upward = [
        f"{name} imports {target}"
        for name, target in arrows()
        if room(name) and room(target) and ROOMS.index(room(target)) > ROOMS.index(room(name))
    ]
    assert upward == []


def test_folders_of_a_room_import_downward_only() -> None:
    height = {(name, each): at for name, floors in FLOORS.items() for at, floor in enumerate(floors) for each in floor}
    upward = []
    for name, target in arrows():
        here, there = (room(name), folder(name)), (room(target), folder(target))
        apart = here[0] == there[0] and here != there and here in height and there in height
        if apart and height[there] >= height[here]:
            upward.append(f"{name} imports {target}")
    assert upward == []


def test_what_is_forbidden() -> None:
    broken = [
        f"{name} imports {target}: {why}"
        for name in MODULES
        for target in imports(name)
        for importer, imported, why in FORBIDDEN
        if within(name, importer) and within(target, imported)
    ]
    assert broken == []


def test_model_imports_nothing_of_ours() -> None:
    found = [f"{name}: {target}" for name, target in arrows() if room(name) == "model" and room(target) != "model"]
    assert found == []


def test_modules_do_not_import_in_a_circle() -> None:
    """Imports at the top of a module, as those inside functions are made when all is loaded."""
    graph = {name: _at_import(name) for name in MODULES}
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " -> ".join((*way[way.index(name) :], name)) if name in way else ""
        if name not in done:
            for target in graph[name]:
                visit(target, (*way, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def _at_import(name: str) -> list[str]:
    found = []
    for node in ast.parse(MODULES[name].read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [each if each in MODULES else str(node.module) for each in inner]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return [target for target in dict.fromkeys(found) if target in MODULES and target != "toolsearch"]


def test_heavy_packages_have_one_home() -> None:
    astray = [
        f"{name} imports {target}"
        for name in MODULES
        for target in imports(name)
        if (homes := HOMES.get(target.split(".")[0])) is not None and not any(within(name, home) for home in homes)
    ]
    assert astray == []


def test_no_file_is_too_long() -> None:
    lines = {name: len(path.read_text("utf-8").splitlines()) for name, path in MODULES.items()}
    assert {name: count for name, count in lines.items() if count > MAX_LINES} == {}


def test_public_names_are_sorted_few_and_there() -> None:
    assert all(left < right for left, right in pairwise(toolsearch.__all__))
    assert len(toolsearch.__all__) <= 24
    for name in toolsearch.__all__:
        assert getattr(toolsearch, name).__name__ == name


def test_unknown_public_name() -> None:
    with pytest.raises(AttributeError, match="Manager"):
        _ = toolsearch.Manager


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import toolsearch", ["torch", "onnxruntime", "fastapi", "mcp", "faiss", "duckdb", "numpy"]),
        ("from toolsearch import ToolIndex", ["torch", "onnxruntime", "fastapi", "mcp", "faiss", "tokenizers"]),
    ],
)
def test_import_stays_light(statement: str, absent: list[str]) -> None:
    code = f"{statement}; import sys; print([name for name in {absent!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
