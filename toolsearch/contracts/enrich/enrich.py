"""A foreign tool definition -> a contract, each inferred field marked so in its provenance.

Tool descriptions are untrusted text: they can make a tool look riskier or narrower, never safer
(`toolsearch.contracts.enrich.effects`).
No language model takes part, so the same definition always gives the same contract.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolsearch.contracts.enrich.effects import EffectJudgement, judge_effect
from toolsearch.contracts.enrich.foreign import ForeignTool, clean_name
from toolsearch.contracts.enrich.freshness import read_freshness
from toolsearch.contracts.enrich.parameters import parameter_semantics, required_parameters
from toolsearch.contracts.enrich.products import products_of
from toolsearch.contracts.enrich.prose import Prose, read_prose
from toolsearch.contracts.enrich.refs import inline_refs
from toolsearch.contracts.enrich.segments import split_sentences
from toolsearch.model.contract import (
    MAX_TEXT,
    Capability,
    Execution,
    Freshness,
    Identity,
    Inputs,
    Operational,
    Origin,
    Outputs,
    Provenance,
    Selection,
    ToolContract,
)

LOCAL_SERVER = "local"

_GUESSES = re.compile(
    r"(?:do\s+not|don['’]?t|never)\s+(?:guess|invent|make\s+up|fabricate|infer|assume)|(?:不要|不得|禁止|请勿|切勿).{0,6}(?:编造|猜测|臆造|推断|杜撰)",
    re.IGNORECASE,
)

_IDENTIFIER = re.compile(r"[A-Za-z0-9_.-]+")
_NOTHING: tuple[object, ...] = (None, "", (), {}, Freshness())
_DECLARED = frozenset(
    {
        "identity.name",
        "identity.version",
        "identity.title",
        "identity.server",
        "capability.does",
        "capability.tags",
        "input.schema_",
        "output.schema_",
    }
)

CONFIDENCE: Mapping[str, float] = {
    "identity.domain": 0.6,
    "capability.does_not": 0.8,
    "capability.examples": 0.8,
    "selection.use_when": 0.8,
    "selection.do_not_use_when": 0.8,
    "selection.adjacent_tools": 0.6,
    "input.required": 0.7,
    "input.semantics": 0.9,
    "input.semantic_rules": 0.8,
    "input.forbidden_inference_fields": 0.7,
    "output.produces": 0.8,
    "execution.idempotency": 0.9,
    "operational.freshness": 0.7,
}
"""How far an inferred field is to be trusted. An order, not a measured rate: 0.9 repeats what a schema or a hint
states, 0.8 reads a plain sentence, 0.6 reads a name. A side effect has the confidence of its evidence."""


@dataclass(slots=True)
class _Cutter:
    """Cuts texts to what a contract holds, and keeps account of it."""

    notes: list[str] = field(default_factory=list)

    def one(self, text: str, *, path: str) -> str:
        if len(text) <= MAX_TEXT:
            return text
        self.notes.append(f"{path}: cut from {len(text)} to {MAX_TEXT} characters")
        return text[:MAX_TEXT]

    def all(self, texts: list[str] | tuple[str, ...], *, path: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.one(text, path=path) for text in texts if text))

    def named(self, texts: Mapping[str, str], *, path: str) -> dict[str, str]:
        return {name: self.one(text, path=f"{path}.{name[:64]}") for name, text in texts.items()}


def enrich(tool: ForeignTool) -> ToolContract:
    """Return the contract of a foreign tool.

    The server is the tool's own, else `local`; names are cleaned, and the original kept as title.

    Args:
        tool: What a reader found.

    Raises:
        ContractError: If the name is empty.
        UnresolvedReference: If a `$ref` of a schema leads nowhere or out of it.
    """
    cutter = _Cutter()
    identity = _identity(tool, cutter)
    schema = inline_refs(tool.input_schema, source="")
    output = inline_refs(tool.output_schema, source="")
    # Cut before it is analysed, so that no text can make the analysis slow.
    description = cutter.one(tool.description, path="description")
    prose = read_prose(description, name=tool.name, parameters=_described(schema))
    judgement = judge_effect(
        name=tool.name,
        first_sentence=(split_sentences(prose.does) or [""])[0],
        description=description,
        hints=tool.hints,
        trusted=tool.trusted,
    )
    inputs = _inputs(schema, prose, cutter)
    sections: dict[str, Any] = {
        "identity": identity,
        "capability": _capability(tool, prose, cutter),
        "selection": _selection(prose, cutter),
        "input": inputs,
        "output": Outputs(schema=output, produces=products_of(output, tool=tool.name, asked=inputs.required)),
        "execution": Execution(side_effect=judgement.effect, idempotency=_idempotency(tool)),
        "operational": Operational(freshness=read_freshness(prose.positive)),
    }
    return ToolContract(**sections, provenance=_provenance(tool, sections, judgement, cutter))


def _described(schema: Mapping[str, Any]) -> dict[str, bool]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {name: isinstance(node, Mapping) and bool(node.get("description")) for name, node in properties.items()}


def _identity(tool: ForeignTool, cutter: _Cutter) -> Identity:
    name = clean_name(tool.name)
    server = clean_name(tool.server or "", default=LOCAL_SERVER)
    title = tool.title or (tool.name.strip() if name != tool.name else "")
    return Identity(
        name=name,
        title=cutter.one(title, path="identity.title"),
        domain=cutter.one(tool.domain or _domain(name, server), path="identity.domain"),
        server=server,
    )


def _capability(tool: ForeignTool, prose: Prose, cutter: _Cutter) -> Capability:
    return Capability(
        does=cutter.one(prose.does, path="capability.does"),
        does_not=cutter.all(prose.does_not, path="capability.does_not"),
        examples=cutter.all((*tool.examples, *prose.examples), path="capability.examples"),
        tags=cutter.all(tool.tags, path="capability.tags"),
    )


def _selection(prose: Prose, cutter: _Cutter) -> Selection:
    return Selection(
        use_when=cutter.all(prose.use_when, path="selection.use_when"),
        do_not_use_when=cutter.all(prose.do_not_use_when, path="selection.do_not_use_when"),
        adjacent_tools=cutter.named(prose.adjacent_tools, path="selection.adjacent_tools"),
    )


def _inputs(schema: dict[str, Any], prose: Prose, cutter: _Cutter) -> Inputs:
    rules = cutter.all(prose.semantic_rules, path="input.semantic_rules")
    guarded = {word.strip(".-") for rule in rules if _GUESSES.search(rule) for word in _IDENTIFIER.findall(rule)}
    return Inputs(
        schema=schema,
        required=required_parameters(schema),
        semantics=cutter.named(parameter_semantics(schema, documented=prose.parameters), path="input.semantics"),
        semantic_rules=rules,
        forbidden_inference_fields=tuple(name for name in _described(schema) if name in guarded),
    )


def _idempotency(tool: ForeignTool) -> str:
    return {True: "idempotent", False: "not idempotent", None: ""}[tool.hints.idempotent]


def _domain(name: str, server: str) -> str:
    prefix, dot, _ = name.partition(".")
    if dot and prefix:
        return prefix
    return "" if server == LOCAL_SERVER else server


def _provenance(
    tool: ForeignTool, sections: Mapping[str, Any], judgement: EffectJudgement, cutter: _Cutter
) -> Provenance:
    """Mark what the definition did not state itself; name, title, schemas, tags and the text of `does` are declared."""
    declared = _DECLARED | ({"identity.domain"} if tool.domain else set())
    fields = {
        f"{section}.{name}": Origin.INFERRED
        for section, model in sections.items()
        for name in type(model).model_fields
        if f"{section}.{name}" not in declared and getattr(model, name) not in _NOTHING
    }
    if tool.input_schema.get("required"):
        fields.pop("input.required", None)
    known = {**CONFIDENCE, "execution.side_effect": judgement.confidence}
    notes = [note for note in (judgement.note,) if note]
    return Provenance(
        source=tool.format,
        trusted=tool.trusted,
        fields=fields,
        confidence={path: known[path] for path in fields if path in known},
        notes=(*notes, *cutter.notes),
    )
