"""Reports of answers that may cite two results, one of them a failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from holmes.agent.approval import Refusal
from holmes.agent.evidence import Evidence
from holmes.agent.history import Facts
from holmes.agent.loop import Answer, AnswerStatus
from holmes.agent.reporting import build_report
from holmes.core.local_results import LocalResults
from holmes.core.masking import Masker
from holmes.core.messages import Usage
from holmes.core.report import Report
from holmes.core.results import StructuredToolResult

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
FACTS = Facts("run-1", "some-model", "prod", Usage(100, 20, cost=0.25), {"usage": {}})


def looked() -> tuple[StructuredToolResult, ...]:
    pod = StructuredToolResult.success(
        "Reason: OOMKilled, exit code 137, limit 64Mi", invocation="kubectl describe pod checkout-1", size=44
    )
    metrics = StructuredToolResult.failure("no metrics", invocation="kubectl top pods", gaps=("events: forbidden",))
    return pod, metrics


@pytest.fixture
def report() -> Iterator[Callable[..., Report]]:
    runs = []

    def build(
        text: str,
        status: AnswerStatus = "answered",
        why: str = "",
        question: str = "Why is checkout failing?",
        results: tuple[StructuredToolResult, ...] | None = None,
        refusals: tuple[Refusal, ...] = (),
    ) -> Report:
        run = LocalResults(None, Masker()).run("r")
        runs.append(run)
        evidence = Evidence(run)
        for result in looked() if results is None else results:
            result.reference = run.next_reference()
            sink = run.sink(result.reference)
            sink.write(result.text)
            sink.finish()
            evidence.add("kubernetes", result)
        answer = Answer(text, status, why, evidence.check(text, question), 3)
        return build_report(question, answer, evidence, refusals, FACTS, START, START + timedelta(seconds=9))

    yield build
    for run in runs:
        run.close()
