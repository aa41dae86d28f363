"""Words that carry no intent, as data. Changing them changes every index: raise `ANALYZER_ID` with them."""

from __future__ import annotations

# Particles that tell tools apart (log out, scale down, turn off, sign up) are not among them.
_ENGLISH = """
    a about all also am an and any are as at be been being but by can could d did do does doing don each few for from
    had has have having he her here hers him his how i if in into is it its itself just let ll m may me might more
    most my myself need no nor not now of on only or other our ours own please re s same shall she should so some such
    t than that the their theirs them then there these they this those through to too under until us ve very want was
    we were what when where which while who whom why will with would you your yours
"""
ENGLISH = frozenset(_ENGLISH.split())

# Function words that can also stand inside a content word (请 in 申请, 给 in 给予) appear only inside phrases.
CHINESE_PHRASES = (
    "能不能", "可不可以", "有没有", "是不是", "怎么样", "为什么", "请帮我", "请帮忙", "我想要", "我需要", "帮我把",
    "帮我", "帮忙", "请问", "请帮", "请你", "请您", "请给", "请把", "请将", "麻烦", "一下", "我想", "我要",
    "给我", "想要", "需要", "可以", "能否", "是否", "怎么", "什么", "哪些", "哪个", "如何", "所有", "一个", "这个",
    "那个", "以及", "或者", "并且", "然后", "还是", "已经", "关于", "现在",
)  # fmt: skip

CHINESE_CHARACTERS = "的了吗呢吧啊呀嘛哦我你您他她它们这那是在和与及或也都就很还把被"

POLITE_OPENING = "请"
"""Dropped at the start of a run, except where it opens one of these words."""
POLITE_EXCEPTIONS = "求假购领愿示教客柬款"
