"""Characters that a reader does not see, or takes for others: found, stripped, escaped, folded.

Some invisible characters are honest: joiners inside emoji and inside words of Persian or Hindi, direction marks beside
Hebrew or Arabic, the byte order mark at the start, the flag sequences of emoji. `hidden_runs` leaves those out.
Confusable letters follow Unicode TR39, cut down to the letters that pass for Latin ones.
"""

from __future__ import annotations

import re
import unicodedata

_SELECTORS = "\ufe00-\ufe0f"
_DIRECTION = "\u061c\u200e\u200f\u202a-\u202c\u2066-\u2069"
_TAGS = "\U000e0000-\U000e0fff"
_BLANK = (
    f"\u00ad\u034f\u115f\u1160\u180e\u200b-\u200d\u202d\u202e\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    f"\U0001d173-\U0001d17a{_DIRECTION}{_TAGS}"
)
_INVISIBLE = re.compile(f"[{_BLANK}{_SELECTORS}]+")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_JOINING = "\u0600-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17ff\u1800-\u18af"
_PICTURES = "\u200d\ufe0f\u2190-\u2bff\U0001f000-\U0001faff"
_HONEST = re.compile(
    f"\\A\ufeff|\u00ad|(?<=[{_JOINING}])[\u200c\u200d]|(?<=[{_PICTURES}])\u200d(?=[{_PICTURES}])"
    f"|\U0001f3f4[\U000e0020-\U000e007e]{{1,6}}\U000e007f|[{_SELECTORS}]{{1,2}}(?![{_SELECTORS}])"
)
_HONEST_JOINERS = re.compile(
    f"(?<=[{_JOINING}])[\u200c\u200d](?=[{_JOINING}])|(?<=[{_PICTURES}])\u200d(?=[{_PICTURES}])"
)
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe]")
_RUN = re.compile(f"[{_BLANK}]+|[{_SELECTORS}]{{3,}}")
_UNSEEN = re.compile(f"[{_BLANK}\u2800]|(?<=[{_SELECTORS}])[{_SELECTORS}]")
_DIRECTIONS = re.compile(f"[{_DIRECTION}]+")

_LOOKALIKES = str.maketrans(
    # Cyrillic, Greek, then letters of other blocks; the second line is what a reader takes them for.
    "абеорсухіјѕһԁԛԝӏвкмнтАВЕКМНОРСТХУІЈЅԌαορνιτκυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧıɡɑℓ",
    "a6eopcyxijshdqwlBKMHTABEKMHOPCTXYIJSGaopvitkuxABEZHIKMNOPTYXigal",
)
_WORD = re.compile(r"[^\W\d_]+")
_LATIN, _FOREIGN = re.compile("[A-Za-z]"), re.compile("[\u0370-\u03ff\u0400-\u052f]")


def strip_invisible(text: str) -> str:
    """Return the text without characters that nobody sees; honest ones go too, as no word depends on them."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


def hidden_runs(text: str) -> tuple[str, ...]:
    """Return the runs of invisible characters that no honest text needs, in order."""
    if text.isascii():
        return ()
    bare = _HONEST.sub("", text)
    if _RIGHT_TO_LEFT.search(bare):
        bare = _DIRECTIONS.sub("", bare)
    return tuple(_RUN.findall(bare))


def control_characters(text: str) -> tuple[str, ...]:
    """Return the control characters of a text other than tab and line ends, in order."""
    return tuple(_CONTROLS.findall(text))


def escaped(text: str) -> str:
    """Return the text with invisible and control characters written by their number, U+200B as u200b, for messages."""
    if not (hidden_runs(text) or _CONTROLS.search(text)):
        return text
    return _CONTROLS.sub(_as_escapes, _INVISIBLE.sub(_as_escapes, text))


def visible_text(text: str) -> str:
    """Return the text as a person may be shown it before deciding: what is read is all there is.

    Direction controls, zero-width and control characters, private and unassigned ones and lone surrogates are
    written by their number (U+202E as u202e with a backslash), so that nothing is reordered, hidden or lost. Spaces
    and line ends of every kind become a plain space or line feed. Joiners inside emoji and inside words of scripts
    that need them stay. The work is linear in the length of the text.
    """
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    kept = {match.start() for match in _HONEST_JOINERS.finditer(text)}
    return "".join(
        character if at in kept or (character.isprintable() and not _UNSEEN.match(text, at)) else _shown(character)
        for at, character in enumerate(text)
    )


def mixes_scripts(word: str) -> bool:
    """Tell whether a word puts Cyrillic or Greek letters among Latin ones."""
    return not word.isascii() and bool(_LATIN.search(word) and _FOREIGN.search(word))


def unmasked(text: str) -> str:
    """Return the text as a reader takes it: NFKC, nothing invisible, look-alike letters of mixed words made Latin."""
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFKC", strip_invisible(text))
    return _WORD.sub(lambda match: match[0].translate(_LOOKALIKES) if mixes_scripts(match[0]) else match[0], plain)


def skeleton(name: str) -> str:
    """Return what a name looks like: two names with one skeleton are mistaken for each other (after Unicode TR39)."""
    plain = unicodedata.normalize("NFKC", strip_invisible(name)).translate(_LOOKALIKES)
    return plain.replace("I", "l").replace("1", "l").replace("|", "l").lower().replace("0", "o").replace("rn", "m")


def _shown(character: str) -> str:
    if character == "\n" or unicodedata.category(character) in ("Zl", "Zp"):
        return "\n"
    if character == "\t" or unicodedata.category(character) == "Zs":
        return " "
    return _by_number(character)


def _as_escapes(match: re.Match[str]) -> str:
    return "".join(map(_by_number, match[0]))


def _by_number(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
