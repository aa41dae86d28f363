"""Fit the map of request vectors: softmax over the definitions, pulled towards leaving requests as they are.

Minimised over A, with q' = normalise(q + A q) and c the definitions' vectors:

    mean over (request, tool) of  - log( sum over rows c of the tool of exp(s c.q') / sum over all rows of exp(s c.q') )
    + strength * |A|^2

(InfoNCE, van den Oord et al. 2018, with the whole catalogue as negatives), by Adam (Kingma and Ba, ICLR 2015) with
analytic gradients, all requests in each step, from A = 0. Other tools that served the same request are no negatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from toolsearch.engine.models import packed
from toolsearch.search.rank.tuned import QueryMap
from toolsearch.text.embed.protocol import EncoderInfo

Floats = NDArray[np.float32]

STRENGTHS = (0.03, 0.01, 0.003, 0.001)
"""Regularisation tried, strongest first."""

RANK = 128
"""Most dimensions in which a map moves a request: more of them measured no better and make a larger file."""

STEPS, RATE = 60, 6e-3
_DECAY, _DECAY_SQUARED, _TINY = 0.9, 0.999, 1e-8

SHARPNESS = 7.65
"""Scale of the softmax times the width of the encoder's cosines, from unrelated to a clear match."""

MAX_ROWS = 2_048
"""Vectors of definitions that requests are told apart from: those of tools that served, then the nearest others."""

_NEAREST = 20
_BLOCK = 2_048


