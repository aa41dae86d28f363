from __future__ import annotations

import json

import pytest

from toolsearch.contracts.read import load_contracts, read_data, read_path
from toolsearch.model.contract import SideEffect, ToolRef
from toolsearch.model.errors import ContractError, UnsupportedFormat

DAILY_BARS = """\
identity:
  name: market.daily_bars
  title: 日线行情
  aliases: [历史行情, 日 K, daily prices]

capability:
  does: 返回指定证券在日期区间内的日频 OHLCV 与成交额
  does_not:
    - 不返回实时盘口
    - 不提供资金流向
    - 不自动比较两个时间窗口

inputs:
  required: [symbol, start_date, end_date]
  semantics:
    symbol: 市场限定的标准证券代码
    start_date: 自然日，闭区间
    end_date: 自然日，闭区间

operational:
  freshness: 上一交易日收盘后更新
  side_effect: read_only
  typical_latency_ms: 600
  result_scale: 每个证券每年约 250 行
"""

REQUEST_REFUND = """\
identity:
  name: orders.request_refund
  version: 3
  title: 创建退款申请
  domain: order_after_sales

selection:
  use_when:
    - 已取得唯一 order_id
    - 已读取订单当前状态
    - 已完成退款资格判断
  do_not_use_when:
    - 仅需要查询退款政策
    - 订单仍有多个候选
    - 用户尚未确认退款金额
  adjacent_tools:
    orders.get: 已知 order_id 时读取订单
    orders.search: 不知道 order_id 时查找候选

input:
  schema: RefundRequestV3
  semantic_rules:
    - amount must not exceed refundable_amount
    - currency must equal order currency
    - reason_code must match policy version
  clarification_fields:
    - amount
    - reason_code
  forbidden_inference_fields:
    - order_id
    - payment_account

execution:
  side_effect: irreversible
  idempotency: required
  timeout_ms: 10000
  retry:
    transport_not_sent: exponential_backoff
    outcome_unknown: reconcile_before_retry
    business_rejected: never
  approval:
    required_when: amount >= 200

output:
  schema: RefundResultV3
  success_evidence:
    - refund_request_id
    - committed_at
  error_taxonomy:
    - validation_error
    - permission_denied
    - policy_rejected
    - provider_unavailable
    - outcome_unknown

operational:
  typical_latency_ms: 1200
  cost_class: low
  owner: order-platform
  support_runbook: docs://orders/refund-tool
"""


def one(text, **kwargs):
    report = read_data(text, **kwargs)
    assert report.refused == ()
    (contract,) = report.contracts
    return contract


def refusal(text, **kwargs):
    report = read_data(text, **kwargs)
    assert report.contracts == ()
    (error,) = report.refused
    return error


def test_the_daily_bars_example_loads_word_for_word():
    contract = one(DAILY_BARS)
    assert contract.ref == ToolRef("local", "market.daily_bars", 1)
    assert contract.identity.aliases == ("历史行情", "日 K", "daily prices")
    assert contract.capability.does_not == ("不返回实时盘口", "不提供资金流向", "不自动比较两个时间窗口")
    assert contract.required_inputs == ("symbol", "start_date", "end_date")
    assert contract.execution.side_effect is SideEffect.READ_ONLY
    assert contract.operational.freshness.text == "上一交易日收盘后更新"


def test_the_refund_example_loads_word_for_word():
    contract = one(REQUEST_REFUND)
    assert contract.ref == ToolRef("local", "orders.request_refund", 3)
    assert contract.input.schema_ == "RefundRequestV3"
    assert contract.input.forbidden_inference_fields == ("order_id", "payment_account")
    assert contract.selection.adjacent_tools["orders.get"] == "已知 order_id 时读取订单"
    assert contract.execution.approval.required_when == "amount >= 200"
    assert contract.execution.retry["business_rejected"] == "never"


def test_many_contracts_in_one_text_in_three_ways():
    documents = read_data(f"{DAILY_BARS}---\n{REQUEST_REFUND}---\n").contracts
    listed = read_data(json.dumps([contract.canonical() for contract in documents])).contracts
    lines = read_data("\n\n".join(contract.stored_json for contract in documents)).contracts
    assert documents == listed == lines
    assert len(documents) == 2


