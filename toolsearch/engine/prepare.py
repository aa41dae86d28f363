"""The second turn: one tool was chosen; what does a call of it need, and what of that is at hand?

The first turn shows small cards of several tools, this one the whole definition of one, with the arguments that the
conversation states. Deterministic: what no rule can read is left to the model, and what must not be guessed to the
user. Nothing is called.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from toolsearch.contracts.export import definition
from toolsearch.engine.state import Catalogue
from toolsearch.model.answer import MissingInput
from toolsearch.model.argument_problem import ArgumentProblem
from toolsearch.model.contract import ToolContract
from toolsearch.model.prepared import Prepared, PreparedInput, PrepareRequest, State
from toolsearch.model.request import Detail
from toolsearch.search.answer import title_of
from toolsearch.search.inputs.check import check_arguments
from toolsearch.search.inputs.extract import RequestFacts, find_enum, find_formats, matcher, shape, valid_value
from toolsearch.search.inputs.readiness import InputField, all_fields
from toolsearch.search.inputs.rules import approval_needed, unread_rules
from toolsearch.search.rank.evidence import MAX_PRODUCERS, effect_inferred

MAX_OPTIONS = 10
"""Values of one input that are listed."""


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of the conversation.

    Attributes:
        place: `text` or `conversation[n]`.
        evidence: Whether values may be taken from it, rather than only shown: the user's and tools' words.
        by_user: Whether the user said it.
    """

    place: str
    evidence: bool
    by_user: bool
    facts: RequestFacts


def prepared(
    request: PrepareRequest,
    *,
    contract: ToolContract,
    name: str,
    catalogue: Catalogue,
    today: date,
    changed: bool = False,
) -> Prepared:
    """Return what a call of a tool needs and has.

    Args:
        request: Which tool, and what is known.
        contract: The revision that is called.
        name: Name under which the model calls it.
        catalogue: The visible view; nothing outside it is named.
        today: What `today` means in the rules of the contract.
        changed: Whether the session was handed another revision.
    """
    said = _said(request)
    fields = all_fields(contract)
    rivals = Counter(_look(field) for field in fields if field.name in contract.required_inputs)
    inputs = tuple(
        _resolve(
            field,
            required=field.name in contract.required_inputs,
            given=request.inputs,
            said=said,
            rivals=rivals[_look(field)],
            producers=_producers(field.name, contract=contract, catalogue=catalogue),
        )
        for field in fields
    )
    arguments = {item.field: item.value for item in inputs if item.state in ("given", "found")}
    arguments.update((name, value) for name, value in request.inputs.items() if name not in arguments)
    missing = tuple(
        MissingInput(
            field=item.field,
            ask=item.state == "ask",
            obtain_from=item.obtain_from,
            forbidden_to_infer=item.forbidden_to_infer,
        )
        for item in inputs
        if item.state in ("ask", "obtain")
    )
    pending = {item.field for item in inputs if item.required and item.field not in arguments}
    problems = tuple(
        problem
        for problem in check_arguments(arguments, contract=contract, today=today)
        if not (problem.code == "required" and problem.field in pending)
    )
    approval = contract.execution.approval
    return Prepared(
        ref=str(contract.ref),
        name=name,
        title=title_of(contract),
        fingerprint=contract.fingerprint,
        changed=changed,
        ready=not problems and not any(item.state in ("ask", "obtain", "write") for item in inputs),
        message=_message(inputs, problems=problems),
        definition=definition(
            contract,
            format=request.format,
            detail=Detail.FULL,
            api_name=name,
            adjacent=catalogue.visible_adjacent(contract),
        ),
        side_effect=contract.assumed_side_effect,
        side_effect_inferred=effect_inferred(contract),
        approval=approval.required_when if approval else None,
        approval_needed=approval_needed(arguments, contract=contract),
        inputs=inputs,
        arguments=arguments,
        missing=missing,
        must_not_infer=contract.input.forbidden_inference_fields,
        problems=problems,
        rules=unread_rules(contract),
    )


def _said(request: PrepareRequest) -> list[Said]:
    """Return the conversation, newest first."""
    pieces = [
        Said(f"conversation[{at}]", turn.role in ("user", "tool"), turn.role == "user", RequestFacts.of(turn.text))
        for at, turn in enumerate(request.conversation)
    ]
    if request.text:
        pieces.append(Said("text", True, True, RequestFacts.of(request.text)))
    return pieces[::-1]


def _look(field: InputField) -> tuple[object, ...]:
    """Return how a field is looked for: two required fields alike in this compete for the same words."""
    return (field.enum, field.pattern, field.format, field.shapes, field.numeric)


def _values(field: InputField, facts: RequestFacts) -> tuple[str, ...]:
    """Return every value of a field that stands in a text, each once; see `readiness.find_value`."""
    found: Sequence[str] = ()
    if field.enum:
        found = [value for value in field.enum if find_enum(facts, (value,)) is not None]
    elif field.pattern:
        matches = matcher(field.pattern)
        found = [token for token in (*facts.tokens, *facts.quoted) if matches is not None and matches(token)]
    elif field.format:
        found = find_formats(facts, field.format)
    elif field.numeric:
        found = [number.replace(",", "") for number in facts.numbers]
    elif field.shapes:
        found = [token for token in facts.tokens if any(c.isdigit() for c in token) and shape(token) in field.shapes]
    return tuple(dict.fromkeys(found))


