"""The head that compares token by token: what makes the short vectors of tokens out of the last hidden states.

One vector a text says what a text is about; it loses which words carried it. So a second, small comparison stands
beside it: each token of a request looks for the token of the tool that is most like it, and the weighted mean of what
they found is the score ("late interaction", Khattab and Zaharia 2020, ColBERT, eq. 3, with weights). The weight of a
token is learnt too: "please" matters less than "invoice".
"""

from __future__ import annotations

from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

TOKEN_WIDTH: Final = 48
"""Numbers a token vector has."""

FLOOR: Final = -1e4


class TokenHead(nn.Module):
    """Hidden states -> unit vectors of tokens and, for those of requests, their weights."""

    def __init__(self, *, width: int) -> None:
        super().__init__()
        self.vectors = nn.Linear(width, TOKEN_WIDTH, bias=False)
        self.weights = nn.Linear(width, 1)
        nn.init.zeros_(self.weights.weight)
        nn.init.zeros_(self.weights.bias)

    def matrix(self) -> NDArray[np.float32]:
        """Return float32[width + 1, TOKEN_WIDTH + 1] as `toolsearch.text.embed.token_vectors.TokenHead.of` reads it."""
        made = np.zeros((self.weights.weight.shape[1] + 1, TOKEN_WIDTH + 1), dtype=np.float32)
        made[:-1, :-1] = self.vectors.weight.detach().numpy().T
        made[:-1, -1] = self.weights.weight.detach().numpy()[0]
        made[-1, -1] = float(self.weights.bias.detach()[0])
        return made

    def directions(self, hidden: Tensor) -> Tensor:
        """Return float[n, TOKEN_WIDTH], unit rows."""
        return functional.normalize(self.vectors(hidden.float()), dim=-1)

    def importance(self, hidden: Tensor) -> Tensor:
        """Return float[n], above 0."""
        return functional.softplus(self.weights(hidden.float())).squeeze(-1)

    def forward(self, asked: Tensor, owner: Tensor, told: Tensor, mask: Tensor, *, rows: int) -> Tensor:
        """Return float32[rows, tools], the weighted mean of the best cosine of each token of a request, in [-1, 1].

        Args:
            asked: float[n, width], hidden states of requests, one after the other.
            owner: int64[n], the row each of them counts for.
            told: float[m, width], hidden states of tools, one after the other.
            mask: bool[tools, longest], where they stand.
            rows: Number of rows.
        """
        tools = torch.zeros(*mask.shape, TOKEN_WIDTH).masked_scatter(mask.unsqueeze(-1), self.directions(told))
        found = torch.einsum("nd,msd->nms", self.directions(asked), tools).masked_fill(~mask, FLOOR).amax(-1)
        weight = self.importance(asked)
        summed = torch.zeros(rows, len(mask)).index_add(0, owner, weight[:, None] * found)
        return summed / torch.zeros(rows).index_add(0, owner, weight).clamp_min(1e-6)[:, None]
