"""What stages read of a document beyond its columns, made when first needed and kept for the life of a snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from toolsearch.contracts.enrich.parameters import parameter_names
from toolsearch.model.contract import ToolContract
from toolsearch.search.index.document import field_texts, negative_sentences, tool_document
from toolsearch.search.inputs.readiness import InputField, input_fields
from toolsearch.search.rank.diversify import Likeness
from toolsearch.text.analysis.analyzer import analyze
from toolsearch.text.analysis.identifiers import identifier_words

CACHE_SIZE = 16_384
"""Documents whose features are kept; far more than any working set of candidates."""


class Features:
    """Features of one document, each made when first asked for: most of a pool is never compared with each other.

    Safe to share between threads: a race costs one computation.
    """

    def __init__(self, contract: ToolContract) -> None:
        self._contract = contract

    @cached_property
    def inputs(self) -> tuple[InputField, ...]:
        """Return its required inputs."""
        return input_fields(self._contract)

    @cached_property
    def positive(self) -> frozenset[str]:
        """Return the tokens of its positive text."""
        return frozenset(token for text in self._fields.values() for token in analyze(text))

    @cached_property
    def text(self) -> str:
        """Return its positive text as one piece, about 256 tokens: what a reranker reads."""
        return tool_document(self._contract).positive_text

    @cached_property
    def negatives(self) -> tuple[tuple[str, frozenset[str]], ...]:
        """Return the `does_not` and `do_not_use_when` sentences with their tokens."""
        return tuple((sentence, frozenset(analyze(sentence))) for sentence in negative_sentences(self._contract))

    @cached_property
    def likeness(self) -> Likeness:
        """Return what near-duplicates are recognised by."""
        identity, does = self._contract.identity, self._contract.capability.does
        name = " ".join(identifier_words(identity.name))
        return Likeness(
            name=plain_words(name),
            words=plain_words(" ".join((name, does, *parameter_names(self._contract)))),
            side_effect=int(self._contract.assumed_side_effect),
        )

    @cached_property
    def _fields(self) -> Mapping[str, str]:
        return field_texts(self._contract)


def plain_words(text: str) -> frozenset[str]:
    """Return the words of a text for comparing near-duplicates, where copies matter and inflections do not.

    Text that is not ASCII counts by its characters: Chinese has no spaces.
    """
    folded = text.casefold()
    return frozenset(folded.split()) if folded.isascii() else frozenset(folded)


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
            found = self._kept[doc_id] = Features(self.contracts[doc_id])
        return found
