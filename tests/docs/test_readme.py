"""The session in the README is run, and its output compared."""

import contextlib
import io
import re
from pathlib import Path

import pytest
import yaml

from toolsearch import RuleBook, ToolIndex, load_contracts

ROOT = Path(__file__).parents[2]
STARTER = ROOT / "indexes" / "starter"


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme") / "starter"
    rules = RuleBook.model_validate(yaml.safe_load((STARTER / "rules.yaml").read_text(encoding="utf-8")))
    with ToolIndex.create(folder, rules=rules) as index:
        index.add(load_contracts(STARTER / "contracts"))
    return folder


def test_the_session_prints_what_the_readme_says(starter: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"```python\n(.*?)```\n+```text\n(.*?)```", text, re.DOTALL)
    assert block is not None
    code, expected = block.groups()
    assert '"indexes/starter"' in code
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code.replace('"indexes/starter"', repr(str(starter))), {})
    assert printed.getvalue() == expected
