"""The offline model's words, in English and Chinese. Every sentence rests on a finding and cites its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holmes.core.language import Language
from holmes.core.results import StructuredToolResult
from holmes.llm.offline_question import Question

Cause = tuple[str, Mapping[str, Any]]  # reference of the result, the cause in it

_WORDS: dict[str, dict[Language, str]] = {
    "root": {"en": "Root cause", "zh": "根本原因"},
    "confidence": {"en": "Confidence", "zh": "置信度"},
    "high": {"en": "high", "zh": "高"},
    "medium": {"en": "medium", "zh": "中"},
    "low": {"en": "low", "zh": "低"},
    "evidence": {"en": "Evidence", "zh": "证据"},
    "ruled_out": {"en": "Ruled out", "zh": "已排除"},
    "next": {"en": "Next steps", "zh": "后续步骤"},
    "also": {"en": "Also found", "zh": "同时发现"},
    "follows": {"en": "Follows from it", "zh": "由此引起"},
    "looked": {"en": "Looked at as well", "zh": "另外查看"},
    "unrelated": {
        "en": "{object} ({cause}) is a fault of its own: nothing links it to the objects in question",
        "zh": "{object}（{cause}）是另一个独立的故障，与所问对象没有关联",
    },
    "fine": {"en": "no fault in {what}", "zh": "{what} 未发现故障"},
    "healthy": {"en": "No fault was found in {scope}", "zh": "在 {scope} 中未发现故障"},
    "looked_at": {"en": "Without a fault: {what}", "zh": "无故障：{what}"},
    "limits": {
        "en": "This is the offline analysis: it judges states, events and log lines by rules, not what a program "
        "should do.",
        "zh": "这是离线分析：它按规则判断状态、事件和日志，不能判断程序本身的业务逻辑。",
    },
    "count": {"en": "{count} {kind} in {place}", "zh": "{place} 中有 {count} 个 {kind}"},
    "everywhere": {"en": "all namespaces", "zh": "所有命名空间"},
    "namespace": {"en": "namespace {name}", "zh": "命名空间 {name}"},
    "unable": {
        "en": "This question is beyond the offline analysis. It answers what is wrong with an object or namespace, "
        "whether it is healthy, why something restarts, is pending or cannot be reached, and how many objects there "
        "are. Set a model for the rest: `holmes ask --model openai/NAME`, with OPENAI_API_KEY.",
        "zh": "离线分析无法回答这个问题。它能回答：某个对象或命名空间有什么问题、是否健康、为什么重启、挂起或无法访问，"
        "以及对象的数量。其他问题请配置模型：`holmes ask --model openai/NAME` 并设置 OPENAI_API_KEY。",
    },
    "failed": {"en": "It could not look: {why}", "zh": "未能查看：{why}"},
    "no_cluster": {
        "en": "There is no cluster to look into. `holmes doctor` says why and what to do.",
        "zh": "没有可查看的集群。`holmes doctor` 会说明原因和处理办法。",
    },
    "unclear": {
        "en": "The root cause cannot be determined from this data",
        "zh": "根据现有数据无法确定根本原因",
    },
}


@dataclass(frozen=True, slots=True)
class Seen:
    """A result with its structured data."""

    reference: str
    tool: str
    data: Mapping[str, Any]
    result: StructuredToolResult


def fault_answer(
    question: Question, causes: Sequence[Cause], scans: Sequence[Seen], others: Sequence[Seen], language: Language
) -> str:
    """The report of the first cause, and the other faults in a line each."""
    reference, cause = causes[0]
    level = "high" if cause["confidence"] >= 0.85 else "medium" if cause["confidence"] >= 0.6 else "low"
    faults = [each for each in causes[1:] if each[1]["severity"] != "info"]
    lines = [
        f"## {_say('root', language)}",
        f"{cause['explanation']} [{reference}]",
        f"{_say('confidence', language)}: {_say(level, language)}",
        "",
        f"## {_say('evidence', language)}",
        *(f"- `{line}` [{reference}]" for line in cause["evidence"]),
        *(
            f"- {_say('follows', language)}: {_unquoted(each['explanation'])} [{reference}]"
            for each in cause["symptoms"]
        ),
        *(f"- {_say('looked', language)}: {each.result.invocation or each.tool} [{each.reference}]" for each in others),
    ]
    asked = question.names(cause)
    ruled_out = [*(_unrelated(cause, faults, language) if asked else ()), *_fine(scans, language)]
    if ruled_out:
        lines += ["", f"## {_say('ruled_out', language)}", *(f"- {line}" for line in ruled_out)]
    lines += ["", f"## {_say('next', language)}", f"- {cause['remedy']}", *_commands(cause)]
    if faults:
        lines += ["", f"## {_say('also', language)}"]
        lines += [f"- {_unquoted(other['explanation'])} [{ref}]" for ref, other in faults[:5]]
    return "\n".join(lines)


def healthy_answer(
    question: Question, scans: Sequence[Seen], notes: Sequence[Mapping[str, Any]], language: Language
) -> str:
    """Nothing is wrong, and what shows it."""
    lines: list[str] = []
    for scan in scans:
        lines.append(f"{_say('healthy', language, scope=scan.data['scope'])} [{scan.reference}].")
        lines += [f"- {line} [{scan.reference}]" for line in scan.data.get("state", ())]
        lines.append(f"- {_say('looked_at', language, what=_counts(scan.data))} [{scan.reference}]")
    lines += [f"- {note['explanation']}" for note in notes[:3]]
    return "\n".join([*lines, "", _say("limits", language)])


def count_answer(question: Question, seen: Seen, language: Language) -> str:
    """How many there are."""
    place = _say("namespace", language, name=question.namespace) if question.namespace else _say("everywhere", language)
    kind = question.kind or "pod"
    plural = kind if language == "zh" or seen.data["count"] == 1 else f"{kind}{'es' if kind.endswith('s') else 's'}"
    return f"{_say('count', language, count=str(seen.data['count']), kind=plural, place=place)} [{seen.reference}]."


def unable_answer(failures: Sequence[Seen], language: Language, *, have_cluster: bool) -> str:
    """What stood in the way, or what this model does not know."""
    if not have_cluster:
        return f"{_say('unclear', language)}. {_say('no_cluster', language)}"
    if failures:
        why = failures[-1].result.error
        return f"{_say('unclear', language)}. {_say('failed', language, why=why)}"
    return _say("unable", language)


def _unrelated(cause: Mapping[str, Any], faults: Sequence[Cause], language: Language) -> list[str]:
    """Faults of other objects: loud, and not what was asked about."""
    own = {(ref["kind"], ref["name"]) for ref in (cause["object"], *cause.get("related", ()))}
    lines = []
    for reference, other in faults[:3]:
        about = other["object"]
        if (about["kind"], about["name"]) not in own:
            name = f"{about['kind']} {about['namespace']}/{about['name']}"
            text = _say("unrelated", language, object=name, cause=other["cause"])
            lines.append(f"{text} [{reference}]")
    return lines


def _fine(scans: Sequence[Seen], language: Language) -> Iterator[str]:
    for scan in scans:
        if healthy := _counts(scan.data):
            yield f"{_say('fine', language, what=healthy)} [{scan.reference}]"


def _counts(data: Mapping[str, Any]) -> str:
    healthy, looked_at = data["healthy"], data["looked_at"]
    return ", ".join(f"{healthy[kind]}/{looked_at[kind]} {kind}" for kind in looked_at if healthy[kind])


def _unquoted(text: str) -> str:
    """Without quotation marks: results show later faults shortened, and a quote must stand there word for word."""
    return text.replace('"', "'")


def _commands(cause: Mapping[str, Any]) -> list[str]:
    commands = cause.get("commands") or ()
    return ["```", *commands, "```"] if commands else []


def _say(phrase: str, language: Language, **values: str) -> str:
    return _WORDS[phrase][language].format(**values)
