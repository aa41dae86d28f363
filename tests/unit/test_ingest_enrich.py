from __future__ import annotations

import pytest

from toolsearch.contracts.enrich.effects import effect_of_name
from toolsearch.contracts.read import read_data
from toolsearch.model.contract import SideEffect

READ, WRITE, FINAL = SideEffect.READ_ONLY, SideEffect.REVERSIBLE, SideEffect.IRREVERSIBLE


def contract_of(description="", *, name="thing", schema=None, annotations=None, trusted=False):
    data = {"name": name, "description": description, "inputSchema": schema or {}, "annotations": annotations or {}}
    report = read_data(data, trusted=trusted)
    assert report.refused == ()
    return report.contracts[0]


def test_the_refund_description_of_the_guide_is_taken_apart():
    contract = contract_of(
        "给已签收的订单发起退款。只在用户明确要求退款、并给出订单号时调用；"
        "取消未发货的订单请用 cancel_order。金额单位是分，不能超过实付金额。",
        name="refund_order",
    )
    assert contract.capability.does == "给已签收的订单发起退款。金额单位是分。"
    assert contract.selection.use_when == ("只在用户明确要求退款、并给出订单号时调用",)
    assert contract.selection.do_not_use_when == ("取消未发货的订单请用 cancel_order。",)
    assert list(contract.selection.adjacent_tools) == ["cancel_order"]
    assert contract.input.semantic_rules == ("不能超过实付金额。",)
    assert contract.execution.side_effect is FINAL


def test_labelled_chinese_lines():
    contract = contract_of(
        "查询订单。\n何时用：用户询问订单状态时\n何时不用：统计、报表、批量导出不要用\n"
        "输入来源：orderId 来自用户原话，不要自行编造 orderId",
        schema={"properties": {"orderId": {"type": "string"}}},
    )
    assert contract.selection.use_when == ("用户询问订单状态时",)
    assert contract.selection.do_not_use_when == ("统计、报表、批量导出不要用",)
    assert contract.input.forbidden_inference_fields == ("orderId",)


def test_an_english_description_is_taken_apart():
    contract = contract_of(
        "Get an order. Use this tool only when the order id is known. Do not use it to search; "
        "use orders.search instead. "
        "Not for statistics. It does not return payment data.",
        name="orders.get",
    )
    assert contract.identity.domain == "orders"
    assert contract.capability.does == "Get an order."
    assert contract.selection.use_when == ("Use this tool only when the order id is known.",)
    assert contract.selection.do_not_use_when == (
        "Do not use it to search; use orders.search instead.",
        "Not for statistics.",
    )
    assert contract.selection.adjacent_tools == {"orders.search": "Do not use it to search; use orders.search instead."}
    assert contract.capability.does_not == ("It does not return payment data.",)


def test_sections_with_lists():
    contract = contract_of(
        "Get details of an issue.\n\nUSE THIS TOOL WHEN USERS:\n- Provide an issue ID\n- Ask to explain\n  an issue\n\n"
        "DO NOT USE for:\n- General searching (use search_issues)\n\nTRIGGER PATTERNS:\n- 'Explain ISSUE-123'\n\n"
        "<examples>\n```\nget_issue(id='A-1')\n```\n</examples>",
        name="get_issue",
    )
    assert contract.selection.use_when == ("Provide an issue ID", "Ask to explain an issue")
    assert contract.selection.do_not_use_when == ("General searching (use search_issues)",)
    assert list(contract.selection.adjacent_tools) == ["search_issues"]
    assert contract.capability.examples == ("Explain ISSUE-123",)
    assert "get_issue(id='A-1')" in contract.capability.does


@pytest.mark.parametrize(
    "sentence",
    [
        "Do not use this tool for reports.",
        "Don't use it when the id is unknown.",
        "Not for reports.",
        "This is NOT for secrets.",
        "NEVER call this tool in production.",
        "It does not return prices.",
        "This tool cannot search.",
        "The tool will not retry.",
        "Do not guess the id.",
        "IMPORTANT: Never invent values.",
        "This action cannot be undone.",
        "Request bodies are never returned.",
        "Should not be used for batch jobs.",
        "不要用于统计。",
        "请勿在生产环境使用本工具。",
        "不支持多证券。",
        "该工具不返回实时行情。",
        "无法恢复。",
        "不适用于港股。",
        "严禁编造订单号。",
        "若未指定日期，则不返回明细。",
    ],
)
def test_a_negative_sentence_is_never_positive_text(sentence):
    contract = contract_of(f"Zeigt etwas. {sentence}")
    positive = " ".join([contract.capability.does, *contract.selection.use_when])
    bare = sentence.rstrip(".。")
    assert bare not in positive
    negative = [*contract.capability.does_not, *contract.selection.do_not_use_when, *contract.input.semantic_rules]
    assert any(bare in text for text in negative)


@pytest.mark.parametrize(
    "sentence",
    [
        "Creates the file if it does not exist.",
        "Lists users that do not have MFA.",
        "用于将内容写入指定文件。如果文件不存在，将创建新文件。",
        "删除不再需要的城市服务请求",
        "比较不同公司的评价，不同地区分别列出",
        "Find pods which cannot be scheduled.",
    ],
)
def test_a_negation_inside_a_condition_stays_positive(sentence):
    contract = contract_of(sentence)
    assert contract.capability.does == sentence
    assert contract.capability.does_not == contract.input.semantic_rules == ()


def test_a_but_clause_is_cut_off():
    contract = contract_of(
        "Returns daily bars, but does not include money flow. 返回日线行情，不返回实时盘口，不提供资金流向。"
    )
    assert contract.capability.does == "Returns daily bars. 返回日线行情。"
    assert contract.capability.does_not == ("does not include money flow.", "不返回实时盘口，不提供资金流向。")


