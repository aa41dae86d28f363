"""Proposals: what a person, a function or a model would change in a contract, reviewed before anything changes.

A proposer is untrusted, a language model above all: it read the tool's own untrusted text. So a proposal is only a list
of values for a few descriptive fields; `review` checks each of them and shows it beside what stands there; `applied`
makes a contract of what a reviewer let pass. Side effects, access, schemas and identity cannot be proposed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, Literal, Protocol, get_args

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError

from toolsearch.contracts.enrich.enrich import enrich
from toolsearch.contracts.enrich.foreign import ForeignTool
from toolsearch.contracts.poison.scan import findings
from toolsearch.model.contract import Capability, Frozen, Inputs, Origin, Outputs, Selection, ToolContract
from toolsearch.model.errors import ContractError
from toolsearch.text.analysis.characters import control_characters, escaped, hidden_runs

MAX_CHANGES = 32
MAX_ITEMS = 24
MAX_LENGTH = 2_000
"""Characters of one proposed text: what a model reads before each turn should be short."""

ProposablePath = Literal[
    "capability.does",
    "capability.does_not",
    "capability.examples",
    "capability.tags",
    "selection.use_when",
    "selection.do_not_use_when",
    "selection.adjacent_tools",
    "input.semantics",
    "input.semantic_rules",
    "output.produces",
]
"""The fields that may be proposed: what a tool is for and what its inputs mean, never what it may do."""

PATHS: tuple[str, ...] = get_args(ProposablePath)

Line = Annotated[str, StringConstraints(max_length=MAX_LENGTH, strip_whitespace=True, min_length=1)]
Value = (
    Annotated[str, StringConstraints(max_length=MAX_LENGTH, strip_whitespace=True)]
    | Annotated[tuple[Line, ...], Field(max_length=MAX_ITEMS)]
    | Annotated[dict[str, Line], Field(max_length=MAX_ITEMS * 4)]
)

_SECTIONS: Mapping[str, type[Frozen]] = {
    "capability": Capability,
    "selection": Selection,
    "input": Inputs,
    "output": Outputs,
}


class FieldChange(Frozen):
    """A new value of one field, whole: it takes the place of what stands there."""

    path: ProposablePath
    value: Value
    reason: Annotated[str, StringConstraints(max_length=500)] = ""
    confidence: float = Field(default=0.5, ge=0, le=1)


class EnrichmentProposal(Frozen):
    """What a proposer would change.

    `refused` = changes of its answer that are none, each in words.
    """

    author: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    changes: Annotated[tuple[FieldChange, ...], Field(max_length=MAX_CHANGES)] = ()
    refused: tuple[str, ...] = ()


class Proposer(Protocol):
    """Proposes changes of a contract. A function becomes one by `FunctionProposer`."""

    def propose(self, contract: ToolContract) -> EnrichmentProposal:
        """Return what should change; never changes anything."""


class ReviewedChange(Frozen):
    """One change beside what stands there; `declared` = the author of the tool said it, so look twice."""

    path: str
    before: Any
    after: Any
    reason: str
    confidence: float
    declared: bool


class Review(Frozen):
    """The diff a reviewer sees: of one tool at one fingerprint, with what was refused and why."""

    ref: str
    fingerprint: str
    author: str
    changes: tuple[ReviewedChange, ...] = ()
    refused: tuple[str, ...] = ()


class FunctionProposer:
    """A plain function as a proposer: contract -> mapping of field path to new value."""

    def __init__(self, function: Callable[[ToolContract], Mapping[str, Any]], *, author: str, reason: str = "") -> None:
        """Take a function and the name under which its proposals are noted."""
        self._function, self._author, self._reason = function, author, reason

    def propose(self, contract: ToolContract) -> EnrichmentProposal:
        """Return what the function would change."""
        answer = self._function(contract)
        return proposal_from(
            [{"path": path, "value": value, "reason": self._reason} for path, value in answer.items()],
            author=self._author,
        )


class Rereading:
    """Reads a contract's own text again, as if it came from another format: no model, no network."""

    def propose(self, contract: ToolContract) -> EnrichmentProposal:
        """Return values for fields that are empty although the text of the tool fills them."""
        text, schema = contract.capability.does, contract.input_schema
        try:
            read = enrich(
                ForeignTool(name=contract.identity.name, description=text, input_schema=schema, format="rereading")
            )
        except ContractError as error:
            return EnrichmentProposal(author="toolsearch", refused=(str(error)[:300],))
        moved = [
            path for path in PATHS if path != "capability.does" and _value(read, path) and not _value(contract, path)
        ]
        if read.capability.does != text and moved and read.capability.does:
            moved.insert(0, "capability.does")
        changes = tuple(
            FieldChange(path=path, value=_value(read, path), reason="stands in the definition", confidence=0.8)  # type: ignore[arg-type]
            for path in moved
        )
        return EnrichmentProposal(author="toolsearch", changes=changes)


