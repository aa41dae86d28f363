"""One sentence of a description -> what it says about choosing the tool, in English and Chinese.

A sentence whose main clause negates never counts as positive text: it is a reason against the tool (NOT_USE), a thing
the tool does not do (DOES_NOT), or a rule for calling it (RULE). A negation inside a condition or a relative clause
("creates the file if it does not exist", "users who are not active", "如果文件不存在，将创建") leaves
the sentence positive.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum


class Says(Enum):
    """What a clause says about the tool."""

    DOES = "does"
    USE = "use"
    NOT_USE = "not_use"
    DOES_NOT = "does_not"
    RULE = "rule"


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause, what it says, and the other tool it names: in its place (`instead`) or as a step beside it."""

    text: str
    says: Says
    other: str = ""
    instead: bool = False


_NOUN = r"(?:tools?|commands?|functions?|apis?|endpoints?|actions?|operations?|methods?|capability)"
_THIS = rf"(?:(?:this|it|these)(?:\s+{_NOUN})?|the\s+{_NOUN})"
_LABEL = re.compile(
    r"(?:[*_]{0,2}(?:important|note|notes|warning|critical|caution|usage|tips?|workflow|remember|注意|重要|说明|提示)[*_]{0,2}"
    r"\s*[:：—-]+\s*[*_]{0,2}\s*)+",
    re.IGNORECASE,
)


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


