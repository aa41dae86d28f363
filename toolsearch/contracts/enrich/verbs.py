"""Verbs that tool names and descriptions begin with, by how much they change the world."""

from __future__ import annotations

import re

from toolsearch.model.contract import SideEffect


def _words(*lines: str) -> tuple[str, ...]:
    return tuple(word for line in lines for word in line.split())


_READ = _words(
    "get list search read find query fetch describe show view lookup look check count analyze analyse compare",
    "calculate compute convert validate verify preview inspect estimate browse retrieve explain summarize summarise",
    "recommend suggest scan audit diff tail watch ping is has whoami detect identify predict forecast translate",
    "evaluate discover resolve filter select display return track recognize determine provide obtain access extract",
    "classify assess review measure monitor explore peek head stat locate generate autocomplete optimize",
)
_REVERSIBLE = _words(
    "create add update set edit modify put patch insert upsert append prepend send post reply comment upload write",
    "save store rename move copy assign unassign enable disable activate deactivate start stop restart pause resume",
    "schedule reschedule invite share subscribe unsubscribe attach detach link unlink tag untag label register",
    "import sync trigger deploy install configure lock unlock approve reject merge publish book reserve archive",
    "restore pin mute follow like join leave change submit apply replace associate disassociate provision adjust",
    "toggle close reopen initialize init draft record bookmark mark fork push connect disconnect clone fill build",
    "increment incr decrement decr manage make upgrade downgrade promote release tune click type press",
)
_IRREVERSIBLE = _words(
    "delete remove drop pay refund transfer purge destroy erase wipe truncate terminate charge withdraw purchase buy",
    "sell checkout payout remit revoke uninstall kill cancel clear reset donate wire dispose discard reboot flush pop",
    "trim",
)

OPAQUE = frozenset(
    _words("run execute exec eval invoke call shell transact batch bulk perform process handle do rpc", "request")
)
"""What these do depends on their arguments, so a harmless word elsewhere in the name proves nothing."""

READ_NOUNS = frozenset(
    _words(
        "list info details detail status stats statistics summary history logs metrics get search read show query",
        "lookup overview schema count report guide docs documentation examples health",
    )
)
"""Last words of names that read: `order_status`."""

STRONG = frozenset(_IRREVERSIBLE) - {"clear", "reset", "sell", "cancel", "wire"}
"""Words that destroy wherever they stand behind a first word that says nothing: `user_account_delete`."""

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


VERB_FORMS: dict[str, SideEffect] = {form: effect for verb, effect in VERBS.items() for form in _inflections(verb)}
"""Inflected form -> what a sentence that begins with it says a tool does."""

HAN_VERBS: tuple[tuple[re.Pattern[str], SideEffect], ...] = (
    (
        re.compile("删除|移除|退款|支付|付款|缴费|转账|汇款|扣款|清空|销毁|注销|撤销|取消|购买|下单|充值|提现|卸载"),
        SideEffect.IRREVERSIBLE,
    ),
    (
        re.compile(
            "创建|新建|新增|添加|增加|修改|更新|更改|设置|发送|提交|预订|预约|预定|上传|写入|关闭|开启|打开|启动|停止|暂停|保存"
            "|分享|发布|回复|安排|申请|登记|注册|绑定|调整|切换|启用|禁用|重命名|移动|复制|收藏|标记"
        ),
        SideEffect.REVERSIBLE,
    ),
    (
        re.compile(
            "查询|获取|搜索|查看|检索|列出|读取|统计|计算|分析|对比|比较|检查|评估|预测|查找|返回|识别|推荐|翻译|转换|监测|监控"
            "|核对|提供|显示|浏览|验证|确认"
        ),
        SideEffect.READ_ONLY,
    ),
)
"""Chinese verbs, the riskiest first."""
