"""A pod finds no node.

Finds:
    insufficient-cpu: no node has the CPU that the pod requests.
    insufficient-memory: no node has the memory that the pod requests.
    insufficient-resource: no node has another resource that it requests (GPU, storage, number of pods).
    node-selector-mismatch: no node has the labels that nodeSelector or node affinity ask for.
    taint-not-tolerated: the nodes have taints that the pod does not tolerate.
    no-schedulable-node: the nodes are cordoned (unschedulable).
    pod-affinity-unsatisfied: affinity, anti-affinity or spreading rules between pods leave no node.
    host-port-taken: the host port is in use on every node.
    missing-pvc: the pod mounts a volume claim that does not exist.
    pvc-not-bound: the pod waits for a volume claim that is not bound.
    volume-elsewhere: the volume is tied to a zone or node that the pod cannot use.
    scheduling-gated: a scheduling gate holds the pod back.
    not-scheduled: no scheduler has looked at the pod.
    unschedulable: another reason.
From: condition PodScheduled and event FailedScheduling, requests, selectors and tolerations of the pod, labels, taints
    and allocatable resources of nodes.
Look-alikes: a pod that was made seconds ago; taints of control plane nodes beside the real reason.
Remedy: lower the request or add capacity; correct the rule that excludes the nodes; make the claim.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from holmes.analyzers.base import WORKLOADS, Facts, is_going, live_pods, ready_count, ref, spec_of, status_of
from holmes.analyzers.references import claims_of
from holmes.analyzers.words import count, cut, event_line, listed, quoted
from holmes.core.findings import Finding, ObjectRef
from holmes.kube.cluster import Object
from holmes.kube.quantities import bytes_text, cpu_text, quantity
from holmes.kube.related import condition, labels_of, name_of

KINDS = ("Pod", *WORKLOADS, "Event", "Node", "PersistentVolumeClaim")
LOGS = False

SOON = 10.0  # seconds that a scheduler may take
_PART = re.compile(r"(?:(\d+) )?(?:node\(s\) )?(.+)")
_CLAIM = re.compile(r'persistentvolumeclaim "([^"]+)" (not found|bound to non-existent)')
_CAUSES: tuple[tuple[str, str], ...] = (
    ("persistentvolumeclaim ", "missing-pvc"),
    ("unbound immediate PersistentVolumeClaims", "pvc-not-bound"),
    ("didn't find available persistent volumes", "pvc-not-bound"),
    ("volume node affinity conflict", "volume-elsewhere"),
    ("no available volume zone", "volume-elsewhere"),
    ("Insufficient cpu", "insufficient-cpu"),
    ("Insufficient memory", "insufficient-memory"),
    ("Insufficient ", "insufficient-resource"),
    ("Too many pods", "insufficient-resource"),
    ("exceed max volume count", "insufficient-resource"),
    ("node affinity/selector", "node-selector-mismatch"),
    ("untolerated taint", "taint-not-tolerated"),
    ("were unschedulable", "no-schedulable-node"),
    ("anti-affinity", "pod-affinity-unsatisfied"),
    ("pod affinity", "pod-affinity-unsatisfied"),
    ("topology spread", "pod-affinity-unsatisfied"),
    ("free ports", "host-port-taken"),
)


@dataclass(frozen=True, slots=True)
class _Pending:
    facts: Facts
    pods: list[Object]
    owner: ObjectRef
    cause: str
    message: str

    @property
    def pod(self) -> Object:
        return self.pods[0]


def unschedulable(facts: Facts) -> Iterator[Finding]:
    """Pending pods without a node."""
    groups: dict[tuple[ObjectRef, str], _Pending] = {}
    for pod in facts.all("Pod"):
        if status_of(pod).get("phase") != "Pending" or spec_of(pod).get("nodeName") or is_going(pod):
            continue
        cause, message = _reason(facts, pod)
        if cause:
            owner = facts.top_owner(pod)
            group = groups.setdefault((owner, cause), _Pending(facts, [], owner, cause, message))
            group.pods.append(pod)
    for group in groups.values():
        yield _finding(group)


def _reason(facts: Facts, pod: Object) -> tuple[str, str]:
    """Cause and the scheduler's words; "" when it is too early to say."""
    scheduled = condition(pod, "PodScheduled") or {}
    event = next(iter(facts.events(ref(pod), "FailedScheduling")), None)
    message = str(scheduled.get("message") or (event.message if event else ""))
    if scheduled.get("reason") == "SchedulingGated":
        return "scheduling-gated", message
    if not message:
        age = facts.seconds_since((pod.get("metadata") or {}).get("creationTimestamp"))
        return ("not-scheduled" if age is not None and age > SOON else ""), ""
    return main_cause(message), message