def test_an_unknown_key_is_placed_and_met_by_the_nearest_known_one():
    error = refusal("identity:\n  name: a\ncapability:\n  does_nott: [x]\n", source="a.yaml")
    assert error.path == "4:3"
    assert error.source == "a.yaml"
    assert error.hint == "did you mean 'does_not'?"
    assert "a.yaml:4:3" in str(error)
    assert "'does_nott'" in str(error)


@pytest.mark.parametrize(
    ("text", "path", "hint"),
    [
        ('{"identity": {"name": "a"},\n "capabilty": {}}', "/capabilty (line 2)", "did you mean 'capability'?"),
        ("identity: {name: a}\ninputs:\n  requird: [x]\n", "3:3", "did you mean 'required'?"),
        ("identity: {name: a}\ninputs:\n  schem: {}\n", "3:3", "did you mean 'schema'?"),
        (
            "identity: {name: a}\nexecution:\n  approval:\n    required_wen: x\n    required_when: y\n",
            "4:5",
            "did you mean 'required_when'?",
        ),
        ("identity: {name: a}\noperational:\n  freshness:\n    tex: y\n", "4:5", "did you mean 'text'?"),
        ("identiy: {name: a}\n", "1:1", ""),
    ],
)
def test_positions_and_hints(text, path, hint):
    error = refusal(text)
    assert error.path == path
    assert error.hint == hint or "identity" in str(error)


def test_all_faults_of_one_contract_are_listed():
    error = refusal("identity:\n  name: 'a b'\n  versoin: 2\noperational:\n  side_effect: mild\n  cost_class: dear\n")
    text = str(error)
    assert all(part in text for part in ("2:3", "3:3", "5:3", "6:3", "did you mean 'version'?", "'mild'", "'dear'"))


def test_a_jsonl_fault_names_its_line_and_keeps_the_others():
    report = read_data(
        '{"identity": {"name": "a"}}\n\n{"identity": {"name": 7}}\n{oops\n{"identity": {"name": "b"}}\n', syntax="jsonl"
    )
    assert [contract.identity.name for contract in report.contracts] == ["a", "b"]
    assert sorted(error.path for error in report.refused) == ["line 3, /identity/name", "line 4"]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("identity:\n  name: a\n  name: b\n", "3:3"),
        ('{"identity": {"name": "a"},\n"access": {},\n"access": {}}', "/access (line 3)"),
        ('[{"identity": {"name": "a",\n"name": "b"}}]', "/0/identity/name (line 2)"),
    ],
)
def test_duplicate_keys_are_errors(text, path):
    with pytest.raises(ContractError, match="twice") as caught:
        read_data(text)
    assert caught.value.path == path


def test_yaml_dates_times_and_look_alikes_stay_strings():
    contract = one(
        "identity: {name: a}\ncapability:\n  examples: [2026-09-17, 2026-09-17T10:00:00Z, '3', 12:30, no, 010, 1_000]\n"
    )
    assert contract.capability.examples == ("2026-09-17", "2026-09-17T10:00:00Z", "3", "12:30", "no", "010", "1_000")


def test_yaml_numbers_booleans_and_null_are_typed():
    contract = one(
        "identity: {name: a, version: 2}\ninput:\n  schema: {default: 1.5, a: true, b: null, c: -3, d: [], on: 'x'}\n"
    )
    assert contract.input.schema_ == {"default": 1.5, "a": True, "b": None, "c": -3, "d": [], "on": "x"}


@pytest.mark.parametrize(
    "text",
    [
        "identity: !!python/object/apply:os.system [id]\n",
        "identity: &a [*a]\n",
        "a: *missing\n",
        "? [a]\n: b\n",
        "[" * 5000,
        "{a: " * 200 + "}" * 200,
        '{"a":' * 3000 + "1" + "}" * 3000,
        "identity: {name: .inf}\n",
        '{"identity": {"name": "a", "version": NaN}}',
        '{"identity": {"name": "a", "version": 1e999}}',
        '{"identity": {"version": ' + "9" * 5000 + "}}",
        "identity: {version: " + "9" * 5000 + "}",
        "\x00",
        "\ud800: x",
        "a: 'open",
    ],
)
def test_hostile_texts_are_refused(text):
    try:
        report = read_data(text)
    except ContractError:
        return
    assert report.contracts == ()
    assert report.refused != ()


