"""One snapshot made ready to be searched: immutable, shared by all readers, swapped as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from toolsearch.contracts.export.names import api_names
from toolsearch.model.contract import ToolContract, ToolRef
from toolsearch.model.errors import RequestError, UnknownTool
from toolsearch.model.request import Principal
from toolsearch.search.index.columns import Columns, build_columns
from toolsearch.search.index.docset import DocSet
from toolsearch.search.index.experience import Experience
from toolsearch.search.index.lexical import LexicalBackend
from toolsearch.search.index.names import NameIndex, build_names
from toolsearch.search.index.snapshot import Snapshot
from toolsearch.search.index.view import View, Views
from toolsearch.search.rank.experience import NOBODY, PastRequests, number_documents
from toolsearch.search.rank.features import FeatureCache
from toolsearch.search.rank.helpers import find_helpers
from toolsearch.search.rank.recall import Lanes
from toolsearch.search.rank.tuned import Tuned
from toolsearch.search.visibility.rules import RuleBook
from toolsearch.text.embed.protocol import EncoderInfo

NAMED_VIEWS = 64
"""Views whose names are kept."""


@dataclass(frozen=True, slots=True, eq=False)
class IndexState:
    """Everything a search reads."""

    snapshot: Snapshot
    encoder: EncoderInfo
    rules: RuleBook
    columns: Columns
    names: NameIndex
    features: FeatureCache
    views: Views
    lanes: Lanes
    experience: Experience
    tuned: Tuned = field(default_factory=Tuned)
    _numbered: dict[str | None, tuple[NDArray[np.int32], NDArray[np.int32]]] = field(default_factory=dict, repr=False)
    _named: dict[View, Mapping[ToolRef, str]] = field(default_factory=dict, repr=False)

    @property
    def contracts(self) -> Sequence[ToolContract]:
        """Return the contracts in DocId order."""
        return self.snapshot.contracts

    def past(self, principal: Principal, *, at: datetime) -> PastRequests | None:
        """Return the past requests that count for a principal at a moment, or None if its tenant has none."""
        shelf = self.experience.shelves.get(principal.tenant)
        if shelf is None:
            return None
        known = self._numbered.get(principal.tenant)
        if known is None:
            # Two threads may do it twice; each finds the same.
            known = self._numbered[principal.tenant] = number_documents(
                shelf.numbers, refs=self.snapshot.contracts.refs
            )
        return PastRequests(
            shelf=shelf,
            tools=known[0],
            doc_ids=known[1],
            encoder=self.encoder,
            at=at,
            subject=None if principal.subject == NOBODY else principal.subject,
        )

    def names_of(self, view: View) -> Mapping[ToolRef, str]:
        """Return the provider-safe name of every tool of a view: tools outside it do not shape them."""
        known = self._named.get(view)
        if known is None:
            if len(self._named) >= NAMED_VIEWS:
                self._named.clear()
            # Two threads may do it twice; each finds the same.
            known = self._named[view] = api_names([self.contracts[doc_id].ref for doc_id in view.docs.ids.tolist()])
        return known

    def adjacent(self, doc_id: int) -> list[int]:
        """Return the documents a contract names as adjacent, of any visibility."""
        names = self.contracts[doc_id].selection.adjacent_tools
        return [other for name in names for other in self.columns.by_name.get(name, ())]

    def helpers(self, doc_id: int, *, docs: DocSet) -> list[int]:
        """Return the visible documents that find a required input of a document, whatever a request says."""
        needed = [field.name for field in self.features[doc_id].inputs]
        return list(find_helpers([doc_id], missing={doc_id: needed}, columns=self.columns, docs=docs))

    def resolve(self, ref: str, *, docs: DocSet) -> int:
        """Return the DocId of `server/name@version`, `server/name` or a `name` that is unique among the visible.

        Raises:
            UnknownTool: If no visible tool is meant; the message is the same for hidden and absent tools.
            RequestError: If several visible tools have that name.
        """
        name, _, version = ref.partition("@")
        found = [
            doc_id
            for doc_id in self.columns.by_name.get(name, ())
            if docs.mask[doc_id] and (not version or str(self.contracts[doc_id].ref.version) == version)
        ]
        if not found:
            raise UnknownTool(f"no tool {ref[:200]!r} is visible; `toolsearch search` finds the ones that are")
        owners = {self.contracts[doc_id].identity.server for doc_id in found}
        if len(owners) > 1:
            options = ", ".join(sorted(f"{owner}/{name}" for owner in owners))
            raise RequestError(f"{ref[:200]!r} names several tools; write one of {options}", field="ref")
        return max(found, key=lambda doc_id: self.contracts[doc_id].ref.version)

    def find(self, refs: Sequence[str], *, docs: DocSet) -> list[int]:
        """Return the visible DocIds that refs or names speak of, in order, each once; others are passed over."""
        found: dict[int, None] = {}
        for ref in refs:
            name, _, version = ref.partition("@")
            for doc_id in self.columns.by_name.get(name, ()):
                if docs.mask[doc_id] and (not version or str(self.contracts[doc_id].ref.version) == version):
                    found.setdefault(doc_id)
        return list(found)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What an answer reads of the visible view."""

    state: IndexState
    view: View

    @property
    def contracts(self) -> Sequence[ToolContract]:
        """Return the contracts by DocId."""
        return self.state.contracts

    @property
    def refs(self) -> Sequence[str]:
        """Return the refs by DocId."""
        return self.state.columns.refs

    def visible_adjacent(self, contract: ToolContract) -> dict[str, str]:
        """Return the adjacent tools that may be named to this principal, under their own names."""
        return {
            name: name for name in contract.selection.adjacent_tools if self.state.find([name], docs=self.view.docs)
        }


