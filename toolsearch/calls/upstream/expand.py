"""`${...}` in a configuration: replaced from what the caller gave, and from nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping

_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_PLAIN = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)


def expanded(text: str, *, environment: Mapping[str, str], inputs: Mapping[str, str]) -> str:
    """Return a text with `${env:NAME}`, `${NAME}`, `${NAME:-default}` and `${input:ID}` replaced, once.

    Args:
        text: As it stands in the file.
        environment: Variables that may be used.
        inputs: Answers to the questions of a VS Code file, by their id.

    Raises:
        ValueError: Naming the variable that is not there, never a value.
    """

    def value(match: re.Match[str]) -> str:
        inner = match[1]
        kind, colon, name = inner.partition(":")
        if colon and kind == "input":
            return _found(inputs, name, what=f"input {name!r} is not given")
        if colon and kind == "env":
            return _found(environment, name, what=f"variable {name!r} is not in the environment")
        plain = _PLAIN.fullmatch(inner)
        if plain is None:
            raise ValueError(f"${{{inner}}} is not known; write ${{env:NAME}} or ${{input:ID}}")
        if plain[2] is not None:
            return environment.get(plain[1]) or plain[2]
        return _found(environment, plain[1], what=f"variable {plain[1]!r} is not in the environment")

    return _VARIABLE.sub(value, text)


def _found(values: Mapping[str, str], name: str, *, what: str) -> str:
    try:
        return values[name]
    except KeyError:
        raise ValueError(what) from None
