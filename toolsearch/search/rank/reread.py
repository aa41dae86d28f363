"""Between rerank and diversify, where an index has a reranker: the best documents are read together with the request.

A lane compares two texts that were read apart; a reranker reads both at once, which tells more and takes far longer, so
it sees the best few only. What it says, p in [0, 1], lifts their relevance as past requests do (`rank.rerank`):

    r' = r + gain * p * (1 - r)

It only lifts. A low number leaves a tool where the lanes put it: no tool drops behind one that was not read, those that
were not read keep their score to the last bit, and a floor that a tool has passed stays passed. The request is read as
a whole, also where it has several steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from toolsearch.model.errors import RequestError
from toolsearch.model.limits import Profile
from toolsearch.model.reasons import ReasonCode, Why
from toolsearch.model.request import SignalName
from toolsearch.search.rank.rerank import Scored, score
from toolsearch.text.embed.reranking import Reranker


def reread(
    scored: Sequence[Scored],
    *,
    request: str,
    text: Callable[[int], str],
    reranker: Reranker,
    top: int,
    profile: Profile,
    weights: Mapping[SignalName, float],
) -> list[Scored]:
    """Return the documents, scored once more where the reranker read them, best first, ties by DocId.

    Args:
        scored: Visible documents, best first.
        request: What the user wants, as a whole.
        text: DocId -> what the reranker reads of a document.
        reranker: Reads.
        top: Documents it reads.
        profile: How signals combine.
        weights: Weight of each signal.

    Raises:
        RequestError: If the reranker gives anything but one number in [0, 1] for each text.
    """
    best = scored[:top]
    if not best:
        return list(scored)
    values = np.asarray(reranker.score(request, [text(item.doc_id) for item in best]), dtype=np.float64)
    name = reranker.info.id
    if values.shape != (len(best),) or not bool(np.all((values >= 0) & (values <= 1))):
        raise RequestError(
            f"reranker {name!r} must give {len(best)} numbers from 0 to 1, one for each text; "
            f"it gave {np.array2string(values, threshold=5)}",
            field="reranker",
        )
    read = [
        score(replace(item.evidence, read=(value, partial(_told, value, name=name))), profile=profile, weights=weights)
        for item, value in zip(best, values.tolist(), strict=True)
    ]
    return sorted([*read, *scored[top:]], key=lambda item: (-item.score, item.doc_id))


def _told(value: float, *, name: str) -> Why:
    return Why(ReasonCode.READ_TOGETHER, f"read together, request and tool fit to {value:.0%} ({name})")
