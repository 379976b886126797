"""Reports of answers to cite two results, one of them a failure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holmes.agent.approval import Refusal
from holmes.agent.evidence import Evidence
from holmes.agent.history import Facts
from holmes.agent.loop import Answer, AnswerStatus
from holmes.agent.reporting import build_report
from holmes.core.messages import Usage
from holmes.core.report import Report
from holmes.core.result_store import ResultSink, Stored
from holmes.core.results import StructuredToolResult

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
FACTS = Facts("run-1", "some-model", "prod", Usage(100, 20, cost=0.25), {"usage": {}})


class Results:
    """Results in memory."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def next_reference(self) -> str:
        return f"E{len(self.texts) + 1}"

    def sink(self, reference: str) -> ResultSink:
        raise AssertionError("nothing is written here")

    def stored(self, reference: str) -> Stored | None:
        text = self.texts.get(reference)
        return None if text is None else Stored(reference, len(text), 1, text)

    def contains(self, reference: str, text: str) -> bool:
        return text in self.texts.get(reference, "")

    def close(self) -> None:
        """Nothing to close."""


def looked() -> tuple[StructuredToolResult, ...]:
    pod = StructuredToolResult.success(
        "Reason: OOMKilled, exit code 137, limit 64Mi", invocation="kubectl describe pod checkout-1", size=44
    )
    metrics = StructuredToolResult.failure("no metrics", invocation="kubectl top pods", gaps=("events: forbidden",))
    return pod, metrics


@pytest.fixture
def report() -> Callable[..., Report]:
    def build(
        text: str,
        status: AnswerStatus = "answered",
        why: str = "",
        question: str = "Why is checkout failing?",
        results: tuple[StructuredToolResult, ...] | None = None,
        refusals: tuple[Refusal, ...] = (),
        **more: Any,
    ) -> Report:
        store = Results()
        evidence = Evidence(store)
        for result in looked() if results is None else results:
            result.reference = store.next_reference()
            store.texts[result.reference] = result.text
            evidence.add("kubernetes", result)
        answer = Answer(text, status, why, evidence.check(text, question), 3)
        return build_report(question, answer, evidence, refusals, FACTS, START, START + timedelta(seconds=9))

    return build
