"""Where the parts of a text stand among its tokens."""

from hypothesis import given
from hypothesis import strategies as st

from toolsearch.text.embed.spans import token_spans

WORDS = st.lists(st.sampled_from(["a", "bb", "ccc", "a"]), min_size=1, max_size=12)


def offsets(words: list[str]) -> list[tuple[int, int]]:
    """Return the places of words joined by single spaces, between two special tokens."""
    places, at = [(0, 0)], 0
    for word in words:
        places.append((at, at + len(word)))
        at += len(word) + 1
    return [*places, (0, 0)]


@given(WORDS, st.integers(0, 12))
def test_two_halves_take_every_real_token_once(words: list[str], cut: int) -> None:
    halves = [part for part in (words[:cut], words[cut:]) if part]
    spans = token_spans(" ".join(words), [" ".join(half) for half in halves], offsets=offsets(words))
    taken = [at for span in spans if span is not None for at in range(*span)]
    assert taken == list(range(1, len(words) + 1))


def test_a_part_is_looked_for_after_the_one_before() -> None:
    places = offsets(["a", "bb", "a"])
    assert token_spans("a bb a", ["a", "a"], offsets=places) == [(1, 2), (3, 4)]
    assert token_spans("a bb a", ["bb", "bb"], offsets=places) == [(2, 3), None]
    assert token_spans("a bb a", ["", "ccc", "a"], offsets=places) == [None, None, (1, 2)]


def test_a_part_beyond_the_last_token_has_none() -> None:
    assert token_spans("a bb", ["bb"], offsets=[(0, 0), (0, 1), (0, 0)]) == [None]


def test_a_token_across_a_border_belongs_to_both() -> None:
    assert token_spans("ab cd", ["a", "b cd"], offsets=[(0, 2), (3, 5)]) == [(0, 1), (0, 2)]
