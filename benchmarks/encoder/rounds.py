"""The rounds of the fit: what each of them sees, how long, and how their ends are put together."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch
from tokenizers import Tokenizer
from torch import Tensor

from benchmarks.encoder.asked import needless_requests
from benchmarks.encoder.fit import Fitted, Schedule, fit, rough_vectors
from benchmarks.encoder.mining import look_alike_order
from benchmarks.encoder.model import TextEncoder
from benchmarks.encoder.pairs import Arrange, Batch, Example, asked_batches, epoch_batches
from benchmarks.encoder.token_head import TokenHead

BATCH: Final = 64
GROUP: Final = 16
"""Look-alikes next to each other in a batch of the second fit."""

TWIN: Final = 0.95
FIRST: Final = Schedule(steps=500, floor=0.4)
FIRST_STEPS: Final = 200
FIRST_TOOL_TOKENS: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Later:
    """One of the rounds after the first.

    Attributes:
        epochs: Number of each epoch, added to the seed.
        schedule: Learning rates; at most so many batches are used.
        tool_tokens: Where the texts of tools are cut.
        weight: Share of its parameters in the shipped ones.
    """

    epochs: tuple[int, ...]
    schedule: Schedule
    tool_tokens: int
    weight: float


LATER: Final = (
    Later(epochs=(3,), schedule=Schedule(steps=300, peak=4e-5, warm_up=10), tool_tokens=80, weight=0.35),
    Later(epochs=(4, 5), schedule=Schedule(steps=420, peak=4e-5, warm_up=20), tool_tokens=96, weight=0.65),
)
"""The mean of the ends of the rounds ranked better on dev data than any one of them."""

CHINESE_ROUNDS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One of the rounds over our own requests and tasks, mixed with batches of the earlier kinds.

    Attributes:
        epochs: Number of each epoch of the earlier kinds, added to the seed.
        earlier: At most so many batches of them.
        rounds: How often our own requests and tasks are gone over.
        floor: Share of the highest learning rate at the end.
    """

    epochs: tuple[int, ...]
    earlier: int
    rounds: int
    floor: float


ASKED: Final = (
    Asked(epochs=(21,), earlier=170, rounds=2, floor=0.5),
    Asked(epochs=(22,), earlier=280, rounds=2, floor=0.7),
    Asked(epochs=(31,), earlier=360, rounds=2, floor=0.9),
    Asked(epochs=(41, 42), earlier=620, rounds=3, floor=0.03),
)
ASKED_PEAK: Final = 4e-5
EARLIER_SHARE: Final = 0.2
"""Share of the parameters before these rounds in the shipped ones."""

KEPT: Final = ("words.", "places", "norm.", "layers.0.")
ASKED_TOOL_TOKENS: Final = 96
ASKED_CHINESE_ROUNDS: Final = 2

HEAD_ROUND: Final = Asked(epochs=(51,), earlier=200, rounds=1, floor=0.05)
HEAD_PEAK: Final = 1e-4
HEAD_STEPS: Final = 300

_log = logging.getLogger(__name__)


def first_fit(model: TextEncoder, tokenizer: Tokenizer, data: Path, *, seed: int) -> None:
    """Fit over random batches, the learning rate still high at the end."""
    batches = epoch_batches(data, seed=seed + 1, size=BATCH, chinese_rounds=0)
    fit(Fitted(model, tokenizer), batches[:FIRST_STEPS], schedule=FIRST, tool_tokens=FIRST_TOOL_TOKENS, report=_report)


def look_alike_arrange(model: TextEncoder, tokenizer: Tokenizer, *, seed: int) -> Arrange:
    """Return what puts examples whose tools look alike to the model next to each other."""

    def arrange(examples: Sequence[Example]) -> list[Example]:
        vectors = rough_vectors(model, tokenizer, [example.tool for example in examples])
        return [examples[at] for at in look_alike_order(vectors, size=GROUP, seed=seed)]

    return arrange


