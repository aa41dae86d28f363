"""Weighs the parts of confidence: what tells a request that some tool serves from one that none does.

Run as `python -m benchmarks.encoder.confidence --data DIR`. It asks the requests of train and dev sets over their
whole catalogue, over a few tools with the right one among them, and over a few without it; requests that need no tool;
and our own groups of few tools (`fits.tsv`). A logistic regression over the train situations gives the weights; on the
held-out ones the table says what shares are refused by the weights that ship, and by the fitted ones, each at the
threshold that refuses FALSE of the requests that the whole catalogue serves.
"""

from __future__ import annotations

import argparse
import logging
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.encoder.asked import fits, needless_requests
from benchmarks.encoder.need import logistic_regression
from benchmarks.encoder.records import FIT_SETS, Request, read_lines, read_requests, tool_lines
from toolsearch import Principal, RuleBook, SearchRequest, ToolIndex
from toolsearch.contracts.read.reader import read_data
from toolsearch.model.request import Restriction
from toolsearch.search.rank.confidence import NEARNESS, OFFSET, RELEVANCE, TOKENS, Signs

CHOOSING_SETS: Final = {"nestful": None, "tooltalk": None, "bfcl_multiturn": None, "seal_tools": "dev"}
"""Dev sets, and the split of each that is read."""

SERVED, NEEDLESS = "served", "needless"
FALSE: Final = 0.017
"""Share of the served requests that may be refused, in the mean of the sets."""

REQUESTS, NEEDLESS_ASKED, FEW_MOST, FAR_FROM = 150, 80, 3, 6
"""Requests a set, requests without need a catalogue, other tools in a small one, and the rank from which tools that
are near but wrong are taken."""

PENALTY: Final = 1e-4
ANYONE: Final = Principal(subject="training")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Situation:
    """One request over some tools.

    Attributes:
        kind: `served` over the whole catalogue, `few` tools with the right one, `far` and `near` without it,
            `needless`, `group` and `other group` of our own.
        dataset: Whose tools.
        fits: Whether one of the tools serves it.
        held_out: Whether it is kept for choosing.
        signs: What speaks for the best tool; None = nothing was recalled.
    """

    kind: str
    dataset: str
    fits: bool
    held_out: bool
    signs: Signs | None


class Catalogue:
    """Tools of data sets in an index in memory, by their key."""

    def __init__(self, lines: Sequence[Mapping[str, Any]]) -> None:
        report = read_data([dict(line) for line in lines], source="training")
        self.index = ToolIndex.create(None, rules=RuleBook.public(reason="training"))
        self.index.add(report.contracts)
        self.names = {key: str(ref).rpartition("@")[0] for ref, key in report.ids.items()}
        self._keys = {str(ref): key for ref, key in report.ids.items()}

    def signs(self, text: str, keys: Sequence[str] | None = None) -> Signs | None:
        """Return what speaks for the best tool; among some tools if their keys are given."""
        restrict = None if keys is None else Restriction(tools=tuple(self.names[key] for key in keys))
        return self.index.signs(SearchRequest(text=text, restrict=restrict), principal=ANYONE)

    def near(self, text: str) -> list[str]:
        """Return keys, best first."""
        return [self._keys[ref] for ref, _ in self.index.rank(text, principal=ANYONE, depth=30)]


def set_situations(data: Path, dataset: str, *, split: str | None, held_out: bool, seed: int) -> Iterator[Situation]:
    """Yield the situations of one labelled set."""
    rng = random.Random(f"{seed} {dataset}")
    catalogue = Catalogue(
        [{**line, "id": f"{dataset}/{line['id']}"} for line in read_lines(data / dataset / "tools.jsonl")]
    )
    requests = read_requests(data, dataset, split=split)
    rng.shuffle(requests)
    for request in requests[:REQUESTS]:
        for kind, right, keys in _around(request, catalogue, rng=rng):
            yield Situation(kind, dataset, right, held_out, catalogue.signs(request.text, keys))
    needless = [request.text for request in needless_requests() if request.held_out == held_out]
    for text in rng.sample(needless, NEEDLESS_ASKED):
        yield Situation(NEEDLESS, dataset, False, held_out, catalogue.signs(text))


