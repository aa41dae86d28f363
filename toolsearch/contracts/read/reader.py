"""Files, folders and data of any known format -> contracts. One bad tool never loses the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError

from toolsearch.contracts.enrich.foreign import ContractReader, ForeignTool
from toolsearch.contracts.enrich.relate import relate
from toolsearch.contracts.enrich.stated import contract_from
from toolsearch.contracts.read.anthropic import AnthropicTool
from toolsearch.contracts.read.contracts import ContractFormat, build_contract
from toolsearch.contracts.read.dataset import DatasetTool, numbered_names
from toolsearch.contracts.read.documents import MAX_BYTES, check_tree, decode, parse
from toolsearch.contracts.read.envelopes import Found, definitions
from toolsearch.contracts.read.gemini import GeminiTool
from toolsearch.contracts.read.langchain import LangChainTool
from toolsearch.contracts.read.mcp import McpTool
from toolsearch.contracts.read.openai import OpenAITool
from toolsearch.contracts.read.openapi import read_operation
from toolsearch.contracts.read.openapi_document import Operation
from toolsearch.contracts.read.places import Document, Syntax, placed
from toolsearch.contracts.read.provider_tools import ProviderTool
from toolsearch.contracts.read.restored import restored
from toolsearch.model.contract import ToolContract, ToolRef
from toolsearch.model.errors import ContractError, UnsupportedFormat

READERS: tuple[ContractReader, ...] = (
    DatasetTool(),
    ProviderTool(),
    GeminiTool(),
    LangChainTool(),
    OpenAITool(),
    AnthropicTool(),
    McpTool(),
)
"""The foreign formats, asked in this order."""

SUFFIXES: Mapping[str, Syntax | None] = {
    ".json": None,
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".yaml": "yaml",
    ".yml": "yaml",
}
"""File names that are read in a folder, and how they are written; None = found out."""

SCHEMA_FOLDER = "schemas"

_OWN = ContractFormat()
_KNOWN = "known are our contracts, MCP tools/list, OpenAI, Anthropic and Gemini tools, OpenAPI, and tools.jsonl"


@dataclass(frozen=True, slots=True)
class ReadReport:
    """What came of reading.

    Attributes:
        contracts: What was read, in the order found; identical repetitions once.
        refused: What could not be read, each with its source and position.
        ids: For benchmark catalogues: contract -> id of the line. Empty for other formats.
        found: Contract -> the definition it was made of, with its place.
    """

    contracts: tuple[ToolContract, ...] = ()
    refused: tuple[ContractError, ...] = ()
    ids: Mapping[ToolRef, str] = field(default_factory=dict)
    found: Mapping[ToolRef, Found] = field(default_factory=dict, repr=False)


def read_path(path: FilePath | str, *, server: str | None = None, trusted: bool = False) -> ReadReport:
    """Read a file, or every JSON, JSONL and YAML file in a folder, in the order of their paths.

    Hidden files and folders, and folders named `schemas`, are passed over. A schema name in a contract is looked up in
    the `schemas` folder inside or beside the folder that is read.

    Args:
        path: File or folder.
        server: Server of tools whose source names none.
        trusted: Whether hints of foreign definitions may lower an assumed risk. Our own contracts say so themselves.

    Raises:
        ContractError: If the path does not exist, or a single file cannot be read at all.
    """
    path = FilePath(path)
    if not path.exists():
        raise ContractError("does not exist", source=str(path), hint="name a file or a folder")
    root = path if path.is_dir() else path.parent
    schemas = tuple(folder for folder in (root / SCHEMA_FOLDER, root.parent / SCHEMA_FOLDER) if folder.is_dir())
    if not path.is_dir():
        found, faults = _open_file(path, server=server)
        return _read_all(found, faults, schemas=schemas, trusted=trusted)
    found, faults = [], []
    for file in _files(path):
        try:
            more, refused = _open_file(file, server=server)
        except ContractError as error:
            faults.append(error)
        else:
            found.extend(more)
            faults.extend(refused)
    return _read_all(found, faults, schemas=schemas, trusted=trusted)


def read_data(
    data: bytes | str | Mapping[str, Any] | Sequence[Any],
    *,
    source: str = "data",
    server: str | None = None,
    trusted: bool = False,
    syntax: Syntax | None = None,
    schemas: Sequence[FilePath] = (),
) -> ReadReport:
    """Read definitions from text or plain data of any known format.

    Args:
        data: JSON, JSONL or YAML text, or what such a text parses to.
        source: Label for errors.
        server: Server of tools whose source names none.
        trusted: Whether hints of foreign definitions may lower an assumed risk.
        syntax: How a text is written; None = found out.
        schemas: Folders in which schema names of our own contracts are looked up.

    Raises:
        ContractError: If the text cannot be parsed, or is larger or deeper than what is read.
        UnsupportedFormat: If no reader recognises any of it.
    """
    found, faults = _open(data, source=source, server=server, syntax=syntax)
    return _read_all(found, faults, schemas=schemas, trusted=trusted)


def load_contracts(
    path: FilePath | str, *, server: str | None = None, trusted: bool = False
) -> tuple[ToolContract, ...]:
    """Read a file or folder of which every definition must be right.

    Raises:
        ContractError: If any definition is refused; the message lists all of them.
    """
    report = read_path(path, server=server, trusted=trusted)
    if len(report.refused) == 1:
        raise report.refused[0]
    if report.refused:
        raise ContractError(
            f"{len(report.refused)} definitions are refused:\n" + "\n".join(map(str, report.refused)), source=str(path)
        )
    return report.contracts


def _files(folder: FilePath) -> list[FilePath]:
    def wanted(file: FilePath) -> bool:
        parts = file.relative_to(folder).parts
        hidden = any(part.startswith(".") for part in parts)
        return not hidden and SCHEMA_FOLDER not in parts[:-1] and file.suffix.lower() in SUFFIXES and file.is_file()

    return sorted(file for file in folder.rglob("*") if wanted(file))


def _open_file(file: FilePath, *, server: str | None) -> tuple[list[Found], list[ContractError]]:
    try:
        size = file.stat().st_size
        if size > MAX_BYTES:
            raise ContractError(
                f"has {size} bytes; at most {MAX_BYTES} are read", source=str(file), hint="split the file"
            )
        data = file.read_bytes()
    except OSError as error:
        raise ContractError(f"cannot be read: {error.strerror}", source=str(file)) from None
    return _open(data, source=str(file), server=server, syntax=SUFFIXES.get(file.suffix.lower()))


def _open(
    data: Any, *, source: str, server: str | None, syntax: Syntax | None
) -> tuple[list[Found], list[ContractError]]:
    if isinstance(data, bytes | bytearray | memoryview | str):
        text = decode(data if isinstance(data, str) else bytes(data), source=source)
        documents, faults = parse(text, source=source, syntax=syntax)
    else:
        check_tree(data, source=source)
        documents, faults = [Document(data)], []
    found = [one for document in documents for one in definitions(document, source=source, server=server)]
    if found and not faults and not any(_is_known(one) for one in found):
        raise UnsupportedFormat(
            "no reader recognises any of its definitions", source=source, path=found[0].place, hint=_KNOWN
        )
    return found, faults


def _is_known(one: Found) -> bool:
    if isinstance(one.data, Operation | ContractError):
        return True
    return isinstance(one.data, Mapping) and _reader_of(one) is not None


def _reader_of(one: Found) -> ContractReader | ContractFormat | None:
    if one.format:
        return next(reader for reader in READERS if reader.name == one.format)
    if _OWN.recognises(one.data):
        return _OWN
    return next((reader for reader in READERS if reader.recognises(one.data)), None)


def _read_all(
    found: list[Found], faults: list[ContractError], *, schemas: Sequence[FilePath], trusted: bool
) -> ReadReport:
    refused = list(faults)
    contracts: dict[ToolRef, tuple[ToolContract, Found]] = {}
    ids: dict[ToolRef, str] = {}
    names = numbered_names(
        one.data for one in found if isinstance(one.data, Mapping) and READERS[0].recognises(one.data)
    )
    for one in found:
        try:
            contract = _read_one(one, schemas=schemas, trusted=trusted, names=names)
            before = contracts.get(contract.ref)
            if before is not None and before[0].fingerprint != contract.fingerprint:
                raise ContractError(
                    f"{contract.ref} is defined differently at {before[1].source}:{before[1].place}",
                    source=one.source,
                    path=one.place,
                    hint="give one of them another version, name or server",
                )
        except ContractError as error:
            refused.append(error)
            continue
        contracts.setdefault(contract.ref, (contract, one))
        if contract.provenance.source == READERS[0].name and isinstance(identifier := one.data.get("id"), str):
            ids.setdefault(contract.ref, identifier)
    return ReadReport(
        contracts=relate(contract for contract, _ in contracts.values()),
        refused=tuple(refused),
        ids=ids,
        found={ref: one for ref, (_, one) in contracts.items()},
    )


def _read_one(one: Found, *, schemas: Sequence[FilePath], trusted: bool, names: Mapping[str, str]) -> ToolContract:
    if isinstance(one.data, ContractError):
        raise placed(one.data, source=one.source, path=one.place)
    if isinstance(one.data, Operation):
        operation = one.data
        return _enriched(one, lambda: read_operation(operation, server=one.server, trusted=trusted), trusted=trusted)
    if not isinstance(one.data, Mapping):
        raise UnsupportedFormat(
            f"has a {type(one.data).__name__} where a tool definition is expected", source=one.source, path=one.place
        )
    reader = _reader_of(one)
    if reader is None:
        keys = ", ".join(list(one.data)[:8])
        raise UnsupportedFormat(
            f"no reader recognises the keys {keys!r}", source=one.source, path=one.place, hint=_KNOWN
        )
    if isinstance(reader, ContractFormat):
        return build_contract(
            one.data, document=one.document, path=one.path, source=one.source, server=one.server, schemas=schemas
        )
    return _read_foreign(one, reader, trusted=trusted, names=names)


def _read_foreign(one: Found, reader: ContractReader, *, trusted: bool, names: Mapping[str, str]) -> ToolContract:
    contract = _enriched(one, lambda: reader.read(one.data, server=one.server, trusted=trusted), trusted=trusted)
    numbered = names.get(str(one.data.get("id"))) if reader is READERS[0] else None
    if numbered is None:
        return contract
    identity = contract.identity.model_copy(
        update={"name": numbered, "title": contract.identity.title or contract.identity.name}
    )
    return contract.model_copy(update={"identity": identity})


def _enriched(one: Found, read: Callable[[], ForeignTool], *, trusted: bool) -> ToolContract:
    try:
        tool = read()
        contract = contract_from(tool)
        return restored(
            contract,
            data=one.data if isinstance(one.data, Mapping) else {},
            description=tool.description,
            trusted=trusted,
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        path = ".".join(map(str, first["loc"]))
        raise ContractError(f"{path}: {first['msg']}", source=one.source, path=one.place) from None
    except ContractError as error:
        raise placed(error, source=one.source, path=one.place) from None
