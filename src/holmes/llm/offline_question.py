"""What the offline model understands of a question."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_COUNT = re.compile(r"\bhow many\b|\bnumber of\b|\bcount\b|多少|几个|数量", re.I)
_FAULT = re.compile(
    r"\b(wrong|why|broken|fail\w*|crash\w*|restart\w*|pending|unreachable|down|slow|error\w*|issue\w*|problem\w*|"
    r"healthy|unhealthy|health|ok|okay|fine|status|stuck|not ready|unavailable|killed|oom\w*|cause|investigate|"
    r"check|diagnose|happen\w*|troubl\w*|reach\w*|start\w*|running|work\w*)\b"
    r"|为什么|为何|怎么|问题|故障|异常|重启|失败|崩溃|挂起|无法|不能|健康|正常|状态|错误|原因|检查|排查|卡住|起不来|不可用",
    re.I,
)
_NAMESPACE = re.compile(
    r"\b(?:namespaces?|ns)[ :=]+[\"'`]?([a-z0-9](?:[-a-z0-9]*[a-z0-9])?)|"
    r"[\"'`]?\b([a-z0-9](?:[-a-z0-9]*[a-z0-9])?)[\"'`]?(?= namespace\b)|"
    r"命名空间[ :：]*[\"'`“]?([a-z0-9](?:[-a-z0-9]*[a-z0-9])?)|([a-z0-9](?:[-a-z0-9]*[a-z0-9])?) ?命名空间",
    re.I,
)
_NO_NAMES = frozenset("a the this that which what every each all any same is are in of our my whole default".split())
_DEFAULT = re.compile(r"; default namespace: ([^;)]+)\)")
_NOW = re.compile(r"\n*\(Now: [^)]*\)\s*$")
_BLOCK = re.compile(r"\n*\[E\d+ .*?#(\w+)\]\n.*?\[end #\1\]", re.S)
_KINDS = (
    "pod", "deployment", "service", "node", "job", "cronjob", "statefulset", "daemonset", "configmap", "ingress",
    "namespace", "pvc", "persistentvolumeclaim", "replicaset", "event", "secret", "hpa",
)  # fmt: skip
_CHINESE_KINDS = {"节点": "node", "部署": "deployment", "服务": "service", "定时任务": "cronjob", "任务": "job",
                  "命名空间": "namespace", "容器组": "pod"}  # fmt: skip
_WORD = re.compile(r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?", re.I)


@dataclass(frozen=True, slots=True)
class Question:
    """A question as far as it is understood. ``known`` is False for what this model cannot judge."""

    text: str
    count: bool = False
    known: bool = True
    kind: str = ""
    namespace: str = ""

    def names(self, cause: Mapping[str, Any]) -> bool:
        """Whether an object of this cause is named in the question."""
        return _named(cause, self._words()) >= 0.4

    def nearest_first(self, causes: Sequence[tuple[str, Mapping[str, Any]]]) -> list[tuple[str, Mapping[str, Any]]]:
        """Causes whose objects the question names before the others; else as they are."""
        words = self._words()
        return sorted(causes, key=lambda each: -_named(each[1], words))

    def _words(self) -> set[str]:
        return {word.lower() for word in _WORD.findall(self.text) if len(word) > 2}


def read_question(content: str) -> Question:
    """Read the text of a user message; opening evidence and the note of time and cluster are not the question."""
    default = _DEFAULT.search(content)
    text = _BLOCK.sub("", _NOW.sub("", content)).strip()
    named = [name for match in _NAMESPACE.finditer(text) for name in match.groups() if name]
    namespace = next((name for name in named if name.lower() not in _NO_NAMES), "")
    return Question(
        text,
        count=bool(_COUNT.search(text)),
        known=bool(_FAULT.search(text)) or bool(named),
        kind=_kind(text),
        namespace=namespace or (default.group(1).strip() if default else ""),
    )


def _kind(text: str) -> str:
    words = [word.lower() for word in _WORD.findall(text)]
    for word in words:
        for kind in _KINDS:
            if word in (kind, f"{kind}s", f"{kind}es"):
                return kind
    return next((kind for chinese, kind in _CHINESE_KINDS.items() if chinese in text), "")


def _named(cause: Mapping[str, Any], words: set[str]) -> float:
    """How well a cause's objects are named: its own, then what follows from it, then related ones."""
    weights = [(cause["object"], 1.0)]
    weights += [(symptom["object"], 0.8) for symptom in cause.get("symptoms", ())]
    weights += [(ref, 0.5) for ref in cause.get("related", ())]
    score = max(weight * _match(str(ref["name"]), words) for ref, weight in weights)
    return score - (2.0 if cause["severity"] == "info" else 0.0)


def _match(name: str, words: set[str]) -> float:
    if name in words:
        return 1.0
    parts = set(name.split("-"))
    if any(name.startswith(f"{word}-") for word in words):
        return 0.8
    return 0.4 if parts & words else 0.0
