"""From symptom to cause: which finding follows from which, and which comes first.

A finding that follows from another (a Service without endpoints because its pods crash) is told below it. The edges are
those of the objects: workload and pod, Service and pod, pod and node, pod and claim, caller and Service.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from holmes.analyzers.base import Facts, is_going, ref, spec_of
from holmes.core.findings import Finding, ObjectRef, Severity
from holmes.kube.cluster import Object
from holmes.kube.related import is_ready, labels_of, namespace_of, selector_matches

Edge = Literal["same", "workload", "service", "claim", "node"]
_RANK: dict[Severity, int] = {"critical": 0, "warning": 1, "info": 2}

_UPSTREAM = ("upstream-unknown", "upstream-unreachable", "upstream-errors", "upstream-external")
_QUIET = ("scaled-to-zero", "node-cordoned")  # no faults of their own, but causes of some
_ANY: tuple[str, ...] = ()
_BROKEN: Mapping[Edge, tuple[str, ...]] = {"service": _ANY, "node": ("node-not-ready",), "same": _UPSTREAM}

# symptom -> along which edges its cause may lie, and which causes count there (none named: every cause)
_FOLLOWS: dict[str, Mapping[Edge, tuple[str, ...]]] = {
    "rollout-stuck": {"same": _ANY, "node": ("node-not-ready", "node-pressure")},
    "replicas-missing": {"same": _ANY, "node": ("node-not-ready", "node-pressure")},
    "service-no-ready-endpoints": {"same": _ANY, "workload": _ANY, "node": ("node-not-ready",)},
    "pvc-not-bound": {"claim": _ANY},
    "missing-pvc": {"claim": _ANY},
    "mount-failed": {"claim": _ANY, "node": ("node-not-ready",)},
    "taint-not-tolerated": {"node": ("node-not-ready", "node-pressure")},
    "no-schedulable-node": {"node": ("node-cordoned", "node-not-ready")},
    "hpa-no-metrics": {"workload": _ANY},
    "pdb-blocks": {"workload": _ANY},
    "webhook-unreachable": {"service": _ANY},
    "upstream-unreachable": {"service": _ANY, "node": ("node-not-ready", "node-pressure")},
    "upstream-errors": {"service": _ANY},
    "evicted": {"node": ("node-pressure",)},
    "stuck-terminating": {"node": ("node-not-ready",)},
    "errors-in-log": {"same": _ANY},
    "http-errors": {"same": _UPSTREAM},
    "memory-near-limit": {"same": ("oom-killed",)},
    "job-failed": {"same": _ANY, "service": _ANY},
    "job-failing": {"same": _ANY, "service": _ANY},
    "cronjob-failing": {"same": _ANY, "service": _ANY},
    **dict.fromkeys(
        ("crash-loop", "container-failed", "panic", "init-failing", "readiness-failing", "liveness-failing"), _BROKEN
    ),
}


@dataclass(frozen=True, slots=True)
class Cause:
    """A finding that nothing else explains, and what follows from it."""

    finding: Finding
    symptoms: tuple[Finding, ...] = ()

    @property
    def severity(self) -> Severity:
        """The worst of the cause and what follows from it."""
        return min((item.severity for item in (self.finding, *self.symptoms)), key=_RANK.__getitem__)

    def as_data(self) -> dict[str, Any]:
        """JSON types."""
        return self.finding.as_data() | {"symptoms": [item.as_data() for item in self.symptoms]}


def causes_of(facts: Facts, findings: Iterable[Finding]) -> list[Cause]:
    """Findings put below their causes; the worst first, then the one that explains most, then the surest."""
    known = list(findings)
    by_object: dict[ObjectRef, list[int]] = {}
    for index, finding in enumerate(known):
        by_object.setdefault(finding.object, []).append(index)
    parents: dict[int, int] = {}
    for index in range(len(known)):
        parent = _parent(facts, known, by_object, index)
        if parent is not None and not _leads_to(parents, parent, index):
            parents[index] = parent
    below: dict[int, list[Finding]] = {}
    for index in parents:
        below.setdefault(_root(parents, index), []).append(known[index])
    causes = [
        Cause(finding, tuple(below.get(index, ()))) for index, finding in enumerate(known) if index not in parents
    ]
    return sorted(causes, key=_order)


def _order(cause: Cause) -> tuple[int, int, float, str]:
    return _RANK[cause.severity], -len(cause.symptoms), -cause.finding.confidence, str(cause.finding.object)


def _root(parents: Mapping[int, int], index: int) -> int:
    while index in parents:
        index = parents[index]
    return index


def _leads_to(parents: Mapping[int, int], start: int, goal: int) -> bool:
    """Whether following the causes from ``start`` comes to ``goal``: two that explain each other stay apart."""
    while start != goal and start in parents:
        start = parents[start]
    return start == goal


def _parent(facts: Facts, known: Sequence[Finding], by_object: Mapping[ObjectRef, list[int]], index: int) -> int | None:
    """The finding that explains this one best, None when there is none."""
    finding = known[index]
    rules = _FOLLOWS.get(finding.cause)
    if not rules:
        return None
    found: list[int] = []
    for edge, about in _edges(facts, finding):
        if edge not in rules:
            continue
        for other in by_object.get(about, ()):
            if other != index and _explains(known[other], finding, edge, rules[edge]):
                found.append(other)
    return min(found, key=lambda other: _preference(known[other]), default=None)


def _preference(finding: Finding) -> tuple[bool, int, float]:
    """Causes before symptoms, then the worst, then the surest."""
    return finding.cause in _FOLLOWS, _RANK[finding.severity], -finding.confidence


def _explains(other: Finding, finding: Finding, edge: Edge, causes: Sequence[str]) -> bool:
    if causes and other.cause not in causes:
        return False
    if other.severity == "info" and other.cause not in _QUIET:
        return False
    if edge == "same" and other.cause in _UPSTREAM and finding.cause not in ("rollout-stuck", "http-errors"):
        # A program may log failed calls and still end for another reason: they must speak of the same.
        same_line = set(other.evidence) & set(finding.evidence)
        services = {item for item in other.related if item.kind == "Service"}
        return bool(same_line or services & set(finding.related))
    if finding.cause == "hpa-no-metrics":
        return other.severity == "critical"
    return True


def _edges(facts: Facts, finding: Finding) -> Iterator[tuple[Edge, ObjectRef]]:
    """Objects on which the object of a finding depends."""
    yield "same", finding.object
    for item in finding.related:
        if item.kind == "Service":
            yield "service", item
            for workload in workloads_behind(facts, item):
                yield "service", workload
        elif item.kind == "PersistentVolumeClaim":
            yield "claim", item
        elif item.kind == "Node":
            yield "node", item
        elif item.kind == "Pod":
            obj = facts.get("Pod", item.namespace, item.name)
            yield "workload", facts.top_owner(obj) if obj else item
        else:
            yield "workload", item
    for node in dict.fromkeys(_nodes(facts, finding)):
        yield "node", node


def _nodes(facts: Facts, finding: Finding) -> Iterator[ObjectRef]:
    """Nodes of the pods in question that do not take traffic; every node for pods that find none."""
    if finding.cause in ("taint-not-tolerated", "no-schedulable-node"):
        yield from map(ref, facts.all("Node"))
    owners = [finding.object, *(item for item in finding.related if item.kind not in ("Service", "Node", "Pod"))]
    pods = [pod for owner in owners for pod in facts.pods_of(owner)]
    pods += [
        pod for item in finding.related if item.kind == "Pod" and (pod := facts.get("Pod", item.namespace, item.name))
    ]
    for pod in pods:
        if not is_ready(pod) and not is_going(pod):
            yield ObjectRef("Node", str(spec_of(pod).get("nodeName")))


def workloads_behind(facts: Facts, service: ObjectRef) -> list[ObjectRef]:
    """Workloads whose pods a Service selects, or would select if they had any."""
    obj = facts.get("Service", service.namespace, service.name)
    selector = spec_of(obj).get("selector") if obj else None
    if not selector:
        return []
    found = [facts.top_owner(pod) for pod in facts.pods_matching(service.namespace, selector)]
    found += [ref(item) for item in facts.once(_with_template) if _would_select(selector, service.namespace, item)]
    return list(dict.fromkeys(found))


def _with_template(facts: Facts) -> list[Object]:
    return [item for kind in ("Deployment", "StatefulSet", "DaemonSet") for item in facts.all(kind)]


def _would_select(selector: Mapping[str, Any], namespace: str, workload: Object) -> bool:
    template = spec_of(workload).get("template") or {}
    return namespace_of(workload) == namespace and selector_matches(selector, labels_of(template))