@lru_cache(maxsize=2)
def reference_backend(snapshot: Snapshot) -> LexicalBackend:
    """Return the rank-bm25 backend of a snapshot, made when first asked for.

    Raises:
        MissingExtraError: If rank-bm25 is not installed.
    """
    from toolsearch.search.index.reference import ReferenceBackend, ReferenceLexical

    texts = [snapshot.document(doc_id).fields for doc_id in range(snapshot.n_docs)]
    return ReferenceBackend(snapshot.lexical, ReferenceLexical(texts, parameters=snapshot.lexical.parameters))


def make_state(
    snapshot: Snapshot,
    *,
    encoder: EncoderInfo,
    rules: RuleBook,
    previous: IndexState | None = None,
    experience: Experience | None = None,
    tuned: Tuned | None = None,
) -> IndexState:
    """Return the state of a snapshot under a set of rules.

    Args:
        snapshot: What is searched.
        encoder: Who made its vectors.
        rules: The access rules.
        previous: A state to take the facts of unchanged documents from.
        experience: Past requests; None = there are none.
        tuned: Learnt models in service; None = there are none.
    """
    columns = build_columns(snapshot.contracts, previous=None if previous is None else previous.columns)
    return IndexState(
        snapshot=snapshot,
        encoder=encoder,
        rules=rules,
        columns=columns,
        names=build_names(columns.facts),
        features=FeatureCache(snapshot.contracts),
        views=Views(snapshot=snapshot, columns=columns, rules=rules),
        lanes=Lanes(
            contracts=snapshot.contract_vectors,
            examples=snapshot.example_vectors,
            tokens=snapshot.tokens,
            encoder=encoder,
        ),
        experience=Experience(encoder.dim) if experience is None else experience,
        tuned=tuned or Tuned(),
    )


def with_rules(state: IndexState, rules: RuleBook) -> IndexState:
    """Return the state under other rules; nothing of the snapshot is made again."""
    return replace(state, rules=rules, views=Views(snapshot=state.snapshot, columns=state.columns, rules=rules))


def with_tuned(state: IndexState, tuned: Tuned) -> IndexState:
    """Return the state under other learnt models; nothing of the snapshot is made again."""
    return replace(state, tuned=tuned)


def with_experience(state: IndexState, experience: Experience) -> IndexState:
    """Return the state with other past requests; nothing of the snapshot is made again."""
    # What is numbered stays so: a shelf whose tools are the same object has the same numbers.
    same = {
        tenant: pairs
        for tenant, pairs in state._numbered.copy().items()
        if (shelf := experience.shelves.get(tenant)) is not None
        and shelf.numbers is state.experience.shelves[tenant].numbers
    }
    return replace(state, experience=experience, _numbered=same)


def refs_of(state: IndexState, refs: Sequence[str]) -> list[ToolRef]:
    """Return the ToolRefs that refs or names speak of, over all documents: for administrators only.

    Raises:
        UnknownTool: If one of them speaks of nothing.
    """
    everything = DocSet.from_mask(np.ones(len(state.contracts), dtype=np.bool_))
    found: dict[ToolRef, None] = {}
    for ref in refs:
        doc_ids = state.find([ref], docs=everything)
        if not doc_ids:
            raise UnknownTool(f"no tool {ref[:200]!r} is in the index")
        for doc_id in doc_ids:
            found.setdefault(state.contracts[doc_id].ref)
    return list(found)
