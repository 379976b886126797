"""The offline model: an LLM made of the analyzers' findings. No key, no network, no prose is read.

It drives the same loop, tools and limits as any model. It reads only the structured ``data`` of results: findings of
``scan`` and ``inspect``, counts of ``kubernetes_count``. It knows a few kinds of question (what is wrong with X, in
namespace Y, is it healthy, why is Z restarting, pending, unreachable, how many ...) in English and Chinese, and says
what it cannot judge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holmes.core.errors import ModelRefused
from holmes.core.language import Language, language_of
from holmes.core.messages import Message, ToolCall, Turn, Usage
from holmes.core.results import StructuredToolResult
from holmes.llm.base import Dialect, OnDelta, Request
from holmes.llm.offline_answer import Seen, count_answer, fault_answer, healthy_answer, unable_answer
from holmes.llm.offline_question import Question, read_question

NAME = "offline"
FOLLOW_UPS = 1
_SCAN = "holmes.scan/v1"
_LOG_CAUSES = (
    "crash-loop", "panic", "init-failing", "container-failed", "errors-in-log", "upstream", "oom-killed", "http-errors",
    "liveness-failing", "readiness-failing", "job-", "cronjob-",
)  # fmt: skip


class OfflineLLM:
    """Implements LLM. It has no state: everything is read from the messages.

    As the last resort of a model that is down it refuses what it cannot judge instead of saying so in an answer.
    """

    def __init__(self, *, last_resort: bool = False) -> None:
        self._last_resort = last_resort

    name = NAME
    window = 1_000_000
    max_output = 16_000
    dialect: Dialect = "openai"

    async def complete(self, request: Request, on_delta: OnDelta | None = None, deadline: float | None = None) -> Turn:
        """The next step: a tool call, or the answer."""
        work = _read(request)
        calls = [] if request.tool_choice == "none" else work.next_calls()
        if calls:
            return Turn(Message("assistant", "", tool_calls=tuple(calls)), "tool_calls", Usage(cost=0.0))
        if self._last_resort and not work.able:
            raise ModelRefused("the offline analysis cannot judge this")
        text = work.answer()
        if on_delta:
            on_delta(text)
        return Turn(Message("assistant", text), "stop", Usage(cost=0.0))

    async def close(self) -> None:
        """Nothing to close."""


@dataclass(slots=True)
class _Work:
    """A question and what was seen of it so far."""

    question: Question
    tools: frozenset[str]
    number: int  # of the conversation's messages: makes call ids unique
    scans: list[Seen] = field(default_factory=list)
    counts: list[Seen] = field(default_factory=list)
    others: list[Seen] = field(default_factory=list)
    failures: list[Seen] = field(default_factory=list)
    called: set[str] = field(default_factory=set)

    def next_calls(self) -> list[ToolCall]:
        """What to look at next; nothing when the question can be answered, or never."""
        if "scan" not in self.tools:
            return []
        if self.question.count:
            return self._once("kubernetes_count", self._count_args())
        if not self.question.known and not self.scans:
            return []
        if not self.scans:
            wanted = {"namespace": self.question.namespace or "all"}
            return self._once("scan", wanted) or self._once("scan everything", {"namespace": "all"})
        return self._follow_up()

    @property
    def able(self) -> bool:
        """Whether there is something to answer from."""
        return bool(self.counts if self.question.count else self.scans)

    def answer(self) -> str:
        """The answer from what was seen."""
        language = language_of(self.question.text)
        if self.question.count:
            if self.counts:
                return count_answer(self.question, self.counts[-1], language)
            return self._unable(language)
        if not self.scans:
            return self._unable(language)
        causes = self._causes()
        if any(cause["severity"] != "info" for _, cause in causes):
            return fault_answer(self.question, causes, self.scans, self.others, language)
        return healthy_answer(self.question, self.scans, [cause for _, cause in causes], language)

    def _unable(self, language: Language) -> str:
        have_cluster = "scan" in self.tools or not (self.question.known or self.question.count)
        return unable_answer(self.failures, language, have_cluster=have_cluster)

    def _causes(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Causes with their reference, those that the question is about first."""
        seen: dict[str, tuple[str, Mapping[str, Any]]] = {}
        for scan in self.scans:
            for cause in scan.data["causes"]:
                seen.setdefault(f"{cause['cause']} {cause['object']}", (scan.reference, cause))
        return self.question.nearest_first(list(seen.values()))

    def _follow_up(self) -> list[ToolCall]:
        """Once: what the first finding asks for, and whether something else is wrong beside it."""
        causes = self._causes()
        if not causes or len(self.others) + len(self.failures) >= FOLLOW_UPS:
            return []
        cause = causes[0][1]
        if cause["severity"] == "info":
            return []
        return [*self._closer_look(cause), *self._beside(cause["object"]["namespace"])]

    def _closer_look(self, cause: Mapping[str, Any]) -> list[ToolCall]:
        """The logs of its pod, else the events of its object."""
        about = cause["object"]
        pod = next((ref for ref in (about, *cause.get("related", ())) if ref["kind"] == "Pod"), None)
        if pod and cause["cause"].startswith(_LOG_CAUSES):
            return self._once("fetch_pod_logs", {"pod_name": pod["name"], "namespace": pod["namespace"], "limit": 20})
        args = {"kind": about["kind"], "name": about["name"]}
        return self._once("kubectl_events", args | ({"namespace": about["namespace"]} if about["namespace"] else {}))

    def _beside(self, namespace: str) -> list[ToolCall]:
        """The whole namespace, when only single objects were looked at: louder faults there are to be ruled out."""
        seen = {scan.data["scope"] for scan in self.scans}
        if not namespace or seen & {f"namespace {namespace}", "all namespaces"}:
            return []
        return self._once("scan", {"namespace": namespace})

    def _count_args(self) -> dict[str, str]:
        return {"kind": self.question.kind or "pods", "namespace": self.question.namespace or "all"}

    def _once(self, tool: str, args: dict[str, Any]) -> list[ToolCall]:
        name = tool.split()[0]
        key = f"{name} {sorted(args.items())}"
        if key in self.called or (self.tools and name not in self.tools and name != "kubernetes_count"):
            return []
        return [ToolCall(f"offline-{self.number}-{name}", name, args)]


