"""Numbers in sentences for people."""

from __future__ import annotations

import pytest

from toolsearch.model.reasons import counted


@pytest.mark.parametrize(("count", "said"), [(0, "0 tools"), (1, "1 tool"), (2, "2 tools"), (21, "21 tools")])
def test_a_number_has_the_noun_in_its_number(count: int, said: str) -> None:
    assert counted(count, "tool") == said
