"""A Service has pods, but none of them takes traffic.

Finds:
    service-no-ready-endpoints: none of the pods that the Service selects is ready.
From: EndpointSlices (else the pods' Ready condition), the Service's selector.
Look-alikes: pods that started moments ago; publishNotReadyAddresses; a workload that is scaled to zero.
Remedy: mend the pods; the Service itself is well.
"""

from __future__ import annotations

from collections.abc import Iterator

from holmes.analyzers.base import WORKLOADS, Facts, is_going, live_pods, ready_count, ref, spec_of
from holmes.analyzers.endpoints import ready_endpoints
from holmes.analyzers.troubles import STARTING
from holmes.analyzers.words import count
from holmes.core.findings import Finding
from holmes.kube.cluster import Object
from holmes.kube.related import is_ready, labels_of, name_of, namespace_of, pod_status, selector_matches

KINDS = ("Pod", *WORKLOADS, "Service", "EndpointSlice")
LOGS = False


def service_endpoints(facts: Facts) -> Iterator[Finding]:
    """Services without a ready endpoint whose pods or workload exist."""
    for service in facts.all("Service"):
        spec = spec_of(service)
        if not spec.get("selector") or spec.get("publishNotReadyAddresses") or is_going(service):
            continue
        if ready_endpoints(facts, service) or spec.get("type") == "ExternalName":
            continue
        pods = live_pods(facts.pods_matching(namespace_of(service), spec["selector"]))
        workloads = [] if pods else _workloads(facts, service)
        if (pods and not _just_started(facts, pods)) or workloads:
            yield _finding(facts, service, pods, workloads)


def _just_started(facts: Facts, pods: list[Object]) -> bool:
    ages = [facts.seconds_since((pod.get("metadata") or {}).get("creationTimestamp")) for pod in pods]
    return all(age is not None and age < STARTING for age in ages) and not any(
        "Back" in pod_status(pod) or "Err" in pod_status(pod) for pod in pods
    )


def _workloads(facts: Facts, service: Object) -> list[Object]:
    """Workloads that want pods with the selected labels and have none."""
    return [
        workload
        for kind in ("Deployment", "StatefulSet", "DaemonSet")
        for workload in facts.all(kind)
        if namespace_of(workload) == namespace_of(service)
        and spec_of(workload).get("replicas") != 0
        and selector_matches(spec_of(service)["selector"], labels_of(spec_of(workload).get("template") or {}))
    ]


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _finding(facts: Facts, service: Object, pods: list[Object], workloads: list[Object]) -> Finding:
    about = ref(service)
    owners = list(dict.fromkeys([facts.top_owner(pod) for pod in pods] or [ref(item) for item in workloads]))
    states = [f"pod {name_of(pod)}: {pod_status(pod)}{'' if is_ready(pod) else ', not ready'}" for pod in pods[:3]]
    ready = ready_count(pods)
    why = f"no pod of {owners[0]} is ready (of {len(pods)})" if pods else f"{owners[0]} has no pod"
    if ready:
        why = f"its EndpointSlices lead nowhere although {count(ready, 'pod')} of {owners[0]} {_is(ready)} ready"
    return Finding(
        cause="service-no-ready-endpoints",
        object=about,
        severity="critical",
        explanation=f"{about} has no ready endpoint: {why}.",
        evidence=(f"{about}: 0 ready endpoints", *states),
        remedy=f"Mend the pods of {owners[0]}; the Service follows by itself.",
        confidence=0.9,
        commands=(f"kubectl get endpointslices -n {about.namespace} -l kubernetes.io/service-name={about.name}",),
        related=tuple(owners),
    )