def test_an_alias_bomb_is_refused_before_it_is_expanded():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(ContractError, match="aliases"):
        read_data("\n".join(lines))


def test_plain_aliases_work():
    contract = one("identity: {name: a}\ncapability:\n  examples: &e [x, y]\n  tags: *e\n")
    assert contract.capability.tags == ("x", "y")


def test_objects_that_contain_themselves_or_are_not_plain_are_refused():
    loop = {}
    loop["identity"] = loop
    for data in (loop, {"identity": {1: 2}}, {"identity": object()}, {"identity": {"name": b"x"}}):
        with pytest.raises(ContractError):
            read_data(data)


def test_not_utf8_says_where():
    with pytest.raises(ContractError, match="offset 2"):
        read_data(b"a:\xff", source="x.yaml")


def test_a_folder_is_read_in_order_without_hidden_files_and_schemas(tmp_path):
    folder = tmp_path / "contracts"
    (folder / "b").mkdir(parents=True)
    (folder / ".git").mkdir()
    (tmp_path / "schemas").mkdir()
    (folder / "b" / "z.yaml").write_text(REQUEST_REFUND, encoding="utf-8")
    (folder / "a.json").write_text('[{"identity": {"name": "a"}}]', encoding="utf-8")
    (folder / "c.txt").write_text("not read", encoding="utf-8")
    (folder / ".hidden.yaml").write_text("not: read", encoding="utf-8")
    (folder / ".git" / "x.yaml").write_text("not: read", encoding="utf-8")
    schema = {
        "type": "object",
        "properties": {"amount": {"$ref": "#/$defs/money"}},
        "$defs": {"money": {"type": "number"}},
    }
    (tmp_path / "schemas" / "RefundRequestV3.json").write_text(json.dumps(schema), encoding="utf-8")
    contracts = load_contracts(folder)
    assert [contract.identity.name for contract in contracts] == ["a", "orders.request_refund"]
    assert contracts[1].input_schema == {"type": "object", "properties": {"amount": {"type": "number"}}}
    assert contracts[1].output.schema_ == "RefundResultV3"


def test_a_bad_file_does_not_lose_the_others(tmp_path):
    (tmp_path / "a.yaml").write_text("identity: {name: a}\n", encoding="utf-8")
    (tmp_path / "b.yaml").write_text("identity: [\n", encoding="utf-8")
    (tmp_path / "c.json").write_text('{"unrelated": 1}', encoding="utf-8")
    report = read_path(tmp_path)
    assert [contract.identity.name for contract in report.contracts] == ["a"]
    assert [type(error) for error in report.refused] == [ContractError, UnsupportedFormat]
    with pytest.raises(ContractError, match=r"(?s)2 definitions are refused.*b\.yaml.*c\.json"):
        load_contracts(tmp_path)


def test_two_definitions_of_one_reference_name_both_places(tmp_path):
    (tmp_path / "a.yaml").write_text("identity: {name: a}\n", encoding="utf-8")
    (tmp_path / "b.yaml").write_text("---\nidentity: {name: a}\ncapability: {does: x}\n", encoding="utf-8")
    (tmp_path / "c.yaml").write_text("identity: {name: a}\n", encoding="utf-8")
    report = read_path(tmp_path)
    assert len(report.contracts) == 1
    (error,) = report.refused
    assert "a.yaml:1:1" in str(error)
    assert error.source.endswith("b.yaml")


def test_what_is_not_there_or_not_known_is_said(tmp_path):
    with pytest.raises(ContractError, match="does not exist"):
        read_path(tmp_path / "none")
    with pytest.raises(UnsupportedFormat, match="no reader"):
        read_data({"hello": 1})
    assert read_data([]).contracts == ()
    assert read_data("").contracts == ()


def test_the_server_argument_fills_only_what_is_open():
    assert one({"identity": {"name": "a"}}, server="shop").ref.server == "shop"
    assert one({"identity": {"name": "a", "server": "own"}}, server="shop").ref.server == "own"
