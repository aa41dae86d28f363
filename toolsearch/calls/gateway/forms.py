"""The same value in another form: dates, numbers, units. Pure; what could mean two things has no one form here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction

_NAMES = "january february march april may june july august september october november december"
_MONTHS = {name[:cut]: number for number, name in enumerate(_NAMES.split(), start=1) for cut in (3, None)} | {"sept": 9}
_YEAR_FIRST = re.compile(r"(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})日?")
_COMPACT = re.compile(r"((?:19|20)\d{2})(\d{2})(\d{2})")
_SLASHED = re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})")
_MONTH_FIRST = re.compile(r"([A-Za-z]+)\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})")
_DAY_FIRST = re.compile(r"(\d{1,2})(?:st|nd|rd|th)? ([A-Za-z]+)\.?,? (\d{4})")
_NUMBER = re.compile(r"[+-]?(?:0|[1-9]\d{0,17})(?:\.\d{1,18})?")
_MEASURED = re.compile(rf"({_NUMBER.pattern})\s*([A-Za-z%°]{{1,12}}|[一-鿿]{{1,4}})")
_NAIVE = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?")
_OFFSET = re.compile(rf"({_NAIVE.pattern})\s?(Z|z|[+-]\d{{2}}:?\d{{2}})")

UNITS: dict[str, tuple[str, Fraction]] = {
    unit: (kind, Fraction(size))
    for kind, table in {
        "time": "ms millisecond milliseconds 毫秒=1/1000 s sec second seconds 秒=1 min minute minutes 分钟=60 "
        "h hour hours 小时=3600 d day days 天=86400",
        "length": "mm 毫米=1/1000 cm 厘米=1/100 m meter meters metre metres 米=1 km kilometer kilometers 公里=1000",
        "mass": "g gram grams 克=1 kg kilogram kilograms 公斤 千克=1000",
        "data": "b byte bytes 字节=1 kb=1000 mb=1000000 gb=1000000000 kib=1024 mib=1048576 gib=1073741824",
        "share": "% percent pct=1",
    }.items()
    for names, size in re.findall(r"([^=]+)=(\S+)", table)
    for unit in names.split()
}
"""Unit -> what it measures, and its size in that."""


@dataclass(frozen=True, slots=True)
class Unclear:
    """A value that may mean several things.

    Attributes:
        options: What it may mean, as far as that is known.
        why: What is not known.
    """

    options: tuple[str, ...]
    why: str


def as_date(text: str) -> str | Unclear | None:
    """Return a date as YYYY-MM-DD; None if it is no date, or one that needs today or a person to be known."""
    if match := _YEAR_FIRST.fullmatch(text) or _COMPACT.fullmatch(text):
        return _iso(*map(int, match.groups()))
    if (match := _MONTH_FIRST.fullmatch(text)) and (month := _MONTHS.get(match[1].lower())):
        return _iso(int(match[3]), month, int(match[2]))
    if (match := _DAY_FIRST.fullmatch(text)) and (month := _MONTHS.get(match[2].lower())):
        return _iso(int(match[3]), month, int(match[1]))
    if match := _SLASHED.fullmatch(text):
        first, second, year = map(int, match.groups())
        found = {found for found in (_iso(year, first, second), _iso(year, second, first)) if found}
        if len(found) > 1:
            return Unclear(tuple(sorted(found)), "day and month cannot be told apart")
        return found.pop() if found else None
    return None


def as_date_time(text: str) -> str | Unclear | None:
    """Return a moment in the form of RFC 3339, with its offset; without one it is unclear."""
    if match := _OFFSET.fullmatch(text):
        moment = _moment(f"{match[1].replace(' ', 'T')}{match[2].upper()}")
        return None if moment is None else moment.isoformat().replace("+00:00", "Z")
    if _NAIVE.fullmatch(text) and _moment(text) is not None:
        return Unclear((), "no time zone is given, which can move it by a day")
    return None


def as_number(text: str) -> int | float | None:
    """Return the number that a text writes in full, without separators that mean one thing here and another there."""
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    if "." not in text:
        return int(text)
    return (
        value if repr(value).rstrip("0") == text.lstrip("+").rstrip("0") or Fraction(text) == Fraction(value) else None
    )


def measured(text: str) -> tuple[Fraction, str] | None:
    """Return the number and the known unit of a text such as `5 km`, or None."""
    match = _MEASURED.fullmatch(text)
    if match is None or match[2].lower() not in UNITS:
        return None
    return Fraction(match[1]), match[2].lower()


def converted(value: Fraction, unit: str, *, to: str) -> int | float | None:
    """Return a measure in another unit of its kind, exactly; None if there is none."""
    (kind, size), (other, other_size) = UNITS[unit], UNITS[to]
    if kind != other:
        return None
    exact = value * size / other_size
    if exact.denominator == 1:
        return int(exact)
    return float(exact) if Fraction(float(exact)) == exact or Fraction(repr(float(exact))) == exact else None


def unit_of_name(name: str) -> str | None:
    """Return the unit that a parameter says in its name, such as `timeout_ms`."""
    last = re.split(r"[_-]", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())[-1]
    return last if last in UNITS and (len(last) > 1 or last in ("%",)) else None


def _iso(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