def _around(
    request: Request, catalogue: Catalogue, *, rng: random.Random
) -> Iterator[tuple[str, bool, list[str] | None]]:
    """Yield the kind of each situation of a request, whether a tool serves it, and the tools; None = all."""
    right = {*request.relevant, *(key for keys in request.alternatives.values() for key in keys)}
    gold = [key for key in request.relevant if key in catalogue.names]
    if not gold:
        return
    yield SERVED, True, None
    others = [key for key in catalogue.names if key not in right]
    yield "few", True, gold + rng.sample(others, min(len(others), rng.randrange(FEW_MOST + 1)))
    if others:
        yield "far", False, rng.sample(others, min(len(others), rng.randrange(1, FEW_MOST + 1)))
    near = [key for key in catalogue.near(request.text)[FAR_FROM:] if key not in right]
    if near:
        yield "near", False, rng.sample(near, min(len(near), rng.randrange(1, FEW_MOST + 1)))


def group_situations(data: Path) -> Iterator[Situation]:
    """Yield the situations of our own groups of few tools."""
    rows = fits()
    catalogue = Catalogue(tool_lines(data, {key for row in rows for key in row.keys}))
    for row in rows:
        keys = [key for key in row.keys if key in catalogue.names]
        if row.keys[0] not in keys:
            continue
        yield Situation("group", "fits", True, row.held_out, catalogue.signs(row.served, keys))
        yield Situation("other group", "fits", False, row.held_out, catalogue.signs(row.other, keys))


def odds(situations: Sequence[Situation], weights: Sequence[float]) -> NDArray[np.float64]:
    """Return float64[n], the log odds under the weights of relevance, nearness, tokens, need, few and offset."""
    return np.array([_parts(one.signs) @ np.asarray(weights) if one.signs else -np.inf for one in situations])


def shipped() -> list[float]:
    """Return the weights that ship, in the order of `odds`."""
    return [RELEVANCE, NEARNESS, TOKENS, 1.0, -1.0, -OFFSET]


def fitted(situations: Sequence[Situation]) -> list[float]:
    """Return the weights that a logistic regression finds; situations that fit and others count alike."""
    rows = [(one.fits, _parts(one.signs)[:-1]) for one in situations if one.signs]
    yes = np.array([row for right, row in rows if right], dtype=np.float32)
    no = np.array([row for right, row in rows if not right], dtype=np.float32)
    return [float(weight) for weight in logistic_regression(yes, no, penalty=PENALTY)]


def refused(situations: Sequence[Situation], weights: Sequence[float]) -> dict[str, float]:
    """Return the share refused of each kind, the mean over its sets, where FALSE of `served` is refused at most."""
    scores = odds(situations, weights)
    by_set: dict[tuple[str, str], list[float]] = defaultdict(list)
    for one, score in zip(situations, scores.tolist(), strict=True):
        by_set[one.kind, one.dataset].append(score)
    served = [np.array(found) for (kind, _), found in sorted(by_set.items()) if kind == SERVED]
    levels = np.unique(np.concatenate(served))
    allowed = [level for level in levels if np.mean([np.mean(found < level) for found in served]) <= FALSE]
    level = allowed[-1]
    kinds: dict[str, list[float]] = defaultdict(list)
    for (kind, _), found in sorted(by_set.items()):
        kinds[kind].append(float(np.mean(np.array(found) < level)))
    return {kind: float(np.mean(shares)) for kind, shares in kinds.items()}


def _parts(signs: Signs) -> NDArray[np.float64]:
    return np.array([signs.relevance, signs.nearness, signs.tokens, signs.need, signs.few, 1.0])


def main() -> None:
    """Log the fitted weights and the shares refused."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.encoder.confidence",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--seed", type=int, default=0, help="of the samples")
    options = parser.parse_args()
    situations = list(group_situations(options.data))
    for dataset in FIT_SETS:
        situations += set_situations(options.data, dataset, split=None, held_out=False, seed=options.seed)
    for dataset, split in CHOOSING_SETS.items():
        situations += set_situations(options.data, dataset, split=split, held_out=True, seed=options.seed)
    found = fitted([one for one in situations if not one.held_out])
    held = [one for one in situations if one.held_out]
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    _log.info("%d situations, %d of them held out", len(situations), len(held))
    _log.info("weights of relevance, nearness, tokens, need, few; offset")
    for name, weights in (("shipped", shipped()), ("fitted", found)):
        shares = ", ".join(f"{kind} {share:.3f}" for kind, share in refused(held, weights).items())
        _log.info("%s: %s\n  refused: %s", name, " ".join(f"{weight:.2f}" for weight in weights), shares)


if __name__ == "__main__":
    main()
