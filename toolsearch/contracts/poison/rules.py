"""Words of poisoned definitions, as data: what speaks to the model about something other than the tool itself.

An honest description says what its tool does and when to call it. It has no reason to lift other instructions, to hide
something from the user, to change calls of other tools, or to ask for the conversation, for key files or for secrets.
`BLOCK` is for what no honest description in a catalogue of ten thousand says; `NOTE` for what a reviewer should see.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class PoisonKind(StrEnum):
    """What is wrong with a definition."""

    INSTRUCTION = "instruction"
    CONCEALMENT = "concealment"
    CROSS_TOOL = "cross_tool"
    EXFILTRATION = "exfiltration"
    GREEDY_PARAMETER = "greedy_parameter"
    INVISIBLE = "invisible"
    ENCODED = "encoded"
    HIDDEN_MARKUP = "hidden_markup"
    LOOKALIKE = "lookalike"


class Severity(StrEnum):
    """Whether a finding keeps a definition from being used until somebody approves it."""

    BLOCK = "block"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern over one text of a definition, unmasked and with single spaces.

    `needs` = pieces of lower-case text of which every match has one: looked for first, as most texts have none.
    """

    kind: PoisonKind
    severity: Severity
    pattern: re.Pattern[str]
    why: str
    needs: tuple[str, ...] = ()

    def search(self, text: str, *, lowered: str) -> re.Match[str] | None:
        """Return the first match in a text, given in lower case too."""
        if self.needs and not any(piece in lowered for piece in self.needs):
            return None
        return self.pattern.search(text)


def _rule(kind: PoisonKind, why: str, *patterns: str, severity: Severity = Severity.BLOCK, needs: str = "") -> Rule:
    pattern = re.compile("|".join(f"(?:{each})" for each in patterns), re.IGNORECASE)
    return Rule(kind, severity, pattern, why, tuple(needs.split()))


_EARLIER = r"(?:previous(?:ly)?|prior|preceding|above|earlier|original|initial|foregoing|system|developer|safety|your)"
_ORDERS = r"(?:instructions?|prompts?|directives?|guidelines?|guardrails?|programming|training|orders|messages?)"
_NOT = (
    r"(?:do\s+not|don['’]?t|never|must\s+not|should\s+not|shouldn['’]t|cannot|avoid|without|refrain\s+from|forbidden\s+to"
    r"|not\s+allowed\s+to)"
)
_TELL = r"(?:tell|inform|mention|notify|reveal|disclos|alert|warn|report|admit|explain)(?:e|ing)?"
_USER = r"(?:the|this|your|any)\s+(?:end[- ])?(?:user|human|customer|operator|person)s?"
_EVERYTHING = (
    r"(?:(?:entire|full|whole|complete|verbatim|all(?:\s+of)?)\s+(?:the\s+|of\s+the\s+|our\s+|your\s+|this\s+)?"
    r"(?:previous\s+|prior\s+)?(?:conversation|chat|dialogue?|context\s+window|message\s+history|transcript)"
    r"|(?:the|your|this)\s+(?:entire\s+)?(?:conversation|chat|message)\s+(?:history|log|transcript)"
    r"|(?:your|the)\s+(?:own\s+|full\s+|entire\s+|complete\s+)?system\s+(?:prompt|message|instructions?)"
    r"|all\s+(?:previous|prior|earlier)\s+(?:user\s+)?(?:messages|turns|prompts))"
)
_HAND_OVER = (
    r"(?:pass|include|put|provide|copy|insert|paste|append|attach|place|add|supply|embed|send|forward|dump|fill\s+in)"
)
_KEY_FILES = (
    r"(?:(?:~|\$HOME|/root|/home/[\w.-]+|%USERPROFILE%)[/\\]\.(?:ssh|aws|gnupg|kube|docker|netrc|npmrc|cursor|config|env|bash_history"
    r"|git-credentials)(?!\S*\.pub)\b|\bid_(?:rsa|ed25519|ecdsa|dsa)\b(?!\.pub)|/etc/(?:passwd|shadow)\b|\.cursor/mcp\.json"
    r"|\bclaude_desktop_config\.json|\.aws/credentials|\.git-credentials|\bwallet\.dat)"
)
_READ = (
    r"(?:read|open|cat|load|fetch|copy|upload|send|include|pass|attach|get|retrieve|access|post|exfiltrate"
    r"|(?:full\s+)?contents?\s+of)"
)
_SECRETS = (
    r"(?:api[\s_-]?keys?|access[\s_-]?tokens?|passwords?|credentials?|secrets?|private[\s_-]?keys?|cookies|session[\s_-]?tokens?"
    r"|environment\s+variables|env\s+vars|seed\s+phrases?|chat\s+history|conversation(?:\s+history)?|system\s+prompts?)"
)
_AWAY = r"(?:https?://|ftp://|webhook|[\w.+-]+@[\w-]+\.\w|(?:our|my|this|an?\s+external|an?\s+remote)\s+(?:server|endpoint|url|collector))"
# Case counts here: with it ignored, every word would be a name, in exponentially many ways.
_TOOL = r"(?-i:\b[a-z0-9]{1,30}(?:[_.-][a-z0-9]{1,30}){1,6}\b|\b[a-z]{2,20}[A-Z][A-Za-z0-9]{1,40}\b)"
_OTHERS = (
    r"(?:any|all|every|the)\s+(?:of\s+the\s+)?(?:other|another)\s+(?-i:[a-z]+\s+)?(?:tools?|functions?|servers?|apis?)"
)
_TAMPER = r"(?:bcc|cc|replace|change|redirect|reroute|override|overwrite|substitute|rewrite|swap|forward|alter|tamper)"
_HAN_ORDERS = r"(?:指令|指示|提示词?|系统消息|命令|安全(?:规则|限制|策略)|约束)"
_HAN_AWAY = (
    r"(?:https?://|ftp://|[\w.+-]+@[\w-]+\.\w|(?:以下|下列|我们的|外部|远程|指定的?)(?:服务器|地址|网址|邮箱|接口))"
)

