"""What stages read of a document beyond its columns, made when first needed and kept for the life of a snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from toolsearch.analysis.analyzer import analyze
from toolsearch.contract import ToolContract
from toolsearch.index.document import tool_document
from toolsearch.rank.diversify import Likeness
from toolsearch.rank.readiness import InputField, input_fields

CACHE_SIZE = 16_384
"""Documents whose features are kept; far more than any working set of candidates."""


@dataclass(frozen=True, slots=True)
class Features:
    """Features of one document.

    Attributes:
        inputs: Its required inputs.
        positive: Tokens of its positive text.
        negatives: `does_not` and `do_not_use_when` sentences with their tokens.
        likeness: What near-duplicates are recognised by.
    """

    inputs: tuple[InputField, ...]
    positive: frozenset[str]
    negatives: tuple[tuple[str, frozenset[str]], ...]
    likeness: Likeness


def features_of(contract: ToolContract) -> Features:
    """Return the features of a contract."""
    document = tool_document(contract)
    fields = document.fields
    name = frozenset(analyze(fields.get("name", "")))
    words = frozenset(analyze(" ".join((fields.get("name", ""), fields.get("does", ""), fields.get("parameters", "")))))
    return Features(
        inputs=input_fields(contract),
        positive=frozenset(token for text in fields.values() for token in analyze(text)),
        negatives=tuple((sentence, frozenset(analyze(sentence))) for sentence in document.negatives),
        likeness=Likeness(name=name, words=words, side_effect=int(contract.assumed_side_effect)),
    )


@dataclass(slots=True)
class FeatureCache:
    """Features by DocId of one snapshot. Safe to share between threads: a race costs one computation."""

    contracts: Sequence[ToolContract]
    _kept: dict[int, Features] = field(default_factory=dict)

    def __getitem__(self, doc_id: int) -> Features:
        """Return the features of a document."""
        found = self._kept.get(doc_id)
        if found is None:
            if len(self._kept) >= CACHE_SIZE:
                self._kept.clear()
            found = self._kept[doc_id] = features_of(self.contracts[doc_id])
        return found
