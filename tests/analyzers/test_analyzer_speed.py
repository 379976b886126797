"""A thousand pods are analysed in less than 300 ms (given twice that here, for busy machines)."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from holmes.analyzers.base import Facts
from holmes.analyzers.registry import Analyzer
from holmes.analyzers.run import analyze, scan
from holmes.kube.snapshot import SnapshotCluster

WORKLOADS = 100
COPIES = 6  # of each pod; the healthy service has two


@pytest.fixture
def many(incident: Callable[[str], Any]) -> tuple[list[dict[str, Any]], dict[str, list[str]], Any]:
    """Copies of a healthy service, one in twenty of a crash loop, some 1,100 pods in all."""
    healthy, crash = incident("healthy"), incident("crash-loop")
    objects: list[dict[str, Any]] = []
    logs: dict[str, list[str]] = {}
    for number in range(WORKLOADS):
        source = crash if number % 20 == 0 else healthy
        name = "crash-loop" if number % 20 == 0 else "healthy"
        for obj in source.objects:
            if obj["metadata"]["name"] == "shell" or obj["kind"] == "Node":
                continue
            pods = obj["kind"] == "Pod"
            for index in range(COPIES if pods else 1):
                made = rename(obj, name, f"{name}-{number}", f"-{index}" if pods else "")
                objects.append(made)
                if pods and name == "crash-loop":
                    logs[f"shop/{made['metadata']['name']}/app.previous"] = ["2026-12-01T16:00:00Z FATAL no config"]
    return objects, logs, healthy.now


def rename(value: Any, old: str, new: str, ending: str) -> Any:
    if isinstance(value, dict):
        made = {key: rename(item, old, new, "") for key, item in value.items()}
        if ending:
            made["metadata"]["name"] += ending
        return made
    if isinstance(value, list):
        return [rename(item, old, new, "") for item in value]
    return value.replace(old, new) if isinstance(value, str) else copy.copy(value)


def test_a_thousand_pods(many: Any, analyzers: list[Analyzer]) -> None:
    objects, logs, now = many
    facts = Facts.from_objects(objects, now, logs)
    assert len(facts.all("Pod")) >= 1000
    started = time.perf_counter()
    causes = analyze(facts, analyzers)
    elapsed = time.perf_counter() - started
    assert len([cause for cause in causes if cause.finding.cause == "crash-loop"]) == 5
    assert elapsed < 0.6, elapsed


def test_a_scan_of_a_thousand_pods_reads_few_logs(many: Any) -> None:
    objects, logs, now = many
    read: list[str] = []

    class Counting(SnapshotCluster):
        async def logs(self, pod: str, namespace: str, window: Any) -> Any:
            read.append(pod)
            return await super().logs(pod, namespace, window)

    async def main() -> None:
        cluster = Counting.from_objects(objects, now=now, logs=logs)
        started = time.perf_counter()
        result = await scan(cluster, None, time.monotonic() + 20)
        assert time.perf_counter() - started < 3
        assert len(result.faults) == 5
        assert len(read) == 10  # two of each crash loop; none of 95 healthy workloads

    anyio.run(main)