def main_cause(message: str) -> str:
    """The cause that excludes the most nodes; claims come first, taints of control planes last."""
    body = message.partition(" nodes are available: ")[2] or message
    body = re.split(r"\. (?:preemption|no new claims)", body)[0]
    weights: dict[str, int] = {}
    for part in body.rstrip(".").split(", "):
        found = _PART.match(part)
        cause = next((cause for words, cause in _CAUSES if words in part), "")
        if found and cause:
            is_usual = cause == "taint-not-tolerated" and "control-plane" in part
            weight = int(found[1] or 1) * (0 if is_usual else 1) + (1000 if "pvc" in cause else 0)
            weights[cause] = weights.get(cause, 0) + weight
    return max(weights, key=lambda cause: weights[cause], default="unschedulable")


def _finding(group: _Pending) -> Finding:
    facts, pod, owner = group.facts, group.pod, group.owner
    pods = live_pods(facts.pods_of(owner)) or [pod]
    why, remedy, evidence = _TEXTS[group.cause](group)
    several = f" ({len(group.pods)} of {count(len(pods), 'pod')})" if len(pods) > 1 else ""
    event = next(iter(facts.events(ref(pod), "FailedScheduling")), None)
    lines = [f"pod {name_of(pod)}: Pending, no node", quoted("condition PodScheduled", group.message), *evidence]
    if event and event.message != group.message:
        lines.append(event_line(event, facts.now))
    claims = claims_of(pod) if "pvc" in group.cause or group.cause == "volume-elsewhere" else []
    return Finding(
        cause=group.cause,
        object=owner,
        severity="warning" if ready_count(pods) else "critical",
        explanation=f"{owner}{several} finds no node: {why}.",
        evidence=tuple(line for line in lines if line),
        remedy=remedy,
        confidence=0.95 if group.message else 0.6,
        commands=(f"kubectl describe pod {name_of(pod)} -n {owner.namespace}", "kubectl get nodes -o wide"),
        related=tuple(item for item in (*map(ref, group.pods[:6]), *claims) if item != owner),
    )


_Text = tuple[str, str, list[str]]  # why, remedy, evidence


def _resource(name: str, unit: Callable[[float], str]) -> Callable[[_Pending], _Text]:
    def text(group: _Pending) -> _Text:
        wanted = _request(group.pod, name)
        room = [(quantity((status_of(node).get("allocatable") or {}).get(name)), name_of(node)) for node in
                group.facts.all("Node")]  # fmt: skip
        asked = f"it requests {unit(wanted)} {name}" if wanted else f"too little {name} is free"
        evidence = [f"spec: requests {name} {unit(wanted)}"] if wanted else []
        if not room:
            return f"{asked}, which no node has free", _capacity_remedy(name), evidence
        largest, node = max(room)
        evidence.append(f"node {node}: allocatable {name} {unit(largest)} (the largest of {count(len(room), 'node')})")
        if wanted > largest:
            remedy = (
                f"Lower requests.{name} of {group.owner} below {unit(largest)}, or add a node that is large enough."
            )
            return f"{asked}, more than any node has at all ({unit(largest)} on {node})", remedy, evidence
        return f"{asked}, and other pods have requested what the nodes have", _capacity_remedy(name), evidence

    return text


def _request(pod: Object, name: str) -> float:
    """What a pod requests: the sum of its containers, or its largest init container."""

    def of(containers: list[Object]) -> list[float]:
        asked = [((item.get("resources") or {}).get("requests") or {}).get(name) for item in containers]
        return [quantity(value) for value in asked]

    spec = spec_of(pod)
    return max([sum(of(spec.get("containers") or [])), *of(spec.get("initContainers") or [])])


def _capacity_remedy(name: str) -> str:
    return f"Add nodes, lower requests.{name} to what is really used, or remove workloads that hold it."


def _selector(group: _Pending) -> _Text:
    spec = spec_of(group.pod)
    wanted = spec.get("nodeSelector") or {}
    evidence = [f"spec: nodeSelector {key}={value}" for key, value in wanted.items()]
    if affinity := (spec.get("affinity") or {}).get("nodeAffinity"):
        evidence.append(quoted("spec: nodeAffinity", affinity.get("requiredDuringSchedulingIgnoredDuringExecution")))
    nodes = group.facts.all("Node")
    for key, value in wanted.items():
        have = sorted({labels_of(node)[key] for node in nodes if key in labels_of(node)})
        if nodes and value not in have:
            evidence.append(f"nodes: label {key} is {listed(have) if have else 'on no node'}")
    asked = ", ".join(f"{key}={value}" for key, value in wanted.items())
    why = f"no node has the label {asked}" if asked else "no node matches its node affinity"
    return (
        why,
        "Label a node (`kubectl label node NAME key=value`) or correct nodeSelector/affinity of the workload.",
        evidence,
    )


