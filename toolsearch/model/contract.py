"""The tool contract: the source of truth about one tool, and its canonical form.

A contract is declared data, validated once at the edge. Unknown keys are errors that name the nearest known key
(`toolsearch.contracts.read.contracts` adds the file position). Aliases read on input: `inputs` for `input`,
`operational.side_effect` for `execution.side_effect`, a plain string for `operational.freshness` and for
`execution.approval`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from enum import IntEnum, StrEnum
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    model_validator,
)

from toolsearch.model.errors import ContractError, RequestError

MAX_TEXT = 20_000
"""Longest single text of a contract, in characters; real tool descriptions stay below 15,000."""

NamePart = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^[^\s/@\x00-\x1f]+$")]
"""A tool or server name: no white space, no `/`, no `@`, which separate the parts of a ToolRef."""

Text = Annotated[str, StringConstraints(max_length=MAX_TEXT)]


class SideEffect(IntEnum):
    """How much a call changes the world, in rising order of risk; written as its lower-case name."""

    NONE = 0
    READ_ONLY = 1
    REVERSIBLE = 2
    IRREVERSIBLE = 3

    @property
    def label(self) -> str:
        """Return the name as written in contracts and answers, e.g. `read_only`."""
        return self.name.lower()


def _parse_side_effect(value: object) -> object:
    if isinstance(value, str):
        try:
            return SideEffect[value.strip().upper().replace("-", "_")]
        except KeyError:
            known = ", ".join(member.label for member in SideEffect)
            raise ValueError(f"side effect {value!r} is not one of {known}") from None
    if isinstance(value, bool | float):  # equal to a member's number, yet never meant as one
        raise ValueError(f"side effect {value!r} is not text; write its name, such as 'read_only'")
    return value


SideEffectField = Annotated[
    SideEffect,
    BeforeValidator(
        _parse_side_effect, json_schema_input_type=Literal["none", "read_only", "reversible", "irreversible"]
    ),
    PlainSerializer(
        lambda effect: effect.label,
        return_type=Literal["none", "read_only", "reversible", "irreversible"],
    ),
]


class CostClass(StrEnum):
    """Price class of one call."""

    FREE = "free"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Origin(StrEnum):
    """Where the value of a contract field comes from."""

    DECLARED = "declared"
    INFERRED = "inferred"
    LEARNED = "learned"


_REF = re.compile(r"^(?P<server>[^\s/@]+)/(?P<name>[^\s/@]+)@(?P<version>[1-9][0-9]{0,8})$")


class ToolRef(NamedTuple):
    """Identity of one contract version, written `server/name@version`. Sorts by server, name, version."""

    server: str
    name: str
    version: int

    def __str__(self) -> str:
        return f"{self.server}/{self.name}@{self.version}"

    @classmethod
    def parse(cls, text: str) -> ToolRef:
        """Read `server/name@version`.

        Raises:
            RequestError: If the text has another form.
        """
        match = _REF.match(text)
        if match is None:
            raise RequestError(f"{text[:200]!r} is not a tool reference; write server/name@version", field="ref")
        return cls(match["server"], match["name"], int(match["version"]))


class Frozen(BaseModel):
    """Base of all edge models: immutable, unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with some fields replaced; what was computed from the old ones is not carried over."""
        copied = super().model_copy(update=update, deep=deep)
        for name in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[name]
        return copied


class Identity(Frozen):
    """Which tool this is."""

    name: NamePart
    version: int = Field(default=1, ge=1, le=999_999_999)
    title: Text = ""
    aliases: tuple[Text, ...] = ()
    domain: Text = ""
    server: NamePart = "local"


class Capability(Frozen):
    """What the tool does, and what it does not."""

    does: Text = ""
    does_not: tuple[Text, ...] = ()
    examples: tuple[Text, ...] = Field(default=(), description="Typical requests, in any language.")
    tags: tuple[Text, ...] = ()


class Selection(Frozen):
    """When to choose this tool, and which neighbour to choose instead."""

    use_when: tuple[Text, ...] = ()
    do_not_use_when: tuple[Text, ...] = ()
    adjacent_tools: dict[str, Text] = Field(default_factory=dict, description="Tool name -> when that one instead.")


class Inputs(Frozen):
    """What a call needs."""

    schema_: dict[str, Any] | Text = Field(
        default_factory=dict,
        alias="schema",
        description="A JSON Schema object, or the name of one in schemas/.",
    )
    required: tuple[str, ...] = ()
    semantics: dict[str, Text] = Field(default_factory=dict)
    semantic_rules: tuple[Text, ...] = ()
    clarification_fields: tuple[str, ...] = ()
    forbidden_inference_fields: tuple[str, ...] = ()


class Outputs(Frozen):
    """What a call returns."""

    schema_: dict[str, Any] | Text = Field(default_factory=dict, alias="schema")
    produces: dict[str, str] = Field(
        default_factory=dict, description="Entity (e.g. order_id) -> path in the result where it stands."
    )
    success_evidence: tuple[str, ...] = ()
    error_taxonomy: tuple[str, ...] = ()


class Approval(Frozen):
    """When a person must approve the call."""

    required_when: Text


class Execution(Frozen):
    """How a call behaves. `side_effect` None means nobody said: exposure treats it as irreversible."""

    side_effect: SideEffectField | None = None
    idempotency: Text = ""
    timeout_ms: int | None = Field(default=None, ge=1, le=86_400_000)
    retry: dict[str, str | int | float | bool] = Field(default_factory=dict)
    approval: Approval | None = None

    @model_validator(mode="before")
    @classmethod
    def _plain_approval(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and isinstance(data.get("approval"), str):
            return {**data, "approval": {"required_when": data["approval"]}}
        return data


_DURATION = re.compile(
    r"P(?!$)(?:(?P<weeks>\d{1,5})W)?(?:(?P<days>\d{1,6})D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d{1,7})H)?(?:(?P<minutes>\d{1,8})M)?(?:(?P<seconds>\d{1,9}(?:\.\d{1,6})?)S)?)?"
)


def parse_duration(text: str) -> timedelta:
    """Read an ISO 8601 duration made of weeks, days, hours, minutes and seconds (months and years have no length).

    Raises:
        ValueError: If the text has another form.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:64]!r} is not an ISO 8601 duration of weeks to seconds, such as PT15M or P1D")
    return timedelta(**{unit: float(number) for unit, number in match.groupdict(default="0").items()})


