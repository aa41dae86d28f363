"""What the documents say is what the program does."""

import re
from pathlib import Path

import pytest

from toolsearch.explain import ReasonCode

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "indexes").rglob("*.md")])


def test_every_reason_code_is_documented_and_no_other() -> None:
    page = (ROOT / "docs" / "reasons.md").read_text(encoding="utf-8")
    documented = re.findall(r"^\| `([a-z_]+)` \|", page, re.MULTILINE)
    assert sorted(documented) == sorted(documented_once := set(documented)), "a code stands twice"
    assert documented_once == {code.value for code in ReasonCode}


@pytest.mark.parametrize("code", list(ReasonCode))
def test_every_reason_code_is_used(code: ReasonCode) -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "toolsearch").rglob("*.py"))
    assert f"ReasonCode.{code.name}" in sources


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
