"""`train`: a model from a user's own log, and the verdict of requests that nothing was fitted to.

The log is divided in three. Maps are fitted to the first part; the second chooses among them, and chooses the weights;
the map that was chosen is fitted again to both. The third part, the hold-out, is asked twice at the end, without the
model and with it, and decides only whether the model is any good.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from toolsearch.engine.models import LearntModel, ModelManifest
from toolsearch.engine.search import ToolIndex
from toolsearch.engine.workbench import Workbench, past_requests
from toolsearch.eval.rates import difference
from toolsearch.learn.fit import STRENGTHS, arrays, fit_map, levelled
from toolsearch.learn.log import MAX_SHARE, Log, Split, of_tenant, plain, read_log, split
from toolsearch.learn.trial import Values, measured
from toolsearch.model.contract import Frozen
from toolsearch.model.errors import ModelRefused
from toolsearch.model.limits import PROFILES, SearchLimits
from toolsearch.model.request import PastRequest, SignalName
from toolsearch.search.rank.tuned import UNTUNED, QueryMap, TunedModel

FACTORS: tuple[float, ...] = (0.0, 0.5, 1.5, 2.0)
"""What the weights of words and of experience are multiplied with, one at a time; that of meaning stays."""

MIN_GAIN = 0.002
"""A weight changes only if the chosen-on requests gain more than this: less is noise."""

INNER_ASKED, HELD_OUT_ASKED = 300, 1_500
"""Requests asked at most for a choice, and for the verdict."""

Progress = Callable[[str, int, int], None]
"""Called with (what is done, done, in all)."""


class TrainReport(Frozen):
    """What `train` found."""

    won: bool
    verdict: str
    manifest: ModelManifest
    weights: dict[SignalName, float]
    sha256: str
    requests: int
    refused: int
    unknown: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Trained:
    """A model and what speaks for or against it."""

    model: LearntModel
    report: TrainReport

    def require_won(self) -> LearntModel:
        """Return the model if it won.

        Raises:
            ModelRefused: If it did not.
        """
        if not self.report.won:
            raise ModelRefused(f"not installed: {self.report.verdict}")
        return self.model


class _Definitions(TypedDict):
    rows: NDArray[np.float32]
    owners: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """What every step needs."""

    bench: Workbench
    log: Log
    parts: Split
    at: datetime
    tell: Progress

    def worth(self, model: TunedModel) -> float:
        """Return what a model is worth on the requests that choices are made on."""
        return measured(self.bench, model, self.log, self.parts.inner[:INNER_ASKED], at=self.at).worth

    def fitted(self, places: Sequence[int], *, strength: float) -> QueryMap:
        """Return the map fitted to the requests at some places."""
        requests, golds = self._vectors(places)
        return fit_map(requests, golds, encoder=self.bench.encoder.info, strength=strength, **self._definitions())

    def levelled(self, query_map: QueryMap) -> QueryMap:
        """Return a map fitted to the first part, levelled on the requests that choices are made on."""
        requests, golds = self._vectors(self.parts.inner)
        return levelled(query_map, requests, golds, **self._definitions())

    def _vectors(self, places: Sequence[int]) -> tuple[NDArray[np.float32], list[list[int]]]:
        number = {ref: doc_id for doc_id, ref in enumerate(self.bench.refs)}
        asked = [self.log.asked[place] for place in places]
        requests = self.bench.encoder.encode_queries([one.text for one in asked])
        return requests, [[number[ref] for ref in one.golds] for one in asked]

    def _definitions(self) -> _Definitions:
        rows, owners = self.bench.contract_vectors
        return {"rows": rows, "owners": owners}


def train(
    index: ToolIndex,
    requests: Iterable[PastRequest] = (),
    *,
    tenant: str | None = None,
    all_tenants: bool = False,
    seed: int = 0,
    max_share: float = MAX_SHARE,
    at: datetime | None = None,
    limits: SearchLimits | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Fit a model; nothing is installed. With the same log, index, seed and moment the model is the same.

    Past requests that the index keeps take part, and vote while requests are asked, as they do when it serves; what
    is like a request that is asked to judge by is kept out of the vote.

    Args:
        index: Its tools, encoder and past requests.
        requests: More of the log.
        tenant: Whose part of the log to use; None = it must be of one tenant.
        all_tenants: Make a model that serves everybody; without `tenant` it is fitted on everybody's requests.
        seed: Decides what is held out.
        max_share: Share of the requests that one subject may have asked, where three or more asked.
        at: The moment; None = now.
        limits: Sizes and floors to search with; None = those of the index.
        progress: Called after each step.

    Raises:
        ModelRefused: If the log is too small.
        RequestError: If it is of several tenants and nothing says which.
    """
    started, moment = time.perf_counter(), at or datetime.now(UTC)
    kept = of_tenant(past_requests(index), tenant=tenant, all_tenants=True)
    given = of_tenant([*kept, *requests], tenant=tenant, all_tenants=all_tenants)
    with Workbench.of(index, limits=limits) as bench:
        log = read_log(
            given,
            newest=bench.newest,
            encode=bench.encoder.encode_queries,
            floor=bench.encoder.info.cosine_floor,
            at=moment,
            seed=seed,
            max_share=max_share,
        )
        trial = _Trial(bench, log, split(log, seed=seed), moment, progress or (lambda what, done, total: None))
        side = {plain(log.asked[place].text): place for place in (*trial.parts.fit, *trial.parts.inner)}
        fit = set(trial.parts.fit)
        voting = [(request, side.get(plain(request.text))) for request in kept]
        bench.learn(request for request, place in voting if place in fit)
        strength, chosen = _choose(trial)
        weights = dict(chosen.weights)
        bench.learn(request for request, place in voting if place is not None and place not in fit)
        query_map = None
        if chosen.query_map is not None:
            again = trial.fitted([*trial.parts.fit, *trial.parts.inner], strength=strength)
            query_map = replace(again, slope=chosen.query_map.slope, offset=chosen.query_map.offset)
        ready = TunedModel(query_map, weights)
        held_out = trial.parts.held_out[:HELD_OUT_ASKED]
        before = measured(bench, UNTUNED, log, held_out, at=moment)
        after = measured(bench, ready, log, held_out, at=moment)
        trial.tell("hold-out", 1, 1)
        gain = difference(after.mrr.tolist(), before.mrr.tolist(), seed=seed)
        manifest = ModelManifest(
            encoder=bench.encoder.info.id,
            encoder_sha256=bench.encoder.info.sha256,
            analyzer=bench.analyzer,
            tenant=tenant if tenant is not None or all_tenants else given[0].tenant,
            all_tenants=all_tenants,
            created_at=moment,
            seed=seed,
            requests=len(trial.parts.fit) + len(trial.parts.inner),
            held_out=len(held_out),
            tools=log.tools,
            subjects=log.subjects,
            strength=strength,
            before=before.figures,
            after=after.figures,
            gain_low=gain.low,
            gain_high=gain.high,
            p_value=gain.p_value,
        )
        fields = arrays(query_map, dim=bench.encoder.info.dim)
    model = LearntModel.model_validate({"manifest": manifest, "weights": weights, **fields})
    won, verdict = _verdict(model, before=before, after=after)
    report = TrainReport(
        won=won,
        verdict=verdict,
        manifest=manifest,
        weights=weights,
        sha256=model.fingerprint,
        requests=len(log.asked),
        refused=log.refused,
        unknown=log.unknown,
        seconds=time.perf_counter() - started,
    )
    return Trained(model, report)


