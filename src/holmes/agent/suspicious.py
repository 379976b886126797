"""Finds text in results that talks to the model: instructions, forged markers, forged approvals, hidden commands.

What is found changes nothing of what may run (the gate decides that); it is told in the report. Ordinary logs,
manifests and documentation should pass: each pattern wants the words that make an order of it.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Any

from holmes.core.text import one_line

_MOST = 5  # quotes of one text
_WIDTH = 140  # characters of a quote
_BLOBS = 40  # base64 texts that are looked into

# ``~`` stands for what may be between two words: spaces, line ends, quotes, emphasis.
_ENGLISH = (
    # Forget what you were told.
    r"\b(?:ignore|disregard|forget|override|bypass)~(?:(?:all|any|of|the|every|my|these|those|and)~){0,3}"
    r"(?:your|previous|prior|preceding|earlier|above|former|original|initial|safety|given|system)~"
    r"(?:(?:and|all|other|your|the|system|safety|given|previous|prior|developer)~){0,3}"
    r"(?:instructions?|prompts?|rules|guidelines|directions|directives|constraints|restrictions|policy|policies"
    r"|orders|task)\b",
    r"\b(?:ignore|disregard|forget)~(?:everything|all|anything|what)~(?:(?:that|is|was|written|said)~){0,2}"
    r"(?:above|before~this|you~(?:were|have~been|know|learned))\b",
    r"\b(?:new|updated|revised|real|actual|hidden|secret|urgent|system|admin|administrator|developer)~"
    r"(?:system~)?(?:instructions?|prompt|directive|orders)\b\W{0,3}[:：]",
    r"\b(?:system|admin|administrator|safety|root)~override\W{0,2}[:!]",
    r"\b(?:enable|enter|activate|switch~to|now~in)~(?:developer|god|dan|jailbreak|unrestricted)~mode\b",
    # You are somebody else.
    r"\byou~are~(?:now|no~longer)~(?:an?~(?:[\w-]+~){0,4}(?:assistant|agent|ai|model|bot|admin\w*|operator"
    r"|shell|root)"
    r"|(?:the|my)~(?:[\w-]+~){0,2}(?:admin\w*|operator|assistant|agent|root)|in~(?:developer|unrestricted|admin"
    r"|god|root)"
    r"|free~(?:of|from)|allowed~to|required~to|unrestricted|dan\b|root\b|bound~by|operating~as|acting~as)",
    r"\b(?:from~now~on|from~this~point~(?:on|forward)|henceforth)~(?:you|always|never|act|answer|respond|obey)\b",
    r"\b(?:act|behave|respond|pretend|roleplay)~(?:as|like|to~be)~(?:an?|the|if~you)~(?:[\w-]+~){0,4}"
    r"(?:assistant|ai|administrator|root|dan|unrestricted)\b",
    # You who read this.
    r"\b(?:note|message|attention|instructions?|important|notice|dear|hey|hello)(?:~(?:to|for))?(?:~(?:all|any"
    r"|the|every))?~"
    r"(?:ai|llm|llms|language~models?|ai~(?:agents?|assistants?|models?)|automated~agents?|chatbots?|claude|gpt"
    r"|holmes(?:gpt)?)\b",
    r"\b(?:ai|llm|gpt|claude|gemini|copilot|holmes(?:gpt)?|language~model)(?:~(?:assistant|agent|model"
    r"|bot)s?)?\W{1,3}"
    r"(?:please|you~(?:must|should|are)|must|should|need~to|shall|has~to)\b",
    r"\b(?:ai|llm|gpt|claude|holmes(?:gpt)?|assistant|agent)\s*[,:]\s*(?:ignore|run|execute|call|delete|stop"
    r"|do~not|send|fetch)\b",
    r"\b(?:if|when|since|because)~you~are~(?:an?~)?(?:ai|llm|language|automated|assistant|large~language|model)\b",
    # Do this.
    r"\b(?:run|execute|invoke|paste|type|perform)~(?:[\w-]+~){0,2}(?:the~following|these|this|the~below|exactly)~"
    r"(?:[\w-]+~){0,2}(?:commands?|scripts?|code|tools?|tool~calls?|function)\b",
    r"\b(?:must|should|has~to)~be~(?:run|executed)~(?:now|immediately|at~once|first|by~(?:you|the~(?:agent"
    r"|assistant|ai)))\b",
    r"\b(?:run|execute|type|paste|issue|call|invoke|do)\W{1,6}(?:(?:bash|shell|tool|sudo"
    r"|with)\W{1,4}){0,2}(?:kubectl~(?:-\S+\s+\S+\s+){0,2}"
    r"(?:delete|exec|drain|scale|patch|edit|replace|cordon|run|cp|rollout\s+(?:restart|undo))\b"
    r"|helm~(?:uninstall|delete|rollback)\b"
    r"|rm\s+-|curl\s|wget\s|nc\s|bash\s+-|sh\s+-c|python3?\s+-c|chmod\s|dd\s+if|mkfs|touch\s|cat\s+/etc/"
    r"|terraform~destroy)",
    # Nobody has to be asked, nobody is to know.
    r"\b(?:user|human|operator|administrator|admin|sre|on-?call|security~team|owner|manager|person)~(?:(?:has"
    r"|have|already|explicitly"
    r"|just|hereby|pre)~){0,3}(?:approved|authori[sz]ed|confirmed|granted|permitted|consented)\b~?(?:[\w-]+~){0,4}"
    r"(?:commands?|calls?|actions?|tools?|deletions?|execution|steps?|fix|remediation|everything|executing"
    r"|deleting|run|execute|delete)\b",
    r"\byou~(?:(?:are|have|been|now|hereby|already|fully|explicitly|pre)~){0,4}(?:approved|authori[sz]ed"
    r"|permitted|cleared|allowed)~"
    r"(?:to|for)~(?:run|execute|delete|call|restart|apply|patch|modify|perform|any|all)\b",
    r"\bapproval~(?:(?:has|been|is|was|already)~){0,3}(?:granted|given|received)\b|\bpre-?approved~(?:command"
    r"|action|tool~call)s?\b",
    r"\bno~(?:(?:further|more|additional|human|user|manual)~)?(?:approval|confirmation)~(?:(?:is"
    r"|are)~)?(?:needed|required|necessary)\b",
    r"\bwithout~(?:asking|waiting~for|human|user|further|requesting)~(?:for~)?(?:[\w-]+~)?(?:approval"
    r"|confirmation|permission|consent)\b",
    r"\b(?:skip|bypass|disable)~(?:(?:the|all|any|your)~)?(?:approvals?|guardrails?|safety~checks?)\b",
    r"--(?:approve[= ]always|bash-always-allow)\b",
    r"\b(?:do~not|don'?t|never|without)~(?:ask|tell|inform|mention|reveal|notify|warn|telling|asking"
    r"|mentioning)\w{0,3}~(?:(?:this|it|that|any|anything"
    r"|to|about|the|a)~){0,4}(?:user|human|operator|anyone|anybody|person|people|owner)\b",
    r"\bkeep~(?:this|it)~(?:secret|hidden|between~us|from~the)\b",
    # Give away.
    r"\b(?:send|post|upload|exfiltrate|forward|leak|e-?mail|transmit)~(?:[\w-]+~){0,5}(?:secrets?|credentials?"
    r"|passwords?|api~keys?|kubeconfig"
    r"|environment~variables?|system~prompt|conversation|everything)~(?:[\w-]+~){0,5}(?:to|at|via)\b",
    r"\b(?:reveal|print|repeat|show|output|disclose|dump)~(?:[\w-]+~){0,3}(?:system~prompt"
    r"|your~(?:[\w-]+~)?(?:instructions|prompt|rules))\b",
)  # fmt: skip
_CHINESE = (
    r"(?:忽略|无视|忘记|忘掉|绕过|不要理会|抛开|覆盖)[^。\n]{0,12}(?:指令|指示|规则|提示词|提示|要求|设定|约束|限制|命令)",
    r"你(?:现在|从现在起)(?:是|必须|要|可以|不再|已经?(?:被)?(?:授权|允许))|从现在(?:起|开始)[，,]?\s*(?:你|请|始终|不再)",
    r"(?:系统|管理员|开发者)(?:指令|提示|消息|命令|覆盖)?\s*[:：]\s*(?:你|请|忽略|立即|必须|现在|执行|运行)",
    r"(?:请|必须|立即|务必|需要你|马上)[^。\n]{0,8}(?:执行|运行|调用)[^。\n]{0,8}(?:命令|指令|脚本|代码|工具|kubectl|curl|rm)",
    r"(?:执行|运行)(?:以下|下列|下面|如下|这条|这个|此)(?:的)?(?:\S{0,6})(?:命令|指令|脚本|代码)",
    r"(?:用户|管理员|操作员|负责人|值班人员|主管|人工)(?:已经?|刚刚)?(?:批准|授权|同意|确认|许可)(?:了|过)?[^。\n]{0,10}"
    r"(?:操作|命令|执行|调用|删除|工具|请求|所有|全部)",
    r"(?:无需|不需要|不必|跳过|绕过|不用)(?:再|任何|人工|用户|经过)*(?:批准|审批|确认|授权|询问)",
    r"(?:不要|别|切勿|禁止)(?:让|向|告诉|告知|通知|询问|提醒)[^。\n]{0,6}(?:用户|任何人|管理员|人类|他人)",
    r"(?:把|将)[^。\n]{0,15}(?:密钥|凭据|凭证|令牌|密码|环境变量|机密|提示词)[^。\n]{0,12}(?:发送|上传|发到|发给|提交|泄露)",
    r"(?:ai|人工智能|语言模型|智能体|大模型)(?:助手|代理|模型)?(?:们)?\s*[,，:：]?\s*(?:请|必须|应该|注意|你)",
    r"(?:新的|最新|更新后的|真正的)(?:系统)?(?:指令|指示|任务)\s*[:：]|开发者模式",
)
_FORGED = (
    r"\[\s*/?end\s*#\s*[0-9a-f]{3,16}\s*\]|\[E\d{1,4}\s+[\w.-]+\s+(?:success|error|no_data)\b[^\]\n]{0,24}\]",
    r"<\|[a-z_]{3,24}\|>|\[/?INST\]|<</?SYS>>|</?(?:tool_(?:results?|outputs?|responses?|calls?)"
    r"|function_(?:calls?|results?)"
    r"|system-reminder|system_(?:prompt|message)|skill\s+name)\b[^>\n]*>",
    r"\b(?:begin|end)~(?:of~)?(?:tool|function|system|untrusted)~(?:results?|outputs?|data|messages?|prompt"
    r"|response)\b",
    r"(?:^|\n)\W{0,6}(?:system|assistant|developer)\W{0,4}[:：]\W{0,4}(?:you|your|ignore|please|never|always|override"
    r"|the~(?:user|assistant|operator)|do~not|i~(?:will|have|am))\b",
    r"[\"']role[\"']\s*:\s*[\"'](?:system|assistant|developer|tool)[\"']",
    r"[\"']name[\"']\s*:\s*[\"'][\w.-]+[\"']\s*,\s*[\"'](?:arguments|parameters|input)[\"']\s*:",
    r"!\[[^\]\n]*\]\(\s*<?https?://[^)\s]+[?&=][^)\s]*\)|<img\s[^>\n]*src\s*=\s*[\"']?https?://[^>\n]+[?&=]",
)
_HIDDEN = (
    r"base64\s+(?:-d|-D|--decode)\b[^\n|;&]*\|\s*(?:sudo\s+)?(?:ba|z|da|k)?sh\b",
    r"\b(?:ba|z)?sh\s+-c\s+[\"']?\$\([^)\n]*base64|\beval\W{1,3}(?:\$\(|`)?[^)\n]*base64",
    r"\b(?:exec|eval)\([^)\n]*(?:b64decode|atob)|\bpowershell[^\n]*\s-e(?:nc|ncodedcommand)?\s+[a-z0-9+/=]{16}",
    r"\bdecode~(?:[\w-]+~){0,4}(?:base64|string|payload|text)?~?(?:[\w-]+~){0,2}and~(?:run|execute|follow|obey)\b",
)

_BETWEEN = r"[\s\"'`*_,.:;()>#|-]+"
# What a log puts before each line: times, levels, streams, the source in brackets.
_PREFIX = re.compile(
    r"^(?:[ \t>|#*/-]*(?:\[?\d{2,4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d)?[\d.,]*(?:Z|[+-]\d\d:?\d\d)?\]?"
    r"|\[?\d\d:\d\d:\d\d[\d.,]*\]?"
    r"|[IWEF]\d{4}|\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL)\]?:?|std(?:out|err) [FP]|\[[\w./-]{1,40}\]"
    r"|[\w.-]{1,40}\[\d{1,7}\]:)(?=[ \t]|$))+[ \t]*",
    re.M | re.I,
)
_ESCAPED = re.compile(r"\\[ntr]|\\(?=[\"'])")
_BLOB = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{24,2000}={0,2}(?![A-Za-z0-9+/])")
_SHELL = re.compile(r"\s*(?:sudo |bash |sh |curl |wget |rm -|kubectl |nc |python3? |touch |cat /|chmod |/bin/|#!)")
_PICTURE = re.compile(r"!(?=\[.{0,500}?\]\s?[(\[])", re.S)
_TAG = re.compile(r"<(?=\s*(?:img|image|picture|iframe|video|audio|object|embed|link|script|style)\b)", re.I)
_DEFINITION = re.compile(r"^( {0,3})\[(?=[^\]\n]+\]:\s*\S)", re.M)


def suspicious(text: str) -> list[str]:
    """Short quotes of what talks to the model, five at most; [] for ordinary text."""
    plain = _plain(text)
    found: list[str] = []
    last = -1
    for start, end in _spans(plain):
        if start < last:  # the same passage
            continue
        quote = plain[max(0, start - 20) : end + 60]
        found.append(one_line(quote, _WIDTH))
        last = end + 60
        if len(found) == _MOST:
            break
    return found or _decoded(text)


def without_pictures(markdown: str) -> str:
    """Markdown in which nothing is loaded by whoever shows it: a picture's address could carry data out."""
    return _DEFINITION.sub(r"\1\\[", _TAG.sub(r"\\<", _PICTURE.sub("", markdown)))


def _plain(text: str) -> str:
    """One way to write it: no log prefixes, no escapes, no look-alike widths of letters."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    if "\\" in text:
        text = _ESCAPED.sub(lambda match: "\n" if len(match[0]) > 1 else "", text)
    return _PREFIX.sub("", text)


def _spans(plain: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in _patterns().finditer(plain))


def _decoded(text: str) -> list[str]:
    """Quotes of orders and commands that stand in base64."""
    found: list[str] = []
    for blob in list(_BLOB.finditer(text))[:_BLOBS]:
        try:
            inner = base64.b64decode(blob[0] + "=" * (-len(blob[0]) % 4), validate=True).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError):
            continue
        if inner.isprintable() and (_SHELL.match(inner) or next(_spans(inner), None)):
            found.append(one_line(f"{blob[0][:40]} (base64: {inner})", _WIDTH))
    return found[:_MOST]


@cache
def _patterns() -> Any:
    import re2

    parts = (*_ENGLISH, *_CHINESE, *_FORGED, *_HIDDEN)
    options = re2.Options()
    options.max_mem = 64 << 20
    options.case_sensitive = False
    return re2.compile("|".join(f"(?:{part.replace('~', _BETWEEN)})" for part in parts), options)
