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

from toolsearch.embed.normalise import encoder_text
from toolsearch.embed.spans import token_spans
from toolsearch.training.model import TextEncoder, pooled
from toolsearch.training.pairs import Batch, Example, Steps, is_steps

REQUEST_TOKENS: Final = 48
TASK_TOKENS: Final = 112
SCALE: Final = 30.0
"""Inverse temperature of the softmax over cosines."""

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
    requests: Tensor, tools: Tensor, right: Tensor, *, twin: float, strangers: Tensor | None = None
) -> Tensor:
    """Return the symmetric InfoNCE loss of unit rows.

    Args:
        requests: float32[n, width].
        tools: float32[n, width]; row i is the tool of request i.
        right: bool[n, n], pairs that are no negatives; left out of the sums except on the diagonal.
        twin: Cosine of two tools from which on they are taken for the same one, so no negatives either.
        strangers: float32[m, width], requests that need no tool: negatives of every tool.
    """
    twins = (tools @ tools.T).detach() > twin
    others = (right | twins) & ~torch.eye(len(right), dtype=torch.bool)
    scores = (SCALE * requests @ tools.T).masked_fill(others, float("-inf"))
    target = torch.arange(len(right))
    asked = scores.T if strangers is None else torch.cat([scores.T, SCALE * tools @ strangers.T], dim=1)
    rows, columns = functional.cross_entropy(scores, target), functional.cross_entropy(asked, target)
    return (rows + columns) / 2


def tokenise(tokenizer: Tokenizer, texts: Sequence[str], *, cut: int) -> tuple[Tensor, Tensor]:
    """Return ids int64[n, longest] and mask bool[n, longest] of texts cut at that many tokens."""
    tokenizer.enable_truncation(cut)
    rows = [encoding.ids for encoding in tokenizer.encode_batch([encoder_text(text) for text in texts])]
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


def fit(
    model: TextEncoder,
    tokenizer: Tokenizer,
    batches: Sequence[Batch],
    *,
    schedule: Schedule,
    tool_tokens: int,
    twin: float = NO_TWINS,
    strangers: Sequence[str] = (),
    report: Callable[[int, float], None],
) -> None:
    """Fit the model in place over the batches, in their order, at most `schedule.steps` of them.

    Args:
        model: What is fitted.
        tokenizer: Its tokenizer.
        batches: Pairs, or tasks of several steps; one batch a step.
        schedule: Learning rates.
        tool_tokens: Where the texts of tools are cut.
        twin: See `contrastive_loss`.
        strangers: Requests that need no tool; every batch of pairs has the next few of them as negatives.
        report: Called after each step with its number and loss.
    """
    fitted = [value for value in model.parameters() if value.requires_grad]
    optimiser = torch.optim.AdamW(fitted, lr=schedule.peak, weight_decay=0.01, fused=True)
    model.train()
    for step, batch in enumerate(batches[: schedule.steps]):
        for group in optimiser.param_groups:
            group["lr"] = schedule.rate(step)
        if is_steps(batch):
            loss = steps_loss(model, tokenizer, batch, tool_tokens=tool_tokens, twin=twin)
        else:
            some = [strangers[(step * STRANGERS + at) % len(strangers)] for at in range(STRANGERS if strangers else 0)]
            pairs = cast("tuple[Example, ...]", batch)
            loss = step_loss(model, tokenizer, pairs, tool_tokens=tool_tokens, twin=twin, strangers=some)
        optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(fitted, 1.0)
        optimiser.step()
        report(step, float(loss.detach()))


def step_loss(
    model: TextEncoder,
    tokenizer: Tokenizer,
    batch: Sequence[Example],
    *,
    tool_tokens: int,
    twin: float = NO_TWINS,
    strangers: Sequence[str] = (),
) -> Tensor:
    """Return the loss of one batch of pairs."""
    asked = [*(example.request for example in batch), *strangers]
    with torch.autocast("cpu", torch.bfloat16):
        requests = model(*tokenise(tokenizer, asked, cut=REQUEST_TOKENS)).float()
        tools = model(*tokenise(tokenizer, [example.tool for example in batch], cut=tool_tokens)).float()
    right, size = torch.from_numpy(right_mask(batch)), len(batch)
    others = requests[size:] if strangers else None
    return contrastive_loss(requests[:size], tools, right, twin=twin, strangers=others)


def steps_loss(
    model: TextEncoder, tokenizer: Tokenizer, batch: Sequence[Steps], *, tool_tokens: int, twin: float = NO_TWINS
) -> Tensor:
    """Return the loss of one batch of tasks.

    Half of it is that of the steps, each the mean of its tokens in one pass over the whole task, where the tools of the
    other steps are negatives; half that of the whole tasks, where they are not.
    """
    tools = [example for steps in batch for example in steps.examples]
    with torch.autocast("cpu", torch.bfloat16):
        ids, mask, parts = _tokenise_steps(tokenizer, batch)
        hidden = model.tokens(ids, mask)
        told = model(*tokenise(tokenizer, [example.tool for example in tools], cut=tool_tokens)).float()
    task = torch.arange(len(batch)).repeat_interleave(mask.sum(1))
    whole = pooled(hidden, task, rows=len(batch))
    at = parts.reshape(-1)[mask.reshape(-1)]
    step = pooled(hidden[at >= 0], at[at >= 0], rows=len(tools))
    right = torch.from_numpy(right_mask(tools))
    member = torch.tensor([at for at, steps in enumerate(batch) for _ in steps.examples])
    of_steps = contrastive_loss(step, told, right, twin=twin)
    of_tasks = contrastive_loss(whole[member], told, right | (member[:, None] == member), twin=twin)
    return (of_steps + of_tasks) / 2


def _tokenise_steps(tokenizer: Tokenizer, batch: Sequence[Steps]) -> tuple[Tensor, Tensor, Tensor]:
    """Return ids and mask of the whole tasks, and int64[n, longest] which step of the batch each token is of, or -1."""
    tokenizer.enable_truncation(TASK_TOKENS)
    texts = [encoder_text(steps.text) for steps in batch]
    encodings = [tokenizer.encode(text) for text in texts]
    longest = max(len(encoding.ids) for encoding in encodings)
    ids = torch.zeros(len(batch), longest, dtype=torch.int64)
    mask, parts = torch.zeros_like(ids, dtype=torch.bool), torch.full_like(ids, -1)
    first = 0
    for row, (steps, text, encoding) in enumerate(zip(batch, texts, encodings, strict=True)):
        ids[row, : len(encoding.ids)], mask[row, : len(encoding.ids)] = torch.tensor(encoding.ids), True
        spans = token_spans(text, [encoder_text(part.request) for part in steps.examples], offsets=encoding.offsets)
        for at, span in enumerate(spans):
            if span is not None:
                parts[row, span[0] : span[1]] = first + at
        first += len(steps.examples)
    return ids, mask, parts
