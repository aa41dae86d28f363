"""Writes the fitted encoder as an int8 ONNX graph for one text at a time.

The graph takes the ids of a single text and has no padding and no mask. That is a decision for determinism:
activations are quantised with one scale a tensor, so in a padded batch the neighbours would decide the last digits of a
vector. Weights are symmetric int8 with one scale a column, word embeddings int8 with one scale a row.

A few channels of a transformer reach fifty times the size of the others, and would leave those a handful of levels.
So each channel is divided by a factor before it is quantised, and its weights are multiplied by it: SmoothQuant (Xiao
et al. 2023, eq. 4). Without it up to a fifth of the first places changed on dev data.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

State = Mapping[str, NDArray[np.float32]]
"""Parameter name of `TextEncoder` -> float32 array."""

Ranges = Mapping[str, NDArray[np.float32]]
"""Name of a linear module of `TextEncoder` -> float32[inputs], largest magnitude seen in each channel it reads."""

SMOOTHED: Final = ("qkv", "up", "down")
"""The products whose inputs have such channels; what attention mixes has none."""

SMOOTHING: Final = 0.8
"""How much of the range goes from the activations into the weights."""

LEVELS: Final = 127
"""Largest magnitude of a quantised weight."""

OPSET: Final = 17
IR_VERSION: Final = 8
CONTRIB: Final = "com.microsoft"


def smoothing(ranges: NDArray[np.float32], weight: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return float32[inputs], what to divide each input channel by: range ** a / largest weight ** (1 - a)."""
    largest = np.maximum(np.abs(weight).max(axis=0), 1e-5)
    factors: NDArray[np.float32] = np.maximum(ranges, 1e-5) ** SMOOTHING / largest ** (1 - SMOOTHING)
    return factors.astype(np.float32)


def quantised(matrix: NDArray[np.float32], *, axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return symmetric int8 values and the float32 scales, one for each index along `axis`."""
    largest = np.abs(matrix).max(axis=1 - axis, keepdims=True)
    scale = np.maximum(largest, 1e-12) / LEVELS
    return np.rint(matrix / scale).astype(np.int8), scale.reshape(-1).astype(np.float32)


class _Graph:
    """Nodes and constants in the order they are added."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(self, kind: str, inputs: list[str], output: str, *, domain: str = "", **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **attributes))
        return output


def write_onnx(state: State, path: Path, *, ranges: Ranges, heads: int, epsilon: float) -> None:
    """Write the graph `ids: int64[tokens] -> vector: float32[width]` (unit length).

    A second output are the last hidden states, float32[1, tokens, width]. The vector is their mean; that of a part of
    the text is the mean of its own.

    Args:
        state: Parameters of the fitted `TextEncoder`.
        path: File to write.
        ranges: What `fit.input_ranges` measured.
        heads: Attention heads a layer.
        epsilon: Layer norm's epsilon.
    """
    graph = _Graph()
    hidden = _embed(graph, state, epsilon=epsilon)
    layers = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers."))
    width = state["norm.weight"].shape[0]
    _shapes(graph, width=width, heads=heads)
    for layer in range(layers):
        hidden = _layer(graph, state, hidden, ranges=ranges, prefix=f"layers.{layer}.", heads=heads, epsilon=epsilon)
    pooled = graph.add("ReduceMean", [hidden], "pooled", axes=[0, 1], keepdims=0)
    length = graph.add("ReduceL2", [pooled], "length", axes=[0], keepdims=1)
    graph.add("Div", [pooled, length], "vector")
    made = helper.make_graph(
        graph.nodes,
        "toolsearch-encoder",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["tokens"])],
        [
            helper.make_tensor_value_info("vector", TensorProto.FLOAT, [width]),
            helper.make_tensor_value_info(hidden, TensorProto.FLOAT, [1, "tokens", width]),
        ],
        graph.constants,
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
    model = helper.make_model(made, opset_imports=opsets, ir_version=IR_VERSION, producer_name="toolsearch")
    path.write_bytes(model.SerializeToString(deterministic=True))


