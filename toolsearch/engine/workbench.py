"""Workbench: a copy of an index in memory in which every tool is visible, to try models out on.

It searches with the very code that serves, and nothing that is tried on it reaches the index: no request is kept, no
vector of a log's text is cached.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from toolsearch.engine.search import ToolIndex
from toolsearch.engine.state import refs_of, with_tuned
from toolsearch.engine.writer import LiveIndex, cache_id, token_cache_id
from toolsearch.model.contract import Access, ToolRef
from toolsearch.model.errors import UnknownTool
from toolsearch.model.limits import SearchLimits
from toolsearch.model.request import PastRequest
from toolsearch.search.rank.tuned import Tuned, TunedModel
from toolsearch.search.visibility.rules import RuleBook
from toolsearch.store.experience import ExperienceRow
from toolsearch.store.registry import Registry
from toolsearch.text.embed.cached import cached_tokens, text_key
from toolsearch.text.embed.protocol import (
    Encoder,
    EncoderInfo,
    RequestVectors,
    TextVectors,
    encode_request,
    encode_tokens,
)

Vector = NDArray[np.float32]


class RememberedTexts:
    """An encoder that remembers every vector, and takes those of tools from the cache of a registry."""

    def __init__(self, encoder: Encoder, registry: Registry) -> None:
        """Wrap the encoder of an index and read its registry."""
        self._encoder, self._registry = encoder, registry
        self._requests: dict[str, Vector] = {}
        self._clauses: dict[tuple[str, ...], RequestVectors] = {}

    @property
    def info(self) -> EncoderInfo:
        """Return the identity of the wrapped encoder."""
        return self._encoder.info

    def encode_queries(self, texts: Sequence[str]) -> Vector:
        """Return float32[n, dim], the same bytes as the wrapped encoder gives."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._requests]
        for start in range(0, len(missing), 64):
            part = missing[start : start + 64]
            self._requests.update(zip(part, self._encoder.encode_queries(part), strict=True))
        return _stacked([self._requests[text] for text in texts], dim=self.info.dim)

    def encode_request(self, text: str, clauses: Sequence[str]) -> RequestVectors:
        """Return the vectors of a request and its clauses, as the wrapped encoder gives them."""
        key = (text, *clauses)
        if key not in self._clauses:
            self._clauses[key] = encode_request(self._encoder, text, clauses)
        return self._clauses[key]

    def encode_tokens(self, texts: Sequence[str]) -> list[TextVectors]:
        """Return vector and tokens of tool texts, the same bytes as the wrapped encoder gives."""
        keys, encoder_id = [text_key(text) for text in texts], token_cache_id(self.info)
        known = cached_tokens(
            lambda wanted: self._registry.embeddings(encoder_id, wanted), keys, width=self.info.token_width
        )
        missing = [text for key, text in dict(zip(keys, texts, strict=True)).items() if key not in known]
        fresh = dict(zip(map(text_key, missing), encode_tokens(self._encoder, missing), strict=True))
        kept = [text for key, text in zip(keys, texts, strict=True) if key in known]
        vectors = dict(zip(map(text_key, kept), self.encode_documents(kept), strict=True))
        return [fresh[key] if key in fresh else TextVectors(vectors[key], known[key]) for key in keys]

    def encode_documents(self, texts: Sequence[str]) -> Vector:
        """Return float32[n, dim], the same bytes as the wrapped encoder gives."""
        keys = [text_key(text) for text in texts]
        known: Mapping[str, Vector] = self._registry.embeddings(cache_id(self.info), keys)
        missing = [text for key, text in dict(zip(keys, texts, strict=True)).items() if key not in known]
        fresh = dict(zip(map(text_key, missing), self._encoder.encode_documents(missing), strict=True))
        return _stacked([known[key] if key in known else fresh[key] for key in keys], dim=self.info.dim)


class Workbench(ToolIndex):
    """A copy of an index to try things on. Close it as any index."""

    @classmethod
    def of(cls, index: ToolIndex, *, limits: SearchLimits | None = None) -> Self:
        """Copy the tools of an index, without past requests, outcomes, rules and models.

        Args:
            index: What to copy.
            limits: Sizes and floors; None = those of the index.
        """
        encoder = RememberedTexts(index._live.encoder, index._live.registry)
        rules = RuleBook.public(reason="a workbench is for its maker alone")
        live = LiveIndex.create(None, rules=rules, encoder=encoder, exist_ok=False)
        bench = cls(live, limits=limits or index.limits, remember_requests=False)
        bench.encoder = encoder
        bench.add(contract.model_copy(update={"access": Access()}) for contract in index._live.state.contracts)
        return bench

    encoder: RememberedTexts

    @property
    def refs(self) -> tuple[str, ...]:
        """Return the refs of all tools, by document number."""
        return tuple(self._live.state.columns.refs)

    @property
    def analyzer(self) -> str:
        """Return the id of the analyzer."""
        return self._live.state.snapshot.analyzer

    @property
    def contract_vectors(self) -> tuple[Vector, NDArray[np.int32]]:
        """Return float32[m, dim], the vectors that requests are compared with, and int32[m], their document numbers."""
        vectors = self._live.state.snapshot.contract_vectors
        return vectors.rows, vectors.owners

    def newest(self, ref: str) -> ToolRef | None:
        """Return the tool that a log speaks of, or None where it is not there, or not one tool."""
        try:
            return max(refs_of(self._live.state, [ref]))
        except UnknownTool:
            return None

    def serve(self, model: TunedModel) -> None:
        """Search with a model from now on."""
        self._live.state = with_tuned(self._live.state, Tuned(for_all=model))


def past_requests(index: ToolIndex) -> list[PastRequest]:
    """Return the past requests that an index keeps, of all tenants: for administrators."""
    return [_past_request(row) for row in index._live.registry.experience()]


def _past_request(row: ExperienceRow) -> PastRequest:
    return PastRequest(text=row.text, ref=str(row.key.ref), subject=row.key.subject, tenant=row.key.tenant, at=row.at)


def _stacked(rows: Sequence[Vector], *, dim: int) -> Vector:
    return np.stack(rows) if rows else np.zeros((0, dim), dtype=np.float32)
