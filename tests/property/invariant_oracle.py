"""What the invariants are checked against: slow, plain, and written apart from the code they check."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolsearch.engine.search import ToolIndex
from toolsearch.model.answer import CandidateSet
from toolsearch.model.contract import ToolContract
from toolsearch.model.errors import ToolSearchError
from toolsearch.model.limits import Bm25Parameters
from toolsearch.model.request import Principal, SearchRequest
from toolsearch.search.index.document import tool_document
from toolsearch.search.visibility.decide import PolicyRow, decide
from toolsearch.search.visibility.rules import RuleBook
from toolsearch.text.analysis.analyzer import analyze
from toolsearch.text.embed.hashed import HashedEncoder
from toolsearch.text.embed.protocol import EncoderInfo

MOVING = {"trace_id", "timings_ms"}
"""The two fields of an answer that may differ between equal searches."""


class TinyEncoder:
    """Eight dimensions, no Chinese: a vector lane that abstains."""

    @property
    def info(self) -> EncoderInfo:
        """Return the identity."""
        return EncoderInfo(
            id="tiny-8@1", dim=8, sha256="0" * 64, scripts=("latin",), cosine_floor=0.1, cosine_ceiling=0.9
        )

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, 8], unit rows."""
        rows = np.ones((len(texts), 8))
        for row, text in zip(rows, texts, strict=True):
            for place, char in enumerate(text):
                row[ord(char) % 8] += 1 + place % 3
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    encode_documents = encode_queries


def seen_by(catalogue: Iterable[ToolContract], *, rules: RuleBook, principal: Principal) -> list[ToolContract]:
    """Return the contracts a principal may see."""
    return [
        contract for contract in catalogue if decide(PolicyRow.of(contract), principal=principal, rules=rules).allowed
    ]


def whom(request: SearchRequest, principal: Principal) -> Principal:
    """Return the principal as narrowed by the request."""
    return principal if request.restrict is None else principal.narrowed(request.restrict)


def plain(answer: CandidateSet) -> str:
    """Return the bytes of an answer that must not move."""
    return answer.model_dump_json(exclude=MOVING)


def told(call: Callable[[], Any]) -> str:
    """Return the answer of a call, or its error, as text."""
    try:
        found = call()
    except ToolSearchError as error:
        return f"{type(error).__name__}: {error}"
    if isinstance(found, tuple):
        return "\n".join(item.model_dump_json() for item in found)
    if hasattr(found, "model_dump_json"):
        text = str(found.model_dump_json(by_alias=True))
        return re.sub(r'"trace_id":"[^"]*"', "", text)
    return json.dumps(found, ensure_ascii=False)


def refs_in(answer: CandidateSet) -> Iterator[str]:
    """Yield every ref that stands in an answer, wherever it stands."""
    for candidate in answer.candidates:
        yield candidate.ref
        yield from (other.ref for other in candidate.alternatives)
        for missing in candidate.inputs.missing:
            yield from missing.obtain_from
    yield from (item.ref for item in (*answer.always_on, *answer.withheld, *answer.near_misses))
    if answer.clarify is not None:
        yield answer.clarify.ref


def bm25_shares(
    request: str, catalogue: Sequence[ToolContract], *, parameters: Bm25Parameters
) -> tuple[list[float], float] | None:
    """Return the BM25F share of each document and the share of the request's words that any document holds.

    None where no document holds a word of the request.
    """
    counts: list[Counter[str]] = []
    for contract in catalogue:
        weighted: Counter[str] = Counter()
        for field, text in tool_document(contract).fields.items():
            for token in analyze(text):
                weighted[token] += parameters.fields[field]  # type: ignore[assignment]
        counts.append(weighted)
    lengths = [sum(count.values()) for count in counts]
    average = sum(lengths) / len(lengths) if sum(lengths) else 1.0
    idf = {}
    for term in set(analyze(request)):
        holders = sum(term in count for count in counts)
        idf[term] = math.log(1 + (len(catalogue) - holders + 0.5) / (holders + 0.5))
    most = sum(idf.values()) * (parameters.k1 + 1)
    scores = []
    for count, length in zip(counts, lengths, strict=True):
        norm = parameters.k1 * (1 - parameters.b + parameters.b * length / average)
        scores.append(sum(idf[term] * count[term] * (parameters.k1 + 1) / (count[term] + norm) for term in idf))
    words = {term: rarity for term, rarity in idf.items() if not term.isdigit()}
    known = sum(rarity for term, rarity in words.items() if any(term in count for count in counts))
    return ([score / most for score in scores], known / sum(words.values()) if words else 0.0) if any(scores) else None


def similarities(request: str, catalogue: Sequence[ToolContract]) -> list[tuple[float, float]]:
    """Return (semantic, experience) of each document with the hashed encoder, computed in float64."""
    encoder = HashedEncoder()
    info = encoder.info

    def calibrated(texts: Sequence[str] | Mapping[str, float]) -> float:
        """Of the nearest text, or of the weighted mean of several."""
        if not texts:
            return 0.0
        rows = encoder.encode_documents(list(texts)).astype(np.float64)
        if isinstance(texts, Mapping):
            mean = np.array(list(texts.values())) @ rows
            rows = (mean / np.linalg.norm(mean) if mean.any() else rows[0])[None]
        best = float((rows @ encoder.encode_queries([request])[0].astype(np.float64)).max())
        return min(1.0, max(0.0, (best - info.cosine_floor) / (info.cosine_ceiling - info.cosine_floor)))

    found = []
    for contract in catalogue:
        document = tool_document(contract)
        by_example = calibrated(document.examples)
        found.append((max(calibrated(dict(document.views)), by_example), by_example))
    return found


def name_shares(request: str, catalogue: Sequence[ToolContract]) -> list[float]:
    """Return the share of each tool's name tokens that stand in the request."""
    said = set(analyze(request))
    names = [set(analyze(contract.identity.name)) for contract in catalogue]
    return [len(name & said) / len(name) if name else 0.0 for name in names]


def public_index(contracts: Iterable[ToolContract] = ()) -> ToolIndex:
    """Return an index in memory that everybody sees."""
    index = ToolIndex.create(None, rules=RuleBook.public(), encoder="hashed")
    index.add(contracts)
    return index
