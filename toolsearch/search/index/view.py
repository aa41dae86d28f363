"""What one principal sees of one snapshot: the DocSet and the few numbers derived from it.

Views are cached by principal: deciding about 10,000 tools takes 30 ms, asking for the answer again none. A request's
own restriction narrows a cached view instead of starting over.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from toolsearch.model.request import Principal
from toolsearch.search.index.columns import Columns
from toolsearch.search.index.docset import DocSet
from toolsearch.search.index.snapshot import Snapshot
from toolsearch.search.visibility.decide import visible_mask
from toolsearch.search.visibility.rules import RuleBook

VIEW_BYTES = 64 * 2**20
"""Memory that the views of one snapshot may take; one of 10,000 tools takes up to 50 kB."""


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """The visible part of a snapshot.

    Attributes:
        docs: The visible documents.
        catalog_version: Hash of the visible contracts; hidden ones do not shape it.
        baseline_tokens: Estimated prompt tokens of all visible definitions.
        vectors_ready: Whether every visible document has its vector. While some lack one the vector lane stays off:
            it would favour the others. Hidden documents do not count.
    """

    docs: DocSet
    catalog_version: str
    baseline_tokens: int
    vectors_ready: bool

    def without(self, doc_ids: Sequence[int]) -> View:
        """Return the view less some documents; version and baseline stay those of the whole view."""
        return replace(self, docs=self.docs.without(doc_ids)) if doc_ids else self


def make_view(docs: DocSet, *, snapshot: Snapshot, columns: Columns) -> View:
    """Return the view of a DocSet."""
    digest = hashlib.sha256()
    fingerprints = snapshot.contracts.fingerprints
    for doc_id in docs.ids.tolist():
        digest.update(f"{columns.refs[doc_id]} {fingerprints[doc_id]}\n".encode())
    owning = np.zeros(snapshot.n_docs, dtype=np.bool_)
    owning[snapshot.contract_vectors.owners] = True
    return View(
        docs=docs,
        catalog_version=digest.hexdigest()[:32],
        baseline_tokens=int(columns.tokens[docs.ids].sum()),
        vectors_ready=bool(owning[docs.ids].all()),
    )


class Views:
    """The views of one snapshot under one set of rules, oldest use out first. Safe to share between threads."""

    def __init__(self, *, snapshot: Snapshot, columns: Columns, rules: RuleBook) -> None:
        self._snapshot, self._columns, self._rules = snapshot, columns, rules
        self._most = max(16, VIEW_BYTES // (5 * max(snapshot.n_docs, 1) + 1_000))
        self._kept: OrderedDict[str, View] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, principal: Principal) -> View:
        """Return what a principal sees, restrictions included."""
        key = principal.model_dump_json(exclude={"subject"} if self._subject_blind else set())
        with self._lock:
            if (found := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
                return found
        mask = visible_mask(self._columns.policies, principal=principal, rules=self._rules)
        view = make_view(DocSet.from_mask(mask), snapshot=self._snapshot, columns=self._columns)
        with self._lock:
            self._kept[key] = view
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return view

    @property
    def _subject_blind(self) -> bool:
        """Tell whether no rule looks at the subject, so that all subjects of one kind share a view."""
        return not any(rule.principals.subjects for rule in self._rules.rules)