def _checked_duration(text: str) -> str:
    parse_duration(text)
    return text


class Freshness(Frozen):
    """How old the data may be: a sentence, and the bound as an ISO 8601 duration of weeks to seconds (PT0S = live)."""

    text: Text = ""
    max_staleness: Annotated[str, AfterValidator(_checked_duration)] | None = None


class Operational(Frozen):
    """What the tool costs and who runs it."""

    freshness: Freshness = Freshness()
    typical_latency_ms: float | None = Field(default=None, ge=0)
    cost_class: CostClass | None = None
    result_scale: Text = ""
    owner: Text = ""
    support_runbook: Text = ""

    @model_validator(mode="before")
    @classmethod
    def _plain_freshness(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and isinstance(data.get("freshness"), str):
            return {**data, "freshness": {"text": data["freshness"]}}
        return data


class Access(Frozen):
    """Who may call the tool. All stated requirements must hold; stating none grants nothing."""

    scopes_all: tuple[str, ...] = ()
    scopes_any: tuple[str, ...] = ()
    roles_any: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()

    @property
    def declared(self) -> bool:
        """Tell whether any requirement is stated."""
        return bool(self.scopes_all or self.scopes_any or self.roles_any or self.tenants or self.environments)


class Provenance(Frozen):
    """Where the contract comes from, and which of its fields were not declared by its author."""

    source: Text = ""
    trusted: bool = True
    fields: dict[str, Origin] = Field(
        default_factory=dict, description="Dotted field path -> origin; a field not named is declared."
    )
    confidence: dict[str, Annotated[float, Field(ge=0, le=1)]] = Field(
        default_factory=dict, description="Dotted field path -> how far an inferred or learned value is to be trusted."
    )
    authors: dict[str, Text] = Field(
        default_factory=dict, description="Dotted field path -> who proposed and approved a learned value."
    )
    notes: tuple[Text, ...] = Field(
        default=(), description="What a reader had to decide: cut texts, hints that were overruled."
    )


class ToolContract(Frozen):
    """One tool, described for choosing and calling it."""

    identity: Identity
    capability: Capability = Capability()
    selection: Selection = Selection()
    input: Inputs = Inputs()
    output: Outputs = Outputs()
    execution: Execution = Execution()
    operational: Operational = Operational()
    access: Access = Access()
    provenance: Provenance = Provenance()

    @model_validator(mode="before")
    @classmethod
    def _aliases(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        data = dict(data)
        if "inputs" in data:
            if "input" in data:
                raise ValueError("has both 'input' and 'inputs': keep one")
            data["input"] = data.pop("inputs")
        operational = data.get("operational")
        if isinstance(operational, Mapping) and "side_effect" in operational:
            execution = data.get("execution", {})
            if isinstance(execution, Mapping):
                if "side_effect" in execution:
                    raise ValueError("states side_effect under both 'execution' and 'operational': keep one")
                data["execution"] = {**execution, "side_effect": operational["side_effect"]}
                data["operational"] = {key: value for key, value in operational.items() if key != "side_effect"}
        return data

    @cached_property
    def ref(self) -> ToolRef:
        """Return `server/name@version` as a sortable tuple."""
        return ToolRef(self.identity.server, self.identity.name, self.identity.version)

    @property
    def assumed_side_effect(self) -> SideEffect:
        """Return the declared side effect, or `irreversible` where nothing is known."""
        effect = self.execution.side_effect
        return SideEffect.IRREVERSIBLE if effect is None else effect

    @property
    def input_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the input; `{}` where only a name is known."""
        return self.input.schema_ if isinstance(self.input.schema_, dict) else {}

    @cached_property
    def required_inputs(self) -> tuple[str, ...]:
        """Return the required parameters: declared ones first, then those of the schema, each once."""
        schema_required = self.input_schema.get("required", ())
        names = [
            *self.input.required,
            *(schema_required if isinstance(schema_required, list | tuple) else ()),
        ]
        return tuple(dict.fromkeys(name for name in names if isinstance(name, str)))

    def naming_only(self, shown: Mapping[str, str]) -> ToolContract:
        """Return the contract with only the given adjacent tools: declared name -> name to show."""
        declared = self.selection.adjacent_tools
        kept = {shown[name]: when for name, when in declared.items() if name in shown}
        if kept == declared:
            return self
        parts = {name: getattr(self, name) for name in type(self).model_fields}
        parts["selection"] = self.selection.model_copy(update={"adjacent_tools": kept})
        # Not model_copy: it would carry over the fingerprint and texts cached on this object.
        return type(self).model_construct(**parts)

    def canonical(self) -> dict[str, Any]:
        """Return the plain data that the canonical JSON is made of: defaults left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)

    @cached_property
    def canonical_json(self) -> str:
        """Return the canonical JSON text: sorted keys, no white space, defaults left out, always valid UTF-8."""
        return _json_text(self.canonical(), sort_keys=True)

    @cached_property
    def stored_json(self) -> str:
        """Return what stores keep: the canonical data on one line, keys in the author's order.

        The order of parameters is the author's message to the model, so it outlives the store; the fingerprint
        does not depend on it.
        """
        return _json_text(self.canonical(), sort_keys=False)

    @classmethod
    def from_stored(cls, text: str | bytes) -> ToolContract:
        """Read `stored_json` back; the result equals the contract that wrote it.

        Raises:
            ValueError: If the text is not JSON, or not a contract.
        """
        try:
            return cls.model_validate_json(text)
        except ValueError:
            # The fast parser refuses what `json` accepts inside schemas: lone surrogates.
            return cls.model_validate(json.loads(text))

    @cached_property
    def fingerprint(self) -> str:
        """Return the sha256 of the canonical JSON, in hex."""
        return hashlib.sha256(self.canonical_json.encode()).hexdigest()


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def _json_text(data: dict[str, Any], *, sort_keys: bool) -> str:
    text = json.dumps(data, ensure_ascii=False, sort_keys=sort_keys, separators=(",", ":"))
    return _LONE_SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def by_ref(contracts: Iterable[ToolContract]) -> dict[ToolRef, ToolContract]:
    """Return contracts under their refs, sorted; the same contract given twice counts once.

    Raises:
        ContractError: If one ref is given twice with different content.
    """
    found: dict[ToolRef, ToolContract] = {}
    for contract in contracts:
        other = found.setdefault(contract.ref, contract)
        if other is not contract and other.fingerprint != contract.fingerprint:
            raise ContractError(
                f"{contract.ref} is given twice with different content",
                source=contract.provenance.source,
                hint="keep one, or give one of them another version",
            )
    return {ref: found[ref] for ref in sorted(found)}
