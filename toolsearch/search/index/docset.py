"""The set of documents a search may touch: the only form in which permission reaches the index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class DocSet:
    """A set of DocIds of one snapshot.

    Attributes:
        mask: bool[n_docs], True = in the set.
        ids: int32[count], ascending.
    """

    mask: NDArray[np.bool_]
    ids: NDArray[np.int32]

    @classmethod
    def from_mask(cls, mask: NDArray[np.bool_]) -> DocSet:
        """Return the set of the True positions of bool[n_docs]."""
        frozen = np.array(mask, dtype=np.bool_)
        frozen.flags.writeable = False
        ids = np.flatnonzero(frozen).astype(np.int32)
        ids.flags.writeable = False
        return cls(frozen, ids)

    @classmethod
    def of(cls, ids: NDArray[np.integer] | list[int], *, n_docs: int) -> DocSet:
        """Return the set of the given DocIds, each in 0..n_docs-1."""
        mask = np.zeros(n_docs, dtype=np.bool_)
        mask[np.asarray(ids, dtype=np.int64)] = True
        return cls.from_mask(mask)

    def without(self, doc_ids: Sequence[int]) -> DocSet:
        """Return the set less the given DocIds."""
        if not doc_ids:
            return self
        mask = self.mask.copy()
        mask[np.asarray(doc_ids, dtype=np.int64)] = False
        return DocSet.from_mask(mask)

    @property
    def count(self) -> int:
        """Return how many documents are in the set."""
        return int(self.ids.size)
