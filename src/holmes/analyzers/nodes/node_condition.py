"""A node is not ready or short of something.

Finds:
    node-not-ready: the node's kubelet reports that it is not ready, or reports nothing any more.
    node-pressure: the node is short of memory, disk or process ids, or has no network.
    node-cordoned: the node takes no new pods (info).
From: conditions Ready, MemoryPressure, DiskPressure, PIDPressure and NetworkUnavailable, spec.unschedulable, its pods.
Look-alikes: conditions that other programs set on nodes and that Kubernetes does not know.
Remedy: look at the kubelet, the runtime and the machine; free what is short; move the pods.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from holmes.analyzers.base import Facts, ref, spec_of
from holmes.analyzers.words import count, quoted
from holmes.core.findings import Finding
from holmes.kube.cluster import Object
from holmes.kube.related import age, condition, name_of

KINDS = ("Node", "Pod", "Event")
LOGS = False

_PRESSURES = {
    "MemoryPressure": (
        "memory",
        "Find the pods that take the most memory (`kubectl top pods -A`), and set their limits.",
    ),
    "DiskPressure": ("disk space", "Free the disk: images, logs, emptyDir volumes; the kubelet evicts pods meanwhile."),
    "PIDPressure": ("process ids", "Find the pod that starts so many processes, and set a pid limit."),
    "NetworkUnavailable": ("a network", "Look at the network plugin's pod on the node."),
}


def node_condition(facts: Facts) -> Iterator[Finding]:
    """Nodes that do not serve as they should."""
    for node in facts.all("Node"):
        ready = condition(node, "Ready") or {}
        if ready and ready.get("status") != "True":
            yield _not_ready(facts, node, ready)
        for name, (what, remedy) in _PRESSURES.items():
            pressure = condition(node, name) or {}
            if pressure.get("status") == "True":
                yield _pressure(facts, node, name, what, remedy, pressure)
        if spec_of(node).get("unschedulable"):
            yield _cordoned(facts, node)


def _pods_on(facts: Facts, node: Object) -> list[Object]:
    return facts.once(_by_node).get(name_of(node), [])


def _by_node(facts: Facts) -> dict[str, list[Object]]:
    found: dict[str, list[Object]] = {}
    for pod in facts.all("Pod"):
        found.setdefault(str(spec_of(pod).get("nodeName") or ""), []).append(pod)
    return found


def _not_ready(facts: Facts, node: Object, ready: Mapping[str, Any]) -> Finding:
    pods = _pods_on(facts, node)
    since = age(ready.get("lastTransitionTime"), facts.now)
    silent = ready.get("status") == "Unknown"
    how = "its kubelet no longer reports" if silent else "its kubelet says so"
    return Finding(
        cause="node-not-ready",
        object=ref(node),
        severity="critical",
        explanation=f"{ref(node)} is not ready{f' for {since}' if since else ''}: {how}; {count(len(pods), 'pod')} "
        f"looked at here {'runs' if len(pods) == 1 else 'run'} on it.",
        evidence=(
            quoted("condition Ready", f"{ready.get('status')}, {ready.get('reason')}: {ready.get('message')}"),
            *([f"last heartbeat {age(ready.get('lastHeartbeatTime'), facts.now)} ago"] if silent else []),
        ),
        remedy="Look at the machine and its kubelet (reachable? memory, disk, container runtime); if it stays away, "
        "replace it: after five minutes its pods are moved.",
        confidence=0.97,
        commands=(
            f"kubectl describe node {name_of(node)}",
            f"kubectl get pods -A --field-selector spec.nodeName={name_of(node)}",
        ),
        related=tuple(ref(pod) for pod in pods),
    )


def _pressure(facts: Facts, node: Object, name: str, what: str, remedy: str, pressure: Mapping[str, Any]) -> Finding:
    pods = _pods_on(facts, node)
    return Finding(
        cause="node-pressure",
        object=ref(node),
        severity="critical",
        explanation=f"{ref(node)} is short of {what}{_since(facts, pressure)}; it takes no pods and may evict some.",
        evidence=(quoted(f"condition {name}", f"True, {pressure.get('reason')}: {pressure.get('message')}"),),
        remedy=remedy,
        confidence=0.95,
        commands=(f"kubectl describe node {name_of(node)}",),
        related=tuple(ref(pod) for pod in pods),
    )


def _since(facts: Facts, item: Mapping[str, Any]) -> str:
    since = age(item.get("lastTransitionTime"), facts.now)
    return f" for {since}" if since else ""


def _cordoned(facts: Facts, node: Object) -> Finding:
    return Finding(
        cause="node-cordoned",
        object=ref(node),
        severity="info",
        explanation=f"{ref(node)} is cordoned: it takes no new pods.",
        evidence=("spec: unschedulable true",),
        remedy=f"When the maintenance is over: `kubectl uncordon {name_of(node)}`.",
        confidence=0.95,
    )
