"""What the documents say is what the program does."""

import re
from pathlib import Path

import pytest

from toolsearch.model.limits import PROFILES, SearchLimits
from toolsearch.model.reasons import ReasonCode
from toolsearch.search.index.document import VIEW_WEIGHTS
from toolsearch.search.rank.confidence import ENOUGH, FAR, FEW, NEARNESS, OFFSET, RELEVANCE, SAID, SLOPE, TOKENS
from toolsearch.search.rank.diversify import COVER_BONUS, HELP_BONUS
from toolsearch.search.rank.evidence import CLAUSE_SHARE
from toolsearch.search.rank.recall import NAME_SHARE, TOKEN_SHARE

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


def test_the_page_on_ranking_has_the_numbers_in_force() -> None:
    page = " ".join((ROOT / "docs" / "ranking.md").read_text(encoding="utf-8").split())
    weights = PROFILES["default"].weights
    for text in (
        f".{VIEW_WEIGHTS['positive'] * 10:.0f} the main text",
        f".{VIEW_WEIGHTS['returns'] * 10:.0f} what it returns, .{VIEW_WEIGHTS['name'] * 10:.0f} its name",
        f"lexical = .{(1 - NAME_SHARE) * 10:.0f} sqrt(s) + .{NAME_SHARE * 10:.0f} share",
        ", ".join(f"{name} .{weights[name] * 100:.0f}" for name in ("semantic", "lexical", "experience")),
        f"reaches .{CLAUSE_SHARE * 10:.0f} of the best",
        f"by up to .{COVER_BONUS * 100:.0f}",
        f"a {'fifth' if HELP_BONUS == 0.2 else HELP_BONUS} of that tool's score",
        f"exp(-({RELEVANCE:.0f} relevance + {NEARNESS:.0f} nearness + {TOKENS:.0f} tokens + need - few - "
        f"{OFFSET:.1f}))",
        f"few = {FEW:.0f} (1 - log tools / log {ENOUGH})",
        f"meaning = .{(1 - TOKEN_SHARE) * 10:.0f} as a whole + .{TOKEN_SHARE * 10:.0f} token by token",
        f"it is {FAR} less {SLOPE:.0f} times the nearness to a bank",
        f"a need of {SAID} at least",
        f"`SearchLimits.min_confidence` (.{SearchLimits().min_confidence * 10:.0f})",
    ):
        assert text in page
