"""A program cannot reach, or gets errors from, something that it depends on: as its log says.

Finds:
    upstream-unknown: it calls a name that does not exist (no such Service).
    upstream-unreachable: a Service or node of the cluster refuses, resets or does not answer its connections.
    upstream-errors: a Service of the cluster answers with HTTP 5xx.
    upstream-external: something outside of the cluster does not resolve or answer.
From: the last lines of logs; Services, their endpoints and cluster IPs, to say who the other side is.
Look-alikes: a few failures after a start that stopped; lines without an address; calls to itself.
Remedy: look at the named Service first: it is often the cause, and the caller only its messenger.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holmes.analyzers.base import WORKLOADS, Facts, ready_count, ref
from holmes.analyzers.endpoints import ready_endpoints
from holmes.analyzers.references import near_names
from holmes.analyzers.upstreams import Calls, failed_calls
from holmes.analyzers.words import count, listed, log_line
from holmes.core.findings import Finding, ObjectRef
from holmes.kube.cluster import Object

KINDS = ("Pod", *WORKLOADS, "Service", "EndpointSlice", "Namespace")
LOGS = True

FEW = 3  # failures below this number are no finding
QUIET = 10  # lines without another failure (or half of those read): it is over
_WORDS = {
    "unknown-host": "the name does not resolve",
    "refused": "the connection is refused",
    "timeout": "no answer in time",
    "unreachable": "the connection fails",
    "status": "HTTP 5xx",
}


@dataclass(frozen=True, slots=True)
class _Case:
    pod: Object
    container: str
    previous: bool
    calls: Calls
    lines: int


def upstream_errors(facts: Facts) -> Iterator[Finding]:
    """Failed calls to others, one finding for a caller and its target."""
    groups: dict[tuple[ObjectRef, str], list[_Case]] = {}
    for (namespace, name, container, previous), lines in facts.logs():
        pod = facts.get("Pod", namespace, name)
        if pod is None:
            continue
        for calls in failed_calls(facts, namespace, lines):
            if _matters(calls, lines, previous):
                key = (facts.top_owner(pod), calls.target.key)
                groups.setdefault(key, []).append(_Case(pod, container, previous, calls, len(lines)))
    for (owner, _), cases in groups.items():
        cases.sort(key=lambda case: -case.calls.total)
        yield _finding(facts, owner, cases)


def _matters(calls: Calls, lines: Sequence[str], previous: bool) -> bool:
    if previous:  # it ended after these: the last lines count, however few
        return calls.total >= FEW or len(lines) - calls.last <= FEW
    return calls.total >= FEW and len(lines) - calls.last <= max(QUIET, len(lines) // 2)


def _finding(facts: Facts, owner: ObjectRef, cases: list[_Case]) -> Finding:
    case = cases[0]
    calls, target = case.calls, case.calls.target
    cause, who, remedy, facts_of_it, confidence = _judge(facts, owner, calls)
    lines = {log_line(item.container, item.calls.line, item.previous): None for item in cases[:2]}
    where = f" ({len(cases)} logs)" if len(cases) > 1 else ""
    address = f"{target.host}{':' + target.port if target.port else ''}"
    return Finding(
        cause=cause,
        object=owner,
        severity="warning",
        explanation=f"{owner} cannot work with {who}: {_WORDS[calls.main]} for {address} in {calls.total} of its last "
        f"{count(case.lines, 'log line')}{where}.",
        evidence=(*lines, *facts_of_it),
        remedy=remedy,
        confidence=confidence,
        commands=_commands(cause, target.service),
        related=tuple(item for item in (target.object, *_pods(owner, cases)) if item),
    )


def _pods(owner: ObjectRef, cases: Sequence[_Case]) -> list[ObjectRef]:
    return [item for item in dict.fromkeys(ref(case.pod) for case in cases[:6]) if item != owner]


def _commands(cause: str, service: ObjectRef | None) -> tuple[str, ...]:
    if service is None:
        return ()
    if cause == "upstream-unknown":
        return (f"kubectl get services -n {service.namespace}",)
    return (
        f"kubectl get endpointslices -n {service.namespace} -l kubernetes.io/service-name={service.name}",
        f"kubectl describe service {service.name} -n {service.namespace}",
    )


def _judge(facts: Facts, owner: ObjectRef, calls: Calls) -> tuple[str, str, str, list[str], float]:
    """Cause, who the other side is, remedy, what is known of it, confidence."""
    service, host = calls.target.service, calls.target.host
    if service is None and calls.target.object:
        node = calls.target.object
        remedy = f"Look at {node} and its kubelet: is it ready, and is it busy? Look at network policies as well."
        return "upstream-unreachable", str(node), remedy, [], 0.7
    if service is None:
        remedy = (
            f"Check from a pod that {host} resolves and answers; look at network policies, egress and {host} itself."
        )
        return "upstream-external", f"{host}, which is outside of the cluster", remedy, [], 0.7
    if facts.is_missing("Service", service.namespace, service.name):
        near = near_names(facts, service)
        hint = f" There is {listed(near)}: perhaps the name is misspelt." if near else ""
        remedy = f"Correct the address in the configuration of {owner}, or make {service}.{hint}"
        return "upstream-unknown", f"{service}, which does not exist", remedy, [], 0.9
    obj = facts.get("Service", service.namespace, service.name)
    if obj is None:
        cause = "upstream-unknown" if calls.main == "unknown-host" else "upstream-unreachable"
        return cause, str(service), f"Look at {service}: does it exist, and has it ready endpoints?", [], 0.6
    ready = ready_endpoints(facts, obj)
    pods = facts.pods_matching(service.namespace, (obj.get("spec") or {}).get("selector"))
    known = [f"{service}: {count(ready, 'ready endpoint')}, {ready_count(pods)} of {count(len(pods), 'pod')} ready"]
    if calls.main == "status":
        workload = facts.top_owner(pods[0]) if pods else service
        remedy = f"Read the log of {workload}: it answers, but with errors; {owner} only reports them."
        return "upstream-errors", str(service), remedy, known, 0.85
    if not ready:
        return "upstream-unreachable", f"{service}, which has no ready endpoint", f"Mend {service} first.", known, 0.85
    remedy = (
        f"Compare the port that {owner} calls with the ports of {service} and of its pods; look at network policies."
    )
    return "upstream-unreachable", str(service), remedy, known, 0.7
