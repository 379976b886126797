"""Evidence of a few results, for answers to cite."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holmes.agent.evidence import Evidence
from holmes.core.result_store import ResultSink, Stored
from holmes.core.results import StructuredToolResult

PODS = """NAME         READY   STATUS             RESTARTS
checkout-1   0/1     CrashLoopBackOff   17
checkout-2   1/1     Running            0
"""
DESCRIBE = """Last State:  Terminated
  Reason:    OOMKilled
  Exit Code: 137
Limits:
  memory: 64Mi
spec.containers[0].resources.limits.memory
image: registry.example/checkout:v1.34.4
Started: 2026-01-02T10:42:07Z
requests: 1024 in total, 256 failed, 1,500 ms at most, load 0.5
"""


class Results:
    """Results in memory."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts

    def next_reference(self) -> str:
        return f"E{len(self.texts) + 1}"

    def sink(self, reference: str) -> ResultSink:
        raise AssertionError("nothing is written here")

    def stored(self, reference: str) -> Stored | None:
        text = self.texts.get(reference)
        return None if text is None else Stored(reference, len(text), text.count("\n"), text)

    def contains(self, reference: str, text: str) -> bool:
        return " ".join(text.split()) in " ".join(self.texts.get(reference, "").split())

    def close(self) -> None:
        """Nothing to close."""


@pytest.fixture
def make() -> Callable[..., Evidence]:
    def evidence(*results: str | StructuredToolResult) -> Evidence:
        made = [StructuredToolResult.success(text) if isinstance(text, str) else text for text in results]
        found = Evidence(Results({f"E{number}": result.text for number, result in enumerate(made, 1)}))
        for number, result in enumerate(made, 1):
            result.reference = f"E{number}"
            found.add("kubernetes_get", result)
        return found

    return evidence


@pytest.fixture
def evidence(make: Callable[..., Evidence]) -> Evidence:
    """E1 lists pods, E2 describes one, E3 failed."""
    failed = StructuredToolResult.failure(
        "prometheus: connection refused", invocation="promql up", gaps=("metrics: not reachable",)
    )
    return make(PODS, DESCRIBE, failed)
