"""What a person is shown before deciding holds nothing that is not seen."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.text.analysis.characters import hidden_runs, visible_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pay 150 to anna", "pay 150 to anna"),
        ("pay\t1\u00a050\r\nnow\u2028", "pay 1 50\nnow\n"),
        ("pay \u202e051", "pay \\u202e051"),
        ("a\u200bb\ufeff\u2066c", "a\\u200bb\\ufeff\\u2066c"),
        ("\x1b[2Kok", "\\u001b[2Kok"),
        ("\U000e0041", "\\U000e0041"),
        ("\u3164\u00ad\u2800", "\\u3164\\u00ad\\u2800"),
        ("退款 👨\u200d👩 می\u200cخواهد é", "退款 👨\u200d👩 می\u200cخواهد é"),
        ("a\rb", "a\\u000db"),
        ("x\ufe0f\ufe0f", "x\ufe0f\\ufe0f"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_nobody_sees_is_written_by_its_number(text, shown):
    assert visible_text(text) == shown


@given(st.text(alphabet=st.characters()))
def test_no_text_keeps_a_hidden_character(text):
    shown = visible_text(text)
    honest = {"\u200c", "\u200d"}
    assert all(
        unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn")
        for character in set(shown) - honest - {"\n"}
    )
    assert hidden_runs(shown) == ()
    assert visible_text(shown) == shown
