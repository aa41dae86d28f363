"""Snapshot: everything a search reads, immutable, for one generation of the catalogue.

Building is incremental: what the previous snapshot knows of an unchanged contract is carried over, and the result
is the same, array for array, as a fresh build. Vectors may come later than postings: until then a document simply
owns no vector, and a second build with `embed` gives it one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.contract import ToolContract
from toolsearch.model.errors import IndexStateError
from toolsearch.model.limits import Bm25Parameters
from toolsearch.search.index.catalog import Catalog
from toolsearch.search.index.document import ToolDocument, tool_document
from toolsearch.search.index.lexical import LexicalIndex, build_lexical
from toolsearch.search.index.token_vectors import TokenIndex
from toolsearch.search.index.vectors import VectorIndex
from toolsearch.text.analysis.analyzer import ANALYZER_ID
from toolsearch.text.embed.protocol import EncoderInfo

Embed: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts -> float32[n, dim] unit rows, for documents; may answer from a cache."""

Tokens: TypeAlias = Callable[[Sequence[str]], Sequence[NDArray[np.int8]]]
"""Texts -> int8[n, token_width], the tokens of each; may answer from a cache."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Snapshot:
    """One generation of a catalogue, ready to search. DocId = position in `contracts`.

    Attributes:
        generation: Of the registry it was built from.
        analyzer: Id of the analyzer that made the postings.
        encoder: Who made the vectors.
        contracts: Sorted by ToolRef, parsed when looked at.
        lexical: Postings of the documents' fields.
        contract_vectors: One row a document, of its views; none while vectors are still being built.
        example_vectors: One row for each example request, in the order of `document(doc_id).examples`.
        negative_vectors: One row for each `does_not` and `do_not_use_when` sentence, in that order.
        tokens: Those of the main text of each document; none of an encoder without tokens.
    """

    generation: int
    analyzer: str
    encoder: EncoderInfo
    contracts: Catalog
    lexical: LexicalIndex
    contract_vectors: VectorIndex
    example_vectors: VectorIndex
    negative_vectors: VectorIndex
    tokens: TokenIndex
    _documents: dict[int, ToolDocument] = field(default_factory=dict, repr=False)

    @property
    def n_docs(self) -> int:
        """Return how many documents there are."""
        return len(self.contracts)

    @property
    def vectors_ready(self) -> bool:
        """Tell whether every document has its vectors."""
        return len(self.contract_vectors.owners) == self.n_docs

    def pending_texts(self) -> tuple[list[str], set[str]]:
        """Return the distinct texts of the documents that own no vector yet, in order of DocId.

        With them come the main texts among them: those whose tokens are wanted too.
        """
        texts: dict[str, None] = {}
        main: set[str] = set()
        for doc_id in _without_vectors(self.contract_vectors, n_docs=self.n_docs):
            document = tool_document(self.contracts[doc_id])
            texts.update(dict.fromkeys((*_view_texts(document), *document.examples, *document.negatives)))
            main.add(document.positive_text)
        return list(texts), main

    def document(self, doc_id: int) -> ToolDocument:
        """Return the texts of a document, made when first asked for."""
        document = self._documents.get(doc_id)
        if document is None:
            document = self._documents[doc_id] = tool_document(self.contracts[doc_id])
        return document

    def example_text(self, row_id: int) -> str:
        """Return the request that a row of `example_vectors` stands for."""
        doc_id, position = _place(self.example_vectors, row_id)
        return self.document(doc_id).examples[position]

    def negative_text(self, row_id: int) -> str:
        """Return the sentence that a row of `negative_vectors` stands for."""
        doc_id, position = _place(self.negative_vectors, row_id)
        return self.document(doc_id).negatives[position]


def build_snapshot(
    contracts: Iterable[ToolContract],
    *,
    generation: int,
    encoder: EncoderInfo,
    embed: Embed | None,
    tokens: Tokens | None = None,
    parameters: Bm25Parameters,
    previous: Snapshot | None = None,
) -> Snapshot:
    """Return the snapshot of contracts; their order changes nothing.

    Args:
        contracts: All of them, or a Catalog (`previous.contracts.changed(...)` is the fast way to add a few).
        generation: Of the registry.
        encoder: Who `embed` is.
        embed: Called once with the distinct texts that have no vector yet, if there are any; None = leave them
            without one for now.
        tokens: Called with the main texts of the documents that get vectors; None = they get no tokens.
        parameters: Of BM25.
        previous: A snapshot to carry over from; what does not fit (another analyzer, encoder or other parameters) is
            built afresh.

    Raises:
        ContractError: If one ref is given twice with different content.
        EncoderMismatch: If the vectors are not as long as the encoder says.
        IndexStateError: If `embed` does not return one unit vector a text.
    """
    catalog = contracts if isinstance(contracts, Catalog) else Catalog.of(contracts)
    old_ids = np.full(len(catalog), -1, dtype=np.int32) if previous is None else catalog.kept_from(previous.contracts)
    new = {doc_id: tool_document(catalog[doc_id]) for doc_id in np.flatnonzero(old_ids < 0).tolist()}
    vectors = _kept_vectors(previous, old_ids, encoder=encoder)
    told: dict[int, NDArray[np.int8]] = {}
    if embed is not None:
        pending = _without_vectors(vectors[0], n_docs=len(catalog))
        documents = {doc_id: new.get(doc_id) or tool_document(catalog[doc_id]) for doc_id in pending}
        vectors = _with_vectors(vectors, documents, embed=embed)
        if tokens is not None and documents:
            told = dict(zip(documents, tokens([one.positive_text for one in documents.values()]), strict=True))
    return Snapshot(
        generation=generation,
        analyzer=ANALYZER_ID,
        encoder=encoder,
        contracts=catalog,
        lexical=_lexical(catalog, new, old_ids, parameters=parameters, previous=previous),
        contract_vectors=vectors[0],
        example_vectors=vectors[1],
        negative_vectors=vectors[2],
        tokens=_tokens(previous, old_ids, told, encoder=encoder),
    )


_Vectors: TypeAlias = tuple[VectorIndex, VectorIndex, VectorIndex]
"""Of contracts, examples and negatives."""


def _lexical(
    catalog: Catalog,
    new: Mapping[int, ToolDocument],
    old_ids: NDArray[np.int32],
    *,
    parameters: Bm25Parameters,
    previous: Snapshot | None,
) -> LexicalIndex:
    if (
        previous is None
        or previous.analyzer != ANALYZER_ID
        or not _same_parameters(previous.lexical.parameters, parameters)
    ):
        texts = [(new.get(i) or tool_document(catalog[i])).fields for i in range(len(catalog))]
        return build_lexical(texts, parameters=parameters)
    if not new and len(catalog) == previous.n_docs:
        return previous.lexical
    return previous.lexical.updated(keep=old_ids, added={doc_id: document.fields for doc_id, document in new.items()})


def _same_parameters(one: Bm25Parameters, other: Bm25Parameters) -> bool:
    """Compare in order: the position of a field is part of a posting."""
    return (one.k1, one.b, *one.fields.items()) == (other.k1, other.b, *other.fields.items())


def _kept_vectors(previous: Snapshot | None, old_ids: NDArray[np.int32], *, encoder: EncoderInfo) -> _Vectors:
    """Return the vectors that unchanged contracts have already."""
    none = np.zeros((0, encoder.dim), dtype=np.float32)
    if previous is None or not _same_encoder(previous.encoder, encoder):
        empty = VectorIndex.build(none, [], dim=encoder.dim)
        return empty, empty, empty
    before = (previous.contract_vectors, previous.example_vectors, previous.negative_vectors)
    kept = old_ids >= 0
    if kept.all() and len(kept) == previous.n_docs:
        return before
    new_ids = np.full(previous.n_docs, -1, dtype=np.int32)
    new_ids[old_ids[kept]] = np.flatnonzero(kept)
    contract, example, negative = (index.remapped(new_ids, added_rows=none, added_owners=[]) for index in before)
    return contract, example, negative


def _tokens(
    previous: Snapshot | None, old_ids: NDArray[np.int32], told: Mapping[int, NDArray[np.int8]], *, encoder: EncoderInfo
) -> TokenIndex:
    """Return the tokens that unchanged contracts have already, and new ones."""
    if previous is None or not _same_encoder(previous.encoder, encoder):
        return TokenIndex.empty(0, width=encoder.token_width).changed(np.full(len(old_ids), -1, dtype=np.int32), told)
    same = len(old_ids) == previous.n_docs and bool(np.all(old_ids >= 0)) and not told
    return previous.tokens if same else previous.tokens.changed(old_ids, told)


def _same_encoder(one: EncoderInfo, other: EncoderInfo) -> bool:
    return (one.id, one.sha256, one.dim) == (other.id, other.sha256, other.dim)


def _with_vectors(vectors: _Vectors, documents: Mapping[int, ToolDocument], *, embed: Embed) -> _Vectors:
    """Return the vectors with those of the given documents added."""
    parts = [
        [(doc_id, text) for doc_id, document in documents.items() for text in document.examples],
        [(doc_id, text) for doc_id, document in documents.items() for text in document.negatives],
    ]
    own = [text for document in documents.values() for text in _view_texts(document)]
    texts = list(dict.fromkeys([*own, *(text for part in parts for _, text in part)]))
    if not texts:
        return vectors
    rows = embed(texts)
    if len(rows) != len(texts):
        raise IndexStateError(f"the encoder gave {len(rows)} vectors for {len(texts)} texts; it must give one each")
    position = {text: number for number, text in enumerate(texts)}
    pooled = np.stack([_pooled(document, rows=rows, position=position) for document in documents.values()])
    example, negative = (
        _extended(index, rows[[position[text] for _, text in part]], [doc_id for doc_id, _ in part])
        for index, part in zip(vectors[1:], parts, strict=True)
    )
    return _extended(vectors[0], pooled, list(documents)), example, negative


def _without_vectors(index: VectorIndex, *, n_docs: int) -> list[int]:
    """Return the documents that own no row of an index, ascending."""
    owning = np.zeros(n_docs, dtype=np.bool_)
    owning[index.owners] = True
    return np.flatnonzero(~owning).tolist()


def _view_texts(document: ToolDocument) -> list[str]:
    return [text for text, _ in document.views]


def _pooled(document: ToolDocument, *, rows: NDArray[np.float32], position: Mapping[str, int]) -> NDArray[np.float32]:
    """Return float32[dim], the unit vector of a document: the weighted mean of the vectors of its views.

    A view of its own for the name, and one for the result, keep a long description from drowning them; as the mean
    is taken here, it costs a search nothing.
    """
    mean = sum(weight * rows[position[text]].astype(np.float64) for text, weight in document.views)
    length = float(np.linalg.norm(mean))
    # Vectors that cancel each other out have no mean direction: the main text speaks then.
    return np.asarray(mean / length if length > 0 else rows[position[document.views[0][0]]], dtype=np.float32)


def _extended(index: VectorIndex, rows: NDArray[np.float32], owners: list[int]) -> VectorIndex:
    if not owners:
        return index
    last = max(int(index.owners[-1]) if len(index.owners) else 0, max(owners))
    return index.remapped(np.arange(last + 1, dtype=np.int32), added_rows=rows, added_owners=owners)


def _place(index: VectorIndex, row_id: int) -> tuple[int, int]:
    """Return the owner of a row, and which of its rows it is."""
    owner = index.owners[row_id]
    return int(owner), row_id - int(np.searchsorted(index.owners, owner, side="left"))