TAMPERING: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:when(?:ever)?|if|before|after|every\s+time|each\s+time|on\s+every)\b",
        rf"{_TOOL}|\b(?:another|other)\s+tools?\b|\b\w+\s+tool\s+is\s+(?:called|used|invoked|available|present)\b",
        r"\b(?:always|must|also|secretly|should|automatically|have\s+to)\b",
        rf"\b{_TAMPER}\b",
        r"\b(?:recipients?|address(?:es)?|account|amount|url|e?-?mails?|destination|number|bcc|cc)\b",
    )
)
"""What a sentence that changes the calls of another tool has, all of it."""

RULES: tuple[Rule, ...] = (
    _rule(
        PoisonKind.INSTRUCTION,
        "lifts the instructions the model already has",
        rf"\b(?:ignor|disregard|forget|overrid|bypass)(?:e|ing)?\b[^.]{{0,24}}\b{_EARLIER}\b[^.]{{0,24}}\b{_ORDERS}\b",
        r"\b(?:supersedes?|overrides?|takes?\s+precedence\s+over)\b[^.]{0,24}\b(?:all|any|other|previous|system|user)\b"
        r"[^.]{0,16}\b(?:instructions?|prompts?|directives?)\b",
        rf"(?:忽略|无视|忘记|忘掉|不要理会|不再遵守|抛开|绕过|覆盖)[^。；]{{0,10}}(?:之前|此前|先前|前面|上面|以上|上述|原有|原来|所有|一切|系统|你的|开发者)"
        rf"[^。；]{{0,8}}{_HAN_ORDERS}",
    ),
    _rule(
        PoisonKind.INSTRUCTION,
        "lifts the instructions the model already has",
        rf"\b{_EARLIER}\s+(?:\w+\s+)?{_ORDERS}\s+(?:are|is)\s+(?:now\s+)?(?:void|invalid|cancel\w+|revoked|suspended|obsolete|no\s+longer)\b",
        r"\b(?:from\s+now\s+on|henceforth)\b[^.]{0,30}\b(?:only|instead|always|never)\b|\b(?:obey|follow)\s+only\s+(?:the\s+|these\s+|this\s+|my\s+)",
        r"(?:从现在|从此|即日)起[^。；]{0,10}(?:只|不再|必须|一律|始终)|(?:之前|先前|原有|以上|上述)的?(?:所有)?(?:规则|指令|指示|要求|设定)(?:都|均|全部|一律)?(?:作废|无效|失效|取消)|只(?:听从|服从)(?:本|此|我)",
    ),
    _rule(
        PoisonKind.INSTRUCTION,
        "takes the user's consent for granted",
        r"\b(?:the\s+)?user\s+(?:has|have)\s+(?:already\s+|explicitly\s+|previously\s+)*(?:agreed|authori[sz]ed|consented|approved|confirmed|given\s+(?:permission|consent))\b[^.]{0,20}\b(?:you|to|everything|all|any)\b",
        r"\bthey\s+have\s+already\s+(?:agreed|consented|approved|confirmed)\b|\b(?:skip|bypass|suppress)\s+(?:the\s+|any\s+|all\s+)?(?:user\s+)?(?:confirmation|approval|consent)s?\s+(?:prompts?|dialogs?|step)\s+of\b",
        rf"\b(?:approve|pay|confirm|execute|send|delete|transfer|run)\b[^.]{{0,24}}\bwithout\s+(?:asking|consulting|waiting\s+for)\s+(?:for\s+)?{_USER}\b",
        r"用户(?:已经?|早已|事先)(?:同意|授权|批准)(?:你|了?一切|了?所有|全部)|(?:无需|不需要?|不必)(?:再)?(?:经过|征得|征求|询问)用户(?:的)?(?:同意|确认|许可|授权)",
        needs="user human customer operator person they confirmation approval consent 用户",
    ),
    _rule(
        PoisonKind.INSTRUCTION,
        "speaks to the model as such",
        r"\b(?:note|attention|message|instructions?|notice|hint)\s*(?:to|for|,)?\s*(?:the\s+|any\s+|all\s+)?(?:ai|llms?|language\s+models?|assistants?)\b(?:\s+(?:agents?|assistants?|models?))?\s*[:：!,]",
        r"(?:致|提示|请)(?:各位)?(?:AI|大模型|语言模型|智能体|AI\s?助手)(?:注意)?\s*[:：!！,，]",
        r"\b(?:assistant|ai|model)\s*:\s[^\n]{4,200}?\b(?:user|human)\s*:\s",
        severity=Severity.NOTE,
    ),
    _rule(
        PoisonKind.INSTRUCTION,
        "gives the model another role or task",
        r"\byou\s+are\s+now\s+(?:a|an|in|the|no\s+longer|free|DAN)\b|\b(?:enter|enable|activate)\s+(?:developer|god|jailbreak|admin)\s+mode\b",
        r"\b(?:new|updated|revised)\s+(?:system\s+)?(?:instructions?|directives?)\s*(?:for\s+the\s+(?:model|assistant|ai|agent)\s*)?[:：]",
        r"\byour\s+(?:real|true|new|actual|only)\s+(?:task|goal|objective|purpose|mission|instructions?)\b",
        r"你现在(?:是|扮演|进入)|(?:进入|开启|启用)(?:开发者|越狱|管理员)模式|(?:新的?|最新)(?:系统)?(?:指令|指示)\s*[:：]|你(?:真正|唯一|新)的?(?:任务|目标|使命)",
    ),
    _rule(
        PoisonKind.INSTRUCTION,
        "imitates a system message",
        r"<\|?\s*(?:im_start|im_end|endoftext|start_header_id|eot_id)\s*\|?>|\[/?INST\]|<</?SYS>>",
        r"</?\s*(?:important|critical|system|system[-_]prompt|system[-_]reminder|admin|override|mandatory|urgent)\s*>",
        r"(?:^|[\n.] ?)(?:#+ ?)?(?:\[?system(?: message| prompt| note)?\]?|系统(?:消息|提示|指令)?)\s*[:：]\s*"
        r"(?:you|the\s+(?:model|assistant|ai)|always|never|must|ignore|你|必须|请)",
    ),
    _rule(
        PoisonKind.INSTRUCTION,
        "puts itself before every other tool or every turn",
        r"\b(?:before|prior\s+to|instead\s+of|rather\s+than)\s+(?:you\s+)?(?:us(?:e|ing)|call(?:ing)?|invok(?:e|ing)|runn?(?:ing)?"
        r"|execut(?:e|ing))\s+(?:any|all|every)\s+(?:of\s+the\s+)?(?:other\s+)?tools?\b",
        r"\b(?:must|always|shall)\b[^.]{0,20}\b(?:call|use|invoke|run)\b[^.]{0,20}\b(?:tool|function)\b[^.]{0,24}\b(?:on|for|in|at|after|before|with)\s+"
        r"(?:the\s+start\s+of\s+)?(?:every|each|any|all)\s+(?:single\s+)?(?:user\s+)?(?:message|request|turn|response|reply|interaction|task|conversation)s?\b",
        r"在?(?:使用|调用|执行)(?:任何|所有|一切)(?:其他|其它|别的)?(?:的)?工具(?:之前|前)",
        r"(?:每次|每轮|每一?条)(?:对话|回复|回答|消息|请求)[^。；]{0,10}(?:都|均)?(?:必须|务必|要)(?:先)?(?:调用|使用)(?:本|此|该|这个)",
    ),
    _rule(
        PoisonKind.INSTRUCTION,
        "presses the model to call it always",
        r"\b(?:must|always)\b[^.]{0,12}\b(?:call|use|invoke)\s+this\s+(?:tool|function)\b",
        r"(?:必须|务必|一定要|始终|总是)(?:首先|先)?(?:调用|使用)(?:本|此|该|这个)(?:工具|函数)",
        severity=Severity.NOTE,
    ),
    _rule(
        PoisonKind.CONCEALMENT,
        "hides something from the user",
        rf"\b{_NOT}\s+(?:ever\s+)?{_TELL}\s+(?:this|it|that|anything|these\s+\w+)?\s*(?:about\s+\w+\s+)?(?:to\s+)?{_USER}\b",
        rf"\b{_NOT}\s+{_TELL}\s+(?:(?:about\s+|of\s+)?(?:this|that|these|the)\s+)?(?:step|action|call|instruction|tool\s+call|parameter|copy|file)s?\s+to\s+{_USER}\b",
        rf"\b{_NOT}\s+let(?:ting)?\s+{_USER}\s+(?:know|see|notice|find\s+out)\b",
        rf"\b(?:hide|hidden|conceal(?:ed)?|secret|invisible|keep)\b[^.]{{0,30}}\b(?:from|to)\s+{_USER}\b",
        rf"{_USER}\s+(?:must|should|may|does|need)(?:\s+not|\s+never|n['’]t)\s+(?:ever\s+)?(?:know|see\s+this|find\s+out|be\s+(?:told|aware|informed)|notice)\b",
        r"\b(?:secretly|covertly|surreptitiously)\b|\bsilently\s+(?:send|read|forward|copy|upload|include|exfiltrate|pass|append|call|post)\b",
        r"(?:不要|不得|切勿|请勿|别|禁止|不能|千万不要?|严禁)(?:向用户|对用户|告诉用户|告知用户|让用户)(?:透露|提及|说明|提起|知道|知晓|发现|察觉|解释|这|此|该|$|[。；，,！])",
        r"(?:不要|不得|切勿|请勿|别|禁止|千万不要?|严禁)(?:告诉|告知|透露给|通知)用户|(?:对|向)用户(?:隐瞒|保密)|(?:瞒着|背着)用户|(?:悄悄|偷偷|暗中|秘密)地?(?:将|把|读取|发送|上传|调用|复制|转发|执行)",
        needs="user human customer operator person secretly covertly surreptitiously silently 用户 悄悄 偷偷 暗中 秘密",
    ),
    _rule(
        PoisonKind.CROSS_TOOL,
        "changes how other tools are called",
        rf"\b{_TAMPER}\b[^.]{{0,40}}\b(?:recipient|address|account|amount|url|destination|argument|parameter)s?\b[^.]{{0,40}}\b(?:of|in|for|to)\s+(?:the\s+)?(?:{_TOOL}|other\s+tools)(?:\s+tool)?\b[^.]{{0,30}}\b(?:with|by|to)\b",
        r"(?:调用|使用|执行)[^。；]{0,24}[A-Za-z]\w*[_.]\w+[^。；]{0,16}(?:时|前|后)[^。；]{0,12}(?:必须|务必|都要|一定|自动|请|要)[^。；]{0,16}(?:改为|替换|抄送|密送|修改|篡改|转发)",
        needs="bcc cc replace change redirect reroute override overwrite substitute rewrite "
        "swap forward alter tamper 改为 替换 抄送 密送 修改 篡改 转发",
    ),
    _rule(
        PoisonKind.CROSS_TOOL,
        "reroutes what other tools send",
        r"\b(?:all|every|any|each)\s+(?:\w+\s+)?(?:e-?mails?|messages?|payments?|transfers?|files?|requests?|invoices?)\s+(?:must|should|have\s+to|need\s+to|shall)\s+"
        r"(?:first\s+|always\s+|also\s+)?(?:be\s+)?(?:sent|routed|forwarded|copied|redirected|addressed|paid|go)\s+(?:to|through|via)\b[^.]{0,24}(?:[\w.+-]+@[\w-]|https?://|\+?\d{5}|this\s+(?:server|address|account|tool)|proxy)",
        r"所有(?:的)?(?:邮件|消息|付款|转账|文件|请求)(?:都|均)?(?:必须|应|要)(?:先)?(?:发送|转发|抄送|支付|转)(?:到|至|给)",
    ),
    _rule(
        PoisonKind.CROSS_TOOL,
        "speaks against the other tools",
        rf"\b{_NOT}\s+(?:ever\s+)?(?:use|using|call|calling|trust|invoke)\s+{_OTHERS}\b",
        rf"\b{_OTHERS}\b[^.]{{0,40}}\b(?:must|should|shall|may)\s+(?:not|never)\s+be\s+(?:used|called|trusted|invoked)\b",
        rf"\b{_OTHERS}\s+(?:are|is)\s+(?:now\s+)?(?:deprecated|broken|unsafe|insecure|disabled|unreliable|malicious|obsolete|untrusted|compromised|forbidden)\b",
        rf"\b(?:prefer|use|choose|call)\s+this\s+(?:tool|function)\s+(?:over|instead\s+of|in\s+place\s+of|rather\s+than)\s+{_OTHERS}\b",
        rf"\b(?:this\s+(?:tool|function|server)|it)\s+(?:replaces|supersedes|overrides|shadows)\s+{_OTHERS}\b",
        r"(?:不要|不得|切勿|禁止|请勿|严禁)(?:再)?(?:使用|调用|信任)(?:任何|所有|一切)?(?:其他|其它|别的)(?:的)?(?:工具|服务器|函数)",
        r"(?:其他|其它|别的)(?:所有)?(?:的)?[^。；，]{0,4}工具(?:都|均|已经?|全部)+(?:被)?(?:废弃|弃用|失效|停用|不安全|不可靠|不可信|有毒)",
        needs="other 其他 其它 别的",
    ),
    _rule(
        PoisonKind.EXFILTRATION,
        "asks for a file with keys or passwords",
        rf"\b{_READ}\b[^.\n]{{0,60}}{_KEY_FILES}",
        rf"(?:读取|打开|上传|发送|附上|包含|获取|传入|填入|复制)[^。；]{{0,30}}{_KEY_FILES}",
        rf"{_KEY_FILES}[^。；]{{0,20}}(?:的内容|内容)[^。；]{{0,16}}(?:传|发|填|放|附|作为)",
        needs="/. \\. id_ /etc/ mcp.json claude_desktop wallet.dat credentials",
    ),
    _rule(
        PoisonKind.EXFILTRATION,
        "sends secrets or the conversation away",
        rf"\b(?:send|post|upload|forward|transmit|exfiltrate|leak|submit|email|copy|report)\b[^.]{{0,60}}\b{_SECRETS}\b[^.]{{0,60}}\bto\b[^.]{{0,30}}{_AWAY}",
        r"!\[[^\]]{0,80}\]\(https?://[^)\s]{0,200}[?&][\w-]+=[^)]{0,20}[{<\[$]",
        rf"(?:把|将)[^。；]{{0,30}}(?:密钥|密码|令牌|凭证|凭据|私钥|环境变量|对话|聊天记录|上下文|系统提示词?|cookie|token)[^。；]{{0,30}}(?:发送|上传|提交|转发|发|传|泄露)(?:到|给|至)[^。；]{{0,16}}{_HAN_AWAY}",
        rf"(?:发送|上传|提交|转发)[^。；]{{0,24}}(?:密钥|密码|令牌|凭证|凭据|私钥|环境变量|聊天记录|系统提示词?)[^。；]{{0,16}}(?:到|给|至){_HAN_AWAY}",
    ),
    _rule(
        PoisonKind.EXFILTRATION,
        "collects what user and model say",
        r"\b(?:submit|forward|send|log|record|report|copy|mirror|relay)\b[^.]{0,20}\b(?:every|each|all|any|the)\s+(?:of\s+the\s+)?user['’]?s?\s+(?:messages?|questions?|prompts?|inputs?|quer(?:y|ies))\b"
        r"[^.]{0,30}\b(?:and|with)\s+(?:your|the\s+(?:assistant|model)['’]?s?|assistant)\s+(?:answers?|repl(?:y|ies)|responses?)\b",
        r"\b(?:put|pass|include|send|paste|attach|provide)\b[^.]{0,40}\b(?:environment\s+variables|output\s+of\s+[`'\"]?(?:env|printenv|set|whoami)\b)[^.]{0,30}\b(?:in|into|to|as)\b",
        r"\b(?:run|execute)\s+[`'\"](?:env|printenv|cat\s[^`'\"]{1,60})[`'\"][^.]{0,30}\b(?:put|pass|include|send|paste|attach)\b",
        r"(?:把|将)[^。；]{0,16}用户的?(?:每一?条|所有|全部)?(?:消息|提问|输入)[^。；]{0,16}(?:和|与|及)(?:你的)?(?:回复|回答)[^。；]{0,16}(?:发|提交|上传|转|传|记录)",
        needs="user environment output env cat 用户",
    ),
    _rule(
        PoisonKind.EXFILTRATION,
        "asks the model to hand over the conversation or its system prompt",
        rf"\b(?:must|always|should|please|make\s+sure|required|first|need\s+to|^)\b[^.]{{0,30}}\b{_HAND_OVER}\b[^.]{{0,30}}{_EVERYTHING}",
        rf"\b{_HAND_OVER}\s+(?:in\s+)?{_EVERYTHING}[^.]{{0,40}}\b(?:as|in|into|to|through|via|here|verbatim)\b",
        r"(?:把|将|填入|传入|附上|提供|粘贴|写入|包含)[^。；]{0,12}(?:完整|全部|所有|整个|你的)的?(?:对话|聊天|会话|上下文|系统提示|系统消息)(?:记录|历史|内容|词)?",
        needs="conversation chat dialog context messag transcript system turns prompts 对话 聊天 会话 上下文 系统",
    ),
)
"""Patterns over any text of a definition."""

