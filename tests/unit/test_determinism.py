"""Same input, same bytes, under any hash seed: no set is iterated where its order could be seen."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import toolsearch

ROOT = Path(toolsearch.__file__).parent
ORDERLESS = {"sorted", "any", "all", "len", "min", "max", "sum", "set", "frozenset"}
"""What gives the same result in any order."""

HARMLESS = {
    ("cli/render_versions.py", "refs"): "joined only where it has one member",
    ("model/contract.py", "copied.__dict__.keys() - type(self).model_fields.keys()"): "deletes each",
    ("contracts/read/openapi_security.py", "rests"): "a union of all",
    ("contracts/lint/confusable.py", "names"): "asked by any()",
}

EXPORTS = """
import json
from toolsearch.contracts.export import export
from toolsearch.contracts.export.shapes import STRICT_FORMATS
from toolsearch.model.contract import ToolContract
number = {"type": "number", "minimum": 1, "maximum": 9, "multipleOf": 2, "exclusiveMinimum": 0, "exclusiveMaximum": 10}
text = {"type": "string", "pattern": "^a+$", "minLength": 1, "maxLength": 5, "format": "date"}
rows = {"type": "array", "items": number, "minItems": 1, "maxItems": 4}
contract = ToolContract.model_validate({
    "identity": {"name": "t", "server": "s"},
    "capability": {"does": "Sets a thing."},
    "input": {"schema": {"type": "object", "properties": {"n": number, "t": text, "r": rows}, "required": ["n"]}},
})
for form in sorted(STRICT_FORMATS, key=str):
    made = export(contract, format=form, api_name="t", strict=True)
    print(form, json.dumps(made.definition), json.dumps([loss.model_dump(mode="json") for loss in made.lost]))
"""


def _is_set(node: ast.AST, names: set[str]) -> bool:
    if isinstance(node, ast.Set | ast.SetComp):
        return True
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name):
            return node.func.id in {"set", "frozenset"}
        return isinstance(node.func, ast.Attribute) and node.func.attr in {"union", "intersection", "difference"}
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr | ast.Sub | ast.BitXor):
        return any(_is_set(side, names) or _is_keys(side) for side in (node.left, node.right))
    return False


def _is_keys(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"keys", "items"}


def _set_names(function: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and _is_set(node.value, set()):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and _says_set(node.annotation):
            names.add(node.target.id)
        elif isinstance(node, ast.arg) and _says_set(node.annotation):
            names.add(node.arg)
    return names


def _says_set(annotation: ast.AST | None) -> bool:
    return annotation is not None and ast.unparse(annotation).startswith(("set[", "frozenset["))


def _iterated(function: ast.AST) -> Iterator[ast.AST]:
    """Yield what is iterated in an order that can be seen."""
    orderless = {
        id(part)
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ORDERLESS
        for part in node.args
    }
    for node in ast.walk(function):
        if isinstance(node, ast.For):
            yield node.iter
        elif isinstance(node, ast.ListComp | ast.GeneratorExp | ast.DictComp) and id(node) not in orderless:
            yield from (generator.iter for generator in node.generators)
        elif isinstance(node, ast.Starred):
            yield node.value
        elif isinstance(node, ast.Call) and id(node) not in orderless:
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if name in {"list", "tuple", "next", "iter", "enumerate", "map", "zip", "join", "fromkeys", "extend"}:
                yield from node.args


def test_no_set_is_iterated_in_an_order_that_can_be_seen() -> None:
    found = set()
    for path in sorted(ROOT.rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                names = _set_names(function)
                file = path.relative_to(ROOT).as_posix()
                found |= {(file, ast.unparse(node)) for node in _iterated(function) if _is_set(node, names)}
    assert sorted(found - HARMLESS.keys()) == []


def test_strict_exports_are_the_same_bytes_under_three_hash_seeds() -> None:
    made = {
        subprocess.run(
            [sys.executable, "-c", EXPORTS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(made) == 1
    assert "minimum" in made.pop()
