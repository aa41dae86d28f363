"""Where a finding stands in the file that its contract was read from.

A finding points into the contract. In our own format that is a place in the file; in a foreign one the schema has its
place, and everything that was read from the description is placed there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearch.contracts.lint.finding import Finding, LintReport, Place
from toolsearch.contracts.read.contracts import ContractFormat
from toolsearch.contracts.read.envelopes import Found
from toolsearch.contracts.read.places import Path
from toolsearch.model.contract import ToolRef

_OWN = ContractFormat()
_SCHEMAS = ("inputSchema", "input_schema", "parameters", "parametersJsonSchema", "args_schema")
_FROM_PROSE = frozenset({"capability", "selection", "operational", "provenance"})


def path_of(pointer: str) -> Path:
    """Return the keys of a JSON pointer (RFC 6901), all of them texts."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def is_own(found: Found) -> bool:
    """Tell whether a definition is a contract of our own format."""
    return isinstance(found.data, Mapping) and _OWN.recognises(found.data)


def written_path(found: Found, pointer: str) -> Path:
    """Return where a place of a contract would stand in the definition, in the words of its format."""
    wanted = path_of(pointer)
    if not isinstance(found.data, Mapping):
        return ()
    return _as_written(found.data, wanted) if is_own(found) else _foreign(found.data, wanted)


def existing(data: Any, wanted: Path) -> Path:
    """Return the longest beginning of a path that the data have; list indices become numbers."""
    path: list[str | int] = []
    for part in wanted:
        if isinstance(data, Mapping) and part in data:
            data = data[part]
            path.append(part)
        elif isinstance(data, list) and str(part).isdigit() and int(part) < len(data):
            data = data[int(part)]
            path.append(int(part))
        else:
            break
    return tuple(path)


def located(report: LintReport, found: Mapping[ToolRef, Found]) -> LintReport:
    """Return the report with the place of each finding whose contract was read from a text."""
    by_ref = {str(ref): one for ref, one in found.items()}
    return report.model_copy(
        update={"findings": tuple(_located(finding, by_ref.get(finding.ref)) for finding in report.findings)}
    )


def _located(finding: Finding, found: Found | None) -> Finding:
    if found is None:
        return finding
    line, column = _mark(found, (*found.path, *existing(found.data, written_path(found, finding.pointer))))
    return finding.model_copy(update={"place": Place(source=found.source, line=line, column=column)})


def _mark(found: Found, path: Path) -> tuple[int, int]:
    document = found.document
    if document.origin is None:
        return 1, 1
    places = document.origin.places
    at = (document.index, *path) if document.origin.syntax == "yaml" else path
    line, column = places.get(at, (1, 1))
    return (document.line, column) if document.origin.syntax == "jsonl" else (line, column)


def _as_written(data: Mapping[str, Any], wanted: Path) -> Path:
    """Return the path with the aliases that the author wrote."""
    if wanted[:1] == ("input",) and "inputs" in data:
        return ("inputs", *wanted[1:])
    operational = data.get("operational")
    if wanted[:2] == ("execution", "side_effect") and isinstance(operational, Mapping) and "side_effect" in operational:
        return ("operational", *wanted[1:])
    return wanted


def _foreign(data: Mapping[str, Any], wanted: Path) -> Path:
    body: Path = ("function",) if isinstance(data.get("function"), Mapping) else ()
    inside = data["function"] if body else data
    if wanted[:2] == ("input", "schema"):
        key = next((name for name in _SCHEMAS if name in inside), "")
        return (*body, key, *wanted[2:])
    if wanted[:2] == ("output", "schema"):
        return (*body, "outputSchema", *wanted[2:])
    if wanted[:1] == ("identity",):
        return (*body, "name")
    if wanted[:1] == ("execution",):
        return (*body, "annotations") if "annotations" in inside else (*body, "name")
    return (*body, "description") if wanted and wanted[0] in _FROM_PROSE else (*body, "name")