def proposal_from(answer: Any, *, author: str) -> EnrichmentProposal:
    """Return the proposal in untrusted data: a list of changes, each checked alone, the wrong ones told.

    Args:
        answer: A list of mappings with path, value, reason and confidence.
        author: Who proposes.
    """
    if not isinstance(answer, list | tuple):
        return EnrichmentProposal(author=author, refused=(f"a {type(answer).__name__} is no list of changes",))
    changes: dict[str, FieldChange] = {}
    refused: list[str] = []
    for at, entry in enumerate(answer):
        if at == MAX_CHANGES:
            refused.append(f"{len(answer) - at} changes beyond the first {MAX_CHANGES}")
            break
        try:
            change = FieldChange.model_validate(entry)
        except ValidationError as error:
            faults = error.errors(include_url=False, include_context=False, include_input=False)
            # Of a value of several possible types: what is wrong with the type it has, not which others it has not.
            first = next((fault for fault in faults if not fault["type"].endswith("_type")), faults[0])
            place = ".".join(str(part)[:64] for part in (at, *first["loc"]))
            refused.append(escaped(f"{place}: {first['msg']}")[:300])
            continue
        changes[change.path] = change
    return EnrichmentProposal(author=author, changes=tuple(changes.values()), refused=tuple(refused))


def proposal_of(reviewed: Review) -> EnrichmentProposal:
    """Return the proposal that a review shows, to be reviewed again: files can be edited."""
    entries = [
        {"path": change.path, "value": change.after, "reason": change.reason, "confidence": change.confidence}
        for change in reviewed.changes
    ]
    return proposal_from(entries, author=reviewed.author)


def review(
    contract: ToolContract, proposal: EnrichmentProposal, *, neighbours: Collection[str] | None = None
) -> Review:
    """Return the diff of a proposal; changes that must not be are refused, those that change nothing left out.

    Args:
        contract: The tool as it is.
        proposal: What to change.
        neighbours: Names of the tools of its server, which adjacent tools must be among; None = not known.
    """
    changes: list[ReviewedChange] = []
    refused = list(proposal.refused)
    for change in proposal.changes:
        before, after = _value(contract, change.path), change.value
        fault = _fault(contract, change, neighbours)
        if fault:
            refused.append(escaped(f"{change.path}: {fault}"))
        elif before != after:
            changes.append(
                ReviewedChange(
                    path=change.path,
                    before=before,
                    after=after,
                    reason=escaped(change.reason),
                    confidence=change.confidence,
                    declared=bool(before) and change.path not in contract.provenance.fields,
                )
            )
    return Review(
        ref=str(contract.ref),
        fingerprint=contract.fingerprint,
        author=proposal.author,
        changes=tuple(changes),
        refused=tuple(refused),
    )


def applied(contract: ToolContract, reviewed: Review, *, approved_by: str) -> ToolContract:
    """Return the contract with the reviewed changes, each marked as learned, with its confidence and authors.

    Args:
        contract: The very contract that was reviewed.
        reviewed: The diff.
        approved_by: Who lets it pass.

    Raises:
        ValueError: If the contract is not the one that was reviewed.
    """
    if contract.fingerprint != reviewed.fingerprint:
        raise ValueError(f"{contract.ref} has changed since the review: review it again")
    parts: dict[str, Any] = {}
    provenance = contract.provenance
    fields, confidence, authors = dict(provenance.fields), dict(provenance.confidence), dict(provenance.authors)
    for change in reviewed.changes:
        section, _, name = change.path.partition(".")
        base = parts.get(section) or getattr(contract, section)
        parts[section] = base.model_copy(update={name: change.after})
        fields[change.path], confidence[change.path] = Origin.LEARNED, change.confidence
        authors[change.path] = f"{reviewed.author}, approved by {approved_by}"
    parts["provenance"] = provenance.model_copy(update={"fields": fields, "confidence": confidence, "authors": authors})
    return contract.model_copy(update=parts)


def _value(contract: ToolContract, path: str) -> Any:
    section, _, name = path.partition(".")
    return getattr(getattr(contract, section), name)


def _fault(contract: ToolContract, change: FieldChange, neighbours: Collection[str] | None) -> str:
    """Return why a change must not be, "" where it may."""
    section, _, name = change.path.partition(".")
    kind = type(_value(contract, change.path))
    if not isinstance(change.value, kind):
        return f"a {type(change.value).__name__} where a {kind.__name__} is expected"
    if change.path == "capability.does" and not change.value:
        return "a tool must say what it does"
    try:
        TypeAdapter(_SECTIONS[section]).validate_python({name: change.value})
    except ValidationError as error:
        return str(error.errors(include_url=False, include_context=False, include_input=False)[0]["msg"])
    if isinstance(change.value, dict):
        known = _known_keys(contract, change.path, neighbours)
        unknown = [key for key in change.value if known is not None and key not in known]
        if unknown:
            return f"names {', '.join(unknown)[:200]}, which does not exist"
    texts = [change.reason, *_texts(change.value)]
    if any(hidden_runs(text) or control_characters(text) for text in texts):
        return "has characters that nobody sees"
    probe = ToolContract.model_validate(
        {"identity": {"name": contract.identity.name}, section: {name: change.value}},
    )
    found = next(iter(findings(probe)), None)
    return f"{found.why}: {found.excerpt!r}" if found else ""


def _known_keys(contract: ToolContract, path: str, neighbours: Collection[str] | None) -> Collection[str] | None:
    if path == "selection.adjacent_tools":
        return None if neighbours is None else {*neighbours} - {contract.identity.name}
    if path == "input.semantics":
        properties = contract.input_schema.get("properties")
        return properties if isinstance(properties, Mapping) else contract.required_inputs
    return None


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [*value, *value.values()] if isinstance(value, dict) else list(value)
