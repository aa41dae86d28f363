"""How much a call changes the world, judged from hints, the name and the prose.

Evidence from the name and the prose is combined to the higher risk. A trusted source's hint decides alone. An untrusted
source's hint can raise the risk that name and prose show, never lower it; where name and prose show nothing, its hint is
taken, and the decision is noted. Nothing known gives None, which exposure treats as irreversible.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from toolsearch.analysis.identifiers import identifier_words
from toolsearch.contract import SideEffect
from toolsearch.ingest.foreign import Hints

_READ = (
    "get list search read find query fetch describe show view lookup look check count analyze analyse compare calculate "
    "compute convert validate verify preview inspect estimate browse retrieve explain summarize summarise recommend suggest "
    "scan audit diff tail watch ping is has whoami detect identify predict forecast translate evaluate discover resolve "
    "filter select display return track recognize determine provide obtain access extract classify assess review "
    "measure monitor explore peek head stat locate generate autocomplete optimize"
).split()
_REVERSIBLE = (
    "create add update set edit modify put patch insert upsert append send post reply comment upload write save store rename "
    "move copy assign unassign enable disable activate deactivate start stop restart pause resume schedule reschedule invite "
    "share subscribe unsubscribe attach detach link unlink tag untag label register import sync trigger deploy install "
    "configure lock unlock approve reject merge publish book reserve archive restore pin mute follow like join leave change "
    "submit apply replace associate disassociate provision adjust toggle close reopen initialize init draft record bookmark mark fork push "
    "connect disconnect clone prepend fill build increment incr decrement decr manage make upgrade downgrade promote release tune click type press"
).split()
_IRREVERSIBLE = (
    "delete remove drop pay refund transfer purge destroy erase wipe truncate terminate charge withdraw purchase buy sell "
    "checkout payout remit revoke uninstall kill cancel clear reset donate wire dispose discard reboot flush pop trim"
).split()
# What these do depends on their arguments, so a harmless word elsewhere in the name proves nothing.
_OPAQUE = frozenset(
    "run execute exec eval invoke call shell transact batch bulk perform process handle do rpc request".split()
)
_READ_NOUNS = frozenset(
    "list info details detail status stats statistics summary history logs metrics get search read show query lookup "
    "overview schema count report guide docs documentation examples health".split()
)
# Also as second halves of a name these change something for good: `user_account_delete`.
_STRONG = frozenset(_IRREVERSIBLE) - {"clear", "reset", "sell", "cancel", "wire"}

VERBS: dict[str, SideEffect] = {
    **dict.fromkeys(_READ, SideEffect.READ_ONLY),
    **dict.fromkeys(_REVERSIBLE, SideEffect.REVERSIBLE),
    **dict.fromkeys(_IRREVERSIBLE, SideEffect.IRREVERSIBLE),
}
"""Base form of an English verb -> what a tool named by it does."""


def _inflections(verb: str) -> list[str]:
    stem = verb.removesuffix("e")
    third = f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2] not in "aeiou" else f"{verb}s"
    return [verb, third, f"{verb}es", f"{stem}ing", f"{verb}{verb[-1]}ing"]


_FORMS = {form: effect for verb, effect in VERBS.items() for form in _inflections(verb)}
TOOL_VERBS = frozenset(_FORMS)
"""Forms of verbs that begin a statement of what a tool does."""

_HAN_VERBS: tuple[tuple[re.Pattern[str], SideEffect], ...] = (
    (
        re.compile(r"删除|移除|退款|支付|付款|缴费|转账|汇款|扣款|清空|销毁|注销|撤销|取消|购买|下单|充值|提现|卸载"),
        SideEffect.IRREVERSIBLE,
    ),
    (
        re.compile(
            r"创建|新建|新增|添加|增加|修改|更新|更改|设置|发送|提交|预订|预约|预定|上传|写入|关闭|开启|打开|启动|停止|暂停|保存|分享|发布|回复|安排"
            r"|申请|登记|注册|绑定|调整|切换|启用|禁用|重命名|移动|复制|收藏|标记"
        ),
        SideEffect.REVERSIBLE,
    ),
    (
        re.compile(
            r"查询|获取|搜索|查看|检索|列出|读取|统计|计算|分析|对比|比较|检查|评估|预测|查找|返回|识别|推荐|翻译|转换|监测|监控|核对|提供|显示|浏览|验证|确认"
        ),
        SideEffect.READ_ONLY,
    ),
)
_HAN = re.compile(r"[一-鿿]")
_SAYS_READ = re.compile(
    r"\bread[- ]only\b(?!\s+(?:mode|user|replica|file|propert|attribut|field))|只读(?:操作|工具|接口|查询)",
    re.IGNORECASE,
)
_SAYS_WRITE = re.compile(r"\bwrite operation\b|写操作", re.IGNORECASE)
_SAYS_FINAL = re.compile(
    r"\b(?:cannot|can['’]t|can not) be (?:undone|reversed|recovered)\b|\birreversibl[ey]\b|\bpermanently (?:delet|remov|destroy|eras)\w+"
    r"|不可(?:撤销|恢复|逆)|无法(?:撤销|恢复)|永久删除",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class EffectJudgement:
    """A side effect, or None where nothing is known, and what had to be decided to get there."""

    effect: SideEffect | None
    note: str = ""


def judge_effect(*, name: str, first_sentence: str, description: str, hints: Hints, trusted: bool) -> EffectJudgement:
    """Return the side effect that the evidence supports.

    Args:
        name: Tool name.
        first_sentence: What the tool does, in one sentence.
        description: Whole prose, searched for plain statements such as "read-only" and "cannot be undone".
        hints: Hints of the source.
        trusted: Whether a hint may go below what name and prose show.
    """
    shown = _shown(name=name, first_sentence=first_sentence, description=description)
    hinted = _hinted(hints, shown=shown)
    if hinted is None or trusted:
        return EffectJudgement(shown if hinted is None else hinted)
    if shown is None:
        return EffectJudgement(hinted, f"execution.side_effect: {hinted.label} by a hint of an untrusted source alone")
    if hinted < shown:
        return EffectJudgement(
            shown,
            f"execution.side_effect: an untrusted hint says {hinted.label}, name or text show {shown.label}; the higher is kept",
        )
    return EffectJudgement(hinted)


def _hinted(hints: Hints, *, shown: SideEffect | None) -> SideEffect | None:
    if hints.destructive:
        return SideEffect.IRREVERSIBLE
    if hints.read_only:
        return SideEffect.READ_ONLY
    if hints.destructive is False:
        return SideEffect.REVERSIBLE
    if hints.read_only is False:
        # MCP: a tool that writes is destructive unless it says otherwise; a name such as `create_issue` says otherwise.
        return SideEffect.REVERSIBLE if shown is SideEffect.REVERSIBLE else SideEffect.IRREVERSIBLE
    return None


def _shown(*, name: str, first_sentence: str, description: str) -> SideEffect | None:
    named, says_read = effect_of_name(name), bool(_SAYS_READ.search(description))
    found = [named]
    if not (named is SideEffect.READ_ONLY and says_read):
        found.append(_effect_of_sentence(first_sentence))
    if _SAYS_FINAL.search(description):
        found.append(SideEffect.IRREVERSIBLE if named is not SideEffect.READ_ONLY else None)
    if _SAYS_WRITE.search(description):
        found.append(SideEffect.REVERSIBLE)
    if not any(found) and says_read:
        found.append(SideEffect.READ_ONLY)
    known = [effect for effect in found if effect is not None]
    return max(known) if known else None


def effect_of_name(name: str) -> SideEffect | None:
    """Return what the words of a tool name show: the verb at its start, else at its end, else one that destroys."""
    parts = [part for part in re.split(r"[./:]", name) if part]
    words = [word.lower() for word in identifier_words(parts[-1] if parts else name)]
    if not words:
        return None
    first, last = words[0], words[-1]
    joined = {"and", "or"}.intersection(words)
    if joined:
        return max((VERBS[word] for word in words if word in VERBS), default=None)
    if first in VERBS:
        return VERBS[first]
    strong = [word for word in words if word in _STRONG]
    if strong:
        return SideEffect.IRREVERSIBLE
    if first in _OPAQUE:
        return None
    writes = [VERBS[word] for word in words[1:] if VERBS.get(word, SideEffect.NONE) >= SideEffect.REVERSIBLE]
    if last in VERBS and VERBS[last] >= SideEffect.REVERSIBLE:
        return VERBS[last]
    if last in _READ_NOUNS or last in VERBS:
        return None if writes else SideEffect.READ_ONLY
    return VERBS[words[1]] if len(words) > 2 and words[1] in VERBS else None


def _effect_of_sentence(sentence: str) -> SideEffect | None:
    if _HAN.search(sentence[:40]):
        return _effect_of_han(sentence[:60])
    words = re.findall(r"[A-Za-z]+", sentence[:200].lower())
    if not words:
        return None
    effects = [_FORMS[words[0]]] if words[0] in _FORMS else []
    # "Create or update", "Get and delete": the second verb counts too.
    if effects and len(words) > 2 and words[1] in {"and", "or", "then"} and words[2] in _FORMS:
        effects.append(_FORMS[words[2]])
    return max(effects) if effects else None


def _effect_of_han(sentence: str) -> SideEffect | None:
    """Return the effect of the verb that stands first; a later one that destroys outweighs a first that only writes."""
    found = [(match.start(), effect) for pattern, effect in _HAN_VERBS if (match := pattern.search(sentence))]
    if not found:
        return None
    first = min(found)[1]
    if first is SideEffect.READ_ONLY:
        return first
    return max(effect for _, effect in found)
