"""The encoder that ships: whole, unit, deterministic, and across two languages."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from toolsearch.model.errors import EncoderMismatch, IndexStateError
from toolsearch.search.index.token_vectors import TokenIndex
from toolsearch.text.embed.bundled import DATA, HEAD, MANIFEST, MAX_THREADS, TOKENIZER, WEIGHTS, BundledEncoder
from toolsearch.text.embed.cached import CachedQueries
from toolsearch.text.embed.protocol import encode_request

TEXTS = (
    "Where is order A1024?",
    "orders.get. Returns the delivery status of one order.",
    "getWeatherForecast for a city and a day, in metric or imperial units, with wind and rain",
    "A1024 到哪了",
    "查询订单的物流状态",
    "𠮷野家の注文状況を教えて",
    "",
    " \n\t",
    "\x00\x07",
    "lone surrogate \ud800 inside",
    "🛰️🛰️",
    "word " * 3000,
    "a" * 300_000,
)

TOOLS = (
    "list pods. Lists the pods of a namespace with their status. namespace",
    "create issue. Opens an issue in a repository. repository, title, body",
    "get weather forecast. Weather of the coming days in a city. city, days",
    "查询物流. 根据快递单号查询包裹的物流进度. 单号",
    "发送邮件. 向收件人发送一封邮件. 收件人, 主题, 正文",
)


@pytest.fixture(scope="module")
def encoder() -> BundledEncoder:
    return BundledEncoder()


def test_identity_is_there_without_the_weights(tmp_path: Path) -> None:
    shutil.copy(DATA / MANIFEST, tmp_path)
    info = BundledEncoder(tmp_path).info
    assert info.id.startswith("toolsearch-e5@")
    assert info.scripts == ("any",)
    assert info.dim == 384
    assert 0.0 < info.cosine_floor < info.cosine_ceiling < 1.0
    with pytest.raises(IndexStateError, match="reinstall"):
        BundledEncoder(tmp_path).encode_queries(["x"])
    with pytest.raises(IndexStateError, match="reinstall"):
        _ = BundledEncoder(tmp_path / "nowhere").info


def test_vectors_are_unit_rows(encoder: BundledEncoder) -> None:
    vectors = encoder.encode_documents(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), 384)
    assert np.linalg.norm(vectors.astype(np.float64), axis=1) == pytest.approx(1.0, abs=1e-6)
    assert encoder.encode_queries([]).shape == (0, 384)


def test_one_text_has_one_vector_alone_in_a_batch_and_from_any_thread(encoder: BundledEncoder) -> None:
    texts = (TEXTS * MAX_THREADS)[: 8 * MAX_THREADS + 3]
    batch = encoder.encode_queries(texts)
    alone = np.concatenate([encoder.encode_documents([text]) for text in TEXTS])
    assert all(batch[at].tobytes() == alone[at % len(TEXTS)].tobytes() for at in range(len(texts)))
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda text: BundledEncoder().encode_queries([text])[0].tobytes(), TEXTS[:5]))
    assert rows == [row.tobytes() for row in alone[:5]]


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    for name in (MANIFEST, TOKENIZER, WEIGHTS, HEAD):
        shutil.copy(DATA / name, tmp_path)
    weights = bytearray((tmp_path / WEIGHTS).read_bytes())
    weights[len(weights) // 2] ^= 1
    (tmp_path / WEIGHTS).write_bytes(weights)
    with pytest.raises(EncoderMismatch, match="sha256"):
        BundledEncoder(tmp_path).encode_queries(["x"])


@pytest.mark.parametrize(
    ("request_text", "tool"),
    [
        ("which containers run in the prod namespace", 0),
        ("生产环境里有哪些 pod", 0),
        ("给仓库提一个 bug", 1),
        ("杭州后天下雨吗", 2),
        ("where is my parcel", 3),
        ("mail the report to my boss", 4),
        ("把报告发邮件给老板", 4),
    ],
)
def test_requests_find_tools_of_either_language(encoder: BundledEncoder, request_text: str, tool: int) -> None:
    cosines = encoder.encode_documents(TOOLS) @ encoder.encode_queries([request_text])[0]
    assert int(cosines.argmax()) == tool


def test_a_request_and_its_clauses_are_read_in_one_pass(encoder: BundledEncoder) -> None:
    text = "Look up order A1024, and then mail the customer a copy."
    clauses = ("Look up order A1024", "mail the customer a copy")
    together = encoder.encode_request(text, clauses)
    assert together.rows.shape == (3, 384)
    assert np.linalg.norm(together.rows, axis=1) == pytest.approx(1.0, abs=1e-6)
    assert together.rows[0].tobytes() == encoder.encode_queries([text])[0].tobytes()
    tools = encoder.encode_documents(["get order. Reads one order by its number.", "send mail. Sends an e-mail."])
    assert (tools @ together.rows[1:].T).argmax(axis=0).tolist() == [0, 1]
    whole, *parts = together.tokens
    assert whole is not None
    assert len(whole.rows) > sum(len(part.rows) for part in parts if part is not None) > 0
    queries = CachedQueries(encoder)
    for _ in range(2):
        again = queries.encode_request(text, clauses)
        assert again.rows.tobytes() == together.rows.tobytes()
        assert [t.rows.tobytes() for t in again.tokens if t] == [t.rows.tobytes() for t in together.tokens if t]


def test_tokens_of_a_tool_come_with_its_vector_and_tell_tools_apart(encoder: BundledEncoder) -> None:
    texts = ["get order. Reads one order by its number.", "send mail. Sends an e-mail.", "天气. 查询城市天气"]
    read = encoder.encode_tokens(texts)
    assert np.stack([one.vector for one in read]).tobytes() == encoder.encode_documents(texts).tobytes()
    width = encoder.info.token_width
    assert all(one.tokens.dtype == np.int8 and one.tokens.shape[1] == width for one in read)
    lengths = np.concatenate([np.linalg.norm(one.tokens.astype(float), axis=1) for one in read])
    assert lengths == pytest.approx(127, abs=width**0.5)
    index = TokenIndex.empty(0, width=width).changed(
        np.full(3, -1, dtype=np.int32), {at: one.tokens for at, one in enumerate(read)}
    )
    asked = ["where is order A1024", "write to my boss that I am late", "杭州明天下雨吗"]
    queries = [query for text in asked if (query := encoder.encode_request(text, ()).tokens[0]) is not None]
    scores = index.scores(queries, doc_ids=np.arange(3))
    assert scores.argmax(axis=1).tolist() == [0, 1, 2]
    assert encoder.encode_tokens([]) == []


def test_a_clause_that_is_not_found_in_the_request_is_read_alone(encoder: BundledEncoder) -> None:
    together = encoder.encode_request("list the pods " + "again " * 300, ("list the pods", "delete one", "again again"))
    alone = encoder.encode_queries(["delete one"])
    assert together.rows[2].tobytes() == alone[0].tobytes()
    assert together.rows.shape == (4, 384)
    assert encode_request(encoder, "no clause", ()).rows.shape == (1, 384)


def test_need_tells_requests_for_tools_from_others(encoder: BundledEncoder) -> None:
    *weights, bias = encoder.info.need
    assert len(weights) == 384
    asking = ["what is the weather in Oslo tomorrow", "把这封邮件转发给李雷", "restart the staging pods"]
    needless = ["why is the sky blue", "给我讲个睡前故事", "write a poem about the sea"]
    odds = encoder.encode_queries([*asking, *needless]) @ np.array(weights) + bias
    assert odds[:3].min() > 0 > odds[3:].max()


def test_spelling_that_means_nothing_changes_nothing(encoder: BundledEncoder) -> None:
    first, *others = encoder.encode_queries(["List Pods", "list_pods", "  list\npods ", "ＬＩＳＴ ＰＯＤＳ"])
    assert all(other.tobytes() == first.tobytes() for other in others)