def _shapes(graph: _Graph, *, width: int, heads: int) -> None:
    graph.constant("heads_shape", np.array([1, -1, 3, heads, width // heads], dtype=np.int64))
    graph.constant("width_shape", np.array([1, -1, width], dtype=np.int64))


def _embed(graph: _Graph, state: State, *, epsilon: float) -> str:
    words, scale = quantised(state["words.weight"], axis=0)
    graph.constant("words", words)
    graph.constant("words_scale", scale[:, None])
    graph.constant("places", state["places"])
    graph.constant("zero", np.array([0], dtype=np.int64))
    rows = graph.add("Cast", [graph.add("Gather", ["words", "ids"], "word_bytes")], "word_values", to=TensorProto.FLOAT)
    vectors = graph.add("Mul", [rows, graph.add("Gather", ["words_scale", "ids"], "word_scale")], "word_vectors")
    count = graph.add("Shape", ["ids"], "count")
    places = graph.add("Slice", ["places", "zero", count, "zero"], "place_vectors")
    summed = graph.add("Add", [vectors, places], "embedded")
    batch = graph.add("Unsqueeze", [summed, "zero"], "embedded_batch")
    names = [graph.constant(f"norm.{kind}", state[f"norm.{kind}"]) for kind in ("weight", "bias")]
    return graph.add("LayerNormalization", [batch, *names], "hidden", axis=-1, epsilon=epsilon)


def _layer(graph: _Graph, state: State, hidden: str, *, ranges: Ranges, prefix: str, heads: int, epsilon: float) -> str:
    def product(name: str, source: str) -> str:
        weight = state[f"{prefix}{name}.weight"]
        if name in SMOOTHED:
            factors = smoothing(ranges[f"{prefix}{name}"], weight)
            weight = weight * factors
            divisor = graph.constant(f"{prefix}{name}.divisor", 1 / factors)
            source = graph.add("Mul", [source, divisor], f"{prefix}{name}.smooth")
        values, scale = quantised(weight.T, axis=1)
        inputs = [
            source,
            graph.constant(f"{prefix}{name}.weight", values),
            graph.constant(f"{prefix}{name}.scale", scale),
            "",
            graph.constant(f"{prefix}{name}.bias", state[f"{prefix}{name}.bias"]),
        ]
        return graph.add("DynamicQuantizeMatMul", inputs, f"{prefix}{name}.out", domain=CONTRIB)

    def skip_norm(name: str, source: str, skip: str) -> str:
        names = [
            graph.constant(f"{prefix}{name}.{kind}", state[f"{prefix}{name}.{kind}"]) for kind in ("weight", "bias")
        ]
        # Two nodes on purpose: the fused SkipLayerNormalization takes four times as long on a CPU.
        summed = graph.add("Add", [source, skip], f"{prefix}{name}.sum")
        return graph.add("LayerNormalization", [summed, *names], f"{prefix}{name}.out", axis=-1, epsilon=epsilon)

    scale = (state[f"{prefix}norm1.weight"].shape[0] // heads) ** -0.5
    mixed = _attention(graph, product("qkv", hidden), prefix=prefix, scale=scale)
    middle = skip_norm("norm1", product("out", mixed), hidden)
    active = graph.add("Gelu", [product("up", middle)], f"{prefix}gelu", domain=CONTRIB)
    return skip_norm("norm2", product("down", active), middle)


def _attention(graph: _Graph, qkv: str, *, prefix: str, scale: float) -> str:
    """Add attention over one text and return its float[1, tokens, width]."""
    split = graph.add("Reshape", [qkv, "heads_shape"], f"{prefix}split")
    # One transposition for the three: [3, 1, heads, tokens, part].
    turned = graph.add("Transpose", [split], f"{prefix}turned", perm=[2, 0, 3, 1, 4])
    parts = [f"{prefix}{name}" for name in ("query", "key", "value")]
    graph.nodes.append(helper.make_node("Split", [turned], parts, axis=0))
    scores = graph.add("FusedMatMul", parts[:2], f"{prefix}scores", domain=CONTRIB, transB=1, alpha=scale)
    shares = graph.add("Softmax", [scores], f"{prefix}shares", axis=-1)
    mixed = graph.add("MatMul", [shares, parts[2]], f"{prefix}mixed")
    back = graph.add("Transpose", [mixed], f"{prefix}back", perm=[0, 1, 3, 2, 4])
    return graph.add("Reshape", [back, "width_shape"], f"{prefix}context")


def read_state(path: Path) -> State:
    """Return the parameters of a graph that `write_onnx` wrote, as floats: what its int8 values stand for."""
    constants = {one.name: numpy_helper.to_array(one) for one in onnx.load(path).graph.initializer}
    state = {
        "words.weight": constants["words"] * constants["words_scale"],
        "places": constants["places"],
    }
    for name, value in constants.items():
        if name.endswith(".scale"):
            stem = name.removesuffix(".scale")
            weight = (constants[f"{stem}.weight"] * value).T
            state[f"{stem}.weight"] = weight * constants.get(f"{stem}.divisor", np.float32(1))
            state[f"{stem}.bias"] = constants[f"{stem}.bias"]
        elif "norm" in name:
            state[name] = value
    return {name: np.array(value, dtype=np.float32, order="C") for name, value in state.items()}
