"""How old the data of a tool may be, where its description says so in plain words."""

from __future__ import annotations

import re

from toolsearch.model.contract import Freshness

_SPEAKS = re.compile(
    r"\breal[- ]?time\b|\blive (?:data|prices?|quotes?|scores?|status|feed)\b"
    r"|\b(?:updated|refreshed|delayed)\b[^.]{0,30}\b(?:daily|hourly|weekly|monthly|every|minutes?|hours?)\b"
    r"|\bend[- ]of[- ]day\b|\bafter (?:the )?(?:market )?close\b"
    r"|实时|准实时|每[日天周月]更新|每小时更新|每\s*\d+\s*(?:分钟|小时)更新|延迟\s*\d+\s*(?:分钟|秒|小时)|收盘后|盘后|T\s*\+\s*1",
    re.IGNORECASE,
)
_NEAR = re.compile(r"\bnear[- ]real|准实时|近实时|non-real", re.IGNORECASE)
_UNITS = {"second": "S", "秒": "S", "minute": "M", "分钟": "M", "hour": "H", "小时": "H"}
_AGES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"\b(?:updated|refreshed)\s+(?:once\s+)?(?:daily|every\s+day)\b|每[日天]更新|T\s*\+\s*1", re.IGNORECASE
        ),
        "P1D",
    ),
    (re.compile(r"\b(?:updated|refreshed)\s+(?:hourly|every\s+hour)\b|每小时更新", re.IGNORECASE), "PT1H"),
    (re.compile(r"\b(?:updated|refreshed)\s+weekly\b|每周更新", re.IGNORECASE), "P7D"),
    (
        re.compile(
            r"\breal[- ]?time\s+(?:\w+\s+)?(?:data|prices?|quotes?|rates?|status|information|balance|inventory"
            r"|weather|scores?)\b"
            r"|实时(?:的)?(?:数据|行情|价格|报价|盘口|汇率|状态|信息|库存|余额|天气|位置|动态)",
            re.IGNORECASE,
        ),
        "PT0S",
    ),
)
_EVERY = re.compile(
    r"\b(?:updated|refreshed)\s+every\s+(?P<n>\d{1,4})\s+(?P<unit>second|minute|hour)s?\b"
    r"|\bdelayed\s+(?:by\s+)?(?P<n2>\d{1,4})\s+(?P<unit2>second|minute|hour)s?\b"
    r"|(?:每|延迟)\s*(?P<n3>\d{1,4})\s*(?P<unit3>秒|分钟|小时)",
    re.IGNORECASE,
)


def read_freshness(sentences: list[str]) -> Freshness:
    """Return the first statement about freshness among positive sentences, with a bound only where one is stated."""
    for sentence in sentences:
        if _SPEAKS.search(sentence):
            return Freshness(text=sentence[:500], max_staleness=_bound(sentence))
    return Freshness()


def _bound(sentence: str) -> str | None:
    every = _EVERY.search(sentence)
    if every:
        groups = every.groupdict()
        number = groups["n"] or groups["n2"] or groups["n3"]
        unit = groups["unit"] or groups["unit2"] or groups["unit3"]
        return f"PT{int(number)}{_UNITS[unit.lower()]}"
    if _NEAR.search(sentence):
        return None
    return next((age for pattern, age in _AGES if pattern.search(sentence)), None)