_NOT_USE = _any(
    rf"[,;:—–]\s*(?:then\s+|so\s+)?(?:do\s+not|don['’]?t|never)\s+(?:use|call)\s+(?:{_THIS})\b",
    rf"^(?:please\s+)?(?:do\s+not|don['’]?t|never|avoid)\s+(?:use|using|call|calling|invoke|invoking|choose|select)\s*"
    rf"(?:{_THIS})?\s*(?:$|[.:,]|\b(?:for|when|if|to|unless|on|as|in|with|without|where|while|until|before|except|just|merely)\b)",
    rf"^(?:but\s+)?(?:{_THIS}\s+(?:is|are)\s+|it['’]s\s+)?not\s+(?:to\s+be\s+used\s+)?(?:for|when|if)\b",
    r"^[^,;]{0,60}\bnot\s+(?:intended|meant|suitable|designed|appropriate|recommended|suited)\s+(?:for|to|as|when)\b",
    rf"^(?:{_THIS})?\s*(?:should|must|may)\s*(?:not|n['’]t)\s+be\s+used\b",
    r"(?:不要|请勿|切勿|不应该?|不得|禁止|不必|不能|不可|别|勿)(?:使用|调用|用)(?:本|该|此|这|它|于|来|在|$|[。；，,])",
    r"^(?:也|并|但|且)?(?:不适用于|不适合|不用于|不宜用于|并非用于|不应用于|何时不用)",
    r"(?:不适用于|不适合用?于)",
)
_FINAL = _any(
    r"\b(?:cannot|can['’]t|can\s+not)\s+be\s+(?:undone|reversed|recovered|restored)",
    r"(?:不可|无法|不能)(?:撤销|恢复|逆|撤回|回滚)",
)
_DOES_NOT = _any(
    rf"^(?:but\s+|and\s+|note\s+that\s+)?(?:{_THIS}\s+|(?:the\s+)?(?:results?|responses?|outputs?)\s+)?(?:also\s+|currently\s+)?"
    r"(?:does\s+not|doesn['’]?t|cannot|can\s*not|can['’]t|will\s+not|won['’]t|is\s+unable|isn['’]?t|is\s+not|are\s+not)\b",
    rf"^{_THIS}\s+(?:never|no\s+longer|has\s+no|lacks)\b",
    r"^(?:it\s+)?never\s+(?:returns|modifies|writes|deletes|changes|touches|sends|stores)\b",
    r"^(?:no\s+(?:support|guarantee)|not\s+(?:the|a|an|its|their|all|any|supported|included|returned)\b)",
    r"^(?:但|且|并|也|而|同时)?(?:(?:本|该|此|这个?)(?:工具|接口|函数|命令|API)|它|结果)(?:也|并|暂时?|目前|均|都)?(?:不|无法|没有|未)",
    r"^(?:但|且|并|也|而)?(?:也|并|暂时?|目前|均|都)?(?:无法|不(?!要|得|能|可|应|同|仅|但|少|断|管|论|过|久|限|再|良|动产|宜|必|如|同于|用))",
)
_RULE = _any(
    r"[,;:—–]\s*(?:then\s+|so\s+)?(?:do\s+not|don['’]?t)\s+\w",
    r"^(?:please\s+)?(?:do\s+not|don['’]?t|never|avoid|must\s+not|you\s+(?:must|should)\s*(?:not|never|n['’]t))\b",
    r"^(?:也|并|但|且)?(?:请)?(?:不要|请勿|切勿|勿|严禁|禁止|不得|不可|不能|不应|别)",
)
_NEGATION = re.compile(
    r"\b(?:does\s+not|doesn['’]t|do\s+not|don['’]t|cannot|can['’]t|will\s+not|won['’]t|must\s+not|mustn['’]t|should\s+not"
    r"|shouldn['’]t|never|is\s+not|are\s+not|isn['’]t|aren['’]t)\b",
    re.IGNORECASE,
)
_SUBORDINATE = re.compile(
    r"\b(?:if|when|whenever|unless|where|that|which|who|whose|in\s+case|until|while|because|so|whether|what|as|whatever)\b",
    re.IGNORECASE,
)
_USE = _any(
    rf"^(?:you\s+(?:should|can|must)\s+|should\s+be\s+)?(?:always\s+|only\s+)?(?:use|call|invoke|choose|prefer|run)\s+(?:{_THIS})?\s*"
    r"(?:only\s+|first\s+|whenever\s+|instead\s+)?(?:when|whenever|if|to|for|only|before|after|as|in|with)\b",
    rf"^useful\s+(?:for|when|to|if)\b|^(?:{_THIS}\s+is\s+)?(?:best|ideal|suitable|helpful|recommended|intended|appropriate)\s+(?:for|when|to)\b",
    rf"^{_THIS}\s+(?:is|should\s+be|must\s+be)\s+(?:only\s+|best\s+)?used\s+(?:when|if|for|only)\b|^best\s+used\b",
    r"^(?:仅|只|仅限|只限)(?:能|可|应)?(?:用于|适用于|在|当|限|供)|^(?:适用于|适合|何时用|主要适用)",
    r"^(?:当|在|如果|若|需要).{1,120}(?:时|后|前|，|,)\s*(?:请|应|可以?|才|再)?(?:使用|调用|用)(?:本|该|此|这|它|$|[。；，,])",
)
_NAME = r"(?P<tick>[`'\"“「]?)(?P<name>[A-Za-z][\w.-]*\w)(?:\(\))?[`'\"”」]?"
_OTHER = re.compile(
    rf"\b(?:use|call|prefer|try|choose|see|switch\s+to)\s+(?:the\s+)?{_NAME}(?P<noun>\s+(?:tool|command|function))?(?P<instead>(?:\s+\w+)?\s+instead)?",
    re.IGNORECASE,
)
_OTHER_IN_NEGATIVE = re.compile(rf"(?:which\s+is|handled\s+by|covered\s+by|→|->)\s*(?:use\s+)?{_NAME}", re.IGNORECASE)
_OTHER_HAN = re.compile(
    rf"(?P<firm>请使用|请用|请改用|改用|应使用|应该使用|应该用|应用|请调用|应调用|建议使用|需用|需使用|去用|交给)\s*{_NAME}"
)
_STEP = re.compile(
    r"\b(?:first|before|after|then|next|following|prior|to\s+(?:get|find|discover|obtain|look\s+up|list|retrieve|learn))\b|先|然后|之后|再",
    re.IGNORECASE,
)
_CONTRAST = re.compile(
    r"^(?:for|to|(?:if|when)\s+(?:the\s+)?(?:users?|you|customers?)\s+(?:only\s+)?(?:want|need|ask|mention|do|already))\b.*,\s*(?:use|call|prefer|try|see)\b|^.{0,80}\binstead\b",
    re.IGNORECASE,
)
_FILE = re.compile(r"\.(?:com|org|io|net|json|md|ya?ml|py|js|ts|txt|csv|html?|xml|sh|tf)\Z", re.IGNORECASE)
_HUMP = re.compile(r"[a-z0-9][A-Z]")
_HAN = re.compile(r"[一-鿿]")
_BREAKS = re.compile(r"(?<=[;；])\s*|(?<!\s)\s++(?=[—–]\s)|(?<!\s)\s++(?=--?\s+(?:use|do|not|never)\b)", re.IGNORECASE)
_BUT = re.compile(
    r"(?:,|(?<![\s,]))\s++(?:but|yet)\s+(?=(?:it\s+)?(?:does\s+not|doesn['’]t|cannot|can['’]t|will\s+not|won['’]t|never|is\s+not|not)\b)"
    r"|,\s++not\s+(?=for\b)|,\s++(?=(?:does\s+not|doesn['’]t|cannot|never)\b)|(?:,|(?<![\s,]))\s++and\s+(?=(?:does\s+not|doesn['’]t|cannot|will\s+not)\b)",
    re.IGNORECASE,
)
_CONDITION_START = re.compile(r"^(?:use|if|when|unless|only|如果|若|当|除非)", re.IGNORECASE)
_HAN_CONDITION = re.compile(r"^(?:如果|若|当|除非|在.*时$|.*时$|未)")