def _resolve(
    field: InputField,
    *,
    required: bool,
    given: Mapping[str, Any],
    said: Sequence[Said],
    rivals: int,
    producers: tuple[str, ...],
) -> PreparedInput:
    made: dict[str, Any] = {"field": field.name, "required": required, "forbidden_to_infer": field.forbidden}
    if field.name in given:
        return PreparedInput(**made, state="given", value=given[field.name], source="inputs")
    everywhere = [(piece, value) for piece in said for value in _values(field, piece.facts)]
    options = tuple(dict.fromkeys(value for _, value in everywhere))[:MAX_OPTIONS]
    found, note = _taken(field, everywhere, required=required, rivals=rivals)
    if found is not None:
        piece, value = found
        others = tuple(option for option in options if option != str(value))
        return PreparedInput(**made, state="found", value=value, source=piece.place, options=others)
    if field.has_default and not (field.forbidden and required):
        return PreparedInput(
            **made, state="default", value=field.schema["default"], source="schema", options=options, note=note
        )
    state: State = "absent"
    if required:
        # What no rule can look for, the model must: the user may have said it in words.
        unreadable = not any(_look(field)) and bool(said)
        readable_by_model = not field.forbidden and (field.free or bool(everywhere) or (field.clarify and unreadable))
        state = "write" if readable_by_model else "obtain" if producers else "ask"
        if state == "write" and field.clarify:
            note = note or "ask the user where the conversation does not say it"
    return PreparedInput(
        **made, state=state, obtain_from=producers if state == "obtain" else (), options=options, note=note
    )


def _taken(
    field: InputField, everywhere: Sequence[tuple[Said, str]], *, required: bool, rivals: int
) -> tuple[tuple[Said, Any] | None, str]:
    """Return the one value that the conversation states for a field, or why none is taken."""
    usable = [(piece, value) for piece, value in everywhere if piece.evidence]
    if field.forbidden:
        usable = [(piece, value) for piece, value in usable if piece.by_user]
        if everywhere and not usable:
            return None, "stands in the conversation, but the user did not say it: ask"
    if not usable:
        return None, ""
    newest = usable[0][0]
    values = list(dict.fromkeys(value for piece, value in usable if field.forbidden or piece is newest))
    if not required and not field.enum and not field.pattern:
        return None, "the conversation may mean this input"
    if rivals > 1 and required:
        return None, "several inputs look for such a value: decide which is which"
    if field.forbidden and field.numeric:
        return None, "a number in a sentence does not say what it is the number of: ask"
    if len(values) > 1:
        return None, "the conversation states several values"
    typed = _typed(values[0], field)
    if typed is None:
        return None, f"the conversation says {values[0][:60]!r}: write it as the schema wants it"
    return (newest, typed), ""


_DATE = re.compile(r"(\d{4})(?:-|/|年)(\d{1,2})(?:-|/|月)(\d{1,2})[日号]?")


def _typed(text: str, field: InputField) -> Any:
    """Return a value found as text in the type of its schema, or None where its form must be written by the model."""
    raw = field.schema.get("enum")
    if field.enum and isinstance(raw, list):
        return next(value for value in raw if isinstance(value, str | int) and str(value) == text)
    if field.numeric:
        whole = re.fullmatch(r"[-+]?\d+", text) is not None
        if not whole and field.schema.get("type") == "integer":
            return None
        return int(text) if whole else float(text)
    if field.format == "date":
        match = _DATE.fullmatch(text)
        try:
            return date(int(match[1]), int(match[2]), int(match[3])).isoformat() if match else None
        except ValueError:
            return None
    if field.format in ("date-time", "datetime", "time"):
        return None
    return text if valid_value(text, field.schema) else None


def _producers(name: str, *, contract: ToolContract, catalogue: Catalogue) -> tuple[str, ...]:
    """Return refs of visible read-only tools that produce an entity, other than the tool itself."""
    mask, refs = catalogue.view.docs.mask, catalogue.refs
    found = [refs[doc] for doc in catalogue.state.columns.producers.get(name, ()) if mask[doc]]
    return tuple(ref for ref in found[: MAX_PRODUCERS + 1] if ref != str(contract.ref))[:MAX_PRODUCERS]


def _message(inputs: Sequence[PreparedInput], *, problems: Sequence[ArgumentProblem]) -> str:
    named = {state: [item.field for item in inputs if item.state == state] for state in ("ask", "obtain", "write")}
    if named["ask"]:
        return f"Ask the user for {', '.join(named['ask'])} before the call."
    if problems:
        return f"Mend {problems[0].field or 'the arguments'}: {problems[0].message}."
    if named["obtain"]:
        sources = {item.field: item.obtain_from[0] for item in inputs if item.state == "obtain"}
        return f"Obtain {'; '.join(f'{field} from {ref}' for field, ref in sources.items())}."
    if named["write"]:
        return f"Write {', '.join(named['write'])} from what the user said, then call it."
    return "Everything required is at hand: call it with these arguments."
