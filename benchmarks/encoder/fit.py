"""The contrastive fit: symmetric InfoNCE over in-batch negatives, false negatives masked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, cast

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.encoder.model import TextEncoder, pooled
from benchmarks.encoder.pairs import Batch, Example, Steps, is_steps
from benchmarks.encoder.token_head import TokenHead
from toolsearch.text.embed.normalise import encoder_text
from toolsearch.text.embed.spans import token_spans

REQUEST_TOKENS: Final = 48
TASK_TOKENS: Final = 112
SCALE: Final = 30.0
"""Inverse temperature of the softmax over cosines."""

TOKEN_SCALE: Final = 20.0
"""The same over the scores of a `TokenHead`."""

HEAD_RATE: Final = 10.0
"""Learning rate of a `TokenHead`, as a multiple of the encoder's: it starts from nothing."""

STRANGERS: Final = 12
"""Requests that need no tool, a batch."""

NO_TWINS: Final = 2.0
"""A cosine no two tools reach: before the first fit all cosines of the base are high and say little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Learning rate over the steps: linear warm-up to `peak`, then linear to `floor` times it.

    Attributes:
        steps: Number of steps.
        peak: Highest learning rate.
        warm_up: Steps until it is reached.
        floor: Share of the peak at the end.
    """

    steps: int
    peak: float = 5e-5
    warm_up: int = 30
    floor: float = 0.05

    def rate(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0."""
        if step < self.warm_up:
            return self.peak * (step + 1) / self.warm_up
        left = (self.steps - step) / max(1, self.steps - self.warm_up)
        return self.peak * (self.floor + (1 - self.floor) * left)


def right_mask(batch: Sequence[Example]) -> NDArray[np.bool_]:
    """Return bool[n, n]: true where row's request may well be answered by the column's tool, so no negative."""
    texts = [encoder_text(example.tool) for example in batch]
    asked = [encoder_text(example.request) for example in batch]
    return np.array(
        [
            [other.key in one.right or texts[i] == texts[j] or asked[i] == asked[j] for j, other in enumerate(batch)]
            for i, one in enumerate(batch)
        ],
        dtype=np.bool_,
    )


def contrastive_loss(
    scores: Tensor, right: Tensor, *, twins: Tensor, strangers: Tensor | None = None, scale: float = SCALE
) -> Tensor:
    """Return the symmetric InfoNCE loss.

    Args:
        scores: float32[n, n], of requests with tools; column i is the tool of request i.
        right: bool[n, n], pairs that are no negatives; left out of the sums except on the diagonal.
        twins: bool[n, n], tools that are taken for the same one, so no negatives either.
        strangers: float32[m, n], scores of requests that need no tool: negatives of every tool.
        scale: Inverse temperature of the softmax.
    """
    others = (right | twins) & ~torch.eye(len(right), dtype=torch.bool)
    rows = (scale * scores).masked_fill(others, float("-inf"))
    target = torch.arange(len(right))
    columns = rows.T if strangers is None else torch.cat([rows.T, scale * strangers.T], dim=1)
    return (functional.cross_entropy(rows, target) + functional.cross_entropy(columns, target)) / 2


def tokenise(tokenizer: Tokenizer, texts: Sequence[str], *, cut: int) -> tuple[Tensor, Tensor]:
    """Return ids int64[n, longest] and mask bool[n, longest] of texts cut at that many tokens."""
    tokenizer.enable_truncation(cut)
    return _padded([encoding.ids for encoding in tokenizer.encode_batch([encoder_text(text) for text in texts])])


def _padded(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    longest = max(map(len, rows))
    ids = np.zeros((len(rows), longest), dtype=np.int64)
    mask = np.zeros((len(rows), longest), dtype=np.bool_)
    for at, row in enumerate(rows):
        ids[at, : len(row)], mask[at, : len(row)] = row, True
    return torch.from_numpy(ids), torch.from_numpy(mask)


def encode(
    model: TextEncoder, tokenizer: Tokenizer, texts: Sequence[str], *, cut: int = 128, size: int = 64
) -> NDArray[np.float32]:
    """Return float32[n, width], unit rows, by the model being fitted (bfloat16, in batches of like length)."""
    model.eval()
    order = sorted(range(len(texts)), key=lambda at: (len(texts[at]), at))
    vectors = np.zeros((len(texts), model.places.shape[1]), dtype=np.float32)
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        for start in range(0, len(order), size):
            chosen = order[start : start + size]
            ids, mask = tokenise(tokenizer, [texts[at] for at in chosen], cut=cut)
            vectors[chosen] = model(ids, mask).float().numpy()
    return vectors


def rough_vectors(model: TextEncoder, tokenizer: Tokenizer, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return float32[n, width], unit rows: the mean of each text's word embeddings, rare words counting more.

    A thousandth of the cost of the encoder, and good enough to find texts that look alike.
    """
    words = model.words.weight.detach().numpy()
    rows = [encoding.ids for encoding in tokenizer.encode_batch([encoder_text(text) for text in texts])]
    seen = np.bincount(np.concatenate([np.unique(row) for row in rows]), minlength=len(words))
    rarity = np.log(len(rows) / np.maximum(seen, 1)).astype(np.float32)
    means = np.array([rarity[row] @ words[row] for row in rows])
    return np.asarray(means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9), dtype=np.float32)


