"""Ways to answer: the usual one, and those in which one part is left out or stands alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from toolsearch import SearchRequest, ToolIndex
from toolsearch.model.limits import PROFILES, SearchLimits
from toolsearch.model.request import SIGNAL_NAMES, Mode, SignalName
from toolsearch.search.rank.rerank import CONTEXT_SIGNALS, RELEVANCE_SIGNALS

USUAL = "usual"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way to answer.

    Attributes:
        part: The lane, signal or mechanism it is about.
        alone: True = the part stands alone; False = it is left out.
        mode: Recall mode of the requests.
        weights: Overrides of the default profile.
        limits: Limits that differ from those of the index, by name.
    """

    part: str
    alone: bool
    mode: Mode = Mode.HYBRID
    weights: Mapping[SignalName, float] = field(default_factory=lambda: MappingProxyType({}))
    limits: Mapping[str, bool | float] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def name(self) -> str:
        """Return `only X` or `no X`."""
        return f"{'only' if self.alone else 'no'} {self.part}"

    def request(self, request: SearchRequest) -> SearchRequest:
        """Return a request asked in this way."""
        return request.model_copy(update={"mode": self.mode, "weights": {**request.weights, **self.weights}})

    def index(self, index: ToolIndex) -> ToolIndex:
        """Return an index that answers in this way; it shares everything with the given one."""
        limits: SearchLimits = replace(index.limits, **self.limits)  # type: ignore[arg-type]
        return index.with_limits(limits)


def variants() -> tuple[Variant, ...]:
    """Return every part left out and, where it can stand alone, alone.

    A context signal (readiness, reliability, freshness, cost) cannot find tools: alone, it stands beside all relevance
    signals and no other context signal.
    """
    return (*_lanes(), *_signals(), *_mechanisms())


def _lanes() -> list[Variant]:
    return [
        Variant(part="lexical lane", alone=True, mode=Mode.LEXICAL),
        Variant(part="lexical lane", alone=False, mode=Mode.VECTOR),
        Variant(part="vector lanes", alone=True, mode=Mode.VECTOR),
        Variant(part="vector lanes", alone=False, mode=Mode.LEXICAL),
        Variant(
            part="example lane",
            alone=True,
            mode=Mode.VECTOR,
            weights=_only("experience", of=RELEVANCE_SIGNALS),
        ),
        Variant(part="example lane", alone=False, limits={"examples": False}),
        Variant(part="token by token", alone=False, limits={"tokens": False}),
    ]


def _signals() -> list[Variant]:
    found = []
    for name in SIGNAL_NAMES:
        found.append(Variant(part=name, alone=False, weights={name: 0.0}))
        context = name in CONTEXT_SIGNALS
        rest = CONTEXT_SIGNALS if context else SIGNAL_NAMES
        found.append(Variant(part=name, alone=True, weights=_only(name, of=rest)))
    return found


def _mechanisms() -> list[Variant]:
    return [
        Variant(part="negative boundaries", alone=False, limits={"boundary_strength": 0.0}),
        Variant(part="effect penalty", alone=False, limits={"effect_penalty": 0.0}),
        Variant(part="clauses", alone=False, limits={"clauses": False}),
        Variant(part="exact names", alone=False, limits={"names": False}),
        Variant(part="helper tools", alone=False, limits={"helpers": False}),
        Variant(part="bank of requests without a tool", alone=False, limits={"min_confidence": 0.0}),
    ]


def _only(name: SignalName, *, of: tuple[SignalName, ...]) -> dict[SignalName, float]:
    """Return overrides that silence every signal of a group but one, which keeps its weight or gets 1."""
    usual = PROFILES["default"].weights.get(name, 0.0)
    return {other: (usual or 1.0) if other == name else 0.0 for other in of}
