"""The recorded sessions are what the examples print, and the README quotes them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOUR, GATEWAY_TOUR = ROOT / "docs" / "tour.md", ROOT / "docs" / "gateway-tour.md"
TOURS = {"life_of_a_contract.py": TOUR, "behind_one_mcp_server.py": GATEWAY_TOUR}
QUOTED = {"The life of a contract": TOUR, "Behind one MCP server": GATEWAY_TOUR}


@pytest.mark.extras
@pytest.mark.slow
@pytest.mark.parametrize("example", TOURS)
def test_the_page_is_what_the_example_prints(example: str) -> None:
    # After a wanted change: python examples/life_of_a_contract.py > docs/tour.md, and so for the others.
    pytest.importorskip("mcp")
    if not (ROOT / ".venv-servers" / ".ready").exists():
        pytest.skip("the real MCP servers are not installed; run `make servers`")
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / example)], capture_output=True, encoding="utf-8", timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == TOURS[example].read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("section", QUOTED)
def test_the_readme_quotes_the_page(section: str) -> None:
    """Every line of the excerpt stands in the page, in the same order; lines in between may be left out."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    part = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    excerpt = re.search(r"```\w+\n(.*?)```", part, re.DOTALL)
    assert excerpt is not None
    page = iter(QUOTED[section].read_text(encoding="utf-8").splitlines())
    for line in excerpt[1].splitlines():
        assert line in page, f"not in the page, or in another order: {line}"
