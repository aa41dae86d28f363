"""Rules on side effects, results and errors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from toolsearch.contracts.lint.finding import Flaw, Severity, listed
from toolsearch.contracts.lint.rule import LintLimits, LintRule, Surroundings
from toolsearch.contracts.lint.words import (
    in_language,
    is_verb,
    last_part,
    name_words,
    own,
    parameters,
    prose,
    reads,
    vocabulary,
)
from toolsearch.model.contract import SideEffect, ToolContract

_WARNS = re.compile(
    r"\birreversib\w*|\bpermanent\w*|\b(?:cannot|can['’]t|can not|impossible to) be (?:undone|reversed|recovered"
    r"|restored)|\bundo(?:ne)?\b|\bdestructive\w*|\bconfirm\w*|\bapprov\w*"
    r"|\b(?:be careful|caution|warning|dangerous|data loss|destroy\w*|with care|⚠)"
    r"|不可(?:撤销|恢复|逆)|无法(?:撤销|恢复)|永久"
    r"|谨慎|确认|审批|危险|不能撤销",
    re.IGNORECASE,
)
_FINAL = vocabulary(
    "delete drop purge destroy erase wipe truncate terminate pay refund transfer charge withdraw purchase",
    "checkout",
)
_RISKY = re.compile(
    r"(?:^|_)(?:amount|amount_cents|account|account_id|payment_account|recipient|to|email|order_id|user_id"
    r"|resource_id|customer_id|transaction_id|payee)$",
    re.IGNORECASE,
)
_SIZED = re.compile(
    r"limit|page|cursor|offset|top_?[kn]$|max|first|last|count|size|token|per_|batch|after|before|take|skip"
    r"|start|^n$|^k$",
    re.IGNORECASE,
)
_LISTS = frozenset(("list", "search", "find"))
_BOUNDED = re.compile(
    r"\b(?:at most|up to|top \d|first \d|max\w*|limit\w*|pag\w+|truncat\w*|all\b.{0,30}\b(?:available|supported)"
    r"|summary|small|cursor)\b|最多|分页|截断|上限|前\s*\d|全部",
    re.IGNORECASE,
)
_DATA_SOURCES = re.compile(
    r"\b(?:up to|delay\w*|real[- ]time|live|cached?|stale|updated|fresh\w*|as of)\b|实时|延迟|更新", re.IGNORECASE
)


def unwarned(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Calls that cannot be undone, and say nothing of it."""
    if tool.execution.side_effect is not SideEffect.IRREVERSIBLE or tool.execution.approval is not None:
        return
    # MCP counts every write without a hint as destructive; only a declared effect or a telling name is proof.
    telling = not _FINAL.isdisjoint(name_words(last_part(tool.identity.name)))
    if not (telling or own(tool)) or _WARNS.search(prose(tool)):
        return
    does = tool.capability.does.strip().rstrip(".。")
    does = does if 0 < len(does) <= 160 and "\n" not in does else "…"
    yield Flaw(
        path=("capability", "does"),
        message=f"{tool.identity.name!r} cannot be undone, and nothing warns the model: it is careful only where "
        "it is told",
        suggestion=in_language(
            tool,
            f"{does}. This cannot be undone: ask the user to confirm before calling.",
            f"{does}。此操作不可撤销：调用前请用户确认。",
        ),
    )


