"""A real cross-encoder of sentence-transformers: tiny, with random weights, made here and loaded from a folder."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from toolsearch import Principal, RuleBook, ToolContract, ToolIndex
from toolsearch.model.errors import IndexStateError, MissingExtraError, RequestError
from toolsearch.serve.settings import load_settings
from toolsearch.text.embed.cross_encoder import CrossEncoderReranker, squashed
from toolsearch.text.embed.onnx import minilm
from toolsearch.text.embed.reranking import load_reranker

REQUEST = "Where is order A1024?"
TEXTS = (
    "orders.get. Returns the delivery status of one order.",
    "get_weather",
    "查询订单的物流状态",
    "",
    "lone surrogate \ud800 inside",
    "word " * 3000,
)


@pytest.mark.parametrize("name", ["", "minilm", "st:", "st: ", "cross-encoder/x"])
def test_unknown_names_are_answered_with_the_known_ones(name: str) -> None:
    with pytest.raises(RequestError, match="known: st:<folder or hub name>") as caught:
        load_reranker(name)
    assert caught.value.field == "reranker"


def test_a_wrong_name_leaves_no_index_behind(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="no reranker 'best'"):
        ToolIndex.create(tmp_path / "index", encoder="hashed", reranker="best")
    assert not (tmp_path / "index").exists()


def test_a_name_loads_nothing_until_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with ToolIndex.create(None, encoder="hashed", reranker="st:some/model", rules=RuleBook.public()) as index:
        assert not index.search(REQUEST, principal=Principal()).candidates  # nothing to read
        with pytest.raises(MissingExtraError, match=r"pip install 'toolsearch\[st\]'"):
            index.warm()


def test_a_server_without_its_reranker_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from toolsearch.serve.run import _opened

    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    ToolIndex.create(tmp_path / "index", encoder="hashed").close()
    server = SimpleNamespace(should_exit=False)
    settings = load_settings(index=tmp_path / "index", reranker="st:some/model", rerank_top=7)
    with pytest.raises(MissingExtraError):
        _opened(settings, server=server)  # type: ignore[arg-type]
    assert server.should_exit
    assert settings.search_limits.rerank_top == 7
    ToolIndex.open(tmp_path / "index").close()  # nobody holds it


def test_naming_a_reranker_imports_no_model_library() -> None:
    code = (
        "import sys; from toolsearch.text.embed.reranking import load_reranker; load_reranker('st:some/model')\n"
        "sys.exit(', '.join({'torch', 'sentence_transformers', 'transformers'} & set(sys.modules)) or 0)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_scores_rise_with_the_logit_between_floor_and_ceiling() -> None:
    logits = np.array([-1e9, -11.0, -3.0, 4.0, 8.0, 1e9])
    scores = squashed(logits, floor=-11.0, ceiling=8.0)
    assert np.all(np.diff(scores) > 0)
    assert np.all((scores > 0) & (scores <= 1))
    assert scores[[1, 4]] == pytest.approx([0.047, 0.953], abs=1e-3)
    assert squashed(np.array([0.31, 0.29]), floor=0.3, ceiling=0.3) == pytest.approx(0.047, abs=0.005)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sentence_transformers", reason="pip install 'toolsearch[st]'")
    return random_model(tmp_path_factory.mktemp("model"), labels=1)


def random_model(folder: Path, *, labels: int) -> Path:
    """Save a BERT of two narrow layers with random weights and a real vocabulary."""
    import torch  # noqa: TID251  the model is made here
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    vocabulary = minilm()._vocabulary
    tokenizer = BertTokenizerFast(str(vocabulary), model_max_length=10_000)
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        num_labels=labels,
        initializer_range=0.5,
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.st
@pytest.mark.slow
def test_a_pair_has_one_number_alone_and_among_others(folder: Path) -> None:
    reranker = CrossEncoderReranker(folder)
    together = reranker.score(REQUEST, TEXTS)
    assert together.dtype == np.float64
    assert together.shape == (len(TEXTS),)
    assert np.all((together >= 0) & (together <= 1))
    assert len(set(together.tolist())) > 3
    alone = np.concatenate([reranker.score(REQUEST, [text]) for text in TEXTS])
    again = CrossEncoderReranker(folder).score(REQUEST, TEXTS[::-1])[::-1]
    assert together.tobytes() == alone.tobytes() == again.tobytes()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: float(reranker.score(REQUEST, [text])[0]), TEXTS * 3))
    assert found == together.tolist() * 3
    assert reranker.score(REQUEST, []).shape == (0,)
    assert reranker.score("字" * 8_000, ["x"]).shape == (1,)  # longer than the model reads


@pytest.mark.st
@pytest.mark.slow
def test_the_identity_is_that_of_the_weights(folder: Path, tmp_path: Path) -> None:
    info = load_reranker(f"st:{folder}").info
    assert info.id == f"st:{folder.name}@{info.sha256[:12]}"
    (tmp_path / folder.name).mkdir()
    for file in folder.iterdir():
        (tmp_path / folder.name / file.name).write_bytes(file.read_bytes())
    assert CrossEncoderReranker(tmp_path / folder.name).info == info


@pytest.mark.st
@pytest.mark.slow
def test_an_index_asks_it_by_name(folder: Path) -> None:
    contract = ToolContract.model_validate(
        {"identity": {"name": "orders.get", "server": "shop", "version": 1}, "capability": {"does": TEXTS[0]}}
    )
    with ToolIndex.create(None, encoder="hashed", rules=RuleBook.public(), reranker=f"st:{folder}") as index:
        index.add([contract])
        index.warm()
        candidate = index.search("delivery status of one order", principal=Principal()).candidates[0]
    assert 0 < candidate.signals["rerank"].value < 1
    assert any(f"(st:{folder.name}@" in reason.text for reason in candidate.reasons)


@pytest.mark.st
@pytest.mark.slow
@pytest.mark.parametrize("name", ["/no/such/folder", "no-such-owner/no-such-model"])
def test_a_model_that_is_not_there(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(IndexStateError, match=f"model '{name}' cannot be loaded .* cross-encoder"):
        _ = load_reranker(f"st:{name}").info


@pytest.mark.st
@pytest.mark.slow
def test_a_model_of_several_numbers_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(IndexStateError, match="gives 3 numbers for a pair"):
        CrossEncoderReranker(random_model(tmp_path, labels=3)).score(REQUEST, TEXTS[:1])
