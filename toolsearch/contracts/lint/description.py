"""Rules on what a contract says: the five questions, voice, length, implementation details.

The five questions are: when to use the tool, when not, where its inputs come from, what it returns, what it changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolsearch.contracts.lint.finding import Flaw, Path, Severity, listed, shown
from toolsearch.contracts.lint.rule import LintLimits, LintRule, Surroundings
from toolsearch.contracts.lint.words import (
    in_language,
    is_verb,
    last_part,
    length_in_words,
    name_words,
    negative,
    parameters,
    positive,
    prose,
    reads,
    sentences,
    vocabulary,
)
from toolsearch.model.contract import SideEffect, ToolContract
from toolsearch.model.reasons import counted
from toolsearch.text.analysis.analyzer import analyze
from toolsearch.text.analysis.identifiers import singular

DOES: Path = ("capability", "does")

_FILLER = vocabulary(
    "a an the this that tool function api endpoint call use used using to of for in on from with and or by your",
    "you it its is are allows allow lets enables given provided specific particular operation method command",
    "performs perform",
)
_RETURNS = re.compile(
    r"\b(?:returns?|returning|responds? with|outputs?|yields?|results? (?:include|contain|are|is)|(?:shows?"
    r"|provides?|gives?|lists?"
    r"|retrieves?|gets?|fetch(?:es)?|displays?|prints?|reports?)\b.{3,})"
    r"|返回|输出|给出|结果|列出|获取|查询|得到",
    re.IGNORECASE | re.DOTALL,
)
_CHANGES = re.compile(
    r"\b(?:side[- ]effects?|read[- ]only|idempoten\w*|irreversibl\w+|permanent\w*|undo\w*|undone|destructive"
    r"|overwrit\w+"
    r"|safe to (?:repeat|call|retry)|does not (?:change|modify)|modif(?:y|ies)|twice|again|already exists?"
    r"|if it exists|replaces?)\b"
    r"|副作用|只读|幂等|不可(?:撤销|逆|恢复)|覆盖|重复调用|永久",
    re.IGNORECASE,
)
_IMPLEMENTATION = re.compile(
    r"\b(?P<how>internally (?:uses?|calls?|runs?)|(?:uses?|calls?) [\w. ]{1,30} internally|under the hood"
    r"|behind the scenes"
    r"|(?:is |a )?(?:thin )?wrapper (?:around|for|over)\b|implemented (?:using|with|via|in)\b"
    r"|(?:uses?|using|via|through|backed by|queries|hits) (?:the |a |an |our )?(?:[A-Za-z]+(?:Service|Repository"
    r"|Controller|Manager|Dao)\b"
    r"|(?:Redis|Memcached|PostgreSQL|Postgres|MySQL|SQLite|SQLAlchemy|Elasticsearch|boto3|axios|requests library"
    r"|httpx|pandas|Celery)\b)"
    r"|(?:Redis|Memcached|in-memory|LRU) cache\b|\bTTL of \d+)",
    re.IGNORECASE,
)
_PRODUCTS = vocabulary(
    "redis memcached postgresql postgres mysql sqlite sqlalchemy elasticsearch boto3 axios httpx pandas celery",
)
_IMPLEMENTATION_HAN = re.compile(
    r"(?P<how>内部(?:使用|调用|采用|通过)|底层(?:使用|调用|采用|通过|是|为)|(?:封装了|是对).{0,20}(?:接口|库|SDK)的?(?:封装)?|(?:Redis|内存)缓存)",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(
    r"(?:^|(?<=[.!?]\s))(?:I|We)(?:\s+(?:am|can|will|have|look|get|search|find|help|return|create|fetch|use"
    r"|provide|do)|['’](?:ll|m|ve))\b|^我(?:会|可以|能|来|将|是)"
)
_THIRD = re.compile(r"^(?:this|the) (?:tool|function|command|api|endpoint)\b", re.IGNORECASE)
_THIRD_VERB = re.compile(r"^(?P<verb>[A-Z]?[a-z]{2,})s\b")
_ID = re.compile(r"(?:^|_)(?:id|uuid|guid|identifier|token|cursor)$|^(?:id|uuid)$|(?<=[a-z])(?:Id|ID|Uuid)$")
_COMES_FROM = re.compile(
    r"\b(?:from|returned|obtain\w*|retriev\w*|get it|use [`'\"]?\w+|look up|see|given by|provided by|call|via"
    r"|e\.g\.|example|such as|format|like)\b|[(（:：`'\"]"
    r"|来自|来源|取自|由|通过|例如|如|格式|返回|用户",
    re.IGNORECASE,
)


def missing(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """No description at all."""
    if not positive(tool).strip():
        yield Flaw(
            path=DOES,
            message=f"{tool.identity.name!r} has no description: name and parameters are all that a model can "
            "choose by",
            suggestion="say what it does, when to use it, when not, and what it returns",
        )


def repeats_name(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """A description with no word that the name does not have."""
    does = tool.capability.does
    if not does.strip() or tool.selection.use_when or len(does) > 160:
        return
    known = set(analyze(" ".join((tool.identity.name, last_part(tool.identity.name), tool.identity.title)))) | _FILLER
    known |= {singular(word) for word in known}
    if all(token in known or singular(token) in known for token in analyze(does)):
        yield Flaw(
            path=DOES,
            message=f"the description {shown(does)} only repeats the name {tool.identity.name!r}",
            suggestion="say when to use it and what it returns, e.g. 'Get current weather and a 3-day forecast "
            "for a city. Use when the "
            "user asks about temperature or rain. Returns degrees Celsius, humidity and conditions.'",
        )


def no_use_when(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """First question: when to use it."""
    if positive(tool).strip() and not tool.selection.use_when:
        yield Flaw(
            path=("selection", "use_when"),
            message="nothing says when to use the tool: a model chooses by situations, not by what a function does",
            suggestion=in_language(tool, "add 'Use this when the user asks …'", "补充“何时用：当用户……时使用”"),
        )


def no_boundary(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Second question: when not to use it."""
    if positive(tool).strip() and not negative(tool):
        yield Flaw(
            path=("selection", "do_not_use_when"),
            message="nothing says when not to use the tool, or which one to use instead",
            suggestion=in_language(
                tool, "add 'Do not use it for …; use OTHER_TOOL instead'", "补充“何时不用：……请使用 其他工具”"
            ),
        )


