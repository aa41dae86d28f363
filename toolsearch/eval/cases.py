"""Case files: requests with what must come of them, for one's own catalogue.

The format is a superset of a plain fixture of the shape `{"cases": [{"input": ..., "expect": {"tool": ...}}]}`:
everything else has a default. A file is YAML or JSON; every mistake is reported with file and line.
`toolsearch.eval.judge` decides whether an answer meets a case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Self, TypeVar

from pydantic import AwareDatetime, Field, ValidationError, field_validator, model_validator

from toolsearch.eval.positions import Location, Positions, read_with_positions
from toolsearch.model.answer import OutcomeKind
from toolsearch.model.contract import Frozen
from toolsearch.model.errors import DataError
from toolsearch.model.request import Principal, Restriction, SearchRequest

CaseKind = Literal[
    "single", "multi", "none", "permission", "missing_input", "freshness", "boundary", "confusable", "confirm"
]
PRINCIPALS_FILE = "principals.yaml"
"""Shared principals of a folder of case files."""

ANONYMOUS = "anonymous"

KIND_NAMES: Mapping[str, str] = MappingProxyType({"negative": "none", "adversarial": "permission"})
"""Other names of kinds. `positive` is whatever the expectation says."""


class Expectation(Frozen):
    """What must be true of the answer.

    Every stated key must hold; tools are named `name`, `server/name` or in full.
    """

    tool: str | tuple[str, ...] | None = Field(
        default=None, description="The top answer, or the acceptable ones; null = no tool fits."
    )
    tools: tuple[str, ...] = Field(default=(), description="All of these are among the candidates.")
    not_: tuple[str, ...] = Field(default=(), alias="not", description="None of these is offered.")
    above: dict[str, str] = Field(default_factory=dict, description="{a: b}: a is offered, b not before it.")
    outcome: OutcomeKind | None = None
    missing: tuple[str, ...] = Field(default=(), description="Inputs named as missing for the expected tool.")
    obtain_from: dict[str, str] = Field(default_factory=dict, description="Missing input -> tool that produces it.")
    requires_confirmation: bool | None = Field(
        default=None,
        alias="requiresConfirmation",
        description="True: the tool needs approval, comes after a read-only one, or is withheld.",
    )
    args: dict[str, Any] = Field(
        default_factory=dict, description="Input -> value; what the answer found in the request must agree."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("states nothing; write at least one of tool, tools, not, above, outcome, missing")
        if self.expects_none and (self.tools or self.missing or self.obtain_from or self.requires_confirmation):
            raise ValueError("has `tool: null` together with keys that need a tool; keep one side")
        return self

    @field_validator("tool")
    @classmethod
    def _some(cls, tool: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        if tool is not None and not tool:
            raise ValueError("is empty; name a tool, or write null for no tool")
        return tool

    @property
    def expects_none(self) -> bool:
        """Tell whether `tool: null` is written; a key that is not there expects nothing."""
        return "tool" in self.model_fields_set and self.tool is None

    @property
    def accepted(self) -> tuple[str, ...]:
        """Return the acceptable top answers; () where none is stated."""
        return (self.tool,) if isinstance(self.tool, str) else self.tool or ()


class Case(Frozen):
    """One request, on whose behalf, and what must come of it."""

    id: str = Field(min_length=1)
    split: str = "test"
    lang: str = Field(default="en", description="Language code; mixed = request and contract in two languages.")
    kind: CaseKind = "single"
    risk: Literal["low", "high"] = "low"
    input: str = Field(min_length=1)
    principal: str = ANONYMOUS
    inputs: dict[str, Any] = Field(default_factory=dict)
    now: AwareDatetime | None = None
    note: str = ""
    expect: Expectation

    @model_validator(mode="before")
    @classmethod
    def _kind_from_expectation(cls, data: Any) -> Any:
        """Set the kind a plain fixture leaves out, from what it expects; read other names of kinds."""
        expect = data.get("expect") if isinstance(data, Mapping) else None
        kind = data.get("kind") if isinstance(data, Mapping) else None
        if isinstance(kind, str) and kind in KIND_NAMES:
            return {**data, "kind": KIND_NAMES[kind]}
        if not isinstance(expect, Mapping) or kind not in (None, "positive"):
            return data
        kinds = {"none": "tool" in expect and expect["tool"] is None, "multi": bool(expect.get("tools"))}
        kinds["confirm"] = bool(expect.get("requiresConfirmation"))
        return {**data, "kind": next((kind for kind, holds in kinds.items() if holds), "single")}

    def request(self, *, k: int | None = None, tools: tuple[str, ...] = ()) -> SearchRequest:
        """Return the search request of the case.

        Args:
            k: Most candidates; None = by situation.
            tools: Names the catalogue is narrowed to; () = all.
        """
        restrict = Restriction(tools=tools) if tools else None
        return SearchRequest(text=self.input, inputs=self.inputs, now=self.now, k=k, restrict=restrict)


class CaseFile(Frozen):
    """The content of one case file."""

    name: str = ""
    catalog: str | tuple[str, ...] = Field(default="", description="Index folder name, or contract files.")
    principals: dict[str, Principal] = Field(default_factory=dict)
    tools: tuple[str, ...] = Field(default=(), description="The only tools of the catalogue; () = all.")
    model: str = Field(default="", description="Accepted for plain fixtures; no model takes part.")
    temperature: float | None = Field(default=None, description="Accepted for plain fixtures.")
    cases: tuple[Case, ...] = Field(min_length=1)


class PrincipalsFile(Frozen):
    """The content of `principals.yaml`."""

    principals: dict[str, Principal]


Model = TypeVar("Model", CaseFile, PrincipalsFile)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSuite:
    """The cases of one file with everything they refer to.

    Attributes:
        name: Name of the file's cases.
        source: The file.
        catalog: As written: an index folder name, contract files, or "".
        tools: Names the catalogue is narrowed to; () = all.
        cases: In file order.
        principals: Name -> principal: shared ones, the file's own over them, and `anonymous`.
    """

    name: str
    source: Path
    catalog: str | tuple[str, ...]
    tools: tuple[str, ...]
    cases: tuple[Case, ...]
    principals: Mapping[str, Principal]

    def principal(self, case: Case) -> Principal:
        """Return on whose behalf a case asks."""
        return self.principals[case.principal]


def load_cases(path: Path) -> tuple[CaseSuite, ...]:
    """Read one case file, or every case file of a folder in name order.

    Principals of a `principals.yaml` in the same folder are known to all files.

    Raises:
        DataError: If a file is wrong, with the line; if a case id stands twice; or if there is no case file.
    """
    folder = path if path.is_dir() else path.parent
    files = _case_files(folder) if path.is_dir() else [path]
    if not files:
        raise DataError("holds no case file (*.yaml, *.yml, *.json)", source=str(path))
    shared: dict[str, Principal] = {ANONYMOUS: Principal()}
    if (folder / PRINCIPALS_FILE).is_file():
        shared |= _read(folder / PRINCIPALS_FILE, PrincipalsFile)[0].principals
    seen: dict[str, str] = {}
    return tuple(_suite(file, shared, seen) for file in files)


def _case_files(folder: Path) -> list[Path]:
    known = {".yaml", ".yml", ".json"}
    return sorted(file for file in folder.iterdir() if file.suffix in known and file.name != PRINCIPALS_FILE)


def _suite(file: Path, shared: Mapping[str, Principal], seen: dict[str, str]) -> CaseSuite:
    content, positions = _read(file, CaseFile)
    principals = {**shared, **content.principals}
    for index, case in enumerate(content.cases):
        line = positions.line(("cases", index))
        if case.id in seen:
            raise DataError(f"case id {case.id!r} stands at {seen[case.id]} already", source=str(file), line=line)
        seen[case.id] = f"{file}:{line}"
        if case.principal not in principals:
            message = f"case {case.id!r} names the principal {case.principal!r}; known: {', '.join(sorted(principals))}"
            raise DataError(message, source=str(file), line=line)
    return CaseSuite(
        name=content.name or file.stem,
        source=file,
        catalog=content.catalog,
        tools=content.tools,
        cases=content.cases,
        principals=MappingProxyType(principals),
    )


def _read(file: Path, model: type[Model]) -> tuple[Model, Positions]:
    data, positions = read_with_positions(file)
    if model is CaseFile:
        data = _with_ids(data, file.stem)
    try:
        return model.model_validate(data), positions
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place: Location = tuple(part for part in first["loc"] if part not in ("str", "tuple[str, ...]"))
        where = ".".join(map(str, place))
        message = f"{where}: {first['msg'].removeprefix('Value error, ')}"
        if first["type"] == "extra_forbidden":
            message = f"{where}: unknown key"
        raise DataError(message, source=str(file), line=positions.line(place)) from None


def _with_ids(data: Any, stem: str) -> Any:
    """Give cases without an id one made of the file's name and their place."""
    if not isinstance(data, Mapping) or not isinstance(data.get("cases"), list):
        return data
    prefix = data.get("name") or stem
    cases = [
        {"id": f"{prefix}-{number:03}", **case} if isinstance(case, Mapping) else case
        for number, case in enumerate(data["cases"], start=1)
    ]
    return {**data, "cases": cases}