def input_ranges(model: TextEncoder, tokenizer: Tokenizer, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    """Return for each linear module float32[inputs], the largest magnitude that the texts bring to each channel."""
    largest: dict[str, Tensor] = {}

    def watch(name: str) -> Callable[[nn.Module, tuple[Tensor, ...]], None]:
        def look(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            seen = inputs[0].detach().float().abs().amax(0)
            largest[name] = torch.maximum(largest[name], seen) if name in largest else seen

        return look

    linear = [(name, module) for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    hooks = [module.register_forward_pre_hook(watch(name)) for name, module in linear]
    encode(model, tokenizer, texts)
    for hook in hooks:
        hook.remove()
    return {name: value.numpy() for name, value in largest.items()}


@dataclass(frozen=True, slots=True)
class Fitted:
    """What is being fitted: the encoder with its tokenizer, and the head that compares tokens, if there is one."""

    model: TextEncoder
    tokenizer: Tokenizer
    head: TokenHead | None = None


def fit(
    fitted: Fitted,
    batches: Sequence[Batch],
    *,
    schedule: Schedule,
    tool_tokens: int,
    twin: float = NO_TWINS,
    strangers: Sequence[str] = (),
    report: Callable[[int, float], None],
) -> None:
    """Fit in place over the batches, in their order, at most `schedule.steps` of them.

    Args:
        fitted: What is fitted, as far as its parameters require a gradient.
        batches: Pairs, or tasks of several steps; one batch a step.
        schedule: Learning rates.
        tool_tokens: Where the texts of tools are cut.
        twin: See `contrastive_loss`.
        strangers: Requests that need no tool; every batch of pairs has the next few of them as negatives.
        report: Called after each step with its number and loss.
    """
    inside = [value for value in fitted.model.parameters() if value.requires_grad]
    groups = [{"params": inside, "times": 1.0}]
    if fitted.head is not None:
        groups.append({"params": list(fitted.head.parameters()), "times": HEAD_RATE})
    optimiser = torch.optim.AdamW(groups, lr=schedule.peak, weight_decay=0.01, fused=True)
    fitted.model.train()
    for step, batch in enumerate(batches[: schedule.steps]):
        for group in optimiser.param_groups:
            group["lr"] = schedule.rate(step) * group["times"]
        if is_steps(batch):
            loss = steps_loss(fitted, batch, tool_tokens=tool_tokens, twin=twin)
        else:
            some = [strangers[(step * STRANGERS + at) % len(strangers)] for at in range(STRANGERS if strangers else 0)]
            pairs = cast("tuple[Example, ...]", batch)
            loss = step_loss(fitted, pairs, tool_tokens=tool_tokens, twin=twin, strangers=some)
        optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(inside, 1.0)
        optimiser.step()
        report(step, float(loss.detach()))


def step_loss(
    fitted: Fitted, batch: Sequence[Example], *, tool_tokens: int, twin: float = NO_TWINS, strangers: Sequence[str] = ()
) -> Tensor:
    """Return the loss of one batch of pairs."""
    asked = [*(example.request for example in batch), *strangers]
    tools = _Texts.of(fitted, [example.tool for example in batch], cut=tool_tokens)
    requests = _Texts.of(fitted, asked, cut=REQUEST_TOKENS)
    right, size = torch.from_numpy(right_mask(batch)), len(batch)

    def loss(scores: Tensor, scale: float) -> Tensor:
        others = scores[size:] if strangers else None
        return contrastive_loss(scores[:size], right, twins=tools.twins(twin), strangers=others, scale=scale)

    return _both(fitted, loss, requests.hidden, requests.owner, tools, rows=len(asked))


def steps_loss(fitted: Fitted, batch: Sequence[Steps], *, tool_tokens: int, twin: float = NO_TWINS) -> Tensor:
    """Return the loss of one batch of tasks.

    Half of it is that of the steps, each the mean of its tokens in one pass over the whole task, where the tools of the
    other steps are negatives; half that of the whole tasks, where they are not.
    """
    examples = [example for steps in batch for example in steps.examples]
    tools = _Texts.of(fitted, [example.tool for example in examples], cut=tool_tokens)
    ids, mask, parts = _tokenise_steps(fitted.tokenizer, batch)
    with torch.autocast("cpu", torch.bfloat16):
        hidden = fitted.model.tokens(ids, mask)
    at = parts.reshape(-1)[mask.reshape(-1)]
    right = torch.from_numpy(right_mask(examples))
    member = torch.tensor([at for at, steps in enumerate(batch) for _ in steps.examples])
    twins = tools.twins(twin)

    def of_steps(scores: Tensor, scale: float) -> Tensor:
        return contrastive_loss(scores, right, twins=twins, scale=scale)

    def of_tasks(scores: Tensor, scale: float) -> Tensor:
        together = right | (member[:, None] == member)
        return contrastive_loss(scores[member], together, twins=twins, scale=scale)

    task = torch.arange(len(batch)).repeat_interleave(mask.sum(1))
    steps = _both(fitted, of_steps, hidden[at >= 0], at[at >= 0], tools, rows=len(examples))
    return (steps + _both(fitted, of_tasks, hidden, task, tools, rows=len(batch))) / 2


@dataclass(frozen=True, slots=True)
class _Texts:
    """The last hidden states of some texts: float[n, width], int64[n] which text each is of, bool[texts, longest]."""

    hidden: Tensor
    owner: Tensor
    mask: Tensor

    @classmethod
    def of(cls, fitted: Fitted, texts: Sequence[str], *, cut: int) -> _Texts:
        ids, mask = tokenise(fitted.tokenizer, texts, cut=cut)
        with torch.autocast("cpu", torch.bfloat16):
            hidden = fitted.model.tokens(ids, mask)
        return cls(hidden, torch.arange(len(texts)).repeat_interleave(mask.sum(1)), mask)

    @property
    def vectors(self) -> Tensor:
        return pooled(self.hidden, self.owner, rows=len(self.mask))

    def twins(self, twin: float) -> Tensor:
        """Return bool[texts, texts]: cosine from which on two texts are taken for the same one."""
        vectors = self.vectors.detach()
        return vectors @ vectors.T > twin


def _both(
    fitted: Fitted, loss: Callable[[Tensor, float], Tensor], hidden: Tensor, owner: Tensor, tools: _Texts, *, rows: int
) -> Tensor:
    """Return a loss of the cosines of whole texts and, where a head is fitted too, of its scores."""
    whole = loss(pooled(hidden, owner, rows=rows) @ tools.vectors.T, SCALE)
    if fitted.head is None:
        return whole
    return whole + loss(fitted.head(hidden, owner, tools.hidden, tools.mask, rows=rows), TOKEN_SCALE)


def _tokenise_steps(tokenizer: Tokenizer, batch: Sequence[Steps]) -> tuple[Tensor, Tensor, Tensor]:
    """Return ids and mask of the whole tasks, and int64[n, longest] which step of the batch each token is of, or -1."""
    tokenizer.enable_truncation(TASK_TOKENS)
    texts = [encoder_text(steps.text) for steps in batch]
    encodings = [tokenizer.encode(text) for text in texts]
    ids, mask = _padded([encoding.ids for encoding in encodings])
    parts = torch.full_like(ids, -1)
    first = 0
    for row, (steps, text, encoding) in enumerate(zip(batch, texts, encodings, strict=True)):
        spans = token_spans(text, [encoder_text(part.request) for part in steps.examples], offsets=encoding.offsets)
        for at, span in enumerate(spans):
            if span is not None:
                parts[row, span[0] : span[1]] = first + at
        first += len(steps.examples)
    return ids, mask, parts
