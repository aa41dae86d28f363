"""What a rule is: an id, a severity, and a pure function over one contract or over the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from toolsearch.contracts.lint.finding import Flaw, Severity
from toolsearch.model.contract import ToolContract
from toolsearch.text.embed.protocol import EncoderInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class LintLimits:
    """Sizes from which on something is too much, or too little.

    Attributes:
        sentences: (most tools of a server, least sentences of a description), ascending; beyond the last one its
            number holds.
        words: Words (or half the Han characters) of `does` beyond which a tool does too much.
        parameters: Parameters beyond which a tool does too much.
        depth: Levels of objects in the input, the root counted; an object inside an object inside the root is 3.
        enum_values: Values of one enum that providers still take.
        description: Characters of a description that every provider takes.
        fine_tools: Tools that differ in one field only, from which on they should be one.
        near: Calibrated similarity in [0, 1] from which on two tools can be confused.
        overlap: Share of their weighted words that two such tools have in common, in [0, 1].
        requests: Most example requests that are ranked to see where they go.
    """

    sentences: tuple[tuple[int, int], ...] = ((4, 1), (15, 2), (1_000_000, 3))
    words: int = 200
    parameters: int = 20
    depth: int = 2
    enum_values: int = 500
    description: int = 1024
    fine_tools: int = 4
    near: float = 0.8
    overlap: float = 0.6
    requests: int = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """Vectors of the positive texts, parallel to the contracts of a `Surroundings`.

    Attributes:
        rows: float32[n, dim], unit rows.
        encoder: Who made them.
    """

    rows: NDArray[np.float32]
    encoder: EncoderInfo


Rank = Callable[[str], Sequence[str]]
"""A request -> refs of the tools that serve it, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """A catalogue as its rules see it.

    Attributes:
        contracts: In order of ref.
        limits: Sizes.
        vectors: Of the contracts, or None: then nothing is compared by meaning.
        rank: Where a request goes, or None: then no request is tried.
        requests: Past requests: ref -> texts that the tool served.
        whole: Whether a tool that a contract names and that is not here does not exist.
    """

    contracts: Sequence[ToolContract]
    limits: LintLimits = field(default_factory=LintLimits)
    vectors: Vectors | None = None
    rank: Rank | None = None
    requests: Mapping[str, Sequence[str]] = field(default_factory=lambda: MappingProxyType({}))
    whole: bool = False

    def servers(self) -> dict[str, list[ToolContract]]:
        """Return server -> its contracts, both in order."""
        found: dict[str, list[ToolContract]] = {}
        for contract in self.contracts:
            found.setdefault(contract.identity.server, []).append(contract)
        return found


ContractCheck = Callable[[ToolContract, LintLimits], Iterator[Flaw]]
CatalogueCheck = Callable[[Surroundings], Iterator[tuple[ToolContract, Flaw]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LintRule:
    """One rule. Exactly one of `contract` and `catalogue` is set.

    Attributes:
        id: Stable id: `TS` and three digits, the first of which is the group.
        name: Stable name in kebab case.
        severity: Unless configured otherwise.
        summary: What a contract should have, in one sentence.
        contract: Looks at one contract.
        catalogue: Looks at all of them.
        needs_vectors: Whether the rule compares by meaning.
        fixable: Whether it can offer an `Edit`.
    """

    id: str
    name: str
    severity: Severity
    summary: str
    contract: ContractCheck | None = None
    catalogue: CatalogueCheck | None = None
    needs_vectors: bool = False
    fixable: bool = False