def effect_unknown(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Nobody says what a call changes."""
    if tool.execution.side_effect is None:
        yield Flaw(
            path=("execution", "side_effect"),
            message="no side effect is stated, and name and text show none: it is treated as irreversible",
            suggestion="side_effect: read_only, reversible or irreversible (MCP: readOnlyHint, destructiveHint)",
        )


def inferable(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Irreversible calls whose decisive values a model may guess."""
    if tool.execution.side_effect is not SideEffect.IRREVERSIBLE or not own(tool):
        return
    guarded = {*tool.input.forbidden_inference_fields, *tool.input.clarification_fields}
    for parameter in parameters(tool):
        if (
            parameter.level == 1
            and parameter.required
            and _RISKY.search(parameter.name)
            and parameter.name not in guarded
        ):
            yield Flaw(
                path=("input", "forbidden_inference_fields"),
                message=f"{parameter.name!r} decides what cannot be undone, and a model may infer it",
                suggestion="forbidden_inference_fields: "
                f"[{', '.join((*tool.input.forbidden_inference_fields, parameter.name))}]",
            )


def errors_unstated(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Contracts that say nothing of what can go wrong."""
    if (
        own(tool)
        and not tool.output.error_taxonomy
        and not re.search(r"\berrors?\b|\bfails?\b|not found|错误|失败", prose(tool), re.IGNORECASE)
    ):
        yield Flaw(
            path=("output", "error_taxonomy"),
            message="nothing says which errors a call may give: a model repeats what it does not understand",
            suggestion="error_taxonomy: [validation_error, not_found, permission_denied, …]",
        )


def freshness_unstated(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Reading contracts that do not say how old their data may be."""
    if (
        own(tool)
        and tool.execution.side_effect is SideEffect.READ_ONLY
        and not tool.operational.freshness.text
        and not tool.operational.freshness.max_staleness
        and not _DATA_SOURCES.search(prose(tool))
    ):
        yield Flaw(
            path=("operational", "freshness"),
            message="nothing says how old the data may be, which decides whether it can answer 'now' and 'latest'",
            suggestion="freshness: {text: …, max_staleness: PT15M}",
        )


def unbounded_list(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Lists without an end."""
    words = name_words(last_part(tool.identity.name))
    verb = next((word for word in words if is_verb(word)), "")
    if verb not in _LISTS or not reads(tool) or tool.operational.result_scale:
        return
    found = parameters(tool)
    if (
        not any(_SIZED.search(parameter.name) for parameter in found)
        and not _BOUNDED.search(prose(tool))
        and any(parameter.level == 1 for parameter in found)
    ):
        yield Flaw(
            path=("input", "schema", "properties"),
            message=f"{tool.identity.name!r} lists without a limit, a page or a word on how much comes back: one "
            "call can fill the context",
            suggestion="add 'limit' with a default and a maximum, and return 'truncated' and a cursor",
        )


def bare_text(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Lists and records returned as one string."""
    schema = tool.output.schema_
    words = name_words(last_part(tool.identity.name))
    kind = _result_kind(tool)
    if isinstance(schema, Mapping) and kind == "string" and any(word in (*_LISTS, "get") for word in words[:2]):
        yield Flaw(
            path=("output", "schema"),
            message="the result is one string: a model has to parse it before it can use a field in the next call",
            suggestion="return an object, e.g. {summary: …, items: […], has_more: false}",
        )


def _result_kind(tool: ToolContract) -> str:
    """Return the JSON type of the result, a wrapper `{result: …}` taken off, or ""."""
    schema = tool.output.schema_
    if not isinstance(schema, Mapping):
        return ""
    kind, properties = schema.get("type"), schema.get("properties")
    if (
        kind == "object"
        and isinstance(properties, Mapping)
        and set(properties) == {"result"}
        and isinstance(properties["result"], Mapping)
    ):
        inner = properties["result"].get("type")
        return inner if isinstance(inner, str) else "object"
    return kind if isinstance(kind, str) else ""


def results_differ(around: Surroundings) -> Iterator[tuple[ToolContract, Flaw]]:
    """Results of one server in several shapes."""
    for tools in around.servers().values():
        shapes = {tool.ref: _shape(tool) for tool in tools}
        counts = Counter(shape for shape in shapes.values() if shape)
        total = sum(counts.values())
        if total < 3 or len(counts) < 2:
            continue
        usual, count = min(counts.items(), key=lambda item: (-item[1], item[0]))
        if count < 0.6 * total:
            continue
        for tool in tools:
            shape = shapes[tool.ref]
            if shape and shape != usual:
                yield (
                    tool,
                    Flaw(
                        path=("output", "schema"),
                        message=f"the result is {shape}, while {count} of {total} tools of this server return "
                        f"{usual}: models assume that the next tool answers like the last",
                        suggestion=f"return {usual} everywhere",
                    ),
                )


_ENVELOPE_KEYS = ("data", "result", "results", "response", "items", "ok", "success", "error", "summary")


def _shape(tool: ToolContract) -> str:
    schema = tool.output.schema_
    if not isinstance(schema, Mapping) or not isinstance(schema.get("type"), str):
        return ""
    if schema["type"] == "object":
        properties = schema.get("properties")
        keys = [key for key in _ENVELOPE_KEYS if isinstance(properties, Mapping) and key in properties]
        return f"an object with {listed(map(repr, keys))}" if keys else "a bare object"
    return f"a bare {schema['type']}"


RULES = (
    LintRule(
        id="TS601",
        name="irreversible-unwarned",
        severity=Severity.WARNING,
        contract=unwarned,
        summary="What cannot be undone says so, and asks for confirmation.",
    ),
    LintRule(
        id="TS602",
        name="side-effect-unknown",
        severity=Severity.NOTE,
        contract=effect_unknown,
        summary="A tool states its side effect.",
    ),
    LintRule(
        id="TS603",
        name="risky-input-inferable",
        severity=Severity.NOTE,
        contract=inferable,
        summary="What decides an irreversible call may not be inferred (our contracts only).",
    ),
    LintRule(
        id="TS604",
        name="errors-unstated",
        severity=Severity.NOTE,
        contract=errors_unstated,
        summary="A contract lists the errors of a call (our contracts only).",
    ),
    LintRule(
        id="TS605",
        name="freshness-unstated",
        severity=Severity.NOTE,
        contract=freshness_unstated,
        summary="A reading contract says how old its data may be (our contracts only).",
    ),
    LintRule(
        id="TS606",
        name="list-unbounded",
        severity=Severity.NOTE,
        contract=unbounded_list,
        summary="A list has a limit or pages, or says how much comes back.",
    ),
    LintRule(
        id="TS607",
        name="result-bare-text",
        severity=Severity.WARNING,
        contract=bare_text,
        summary="Records and lists come back as an object, not as a string.",
    ),
    LintRule(
        id="TS608",
        name="results-differ",
        severity=Severity.WARNING,
        catalogue=results_differ,
        summary="The results of one server have one shape.",
    ),
)
"""The rules on side effects, results and errors."""
