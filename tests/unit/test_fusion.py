"""The baseline that the fused ranking is compared with."""

import pytest

from benchmarks.fusion import RRF_K, main, rrf
from toolsearch.eval.run import Run


def test_ranks_count_and_ties_go_by_id() -> None:
    one = Run("lexical", {"q": (("a", 9.0), ("b", 1.0)), "r": ()})
    other = Run("vector", {"q": (("b", 0.9), ("c", 0.8), ("a", 0.1))})
    fused = rrf([one, other])
    assert fused.ranked("q") == ("b", "a", "c")
    assert dict(fused.rankings["q"])["b"] == pytest.approx(1 / (RRF_K + 2) + 1 / (RRF_K + 1))
    assert fused.ranked("r") == ()
    assert rrf([Run("x", {"q": (("b", 1.0),)}), Run("y", {"q": (("a", 1.0),)})]).ranked("q") == ("a", "b")


def test_without_runs_it_says_what_to_do(tmp_path, capsys) -> None:
    assert main(["--data", str(tmp_path), "--out", str(tmp_path)]) == 1
    assert "make bench" in capsys.readouterr().out