def test_a_description_that_only_says_when_still_says_what():
    contract = contract_of("Use this tool to list orders.")
    assert contract.capability.does == "Use this tool to list orders."


def test_a_step_before_is_adjacent_but_no_boundary():
    contract = contract_of("Runs a query. Use list_databases first to get valid names.")
    assert contract.selection.adjacent_tools.keys() == {"list_databases"}
    assert contract.selection.do_not_use_when == ()


def test_parameters_and_own_name_are_not_adjacent_tools():
    contract = contract_of(
        "Search. Use `page_size` to limit, or use search_all instead of search_x.",
        name="search_x",
        schema={"properties": {"page_size": {}}},
    )
    assert contract.selection.adjacent_tools.keys() == {"search_all"}


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        ("get_order", READ),
        ("orders.search", READ),
        ("listPullRequests", READ),
        ("user-list", READ),
        ("get_delete_status", READ),
        ("create_branch", WRITE),
        ("send-email", WRITE),
        ("create_or_update_file", WRITE),
        ("delete_file", FINAL),
        ("appconfig_kv_delete", FINAL),
        ("orders.request_refund", FINAL),
        ("payments.transfer", FINAL),
        ("archive_or_delete", FINAL),
        ("run_query", None),
        ("execute_sql", None),
        ("weather", None),
        ("", None),
    ],
)
def test_effect_of_a_name(name, effect):
    assert effect_of_name(name) is effect


@pytest.mark.parametrize(
    ("name", "description", "hints", "trusted", "effect"),
    [
        ("get_order", "Get it.", {"readOnlyHint": True}, False, READ),
        ("frobnicate", "", {"readOnlyHint": True}, False, READ),
        ("delete_order", "", {"readOnlyHint": True}, False, FINAL),
        ("delete_order", "", {"readOnlyHint": True}, True, READ),
        ("get_order", "Deletes the order.", {"readOnlyHint": True}, False, FINAL),
        ("get_order", "", {"destructiveHint": True}, False, FINAL),
        ("get_order", "", {"readOnlyHint": True, "destructiveHint": True}, False, FINAL),
        ("frobnicate", "", {"readOnlyHint": False, "destructiveHint": False}, False, WRITE),
        ("create_issue", "", {"readOnlyHint": False}, False, WRITE),
        ("click", "", {"readOnlyHint": False}, False, WRITE),
        ("frobnicate", "", {"readOnlyHint": False}, False, FINAL),
        ("frobnicate", "", {}, False, None),
        ("frobnicate", "A read-only operation.", {}, False, READ),
        ("update_x", "This cannot be undone.", {}, False, FINAL),
        ("chaxun", "查询退款状态", {}, False, READ),
        ("chuli", "创建删除错误交易的请求", {}, False, FINAL),
        ("frobnicate", "发送消息", {"readOnlyHint": True}, False, WRITE),
    ],
)
def test_side_effect_from_hints_names_and_prose(name, description, hints, trusted, effect):
    contract = contract_of(description, name=name, annotations=hints, trusted=trusted)
    assert contract.execution.side_effect is effect


def test_a_decision_about_an_untrusted_hint_is_noted():
    alone = contract_of(name="frobnicate", annotations={"readOnlyHint": True})
    overruled = contract_of(name="delete_x", annotations={"readOnlyHint": True})
    assert "untrusted source alone" in alone.provenance.notes[0]
    assert "the higher is kept" in overruled.provenance.notes[0]
    assert contract_of(name="get_x", annotations={"readOnlyHint": True}).provenance.notes == ()


def test_parameter_semantics_from_schema_docstring_and_units():
    contract = contract_of(
        "Move things.\n\nArgs:\n    target: Where to\n        move it.\n    other: unknown\n\nReturns:\n    nothing",
        schema={
            "properties": {
                "when": {"type": "string", "format": "date"},
                "mode": {"enum": ["fast", "slow"], "default": "fast"},
                "wait_ms": {"type": "integer", "description": "How long to wait"},
                "target": {"type": "string"},
                "silent": {"type": "boolean"},
            },
        },
    )
    assert contract.input.semantics == {
        "when": "date",
        "mode": "one of fast, slow; default fast",
        "wait_ms": "How long to wait (in milliseconds)",
        "target": "Where to move it.",
    }
    assert "other: unknown" in contract.capability.does
    assert "Where to" not in contract.capability.does


def test_required_from_descriptions_only_where_the_schema_lists_none():
    schema = {
        "properties": {
            "a": {"description": "(required) x"},
            "b": {"description": "必填，订单号"},
            "c": {"description": "x"},
        }
    }
    assert contract_of(schema=schema).required_inputs == ("a", "b")
    assert contract_of(schema={**schema, "required": ["c"]}).required_inputs == ("c",)


@pytest.mark.parametrize(
    ("description", "bound"),
    [
        ("Get real-time market quotes.", None),
        ("Get real-time quotes of a stock.", "PT0S"),
        ("查询股票的实时行情。", "PT0S"),
        ("Prices are delayed by 15 minutes.", "PT15M"),
        ("Rates, updated daily.", "P1D"),
        ("每30分钟更新的路况。", "PT30M"),
        ("上一交易日收盘后更新。", None),
        ("Near real-time data.", None),
    ],
)
def test_freshness(description, bound):
    freshness = contract_of(description).operational.freshness
    assert freshness.text == description
    assert freshness.max_staleness == bound or "market" in description


def test_freshness_is_not_read_from_what_a_tool_does_not_do():
    assert contract_of("Daily bars. Does not return real-time quotes.").operational.freshness.text == ""
