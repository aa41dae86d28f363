"""Measure what a cross-encoder adds to a search, in milliseconds. Needs the [st] extra.

OMP_NUM_THREADS=1 python -m benchmarks.reranker      over the starter catalogue, two shapes of model, one thread

The models have random weights: how long one takes depends on its shape, not on what it learnt. Nothing is said about
quality.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from numpy.typing import NDArray

from toolsearch import Principal, RuleBook, SearchRequest, ToolIndex
from toolsearch.contracts.read.reader import load_contracts
from toolsearch.text.embed.cross_encoder import CrossEncoderReranker
from toolsearch.text.embed.onnx import minilm
from toolsearch.text.embed.reranking import RerankerInfo

STARTER = Path(__file__).parents[1] / "indexes" / "starter" / "contracts"
REQUESTS = 20
TOPS = (10, 20)


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a BERT.

    Attributes:
        like: A published cross-encoder of that shape.
    """

    like: str
    layers: int
    width: int


SHAPES = (Shape("ms-marco-MiniLM-L6-v2", 6, 384), Shape("bge-reranker-base", 12, 768))


class Clocked:
    """A reranker and how long it took: (milliseconds by the clock, milliseconds of processor) of each request."""

    def __init__(self, reranker: CrossEncoderReranker) -> None:
        self._reranker = reranker
        self.took: list[tuple[float, float]] = []

    @property
    def info(self) -> RerankerInfo:
        return self._reranker.info

    def score(self, request: str, texts: Sequence[str]) -> NDArray[np.float64]:
        clock, processor = perf_counter(), process_time()
        found = self._reranker.score(request, texts)
        self.took.append(((perf_counter() - clock) * 1e3, (process_time() - processor) * 1e3))
        return found


def main() -> int:
    contracts = load_contracts(STARTER)
    requests = [text for contract in contracts for text in contract.capability.examples][:REQUESTS]
    print("| shape | tools read | clock: median, 95 %, most ms | processor: median, 95 %, most ms |\n|---|---|---|---|")
    with ToolIndex.create(None, rules=RuleBook.public()) as index, tempfile.TemporaryDirectory() as scratch:
        index.add(contracts)
        for shape in SHAPES:
            reranker = CrossEncoderReranker(random_model(Path(scratch) / shape.like, shape=shape))
            for top in TOPS:
                clocked = Clocked(reranker)
                reading = ToolIndex(index._live, limits=replace(index.limits, rerank_top=top), reranker=clocked)
                reading.warm()
                clocked.took.clear()
                for text in requests:
                    reading.search(SearchRequest(text=text), principal=Principal())
                columns = [
                    ", ".join(f"{value:.0f}" for value in np.quantile(times, (0.5, 0.95, 1.0)))
                    for times in zip(*clocked.took, strict=True)
                ]
                print(f"| {shape.layers} x {shape.width} ({shape.like}) | {top} | {' | '.join(columns)} |", flush=True)
    return 0


def random_model(folder: Path, *, shape: Shape) -> Path:
    """Save a BERT with random weights and a real vocabulary."""
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    tokenizer = BertTokenizerFast(str(minilm()._vocabulary), model_max_length=512)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=shape.width,
        num_hidden_layers=shape.layers,
        num_attention_heads=12,
        intermediate_size=4 * shape.width,
        num_labels=1,
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


if __name__ == "__main__":
    sys.exit(main())
