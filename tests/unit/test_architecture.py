"""The shape of the house: who may import whom, what is public, how long a file may be, how light an import is."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import toolsearch

ROOT = Path(toolsearch.__file__).parent
MAX_LINES = 500

# A module may import modules of its own layer or of a lower one. Longest prefix counts.
LAYERS = {
    "toolsearch.errors": 0,
    "toolsearch.problem": 0,
    "toolsearch.contract": 0,
    "toolsearch.query": 0,
    "toolsearch.result": 0,
    "toolsearch.explain": 0,
    "toolsearch.arguments.problem": 0,
    "toolsearch.preparation": 0,
    "toolsearch.config": 0,
    "toolsearch.analysis": 1,
    "toolsearch.visibility": 1,
    "toolsearch.embed": 1,
    "toolsearch.ingest": 1,
    "toolsearch.export": 1,
    "toolsearch.store": 2,
    "toolsearch.index": 2,
    "toolsearch.upstream": 2,
    "toolsearch.rank": 3,
    "toolsearch.lint": 3,
    "toolsearch.arguments": 3,
    "toolsearch.state": 4,
    "toolsearch.answer": 5,
    "toolsearch.decision": 5,
    "toolsearch.naming": 5,
    "toolsearch.prepare": 5,
    "toolsearch.live": 5,
    "toolsearch.memory": 4,
    "toolsearch.models": 4,
    "toolsearch.stopwatch": 0,
    "toolsearch.versions": 5,
    "toolsearch.sessions": 5,
    "toolsearch.upkeep": 6,
    "toolsearch.engine": 6,
    "toolsearch": 6,
    "toolsearch.settings": 7,
    "toolsearch.eval": 7,
    "toolsearch.importing": 7,
    "toolsearch.learning": 7,
    "toolsearch.gateway": 7,
    "toolsearch.client": 7,
    "toolsearch.serve": 8,
    "toolsearch.cli": 9,
    "toolsearch.training": 9,
    "toolsearch.adapters": 9,
}

FORBIDDEN = [
    ("toolsearch.visibility", "toolsearch.index", "permission must not depend on the index"),
    ("toolsearch.visibility", "toolsearch.rank", "permission must not depend on relevance"),
    ("toolsearch.visibility", "toolsearch.embed", "permission must not depend on relevance"),
    ("toolsearch.eval.metrics", "toolsearch", "metrics stand on their own"),
    ("toolsearch.ingest", "toolsearch.index", "readers know contracts only"),
    ("toolsearch.rank", "toolsearch.store", "stages read no files"),
]

# Heavy packages and the modules that may import them.
HOMES = {
    "faiss": {"toolsearch.index.vectors"},
    "duckdb": {"toolsearch.store.database"},
    "jsonschema": {"toolsearch.arguments"},
    "onnxruntime": {"toolsearch.embed.onnx", "toolsearch.embed.bundled", "toolsearch.training"},
    "tokenizers": {"toolsearch.embed.onnx", "toolsearch.embed.bundled", "toolsearch.training"},
    "sentence_transformers": {
        "toolsearch.embed.sentence_transformers",
        "toolsearch.embed.cross_encoder",
        "toolsearch.training",
    },
    "torch": {"toolsearch.training"},
    "rank_bm25": {"toolsearch.index.reference"},
    "fastapi": {"toolsearch.serve"},
    "typer": {"toolsearch.cli"},
    "rich": {"toolsearch.cli"},
    "mcp": {"toolsearch.adapters.openai_agents", "toolsearch.upstream", "toolsearch.serve"},
    "httpx2": {"toolsearch.client", "toolsearch.upstream"},
    "agents": {"toolsearch.adapters.openai_agents"},
    "pydantic_ai": {"toolsearch.adapters.pydantic_ai"},
}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> list[str]:
    """Return the absolute names a module imports, `from x import y` as `x.y` where that is a module."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                is_module = (ROOT.parent / inner.replace(".", "/")).with_suffix(".py").exists()
                found.append(inner if is_module else str(node.module))
    return found


def within(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(f"{prefix}.")


def layer(name: str) -> int:
    prefix = max((known for known in LAYERS if within(name, known)), key=len)
    return LAYERS[prefix]


MODULES = sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_imports_point_downward(path: Path) -> None:
    name = module_name(path)
    for target in imports(path):
        if not within(target, "toolsearch") or name == "toolsearch":
            continue
        assert layer(target) <= layer(name) or target == "toolsearch", f"{name} imports {target}, a higher layer"
        for importer, imported, why in FORBIDDEN:
            assert not (within(name, importer) and within(target, imported)), f"{name} imports {target}: {why}"


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_heavy_packages_have_one_home(path: Path) -> None:
    name = module_name(path)
    for target in imports(path):
        homes = HOMES.get(target.split(".")[0])
        assert homes is None or any(within(name, home) for home in homes), f"{name} imports {target}"


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_no_file_is_too_long(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


def test_public_names_are_sorted_few_and_there() -> None:
    assert toolsearch.__all__ == sorted(toolsearch.__all__)
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