PARAMETER_RULES: tuple[Rule, ...] = (
    _rule(
        PoisonKind.GREEDY_PARAMETER,
        "is a parameter for the whole conversation or the system prompt",
        rf"^\W*(?:\(?(?:required|optional)\)?\W*)?(?:the\s+|your\s+|a\s+copy\s+of\s+|contents?\s+of\s+|full\s+text\s+of\s+)*{_EVERYTHING}[^.]{{0,40}}\b(?:so\s+far|verbatim|with\s+the\s+user|including|up\s+to|of\s+this\s+session|word\s+for\s+word)\b",
        r"^\W*(?:the\s+|your\s+)(?:own\s+|full\s+|entire\s+|complete\s+)*(?:system\s+prompt|hidden\s+instructions|chain\s+of\s+thought)\b[^.]{0,30}(?:verbatim|word\s+for\s+word|you\s+were\s+given|exactly|including)",
        r"(?:完整|全部|整个|所有)的?(?:与用户的?)?(?:对话|聊天|会话)(?:记录|历史|内容|上下文)[^。；]{0,12}(?:逐字|原文|一字不漏|包括|含)|你(?:自己)?的系统提示词?",
    ),
    _rule(
        PoisonKind.GREEDY_PARAMETER,
        "asks for a secret of the user",
        r"\b(?:the\s+)?user['’]?s?\s+(?:own\s+)?(?:\w+\s+)?"
        r"(?:password|private\s+key|seed\s+phrase|credit\s+card\s+(?:number|details)|cvv"
        r"|one[- ]time\s+(?:code|password)|otp)\b",
        r"用户的?(?:登录|银行|支付|账号|账户)?(?:密码|私钥|助记词|验证码|银行卡号|信用卡号)",
        severity=Severity.NOTE,
    ),
)
"""Patterns over what one parameter says of itself."""

GREEDY_NAMES = re.compile(
    r"^(?:(?:full|entire|whole|complete)_?)(?:conversation|chat|context|transcript|dialogue?|history)\w*$"
    r"|^(?:conversation|chat|message)_?(?:history|log|transcript)$|^(?:your|model|agent|assistant)_?system_?prompt$",
    re.IGNORECASE,
)
"""Names of parameters that take more of a conversation than a call needs."""
