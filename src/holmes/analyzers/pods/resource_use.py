"""A container uses all the CPU or memory that it may.

Finds:
    cpu-at-limit: a container uses its whole CPU limit, so it is throttled and slow.
    memory-near-limit: a container uses most of its memory limit; the next growth kills it.
From: metrics of pods (metrics-server), limits of containers. Without metrics it finds nothing.
Look-alikes: short peaks at the start of a program; containers without a limit.
Remedy: raise the limit, or find what takes so much.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holmes.analyzers.base import WORKLOADS, Facts, ref
from holmes.analyzers.troubles import containers_of
from holmes.core.findings import Finding, ObjectRef
from holmes.kube.cluster import Object
from holmes.kube.quantities import bytes_text, cpu_text, quantity
from holmes.kube.related import name_of, namespace_of

KINDS = ("Pod", *WORKLOADS, "PodMetrics")
LOGS = False

FULL_CPU = 0.95  # of the limit
FULL_MEMORY = 0.9
STARTING = 60.0  # seconds


def resource_use(facts: Facts) -> Iterator[Finding]:
    """Containers at their limits, one finding for a workload and resource."""
    seen: set[tuple[ObjectRef, str]] = set()
    for metrics in facts.all("PodMetrics"):
        pod = facts.get("Pod", namespace_of(metrics), name_of(metrics))
        if pod is None:
            continue
        usage = {item.get("name"): item.get("usage") or {} for item in metrics.get("containers") or []}
        owner = facts.top_owner(pod)
        for container in containers_of(pod):
            running = facts.seconds_since(container.running.get("startedAt"))
            if running is None or running < STARTING:
                continue
            limits = (container.spec.get("resources") or {}).get("limits") or {}
            for finding in _findings(owner, pod, container.name, usage.get(container.name) or {}, limits):
                if (owner, finding.cause) not in seen:
                    seen.add((owner, finding.cause))
                    yield finding


def _findings(
    owner: ObjectRef, pod: Object, container: str, usage: dict[str, Any], limits: dict[str, Any]
) -> Iterator[Finding]:
    used, limit = quantity(usage.get("cpu")), quantity(limits.get("cpu"))
    if limit and used >= FULL_CPU * limit:
        yield _finding(
            owner,
            pod,
            "cpu-at-limit",
            f"Container {container} of {owner} uses its whole CPU limit ({cpu_text(used)} of {cpu_text(limit)}): it is "
            "throttled, and slow.",
            f"metrics of pod {name_of(pod)}: container {container} cpu {usage.get('cpu')}, limit {limits.get('cpu')}",
            f"Raise resources.limits.cpu of container {container}, run more replicas, or find what takes the CPU.",
        )
    used, limit = quantity(usage.get("memory")), quantity(limits.get("memory"))
    if limit and used >= FULL_MEMORY * limit:
        yield _finding(
            owner,
            pod,
            "memory-near-limit",
            f"Container {container} of {owner} uses {bytes_text(used)} of its memory limit of {bytes_text(limit)}: the "
            "next growth kills it.",
            f"metrics of pod {name_of(pod)}: container {container} memory {usage.get('memory')}, "
            f"limit {limits.get('memory')}",
            f"Raise resources.limits.memory of container {container}, or find what takes the memory.",
        )


def _finding(owner: ObjectRef, pod: Object, cause: str, explanation: str, evidence: str, remedy: str) -> Finding:
    return Finding(
        cause=cause,
        object=owner,
        severity="warning",
        explanation=explanation,
        evidence=(evidence,),
        remedy=remedy,
        confidence=0.8,
        commands=(f"kubectl top pod {name_of(pod)} --containers -n {owner.namespace}",),
        related=tuple(item for item in [ref(pod)] if item != owner),
    )
