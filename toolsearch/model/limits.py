"""Values the core works with, as plain data. Nothing here reads a file, the environment or the clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from toolsearch.model.request import SIGNAL_NAMES, SignalName

DEFAULT_ENCODER = "bundled"
"""Name for `toolsearch.text.embed.catalog.load_encoder` where none is given."""

FORMAT_VERSION = 3
"""Version of the snapshot folder. Another number cannot be opened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bm25Parameters:
    """Free parameters of BM25 and the weights of the text fields (Robertson, Zaragoza and Taylor, CIKM 2004).

    Attributes:
        k1: Saturation of term frequency, > 0.
        b: Strength of length normalisation, 0..1.
        fields: Field name -> weight, > 0; a field that is not named is not indexed.
    """

    k1: float = 1.2
    b: float = 0.6
    fields: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType(
            {
                "name": 2.0,
                "aliases": 2.0,
                "title": 1.0,
                "does": 1.0,
                "use_when": 1.0,
                "examples": 2.0,
                "parameters": 1.0,
                "returns": 1.0,
                "tags": 1.0,
                "domain": 1.0,
            }
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A set of signal weights and how they combine.

    Attributes:
        weights: Signal -> weight >= 0.
        gated: True: context signals (readiness, reliability, freshness, cost) are scaled by relevance, so that they
            reorder relevant tools and cannot lift an irrelevant one. False: plain weighted sum.
    """

    weights: Mapping[SignalName, float]
    gated: bool

    def with_overrides(self, overrides: Mapping[SignalName, float]) -> dict[SignalName, float]:
        """Return the weights in signal order, that of `rerank` last, overrides applied."""
        names: tuple[SignalName, ...] = (*SIGNAL_NAMES, "rerank")
        return {name: float(overrides.get(name, self.weights.get(name, 0.0))) for name in names}


PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        "seed": Profile(
            weights=MappingProxyType(
                {
                    "semantic": 0.30,
                    "lexical": 0.20,
                    "input_readiness": 0.20,
                    "reliability": 0.15,
                    "freshness": 0.10,
                    "cost": 0.05,
                }
            ),
            gated=False,
        ),
        "default": Profile(
            weights=MappingProxyType(
                {
                    "semantic": 0.50,
                    "lexical": 0.45,
                    "experience": 0.10,
                    "input_readiness": 0.20,
                    "reliability": 0.08,
                    "freshness": 0.15,
                    "cost": 0.03,
                    "rerank": 0.50,
                }
            ),
            gated=True,
        ),
    }
)


PAST_GAIN = 10.0
"""How far past requests lift relevance, in units of the weight of `experience`; see `past_gain`."""


def past_gain(weights: Mapping[SignalName, float]) -> float:
    """Return the share, in [0, 1], of what lacks to full relevance that past requests can make up for."""
    return min(1.0, PAST_GAIN * weights["experience"])


def rerank_gain(weights: Mapping[SignalName, float]) -> float:
    """Return the share, in [0, 1], of what lacks to full relevance that a reranker can make up for."""
    return min(1.0, weights.get("rerank", 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLimits:
    """How long sessions live and how large they grow.

    Attributes:
        idle_s: Seconds without use after which a session expires.
        per_principal: Sessions of one principal; a new one beyond that ends the one idle longest.
        tools: Tools that one session may ever be handed.
    """

    idle_s: float = 86_400
    per_principal: int = 1_000
    tools: int = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchLimits:
    """Sizes and floors of one search.

    Attributes:
        depth: Documents each recall lane may bring.
        relevance_floor: Relevance in [0, 1] below which a tool does not fit the request.
        words_floor: The same where only words were compared: shares of unknown words run lower.
        min_confidence: Confidence in [0, 1] that any tool fits, below which none is offered.
        few: Candidates when the intent is clear.
        many: Candidates when several clauses or read-only tools must be combined.
        writes: Write tools offered at once.
        rerank_top: Documents, best first, that a reranker reads; 0 = none.
        boundary_strength: Largest share of the score a negative boundary takes away, 0..1; 0 = none is looked for.
        effect_penalty: Share of the score a writing tool loses when the request only asks to look, 0..1.
        domain_tie: How much less relevant than the best tool, as a share of its relevance, the best one of another
            domain may be for the answer to ask which domain is meant; 0 = never asked.
        clauses: Whether the steps of a request are also searched one by one.
        examples: Whether example requests of the contracts vote for their tools.
        past: Whether past requests vote for the tools that served them.
        tokens: Whether meaning is compared token by token too, where the encoder can.
        names: Whether a tool that the request names always surfaces.
        helpers: Whether tools that find a missing input of a better tool are put forward.
        lexical_backend: Who scores words: our postings, or the package rank-bm25 over the same tokens (extra [bm25]),
            which gives the same order and is slow: the reference to compare with.
    """

    depth: int = 50
    relevance_floor: float = 0.15
    words_floor: float = 0.18
    min_confidence: float = 0.2
    few: int = 5
    many: int = 8
    writes: int = 2
    rerank_top: int = 20
    boundary_strength: float = 0.6
    effect_penalty: float = 0.1
    domain_tie: float = 0.0
    clauses: bool = True
    examples: bool = True
    past: bool = True
    tokens: bool = True
    names: bool = True
    helpers: bool = True
    lexical_backend: Literal["postings", "rank-bm25"] = "postings"

    def floor(self, *, by_meaning: bool) -> float:
        """Return the floor for a request whose meaning was, or was not, compared."""
        return self.relevance_floor if by_meaning else self.words_floor