def input_source(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Third question: where the inputs come from."""
    text = prose(tool)
    for parameter in parameters(tool):
        if parameter.level > 1 or not parameter.required or not _ID.search(parameter.name) or not parameter.text:
            continue
        guarded = parameter.name in (*tool.input.forbidden_inference_fields, *tool.input.clarification_fields)
        told = (
            _COMES_FROM.search(parameter.text)
            or "pattern" in parameter.node
            or "format" in parameter.node
            or "examples" in parameter.node
        )
        if not guarded and not told and parameter.name not in text:
            yield Flaw(
                path=parameter.path,
                message=f"nothing says where a value for {parameter.name!r} comes from "
                f"({shown(parameter.text)}): models make identifiers up",
                suggestion=in_language(
                    tool,
                    f"name its source, e.g. '{parameter.text.rstrip('.')}, as returned by TOOL; never guess it'",
                    f"写明来源，例如“{parameter.text.rstrip('。')}，来自用户原话或某工具的返回，不要编造”",
                ),
            )


def no_result(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Fourth question: what it returns."""
    output = tool.output
    if (
        output.schema_
        or output.produces
        or output.success_evidence
        or tool.operational.result_scale
        or not positive(tool).strip()
    ):
        return
    if not _RETURNS.search(prose(tool)) and reads(tool):
        yield Flaw(
            path=("output",),
            message="nothing says what a call returns: a model cannot plan the step after it",
            suggestion=in_language(
                tool,
                "add 'Returns …' with the fields, their units and how many at most, or an output schema",
                "补充“返回：……”（字段、单位、最多几条），或给出 output schema",
            ),
        )


def no_effect_words(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Fifth question: what it changes, and whether a call may be repeated."""
    effect = tool.execution.side_effect
    if effect is None or effect < SideEffect.REVERSIBLE or tool.execution.idempotency or tool.execution.retry:
        return
    if not _CHANGES.search(prose(tool)):
        yield Flaw(
            path=("execution", "idempotency"),
            message=f"it writes ({effect.label}), and nothing says whether a call may be repeated",
            suggestion=in_language(
                tool,
                "say it: 'calling it again has no further effect', or 'each call creates another one'",
                "写明重复调用的后果：“重复调用安全”或“每次调用都会新建一条”",
            ),
        )


def implementation(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """How the tool is built, told to a model that cannot use it."""
    does = tool.capability.does
    about = set(name_words(f"{tool.identity.server} {tool.identity.name} {tool.identity.domain} {tool.identity.title}"))
    for pattern in (_IMPLEMENTATION, _IMPLEMENTATION_HAN):
        match = pattern.search(does)
        if match and not about & _PRODUCTS & set(name_words(match["how"])):
            yield Flaw(
                path=DOES,
                message=f"{shown(match['how'])} tells how the tool is built; a model needs what follows from it",
                suggestion=in_language(
                    tool,
                    "say the consequence instead, e.g. 'data may be up to 60 seconds old'",
                    "改写为对使用者的影响，例如“数据可能有最多 60 秒延迟”",
                ),
            )
            return


def first_person(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """A description that says "I"."""
    match = _FIRST_PERSON.search(tool.capability.does)
    if match:
        yield Flaw(
            path=DOES,
            message=f"the description speaks as {shown(match[0])}: the model says 'I' of itself",
            suggestion=in_language(tool, "write 'Use this to …' or 'Returns …'", "改为“用于……”或“返回……”"),
        )


def too_much(tool: ToolContract, limits: LintLimits) -> Iterator[Flaw]:
    """A description so long that the tool does several things."""
    words = length_in_words(tool.capability.does)
    if words > limits.words:
        yield Flaw(
            path=DOES,
            message=f"what it does takes {words} words, more than {limits.words}: it does several things, or "
            "says things twice",
            suggestion="split the tool, or move what belongs there into parameter descriptions, use_when and "
            "do_not_use_when",
            measures={"words": float(words)},
        )


def too_short(around: Surroundings) -> Iterator[tuple[ToolContract, Flaw]]:
    """A description shorter than what telling it from its neighbours takes."""
    for tools in around.servers().values():
        least = next((count for most, count in around.limits.sentences if len(tools) <= most), 1)
        for tool in tools:
            count = sentences(tool)
            if 0 < count < least and not tells_situations(tool):
                yield (
                    tool,
                    Flaw(
                        path=DOES,
                        message=f"{counted(count, 'sentence')} among {len(tools)} tools of this server; "
                        f"to be told from so many takes {least}",
                        suggestion="say when to use it, when not, and how it differs from its nearest neighbour",
                        measures={"sentences": float(count), "tools": float(len(tools))},
                    ),
                )


def tells_situations(tool: ToolContract) -> bool:
    """Tell whether a contract names its situations in fields of their own, whatever their number."""
    return bool(tool.selection.use_when and negative(tool))


def mixed_voice(around: Surroundings) -> Iterator[tuple[ToolContract, Flaw]]:
    """Descriptions of one server that address the model in different ways."""
    for tools in around.servers().values():
        voices = {tool.ref: voice(tool.capability.does) for tool in tools}
        known = [found for found in voices.values() if found]
        for usual in ("imperative", "third person"):
            count = known.count(usual)
            if len(known) < 5 or count == len(known) or count < 0.6 * len(known):
                continue
            odd = [tool for tool in tools if voices[tool.ref] not in ("", usual)]
            first = odd[0]
            yield (
                first,
                Flaw(
                    path=DOES,
                    message=f"{len(odd)} of {len(known)} descriptions of this server are in the "
                    f"{voices[first.ref]} ({shown(first.capability.does, limit=50)}), "
                    f"the others in the {usual}: they read as two sets",
                    suggestion=f"write all in the {usual}: {listed(tool.identity.name for tool in odd)}",
                    related=tuple(str(tool.ref) for tool in odd[1:]),
                ),
            )


def voice(does: str) -> str:
    """Return `imperative`, `third person` or "" where neither shows."""
    head = does.strip()
    first = re.split(r"[\s,.:;]", head, maxsplit=1)[0]
    if not first.isascii() or not first.isalpha() or not first:
        return ""
    if _THIRD.match(head):
        return "third person"
    match = _THIRD_VERB.match(head)
    if match and not first.lower().endswith("ss"):
        bases = (
            first[:-1].lower(),
            first[:-2].lower() if first.endswith("es") else "",
            first[:-3].lower() + "y" if first.endswith("ies") else "",
        )
        if any(base and is_verb(base) for base in bases):
            return "third person"
    return "imperative" if is_verb(first.lower()) else ""


RULES = (
    LintRule(
        id="TS201",
        name="description-missing",
        severity=Severity.ERROR,
        contract=missing,
        summary="A tool says what it does.",
    ),
    LintRule(
        id="TS202",
        name="description-repeats-name",
        severity=Severity.WARNING,
        contract=repeats_name,
        summary="A description says more than the name.",
    ),
    LintRule(
        id="TS203",
        name="use-when-missing",
        severity=Severity.NOTE,
        contract=no_use_when,
        summary="Question 1: when to use it.",
    ),
    LintRule(
        id="TS204",
        name="do-not-use-when-missing",
        severity=Severity.NOTE,
        contract=no_boundary,
        summary="Question 2: when not to use it, and what instead.",
    ),
    LintRule(
        id="TS205",
        name="input-source-missing",
        severity=Severity.NOTE,
        contract=input_source,
        summary="Question 3: where each required identifier comes from.",
    ),
    LintRule(
        id="TS206",
        name="result-missing",
        severity=Severity.NOTE,
        contract=no_result,
        summary="Question 4: what a call returns.",
    ),
    LintRule(
        id="TS207",
        name="repeat-unstated",
        severity=Severity.NOTE,
        contract=no_effect_words,
        summary="Question 5: what a writing call changes, and whether it may be repeated.",
    ),
    LintRule(
        id="TS208",
        name="description-implementation",
        severity=Severity.WARNING,
        contract=implementation,
        summary="A description says what follows for the caller, not how the tool is built.",
    ),
    LintRule(
        id="TS209",
        name="description-first-person",
        severity=Severity.WARNING,
        contract=first_person,
        summary="A description never says `I`.",
    ),
    LintRule(
        id="TS210",
        name="description-too-long",
        severity=Severity.NOTE,
        contract=too_much,
        summary="What a tool does is told in at most 200 words.",
    ),
    LintRule(
        id="TS211",
        name="description-too-short",
        severity=Severity.NOTE,
        catalogue=too_short,
        summary="The more tools a server has, the more a description says: 1 sentence up to 4 tools, 2 up to 15, "
        "then 3.",
    ),
    LintRule(
        id="TS212",
        name="description-voice-mixed",
        severity=Severity.NOTE,
        catalogue=mixed_voice,
        summary="The descriptions of one server share one voice.",
    ),
)
"""The rules on descriptions."""