def _read(request: Request) -> _Work:
    """The last question and the results that came after it."""
    start = _last_question(request.messages)
    asked = request.messages[start]
    tools = frozenset(tool.name for tool in request.tools)
    work = _Work(read_question(asked.content), tools, len(request.messages))
    for result in asked.evidence:
        _sort_in(work, "", result)
    for message in request.messages[start + 1 :]:
        for call in message.tool_calls:
            work.called.add(f"{call.name} {sorted(call.arguments.items())}")
        if message.role == "tool" and message.result is not None:
            _sort_in(work, message.tool_name, message.result)
    return work


def _last_question(messages: Sequence[Message]) -> int:
    """A person's question stands behind the system prompt or an answer, never behind a result."""
    for index in range(len(messages) - 1, -1, -1):
        before = messages[index - 1] if index else None
        behind_answer = (
            before is None or before.role == "system" or (before.role == "assistant" and not before.tool_calls)
        )
        if messages[index].role == "user" and behind_answer and not messages[index].content.startswith("A program "):
            return index
    return next(index for index, message in enumerate(messages) if message.role == "user")


def _sort_in(work: _Work, tool: str, result: StructuredToolResult) -> None:
    seen = Seen(result.reference, tool, result.data if isinstance(result.data, dict) else {}, result)
    if not result.ok:
        work.failures.append(seen)
    elif seen.data.get("schema") == _SCAN:
        work.scans.append(seen)
    elif "count" in seen.data and "preview" in seen.data:
        work.counts.append(seen)
    elif result.reference:
        work.others.append(seen)
