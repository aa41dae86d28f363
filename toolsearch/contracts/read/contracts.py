"""Our own contracts: plain data -> ToolContract, with every fault named, placed and met by a suggestion."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any

from pydantic import BaseModel, ValidationError

from toolsearch.contracts.enrich.refs import inline_refs
from toolsearch.contracts.read.documents import decode, parse
from toolsearch.contracts.read.places import Document, Path, placed
from toolsearch.model.contract import (
    Access,
    Approval,
    Capability,
    Execution,
    Freshness,
    Identity,
    Inputs,
    Operational,
    Outputs,
    Provenance,
    Selection,
    ToolContract,
)
from toolsearch.model.errors import ContractError, UnresolvedReference

SECTIONS: dict[str, type[BaseModel]] = {
    "identity": Identity,
    "capability": Capability,
    "selection": Selection,
    "input": Inputs,
    "inputs": Inputs,
    "output": Outputs,
    "execution": Execution,
    "operational": Operational,
    "access": Access,
    "provenance": Provenance,
}
"""Section name as written -> its model."""

_NESTED: dict[tuple[str, str], type[BaseModel]] = {
    ("execution", "approval"): Approval,
    ("operational", "freshness"): Freshness,
}
# `input` alone is a key of other formats too, so it tells nothing.
_TELLING = frozenset(SECTIONS) - {"input", "inputs", "output"}
_SCHEMA_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_MAX_FAULTS = 20


class ContractFormat:
    """Reads one contract in our own canonical sections."""

    name = "contract"

    def recognises(self, data: Mapping[str, Any]) -> bool:
        """Tell whether any of the keys is a section that only our contracts have, or a slip of `identity`."""
        if not _TELLING.isdisjoint(data):
            return True
        return "name" not in data and any(difflib.get_close_matches(key, ["identity"], cutoff=0.8) for key in data)


def build_contract(
    data: Mapping[str, Any],
    *,
    document: Document,
    path: Path,
    source: str,
    server: str | None = None,
    schemas: Sequence[FilePath] = (),
) -> ToolContract:
    """Return the contract that the data describe.

    Local `$ref`s of its schemas are inlined, and a schema name is replaced by the schema of that name.

    Args:
        data: The sections.
        document: The document they stand in, for positions.
        path: Where in the document.
        source: Label for errors.
        server: Server of contracts that name none.
        schemas: Folders in which schema names are looked up, first match wins.

    Raises:
        ContractError: With all faults of the contract, the first one's position and the nearest known key.
    """
    filled = _with_server(data, server)
    try:
        contract = ToolContract.model_validate(filled)
    except ValidationError as error:
        raise _faults(error, data, document=document, path=path, source=source) from None
    return _with_schemas(contract, source=source, document=document, path=path, folders=schemas)


def _with_server(data: Mapping[str, Any], server: str | None) -> Mapping[str, Any]:
    identity = data.get("identity")
    if server is None or not isinstance(identity, Mapping) or "server" in identity:
        return data
    return {**data, "identity": {**identity, "server": server}}


def _faults(
    error: ValidationError, data: Mapping[str, Any], *, document: Document, path: Path, source: str
) -> ContractError:
    faults: dict[Path, list[str]] = {}
    hints: list[str] = []
    for fault in error.errors(include_url=False, include_context=False):
        key_path = _existing(data, _as_written(data, fault["loc"]))
        name = ".".join(map(str, _as_written(data, fault["loc"])))
        if fault["type"] == "extra_forbidden":
            text, hint = f"unknown key {key_path[-1]!r}", _nearest(key_path)
            if hint:
                hints.append(hint)
                text += f" ({hint})" if error.error_count() > 1 else ""
        else:
            shown = "" if isinstance(fault["input"], Mapping | list) else f", not {str(fault['input'])[:80]!r}"
            text = f"{name or 'contract'}: {_plain(fault['msg'])}{shown if fault['type'] != 'missing' else ''}"
        faults.setdefault(key_path, []).append(text)
    places = {key_path: document.place((*path, *key_path)) for key_path in list(faults)[:_MAX_FAULTS]}
    first = next(iter(places.values()))
    listed = [
        " or ".join(dict.fromkeys(faults[key_path])) + (f" at {place}" if len(places) > 1 else "")
        for key_path, place in places.items()
    ]
    more = f"; and {len(faults) - len(places)} more" if len(faults) > len(places) else ""
    return ContractError(
        "; ".join(listed) + more, source=source, path=first, hint=hints[0] if len(faults) == 1 and hints else ""
    )


def _plain(message: str) -> str:
    return message.removeprefix("Value error, ").replace("Input should", "should", 1)


def _as_written(data: Mapping[str, Any], loc: tuple[str | int, ...]) -> Path:
    """Undo the aliases that the model resolves before it validates."""
    if loc[:1] == ("input",) and "inputs" in data:
        return ("inputs", *loc[1:])
    operational = data.get("operational")
    if loc[:2] == ("execution", "side_effect") and isinstance(operational, Mapping) and "side_effect" in operational:
        return ("operational", *loc[1:])
    return loc


def _existing(data: Any, loc: Path) -> Path:
    """Return the longest prefix of a location that the data have; the rest is missing or names a union member."""
    for at, part in enumerate(loc):
        inside = isinstance(data, list) and isinstance(part, int) and part < len(data)
        if not inside and not (isinstance(data, Mapping) and part in data):
            return loc[:at]
        data = data[part]
    return loc


def _nearest(path: Path) -> str:
    """Return `did you mean 'x'?`, or the known keys of that place."""
    model = ToolContract if len(path) == 1 else SECTIONS.get(str(path[0]))
    if len(path) == 3:
        model = _NESTED.get((str(path[0]), str(path[1])))
    if model is None:
        return ""
    known = [info.alias or name for name, info in model.model_fields.items()]
    near = difflib.get_close_matches(str(path[-1]), known, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"


def _with_schemas(
    contract: ToolContract, *, source: str, document: Document, path: Path, folders: Sequence[FilePath]
) -> ToolContract:
    update: dict[str, Any] = {}
    for section in ("input", "output"):
        part = getattr(contract, section)
        schema = part.schema_
        if isinstance(schema, str):
            schema = _named_schema(schema, folders=folders)
        if isinstance(schema, dict):
            try:
                schema = inline_refs(schema, source="")
            except UnresolvedReference as error:
                raise placed(error, source=source, path=document.place((*path, section, "schema"))) from None
        if schema is not None and schema is not part.schema_:
            update[section] = part.model_copy(update={"schema_": schema})
    return contract.model_copy(update=update) if update else contract


def _named_schema(name: str, *, folders: Sequence[FilePath]) -> dict[str, Any] | None:
    """Return the schema in the file of that name, or None where there is no such file."""
    if not _SCHEMA_NAME.fullmatch(name):
        return None
    for folder in folders:
        for suffix in (".json", ".yaml", ".yml"):
            file = folder / f"{name}{suffix}"
            if not file.is_file():
                continue
            documents, _ = parse(
                decode(file.read_bytes(), source=str(file)),
                source=str(file),
                syntax="json" if suffix == ".json" else "yaml",
            )
            if len(documents) != 1 or not isinstance(documents[0].data, dict):
                raise ContractError("is not one JSON Schema object", source=str(file))
            return inline_refs(documents[0].data, source=str(file))
    return None


def dump_contract(contract: ToolContract) -> str:
    """Return the contract as indented JSON, as `read_data` reads it back to an equal contract."""
    return json.dumps(contract.canonical(), ensure_ascii=False, indent=2)
