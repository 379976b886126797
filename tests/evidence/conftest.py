"""Evidence of a few results, for answers to cite."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from holmes.agent.evidence import Evidence
from holmes.core.local_results import LocalResults
from holmes.core.masking import Masker
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


@pytest.fixture
def make() -> Iterator[Callable[..., Evidence]]:
    runs = []

    def evidence(*results: str | StructuredToolResult, kept: int = 32_000) -> Evidence:
        run = LocalResults(None, Masker(), kept).run("r")
        runs.append(run)
        found = Evidence(run)
        for result in results:
            made = StructuredToolResult.success(result) if isinstance(result, str) else result
            made.reference = run.next_reference()
            sink = run.sink(made.reference)
            sink.write(made.text)
            sink.finish()
            found.add("kubernetes_get", made)
        return found

    yield evidence
    for run in runs:
        run.close()


@pytest.fixture
def evidence(make: Callable[..., Evidence]) -> Evidence:
    """E1 lists pods, E2 describes one, E3 failed."""
    failed = StructuredToolResult.failure(
        "prometheus: connection refused", invocation="promql up", gaps=("metrics: not reachable",)
    )
    return make(PODS, DESCRIBE, failed)