def clauses(sentence: str, *, own_name: str, parameters: frozenset[str], verbs: frozenset[str]) -> list[Clause]:
    """Return the clauses of a sentence with what each says; together they hold all of its words.

    Args:
        sentence: One sentence or list item.
        own_name: Name of the tool that is described.
        parameters: Names of its parameters, which are never other tools.
        verbs: Words that begin a statement of what a tool does (`list`, `creates`).
    """
    result: list[Clause] = []
    for part in _parts(sentence):
        says = _says(part, own_name=own_name, verbs=verbs)
        negative = says is Says.NOT_USE or bool(result and result[-1].says is Says.NOT_USE)
        other, instead = _other_tool(part, own_name=own_name, parameters=parameters, negative=negative)
        if instead and says in (Says.DOES, Says.USE):
            says = Says.NOT_USE
        last = result[-1] if result else None
        # A redirection belongs to the boundary it follows: "Do not use it to search; use orders.search instead".
        redirects = says is Says.NOT_USE and last is not None and not last.other
        if last is not None and last.says is says and says is not Says.DOES and (not other or redirects):
            joined = f"{last.text} {part}" if not _HAN.search(part) else last.text + part
            result[-1] = Clause(joined, says, last.other or other, last.instead or instead)
        else:
            result.append(Clause(part, says, other, instead))
    if len({clause.says for clause in result}) == 1 and not any(clause.other for clause in result):
        return [Clause(sentence.strip(), result[0].says)]
    return result


def _parts(sentence: str) -> list[str]:
    parts: list[str] = []
    for piece in _BREAKS.split(sentence):
        text = piece.strip()
        if not text.strip("—–-;； "):
            continue
        if _HAN.search(text):
            parts.extend(_split_han(text))
        elif _CONDITION_START.match(text):
            parts.append(text)
        else:
            found = _BUT.split(text)
            # `, not the X` keeps its "not"; the other separators only lose a conjunction.
            seams = [match[0] for match in _BUT.finditer(text)]
            parts.append(found[0] if len(found) == 1 else f"{found[0].rstrip(' ,')}.")
            parts.extend(
                ("not " if "not" in seam.split() else "") + rest for seam, rest in zip(seams, found[1:], strict=True)
            )
    return [part.strip() for part in parts if part.strip()]


def _split_han(text: str) -> list[str]:
    """Cut before the first comma clause that negates, unless what stands before is its condition."""
    pieces = re.split(r"(?<=[，,])", text)
    for at, piece in enumerate(pieces[1:], start=1):
        bare = piece.strip()
        if _NOT_USE.match(bare) or _DOES_NOT.match(bare) or _RULE.match(bare):
            head = "".join(pieces[:at])
            if _HAN_CONDITION.match(pieces[at - 1].strip("，, ")):
                head = "".join(pieces[: at - 1])
                at -= 1
            head = head.strip("，, ")
            return [part for part in (f"{head}。" if head else "", "".join(pieces[at:])) if part]
    return [text]


def _says(text: str, *, own_name: str, verbs: frozenset[str]) -> Says:
    bare = _LABEL.sub("", text.strip().lstrip("*_`(（—–- "), count=1).lstrip("*_`—–- ")
    # A name that is a plain word ("search") may also be meant as the word.
    if own_name in bare and (re.search(r"[_.-]", own_name) or _HUMP.search(own_name)):
        bare = re.sub(rf"[`'\"]?(?<!\w){re.escape(own_name)}(?!\w)(?:\(\))?[`'\"]?", "this tool", bare)
    if _FINAL.search(bare):
        return Says.RULE
    if _NOT_USE.search(bare):
        return Says.NOT_USE
    if _HAN_CONDITION.match(bare) and re.search(r"[，,](?:则|就)?(?:不|无法)", bare):
        return Says.DOES_NOT
    if _DOES_NOT.search(bare):
        return Says.DOES_NOT
    if _RULE.search(bare):
        return Says.RULE
    if _USE.search(bare):
        return Says.USE
    negation = _NEGATION.search(bare)
    first = bare.split(maxsplit=1)[0].lower().strip(",.:`*") if bare else ""
    if negation and first not in verbs and not _SUBORDINATE.search(bare[: negation.start()]):
        return Says.RULE
    return Says.DOES


def _other_tool(text: str, *, own_name: str, parameters: frozenset[str], negative: bool) -> tuple[str, bool]:
    """Return the other tool that a clause names, and whether it is to be used instead of this one."""
    for match in _OTHER_HAN.finditer(text):
        if _is_tool_name(match["name"], own_name, parameters):
            return match["name"], _STEP.search(text[: match.start()]) is None
    for pattern in (_OTHER, _OTHER_IN_NEGATIVE) if negative else (_OTHER,):
        for match in pattern.finditer(text):
            name, groups = match["name"], match.groupdict()
            stressed = bool(groups.get("noun") or groups.get("instead"))
            ticked = match["tick"] == "`" or "()" in match[0]
            # Humps and dashes are also how products and field names are written, so they need a second sign.
            shaped = bool(_HUMP.search(name) or "-" in name) and (stressed or ticked or negative)
            if not _is_tool_name(name, own_name, parameters) or not (
                re.search(r"[_.]", name) or shaped or (ticked and stressed)
            ):
                continue
            instead = negative or bool(groups.get("instead")) or bool(re.search(r"\binstead\b", text))
            contrast = _CONTRAST.search(text) and not _STEP.search(text)
            return name, bool(instead or contrast)
    return "", False


def _is_tool_name(name: str, own_name: str, parameters: frozenset[str]) -> bool:
    return name not in parameters and name != own_name and not _FILE.search(name) and len(name) > 2
