"""docs/formats.md names every format that is read, and its example runs."""

import re
from pathlib import Path

from toolsearch.contracts.read.openapi import FORMAT
from toolsearch.contracts.read.reader import READERS

PAGE = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")


def test_every_format_stands_in_the_table() -> None:
    sources = set(re.findall(r"`([a-z]+)`", "".join(re.findall(r"^\|.*\|(.*)\|$", PAGE, re.MULTILINE))))
    names = {reader.name for reader in READERS} - {"provider"}
    assert {*names, FORMAT, "function", "model"} <= sources


def test_the_example_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(code, "formats.md", "exec"), names)
    assert str(getattr(names["contract"], "ref", "")) == "market/get_quote@1"