def several_epochs(
    data: Path, *, seed: int, epochs: Sequence[int], chinese_rounds: int, arrange: Arrange
) -> list[tuple[Example, ...]]:
    """Return the batches of several epochs, one after the other."""
    return [
        batch
        for epoch in epochs
        for batch in epoch_batches(data, seed=seed + epoch, size=BATCH, chinese_rounds=chinese_rounds, arrange=arrange)
    ]


def look_alike_fit(model: TextEncoder, tokenizer: Tokenizer, data: Path, *, seed: int, later: Later) -> None:
    """Fit over batches of look-alikes, and over Chinese requests for English tools: one of the later rounds."""
    arrange = look_alike_arrange(model, tokenizer, seed=seed)
    batches = several_epochs(data, seed=seed, epochs=later.epochs, chinese_rounds=CHINESE_ROUNDS, arrange=arrange)
    cut = later.tool_tokens
    fitted = Fitted(model, tokenizer)
    fit(fitted, batches, schedule=later.schedule, tool_tokens=cut, twin=TWIN, report=_report)


def asked_fit(model: TextEncoder, tokenizer: Tokenizer, data: Path, *, seed: int, asked: Asked) -> None:
    """Fit over our own requests and tasks: one of the rounds. Word and place embeddings stay as they are."""
    model.words.weight.requires_grad_(False)
    model.places.requires_grad_(False)
    _fit_asked(Fitted(model, tokenizer), data, seed=seed, asked=asked, peak=ASKED_PEAK)


def head_fit(model: TextEncoder, tokenizer: Tokenizer, data: Path, *, seed: int) -> TokenHead:
    """Fit a head that compares token by token; the encoder stays as it is, and so do its vectors."""
    model.requires_grad_(False)
    head = TokenHead(width=model.places.shape[1])
    _fit_asked(Fitted(model, tokenizer, head), data, seed=seed, asked=HEAD_ROUND, peak=HEAD_PEAK, most=HEAD_STEPS)
    return head


def _fit_asked(fitted: Fitted, data: Path, *, seed: int, asked: Asked, peak: float, most: int | None = None) -> None:
    first = seed + asked.epochs[0]
    arrange = look_alike_arrange(fitted.model, fitted.tokenizer, seed=first)
    rounds = ASKED_CHINESE_ROUNDS
    earlier = several_epochs(data, seed=seed, epochs=asked.epochs, chinese_rounds=rounds, arrange=arrange)
    batches: list[Batch] = [*earlier[: asked.earlier]]
    batches += asked_batches(data, seed=first, size=BATCH, rounds=asked.rounds, arrange=arrange)
    strangers = [request.text for request in needless_requests() if not request.held_out]
    rng = random.Random(first)
    rng.shuffle(strangers)
    rng.shuffle(batches)
    schedule = Schedule(steps=len(batches), peak=peak, warm_up=10, floor=asked.floor)
    cut = ASKED_TOOL_TOKENS
    fit(fitted, batches[:most], schedule=schedule, tool_tokens=cut, twin=TWIN, strangers=strangers, report=_report)


def averaged(states: Sequence[Mapping[str, Tensor]], *, weights: Sequence[float]) -> dict[str, Tensor]:
    """Return the weighted mean of the parameters of several fits of one model."""
    return {
        name: torch.stack([weight * state[name] for weight, state in zip(weights, states, strict=True)]).sum(0)
        for name in states[0]
    }


def mixed(earlier: Mapping[str, Tensor], later: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the parameters that ship: mostly those of the last rounds; what stands before KEPT as it was.

    The embeddings are half of the file: kept to the byte, with the first layer, a new version costs the repository half
    of what the file weighs.
    """
    made = averaged([earlier, later], weights=[EARLIER_SHARE, 1.0 - EARLIER_SHARE])
    return {name: earlier[name] if name.startswith(KEPT) else value for name, value in made.items()}


def _report(step: int, loss: float) -> None:
    if step % 20 == 19:
        _log.info("step %d loss %.3f", step + 1, loss)