def _taint(group: _Pending) -> _Text:
    taints = {
        f"node {name_of(node)}: taint {taint.get('key')}{'=' if taint.get('value') else ''}{taint.get('value') or ''}"
        f":{taint.get('effect')}"
        for node in group.facts.all("Node")
        for taint in spec_of(node).get("taints") or []
        if taint.get("effect") != "PreferNoSchedule"
    }
    tolerated = [str(item.get("key")) for item in spec_of(group.pod).get("tolerations") or [] if item.get("key")]
    own = [key for key in tolerated if not key.startswith("node.kubernetes.io/")]
    evidence = [*sorted(taints)[:4], f"spec: tolerations {', '.join(own) or 'none of its own'}"]
    names = sorted({line.partition("taint ")[2] for line in taints})
    why = f"the nodes have taints that it does not tolerate{' (' + listed(names) + ')' if names else ''}"
    return why, "Add a toleration for that taint if the pod belongs there, or let it run on other nodes.", evidence


def _cordoned(group: _Pending) -> _Text:
    names = [name_of(node) for node in group.facts.all("Node") if spec_of(node).get("unschedulable")]
    why = f"the nodes are cordoned{' (' + listed(names) + ')' if names else ''}"
    remedy = "If the maintenance is over, make them schedulable again: `kubectl uncordon NODE`; otherwise add a node."
    return why, remedy, [f"node {name}: spec.unschedulable true" for name in names[:4]]


def _affinity(group: _Pending) -> _Text:
    spec = spec_of(group.pod)
    rules = [kind for kind in ("podAffinity", "podAntiAffinity") if (spec.get("affinity") or {}).get(kind)]
    rules += ["topologySpreadConstraints"] if spec.get("topologySpreadConstraints") else []
    why = f"its rules between pods ({listed(rules) or 'affinity'}) leave no node"
    remedy = (
        "Add a node, run fewer replicas, or make the rule a preference (preferredDuringScheduling..., ScheduleAnyway)."
    )
    return why, remedy, [f"spec: {rule} is set" for rule in rules]


def _port(group: _Pending) -> _Text:
    ports = [
        str(port["hostPort"])
        for container in spec_of(group.pod).get("containers") or []
        for port in container.get("ports") or []
        if port.get("hostPort")
    ]
    why = f"host port {listed(ports) or 'asked for'} is in use on every node that it may use"
    remedy = "Take the hostPort out (a Service is enough for most), or run at most one such pod on each node."
    return why, remedy, [f"spec: hostPort {port}" for port in ports]


def _missing_claim(group: _Pending) -> _Text:
    found = _CLAIM.search(group.message)
    name = found[1] if found else next((claim.name for claim in claims_of(group.pod)), "?")
    why = f"it mounts the volume claim {name}, which does not exist"
    remedy = f"Make PersistentVolumeClaim {group.owner.namespace}/{name}, or correct claimName in the pod's volumes."
    return why, remedy, [f"spec: a volume uses persistentVolumeClaim {name}"]


def _unbound(group: _Pending) -> _Text:
    waiting = []
    for claim in claims_of(group.pod):
        obj = group.facts.get(claim.kind, claim.namespace, claim.name)
        if obj is not None and status_of(obj).get("phase") != "Bound":
            waiting.append(claim.name)
    why = f"its volume claim {listed(waiting) or 'of the pod'} is not bound to a volume"
    remedy = "Find why the claim is not bound: storage class, provisioner, or a matching PersistentVolume."
    return why, remedy, [f"claim {name}: not Bound" for name in waiting]


def _other_resource(group: _Pending) -> _Text:
    found = re.search(r"Insufficient ([^\s,]+?)[.,]?(?:\s|$)|(Too many pods|exceed max volume count)", group.message)
    what = (found[1] or "pods or volumes") if found else "a resource"
    return f"no node has enough of {what}", f"Add nodes that have {what}, or free it on those that do.", []


def _unknown(group: _Pending) -> _Text:
    return cut(group.message.rstrip("."), 200), "Mend what the scheduler's message names.", []


def _plain(why: str, remedy: str) -> Callable[[_Pending], _Text]:
    return lambda group: (why, remedy, [])


_TEXTS: dict[str, Callable[[_Pending], _Text]] = {
    "insufficient-cpu": _resource("cpu", cpu_text),
    "insufficient-memory": _resource("memory", bytes_text),
    "insufficient-resource": _other_resource,
    "node-selector-mismatch": _selector,
    "taint-not-tolerated": _taint,
    "no-schedulable-node": _cordoned,
    "pod-affinity-unsatisfied": _affinity,
    "host-port-taken": _port,
    "missing-pvc": _missing_claim,
    "pvc-not-bound": _unbound,
    "volume-elsewhere": _plain(
        "its volume is tied to a node or zone that it cannot use",
        "Let the pod run where the volume is, or make the volume anew (volumeBindingMode WaitForFirstConsumer).",
    ),
    "scheduling-gated": _plain("a scheduling gate holds it back", "Look at the controller that sets the gate."),
    "not-scheduled": _plain(
        "no scheduler has looked at it", "Look at spec.schedulerName and whether that scheduler runs (kube-system)."
    ),
    "unschedulable": _unknown,
}
