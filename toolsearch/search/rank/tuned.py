"""What a learnt model does to a search: it turns the request's vector, and weighs the lanes.

The vector that is compared with the tools' definitions becomes

    q' = normalise(q + L (R q)),   L: dim x rank, R: rank x dim

and its cosines c' count as slope * c' + offset: what is added to q makes all cosines smaller, and the encoder's
calibration speaks of those of q.

Example requests and past requests are compared with q itself, as they are requests too. A model is a function of the
operator's log and nothing else: given the same model, tools that a principal cannot see change no byte of its answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.request import SignalName

_LEAST_NORM = 1e-3
"""Below this length the turned vector has no direction to speak of, and the request's own is kept."""


@dataclass(frozen=True, slots=True, eq=False)
class QueryMap:
    """A residual map of low rank.

    Attributes:
        left: float64[dim, rank].
        right: float64[rank, dim].
        slope: > 0, of the cosines of turned vectors.
        offset: Likewise.
    """

    left: NDArray[np.float64]
    right: NDArray[np.float64]
    slope: float = 1.0
    offset: float = 0.0

    def __call__(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return float32[dim], a unit vector.

        One vector at a time and in float64, so that the bytes do not depend on what else is searched for.
        """
        own = vector.astype(np.float64)
        turned = own + self.left @ (self.right @ own)
        norm = float(np.linalg.norm(turned))
        return vector if norm < _LEAST_NORM else (turned / norm).astype(np.float32)

    def level(self, cosines: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return cosines of a turned vector as the calibration takes them: float64[n] in [-1, 1]; -1 stays."""
        return np.where(cosines > -1.0, np.clip(self.slope * cosines + self.offset, -1.0, 1.0), -1.0)


@dataclass(frozen=True, slots=True, eq=False)
class TunedModel:
    """A model made ready to search with.

    Attributes:
        query_map: None = requests keep their vectors.
        weights: Stand in for those of the default profile; a request's own come before them.
    """

    query_map: QueryMap | None = None
    weights: Mapping[SignalName, float] = field(default_factory=lambda: MappingProxyType({}))


UNTUNED = TunedModel()


@dataclass(frozen=True, slots=True, eq=False)
class Tuned:
    """The models that serve, by tenant; None is the tenant of those without one.

    Attributes:
        for_all: Serves every tenant that has no model of its own.
    """

    by_tenant: Mapping[str | None, TunedModel] = field(default_factory=lambda: MappingProxyType({}))
    for_all: TunedModel = UNTUNED

    def of(self, tenant: str | None) -> TunedModel:
        """Return the model that serves a tenant."""
        return self.by_tenant.get(tenant, self.for_all)
