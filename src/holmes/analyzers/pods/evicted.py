"""Pods that were evicted, or that a node refused or lost.

Finds:
    evicted: the node ran short of memory, disk or processes and evicted pods.
    pod-rejected: a node refused pods (no room, wrong affinity, shutdown) or they were preempted.
From: failed pods with a reason of their own (Evicted, Preempting, OutOfcpu, NodeShutdown, ...), their messages.
Look-alikes: pods that failed by themselves; leftovers of evictions long ago whose workload is well (info only).
Remedy: set requests near the real use, find what fills the node; delete the leftovers.
"""

from __future__ import annotations

from collections.abc import Iterator

from holmes.analyzers.base import WORKLOADS, Facts, live_pods, ready_count, ref, spec_of, status_of
from holmes.analyzers.words import count, quoted
from holmes.core.findings import Finding, ObjectRef, Severity
from holmes.kube.cluster import Object
from holmes.kube.related import name_of, parse_time

KINDS = ("Pod", *WORKLOADS, "Node")
LOGS = False

LONG_AGO = 3600.0  # seconds
_OWN_END = ("", "DeadlineExceeded", "Error", "Completed")


def evicted(facts: Facts) -> Iterator[Finding]:
    """Failed pods that did not fail by themselves."""
    groups: dict[tuple[ObjectRef, str], list[Object]] = {}
    for pod in facts.all("Pod"):
        reason = str(status_of(pod).get("reason") or "")
        if status_of(pod).get("phase") == "Failed" and reason not in _OWN_END:
            groups.setdefault((facts.top_owner(pod), reason), []).append(pod)
    for (owner, reason), pods in groups.items():
        yield _finding(facts, owner, reason, sorted(pods, key=_time, reverse=True))


def _time(pod: Object) -> str:
    return str(status_of(pod).get("startTime") or "")


def _finding(facts: Facts, owner: ObjectRef, reason: str, pods: list[Object]) -> Finding:
    pod, message = pods[0], str(status_of(pods[0]).get("message") or "")
    living = live_pods(facts.pods_of(owner))
    ages = [facts.seconds_since(parse_time(_ended_at(item))) for item in pods]
    old = all(age is not None and age > LONG_AGO for age in ages)
    well = bool(living) and ready_count(living) == len(living)
    severity: Severity = "info" if old and well else "warning"
    if not living and owner.kind == "Pod":
        severity = "critical"
    node = spec_of(pod).get("nodeName")
    is_eviction = reason == "Evicted"
    where = f" on node {node}" if node else ""
    who = f"{owner}" if owner.kind == "Pod" else f"{count(len(pods), 'pod')} of {owner}"
    return Finding(
        cause="evicted" if is_eviction else "pod-rejected",
        object=owner,
        severity=severity,
        explanation=f"{who} {'was' if len(pods) == 1 else 'were'} "
        f"{'evicted' if is_eviction else f'refused or removed ({reason})'}{where}"
        + (f"; {ready_count(living)} of {len(living)} pods are ready now." if living else "."),
        evidence=tuple(
            line
            for line in (
                f"pod {name_of(pod)}: Failed, reason {reason}",
                quoted("message", message),
                _requests_line(pod),
            )
            if line
        ),
        remedy="Find what fills the node (memory, disk, logs, emptyDir), and set requests near the real use so that "
        "the scheduler leaves room."
        if is_eviction
        else "Read the message; the workload makes a new pod by itself when it has one.",
        confidence=0.9,
        commands=tuple(
            command
            for command in (
                f"kubectl describe node {node}" if node else "",
                f"kubectl describe pod {name_of(pod)} -n {owner.namespace}",
            )
            if command
        ),
        related=tuple(
            item for item in (*map(ref, pods[:6]), *([ObjectRef("Node", node)] if node else [])) if item != owner
        ),
    )


def _ended_at(pod: Object) -> object:
    times = [str(item.get("lastTransitionTime") or "") for item in status_of(pod).get("conditions") or []]
    return max(times, default="") or status_of(pod).get("startTime")


def _requests_line(pod: Object) -> str:
    containers = spec_of(pod).get("containers") or []
    requests = [f"{item.get('name')} {(item.get('resources') or {}).get('requests') or 'none'}" for item in containers]
    return f"spec: requests {', '.join(requests)}" if requests else ""