def _choose(trial: _Trial) -> tuple[float, TunedModel]:
    """Return the strength of the map (0 = none) and the model that are best on the requests of the inner part."""
    strength, best, chosen = 0.0, trial.worth(UNTUNED), UNTUNED
    for number, tried in enumerate(STRENGTHS, start=1):
        model = TunedModel(trial.levelled(trial.fitted(trial.parts.fit, strength=tried)))
        worth = trial.worth(model)
        trial.tell("map", number, len(STRENGTHS))
        if worth <= best:
            if strength:
                break  # weaker pulls only fit the noise better
            continue
        strength, best, chosen = tried, worth, model
    weights: dict[SignalName, float] = {}
    names: tuple[SignalName, ...] = ("lexical", "experience")
    for number, name in enumerate(names, start=1):
        for factor in FACTORS:
            other = {**weights, name: round(PROFILES["default"].weights.get(name, 0.0) * factor, 6)}
            worth = trial.worth(TunedModel(chosen.query_map, other))
            if worth > best + MIN_GAIN:
                best, weights = worth, other
        trial.tell("weights", number, len(names))
    return strength, TunedModel(chosen.query_map, weights)


def _verdict(model: LearntModel, *, before: Values, after: Values) -> tuple[bool, str]:
    """Say whether a model won on the hold-out, and why."""
    manifest = model.manifest
    shown = (
        f"on {after.mrr.size} held-out requests MRR {manifest.before.mrr:.3f} -> {manifest.after.mrr:.3f} "
        f"[{manifest.gain_low:+.3f}, {manifest.gain_high:+.3f}], recall@5 {manifest.before.recall_5:.3f} -> "
        f"{manifest.after.recall_5:.3f}"
    )
    if model.rank == 0 and not model.weights:
        return False, f"nothing that was tried beats what serves now: {shown}"
    if manifest.gain_low <= 0:
        return False, f"the gain may be chance: {shown}"
    if after.recall_5.mean() < before.recall_5.mean():
        return False, f"fewer right tools are among the first five: {shown}"
    return True, f"it wins: {shown}"
