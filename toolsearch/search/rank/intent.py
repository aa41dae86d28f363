"""What a request wants: read or write, how fresh, in how many steps. Word lists and patterns, English and Chinese.

The reading is deliberately shallow and errs towards `unknown`: it bounds and reorders, it never hides a tool.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

MAX_CLAUSES = 8
"""More steps than this are not told apart; the last clause keeps the rest of the text."""


class Effect(StrEnum):
    """Whether a request asks to look or to change."""

    READ = "read"
    WRITE = "write"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class FreshnessNeed:
    """How old data may be to satisfy a request.

    Attributes:
        phrase: The words that say so, as they stand in the request.
        max_age_seconds: Oldest acceptable data.
    """

    phrase: str
    max_age_seconds: float


@dataclass(frozen=True, slots=True)
class Intent:
    """The reading of one request.

    Attributes:
        effect: read, write or unknown.
        clauses: The steps of a request of several steps, in order; empty for a request of one step.
        freshness: The need for fresh data, or None where the request states none.
    """

    effect: Effect
    clauses: tuple[str, ...]
    freshness: FreshnessNeed | None


_WRITE_EN = (
    "add|adjust|allocate|append|apply|approve|archive|arrange|assign|attach|ban|block|book|buy|cancel|change|charge|"
    "clear|clone|close|commit|convert|copy|create|deactivate|delete|deploy|disable|dispatch|drop|edit|email|enable|"
    "erase|execute|file|fix|generate|give|grant|insert|install|invite|issue|kill|launch|lock|make|mark|merge|message|"
    "modify|move|mute|notify|open|order|pay|pause|place|post|provision|publish|purchase|purge|push|put|reboot|record|"
    "refund|register|reject|release|remind|remove|rename|reopen|reply|reschedule|reserve|reset|resolve|restart|"
    "restore|resume|revoke|roll|rotate|run|save|scale|schedule|send|set|share|ship|start|stop|store|submit|subscribe|"
    "terminate|text|transfer|trigger|turn|undo|unsubscribe|update|upgrade|upload|void|wire|withdraw|write"
)
_READ_EN = (
    "analy[sz]e|are there|browse|calculate|check|compare|count|describe|detect|did|display|does|download|estimate|"
    "explain|explore|fetch|find|get|give me|has|have|how|identify|inspect|is there|is|list|locate|look|lookup|"
    "monitor|preview|pull up|query|read|retrieve|review|scan|search|see|show|summari[sz]e|tell|track|translate|"
    "validate|verify|view|watch|what|what's|when|where|which|who|whose|why"
)
_LEAD = (
    r"(?:please|pls|kindly|hey|hi|hello|ok|okay|so|now|also|then|finally|next|first|and|can you|could you|would you|"
    r"will you|i want to|i'd like to|i would like to|i need to|i need you to|i want you to|help me|help|let's|"
    r"we need to|you should|go ahead and|to|just|quickly)"
)
_WRITE_START = re.compile(rf"^(?:{_LEAD}[\s,]+)*(?:{_WRITE_EN})\b", re.IGNORECASE)
_NOUN_QUESTION = re.compile(
    r"^(?:order|refund|book|file|email|message|record|schedule|charge|release|issue)s?\s+\w+\s*\?$", re.IGNORECASE
)
"""`order status?`, `refund policy?`: words that are verbs elsewhere."""
_READ_START = re.compile(rf"^(?:{_LEAD}[\s,]+)*(?:{_READ_EN})\b", re.IGNORECASE)
_WRITE_ZH = re.compile(
    "退款|退掉|退了|退钱|取消|删除|删掉|删了|清空|清除|创建|新建|建一个|建个|添加|新增|加上|加入|更新|修改|改成|改为|改到|改签|发送|发给|"
    "发一|发个|寄给|预订|预定|预约|订一|订个|订张|下单|购买|买一|支付|付款|付给|转账|转给|汇款|提交|申请|上传|保存|写入|写进|移动|移到|"
    "重命名|设置|设为|设成|开启|打开|关闭|关掉|启动|重启|停止|停掉|部署|发布|上线|回滚|扩容|缩容|安排|邀请|通知|提醒我|分配|指派|审批|"
    "批准|驳回|撤回|撤销|授权|吊销|归档|开票|开发票|充值|回复|标记|执行|作废|登记|注册|冻结|解冻|续费"
)
_READ_ZH = re.compile(
    "查|看看|看一下|看下|列出|列一下|显示|展示|统计|多少|哪些|哪个|哪里|哪儿|什么|几个|几点|是否|有没有|是不是|怎么样|如何|为什么|搜索|搜一下|"
    "找一下|找找|查找|检索|获取|对比|比较|分析|了解|告诉我|读取|翻译|总结|汇总|计算|到哪|状态|走势|行情|情况|吗"
)

_LIVE = re.compile(
    r"\b(?:right now|real[- ]?time|live|currently|at the moment|this (?:very )?(?:minute|moment|second)|as of now|"
    r"up[- ]to[- ]the[- ]minute|current (?:price|quote|status|value|level|rate|weather|temperature|load|usage)|now)\b"
    r"|现在|实时|此刻|当前|目前|眼下|盘中|这会儿|即时|最新价|现价",
    re.IGNORECASE,
)
_RECENT = re.compile(
    r"\b(?:latest|newest|most recent|just now|past (?:few )?(?:minutes|hour)|last (?:few )?(?:minutes|hour)|"
    r"breaking)\b|最新|刚刚|刚才|最近(?:几|一)?(?:分钟|小时)",
    re.IGNORECASE,
)
_TODAY = re.compile(
    r"\b(?:today|today's|tonight|this morning|this afternoon)\b|今天|今日|今早|今晚|当天", re.IGNORECASE
)
_PAST = re.compile(
    r"\b(?:historical(?:ly)?|history|yesterday(?:'s)?|previous (?:close|day|week|month|quarter|year)|"
    r"last (?:week|month|quarter|year|night|\d+ (?:trading )?(?:days|weeks|months|quarters|years))|"
    r"past \d+ (?:trading )?(?:days|weeks|months|quarters|years)|closing prices?|back in \d{4}|in (?:19|20)\d{2})\b"
    r"|历史|昨天|昨日|昨收|前天|上周|上个?月|上季度|去年|前年|过去\s*\d+\s*(?:个)?(?:交易日|天|周|月|年)|收盘价|(?:19|20)\d{2}\s*年",
    re.IGNORECASE,
)
LIVE_SECONDS, RECENT_SECONDS, DAY_SECONDS = 60.0, 900.0, 86_400.0

_BREAK = re.compile(
    # Bounded, so that a run of white space costs linear time; what is left of a longer one is stripped.
    r"\s{0,8}(?:[;；\n]{1,8}|[。！!]\s{0,8}|(?<=[a-z0-9)\"'])\.\s{1,8}(?=[A-Z])|"
    r"[,，、]?\s{0,8}(?:\band then\b|\bthen\b|\bafter that\b|\bafterwards?\b|\bfinally\b|"
    r"\bonce (?:done|that is done)\b|\bas well as\b|\band also\b|\balso\b|\bplus\b)[\s,]{0,8}|"
    r"[,，]?\s{0,8}(?:然后再?|接着再?|随后|之后再?|最后再?|并且|同时|以及|顺便|还要|还有|另外|再(?=[\u4e00-\u9fff]))[，,]?\s{0,8}|"
    r"[，,]\s{0,8}并(?=[\u4e00-\u9fff]))\s{0,8}",
    re.IGNORECASE,
)
_MARKS = " \t\n,，、.。;；"
_ONLY_LEADS = re.compile(
    rf"(?:(?:{_LEAD}|lastly|additionally|moreover|furthermore|besides|in addition|secondly|thirdly|if so|before that|"
    r"此外|其次|首先|对了|第[一二三四五]步?)[\s,:：，、]*)+",
    re.IGNORECASE,
)
"""What says nothing but that something follows."""

_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r" ?(?:\n ?)+")
_AND_VERB = re.compile(rf"[,，]?\s{{1,8}}and\s{{1,8}}(?=(?:{_WRITE_EN}|{_READ_EN})\b)", re.IGNORECASE)
_COMMA_VERB = re.compile(rf",\s+(?=(?:{_WRITE_EN}|{_READ_EN})\b)", re.IGNORECASE)
_ZH_COMMA = re.compile(
    r"[，,](?=(?:把|将|给|帮|请|查|看|发|创建|新建|取消|退|订|通知|安排|生成|计算|翻译|分析|提醒|更新|删除|预订))"
)


def read_effect(text: str) -> Effect:
    """Tell whether a text asks to look or to change; the first verb decides, in Chinese any write verb."""
    head = text.strip()
    if _WRITE_START.match(head) and not _READ_START.match(head) and not _NOUN_QUESTION.match(head):
        return Effect.WRITE
    if _READ_START.match(head):
        return Effect.READ
    write, read = _WRITE_ZH.search(head), _READ_ZH.search(head)
    if write and not (read and _asks_about_write(head, write.start(), read.start())):
        return Effect.WRITE
    if read or head.endswith(("?", "？")):
        return Effect.READ
    return Effect.UNKNOWN


def _asks_about_write(text: str, write_at: int, read_at: int) -> bool:
    """Tell whether a write word is only spoken about: 「退款率是多少」, 「查一下退款政策」."""
    return read_at < write_at or text.rstrip("。.!！ ").endswith(
        ("?", "？", "吗", "多少", "哪些", "什么", "怎么样", "情况")
    )


def read_freshness(text: str) -> FreshnessNeed | None:
    """Return the freshness a text asks for. A stated past period beats "latest"; a stated "now" beats both."""
    live, past = _LIVE.search(text), _PAST.search(text)
    if live and not past:
        return FreshnessNeed(live.group(), LIVE_SECONDS)
    if past:
        return None
    if match := _RECENT.search(text):
        return FreshnessNeed(match.group(), RECENT_SECONDS)
    if match := _TODAY.search(text):
        return FreshnessNeed(match.group(), DAY_SECONDS)
    return None


def split_clauses(text: str) -> tuple[str, ...]:
    """Return the steps of a request, in order, each as it stands there but for white space; `()` when it has only one.

    A piece too short to stand alone (under 3 words, or under 4 Chinese characters) joins the piece before it; one that
    only leads to what follows ("Lastly", "Can you") joins that.
    """
    # Runs of white space carry nothing, and patterns that begin with optional white space would try every split of one.
    read = _LINES.sub("\n", _SPACES.sub(" ", text))
    spans: list[tuple[int, int]] = []
    lead: int | None = None
    for start, end in _pieces(read):
        part, begin = read[start:end], start if lead is None else lead
        if _ONLY_LEADS.fullmatch(part):
            lead = begin
        elif spans and (not _stands_alone(part) or len(spans) == MAX_CLAUSES):
            spans[-1], lead = (spans[-1][0], end), None
        elif not spans and not _stands_alone(part):
            lead = begin
        else:
            spans.append((begin, end))
            lead = None
    return tuple(read[start:end] for start, end in spans) if len(spans) > 1 else ()


def _pieces(text: str) -> list[tuple[int, int]]:
    """Return where the pieces between all breaks begin and end, without the marks at their ends."""
    spans = [(0, len(text))]
    for pattern in (_BREAK, _AND_VERB, _COMMA_VERB, _ZH_COMMA):
        spans = [span for start, end in spans for span in _between_breaks(pattern, text, start=start, end=end)]
    return [
        (start + len(part) - len(part.lstrip(_MARKS)), start + len(part.rstrip(_MARKS)))
        for start, end in spans
        if (part := text[start:end]).strip(_MARKS)
    ]


def _between_breaks(pattern: re.Pattern[str], text: str, *, start: int, end: int) -> list[tuple[int, int]]:
    # A piece is searched by itself, so that look-behind and anchors see no other piece.
    breaks = [(start + found.start(), start + found.end()) for found in pattern.finditer(text[start:end])]
    edges = [start, *(edge for found in breaks for edge in found), end]
    return list(zip(edges[::2], edges[1::2], strict=True))


def _stands_alone(part: str) -> bool:
    han = len(re.findall(r"[\u4e00-\u9fff]", part))
    return han >= 4 or len(re.findall(r"[A-Za-z0-9_]+", part)) + han >= 3


def read_intent(text: str) -> Intent:
    """Read a request: effect of the whole, its clauses, its freshness need."""
    clauses = split_clauses(text)
    effects = [read_effect(part) for part in clauses] or [read_effect(text)]
    if Effect.WRITE in effects:
        effect = Effect.WRITE
    elif Effect.READ in effects:
        effect = Effect.READ
    else:
        effect = Effect.UNKNOWN
    return Intent(effect=effect, clauses=clauses, freshness=read_freshness(text))
