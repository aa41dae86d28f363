"""Per-document facts that stages read without opening a contract.

Facts are taken from the plain JSON of a contract (parsing 10,000 models would take most of a cold start) and carried
over from the columns before for every unchanged document.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.contract import Access, CostClass, SideEffect, parse_duration
from toolsearch.search.index.catalog import Catalog
from toolsearch.search.index.finders import Finder, finder_of
from toolsearch.search.visibility.decide import PolicyRow

COST_CLASSES: tuple[CostClass, ...] = (CostClass.FREE, CostClass.LOW, CostClass.MEDIUM, CostClass.HIGH)

ALWAYS_ON_TAG = "always-on"
"""Tools with this tag are listed apart from the ranking, in every answer."""

NAN = float("nan")
_NO_ACCESS = Access()


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts of one document; see `Columns` for units.

    Attributes:
        aliases: Its other names.
        produces: Entities it produces.
        always_on: Whether it has the tag.
        required: Its required parameters.
        finder: What it finds, by its name.
    """

    policy: PolicyRow
    aliases: tuple[str, ...]
    effect_known: bool
    staleness: float
    latency: float
    cost_class: int
    result_rows: float
    produces: tuple[str, ...]
    always_on: bool
    required: tuple[str, ...]
    finder: Finder

    @property
    def server(self) -> str:
        """Return its server."""
        return self.policy.server

    @property
    def name(self) -> str:
        """Return its name."""
        return self.policy.name


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Facts of all documents of a snapshot, by DocId.

    Attributes:
        catalog: The documents.
        facts: Of each document.
        refs: `server/name@version`.
        side_effect: int8[n], the assumed SideEffect.
        effect_known: bool[n], False where the contract states none.
        staleness: float64[n] seconds, NaN = not stated.
        latency: float64[n] milliseconds, NaN = not stated.
        cost_class: int8[n], index into COST_CLASSES, -1 = not stated.
        result_rows: float64[n], the largest number in `result_scale`, NaN = none.
        tokens: int64[n], estimated prompt tokens of the full definition.
        producers: Entity -> DocIds of read-only tools that produce it, ascending.
        finders: (server, noun) -> DocIds of read-only tools whose name says that they find such, ascending.
        by_name: `name` and `server/name` -> DocIds, ascending.
        always_on: DocIds with the tag `always-on`, ascending.
    """

    catalog: Catalog
    facts: tuple[Facts, ...]
    refs: tuple[str, ...]
    side_effect: NDArray[np.int8]
    effect_known: NDArray[np.bool_]
    staleness: NDArray[np.float64]
    latency: NDArray[np.float64]
    cost_class: NDArray[np.int8]
    result_rows: NDArray[np.float64]
    tokens: NDArray[np.int64]
    producers: Mapping[str, tuple[int, ...]]
    finders: Mapping[tuple[str, str], tuple[int, ...]]
    by_name: Mapping[str, tuple[int, ...]]
    always_on: tuple[int, ...]

    @property
    def policies(self) -> Sequence[PolicyRow]:
        """Return what visibility decisions look at, by DocId."""
        return [facts.policy for facts in self.facts]


def build_columns(catalog: Catalog, *, previous: Columns | None = None) -> Columns:
    """Return the columns of a catalog.

    Args:
        catalog: The documents.
        previous: Columns to take the facts of unchanged documents from.
    """
    old_ids = [-1] * len(catalog) if previous is None else catalog.kept_from(previous.catalog).tolist()
    known = () if previous is None else previous.facts
    facts = tuple(known[old] if old >= 0 else facts_of(catalog.plain(doc)) for doc, old in enumerate(old_ids))
    producers: dict[str, list[int]] = {}
    finders: dict[tuple[str, str], list[int]] = {}
    by_name: dict[str, list[int]] = {}
    for doc_id, fact in enumerate(facts):
        if fact.policy.side_effect <= SideEffect.READ_ONLY:
            for entity in fact.produces:
                producers.setdefault(entity, []).append(doc_id)
            if fact.finder.strength > 0:
                for noun in fact.finder.nouns:
                    finders.setdefault((fact.server, noun), []).append(doc_id)
        for key in (fact.policy.name, f"{fact.policy.server}/{fact.policy.name}"):
            by_name.setdefault(key, []).append(doc_id)
    return Columns(
        catalog=catalog,
        facts=facts,
        refs=tuple(map(str, catalog.refs)),
        side_effect=np.array([fact.policy.side_effect for fact in facts], dtype=np.int8),
        effect_known=np.array([fact.effect_known for fact in facts], dtype=np.bool_),
        staleness=np.array([fact.staleness for fact in facts], dtype=np.float64),
        latency=np.array([fact.latency for fact in facts], dtype=np.float64),
        cost_class=np.array([fact.cost_class for fact in facts], dtype=np.int8),
        result_rows=np.array([fact.result_rows for fact in facts], dtype=np.float64),
        tokens=np.array(catalog.tokens, dtype=np.int64),
        producers={entity: tuple(ids) for entity, ids in producers.items()},
        finders={key: tuple(ids) for key, ids in finders.items()},
        by_name={name: tuple(ids) for name, ids in by_name.items()},
        always_on=tuple(doc_id for doc_id, fact in enumerate(facts) if fact.always_on),
    )


def facts_of(plain: Mapping[str, Any]) -> Facts:
    """Return the facts of a contract given as its canonical plain data (validated before it was stored)."""
    identity, operational = plain["identity"], plain.get("operational", {})
    tags = tuple(plain.get("capability", {}).get("tags", ()))
    effect = plain.get("execution", {}).get("side_effect")
    access = plain.get("access")
    staleness = operational.get("freshness", {}).get("max_staleness")
    cost = operational.get("cost_class")
    return Facts(
        policy=PolicyRow(
            server=identity.get("server", "local"),
            name=identity["name"],
            domain=identity.get("domain", ""),
            tags=tags,
            side_effect=SideEffect.IRREVERSIBLE if effect is None else SideEffect[effect.upper()],
            access=_NO_ACCESS if access is None else Access.model_validate(access),
        ),
        aliases=tuple(identity.get("aliases", ())),
        effect_known=effect is not None,
        staleness=NAN if staleness is None else parse_duration(staleness).total_seconds(),
        latency=operational.get("typical_latency_ms", NAN),
        cost_class=-1 if cost is None else COST_CLASSES.index(CostClass(cost)),
        result_rows=_result_rows(operational.get("result_scale", "")),
        produces=tuple(plain.get("output", {}).get("produces", ())),
        always_on=ALWAYS_ON_TAG in tags,
        required=_required(plain.get("input", {})),
        finder=finder_of(identity["name"]),
    )


def _required(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the required parameters of the input section: those declared, then those of the schema."""
    schema = given.get("schema")
    listed = schema.get("required", ()) if isinstance(schema, Mapping) else ()
    stated = (*given.get("required", ()), *(listed if isinstance(listed, list | tuple) else ()))
    return tuple(dict.fromkeys(name for name in stated if isinstance(name, str)))


def _result_rows(text: str) -> float:
    numbers = [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]{0,14}", text)]
    return max(numbers, default=NAN)
