"""A NetworkPolicy lets nothing in or out.

Finds:
    traffic-denied: pods are selected by policies that allow no incoming or no outgoing traffic at all (info).
From: NetworkPolicies of the namespace, labels of pods.
Look-alikes: policies with at least one rule; a default deny beside a policy that allows what is needed.
Remedy: add a policy that allows the traffic which is needed. (They act only where the network plugin enforces them.)
"""

from __future__ import annotations

from collections.abc import Iterator

from holmes.analyzers.base import Facts, ref, spec_of
from holmes.analyzers.words import count, listed
from holmes.core.findings import Finding
from holmes.kube.cluster import Object
from holmes.kube.related import labels_of, namespace_of, selector_matches

KINDS = ("NetworkPolicy", "Pod")
LOGS = False


def network_policy(facts: Facts) -> Iterator[Finding]:
    """Policies that deny all traffic of pods which no other policy lets through."""
    policies = facts.all("NetworkPolicy")
    for policy in policies:
        denied = [direction for direction in ("Ingress", "Egress") if _denies(policy, direction)]
        pods = [pod for pod in facts.all("Pod") if _selects(policy, pod)] if denied else []
        cut_off = {
            direction: [pod for pod in pods if not any(_allows(other, direction, pod) for other in policies)]
            for direction in denied
        }
        closed = [direction for direction in denied if cut_off[direction]]
        if closed:
            yield _finding(policy, closed, cut_off[closed[0]])


def _selects(policy: Object, pod: Object) -> bool:
    selector = spec_of(policy).get("podSelector") or {}
    return namespace_of(policy) == namespace_of(pod) and selector_matches(selector, labels_of(pod))


def _types(policy: Object) -> list[str]:
    """Which directions it governs; without policyTypes: Ingress, and Egress when it has egress rules (API)."""
    spec = spec_of(policy)
    return list(spec.get("policyTypes") or ["Ingress", *(["Egress"] if spec.get("egress") else [])])


def _denies(policy: Object, direction: str) -> bool:
    return direction in _types(policy) and not spec_of(policy).get(direction.lower())


def _allows(policy: Object, direction: str, pod: Object) -> bool:
    return direction in _types(policy) and bool(spec_of(policy).get(direction.lower())) and _selects(policy, pod)


def _finding(policy: Object, closed: list[str], pods: list[Object]) -> Finding:
    about = ref(policy)
    ways = listed([{"Ingress": "incoming", "Egress": "outgoing"}[direction] for direction in closed])
    return Finding(
        cause="traffic-denied",
        object=about,
        severity="info",
        explanation=f"{about} denies all {ways} traffic of {count(len(pods), 'pod')}, and no other policy allows any.",
        evidence=(f"spec: policyTypes {', '.join(_types(policy))}, no rules for {', '.join(closed)}",),
        remedy="If calls time out, add a NetworkPolicy that allows what is needed (for Egress also DNS, port 53).",
        confidence=0.7,
        commands=(f"kubectl describe networkpolicy {about.name} -n {about.namespace}",),
        related=tuple(ref(pod) for pod in pods[:6]),
    )