def fit_map(
    requests: Floats,
    golds: Sequence[Sequence[int]],
    *,
    rows: Floats,
    owners: NDArray[np.int32],
    encoder: EncoderInfo,
    strength: float,
) -> QueryMap:
    """Return the map that brings requests nearest to the tools that served them. The same input gives the same map.

    Args:
        requests: float32[n, dim], unit vectors.
        golds: Document numbers of the tools that served each.
        rows: float32[m, dim], unit vectors of the definitions.
        owners: int32[m], ascending: whose each row is.
        encoder: Whose vectors they are.
        strength: Of the pull towards leaving requests as they are, > 0.
    """
    rows, owners = _chosen_rows(requests, golds, rows=rows, owners=owners)
    pairs = [(at, gold, 1.0 / len(tools)) for at, tools in enumerate(golds) for gold in tools]
    at = np.array([pair[0] for pair in pairs], dtype=np.int64)
    share = np.array([pair[2] / len(golds) for pair in pairs], dtype=np.float32)
    scale = np.float32(SHARPNESS / (encoder.cosine_ceiling - encoder.cosine_floor))
    matrix = np.zeros((requests.shape[1], requests.shape[1]), dtype=np.float32)
    mean, square = np.zeros_like(matrix), np.zeros_like(matrix)
    own = [owners == gold for _, gold, _ in pairs]
    others = [np.isin(owners, [tool for tool in golds[place] if tool != gold]) for place, gold, _ in pairs]
    for step in range(1, STEPS + 1):
        gradient = 2.0 * np.float32(strength) * matrix
        for start in range(0, at.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            gradient += _gradient(
                requests[at[part]],
                matrix,
                rows=rows,
                own=np.array(own[part]),
                others=np.array(others[part]),
                share=share[part],
                scale=scale,
            )
        mean = _DECAY * mean + (1.0 - _DECAY) * gradient
        square = _DECAY_SQUARED * square + (1.0 - _DECAY_SQUARED) * gradient * gradient
        rate = RATE * (1.0 + np.cos(np.pi * step / STEPS)) / 2.0
        move = (mean / (1.0 - _DECAY**step)) / (np.sqrt(square / (1.0 - _DECAY_SQUARED**step)) + _TINY)
        matrix = (matrix - rate * move).astype(np.float32)
    return low_rank(matrix.astype(np.float64))


def low_rank(matrix: NDArray[np.float64], *, rank: int = RANK) -> QueryMap:
    """Return the best approximation of a map of a rank, with numbers as a model stores them."""
    left, values, right = np.linalg.svd(matrix)
    kept = min(rank, int(np.count_nonzero(values > 0)))
    root = np.sqrt(values[:kept])
    stored = [part.astype("<f2").astype(np.float64) for part in (left[:, :kept] * root, root[:, None] * right[:kept])]
    return QueryMap(stored[0], stored[1])


def levelled(
    query_map: QueryMap,
    requests: Floats,
    golds: Sequence[Sequence[int]],
    *,
    rows: Floats,
    owners: NDArray[np.int32],
) -> QueryMap:
    """Return the map with the slope and offset that keep two means of cosines: of right tools, and of all tools.

    Args:
        query_map: The map.
        requests: float32[n, dim], which the map was not fitted to: those it was fitted to come out too near.
        golds: Document numbers of the tools that served each.
        rows: float32[m, dim], unit vectors of the definitions.
        owners: int32[m], ascending: whose each row is.
    """
    turned = np.stack([query_map(request) for request in requests])
    right = np.array([np.isin(owners, list(tools)) for tools in golds])
    (own, everything), (own_turned, everything_turned) = (
        (float(cosines[right].mean()), float(cosines.mean()))
        for cosines in ((vectors @ rows.T).astype(np.float64) for vectors in (requests, turned))
    )
    if own <= everything or own_turned <= everything_turned:
        return query_map
    slope = round((own - everything) / (own_turned - everything_turned), 4)
    return replace(query_map, slope=slope, offset=round(everything - slope * everything_turned, 4))


def arrays(query_map: QueryMap | None, *, dim: int) -> dict[str, object]:
    """Return the fields of a model that hold a map."""
    if query_map is None:
        return {"dim": dim, "rank": 0}
    return {
        "dim": dim,
        "rank": query_map.left.shape[1],
        "slope": query_map.slope,
        "offset": query_map.offset,
        "left": packed(query_map.left),
        "right": packed(query_map.right),
    }


def _gradient(
    requests: Floats,
    matrix: Floats,
    *,
    rows: Floats,
    own: NDArray[np.bool_],
    others: NDArray[np.bool_],
    share: Floats,
    scale: np.float32,
) -> Floats:
    """Return the gradient of the loss of some (request, tool) pairs.

    Args:
        requests: float32[n, dim], one for each pair.
        matrix: A.
        rows: float32[m, dim].
        own: bool[n, m], rows of the tool.
        others: bool[n, m], rows of other tools that served the request.
        share: float32[n], weight of each pair.
        scale: s.
    """
    turned = requests + requests @ matrix.T
    norms = np.linalg.norm(turned, axis=1, keepdims=True)
    unit = turned / norms
    logits = scale * (unit @ rows.T)
    logits[others] = -np.inf
    logits -= logits.max(axis=1, keepdims=True)
    likely = np.exp(logits)
    likely /= likely.sum(axis=1, keepdims=True)
    right = np.where(own, np.maximum(likely, np.float32(1e-30)), np.float32(0.0))
    right /= right.sum(axis=1, keepdims=True)
    towards = ((likely - right) * (scale * share)[:, None]) @ rows
    moved = (towards - (towards * unit).sum(axis=1, keepdims=True) * unit) / norms
    return np.asarray(moved.T @ requests, dtype=np.float32)


def _chosen_rows(
    requests: Floats, golds: Sequence[Sequence[int]], *, rows: Floats, owners: NDArray[np.int32]
) -> tuple[Floats, NDArray[np.int32]]:
    """Return all rows, or those of tools that served and the ones nearest to most requests."""
    if owners.size <= MAX_ROWS:
        return rows, owners
    served = np.isin(owners, sorted({gold for tools in golds for gold in tools}))
    near = np.zeros(owners.size, dtype=np.int64)
    for start in range(0, len(requests), _BLOCK):
        best = np.argpartition(-(requests[start : start + _BLOCK] @ rows.T), _NEAREST, axis=1)[:, :_NEAREST]
        near += np.bincount(best.ravel(), minlength=owners.size)
    order = np.lexsort((np.arange(owners.size), -near, ~served))
    kept = np.sort(order[: max(MAX_ROWS, int(served.sum()))])
    return rows[kept], owners[kept]
