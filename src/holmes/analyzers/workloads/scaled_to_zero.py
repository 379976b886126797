"""A workload wants no pods.

Finds:
    scaled-to-zero: replicas is 0 (info: somebody or something wanted it so).
From: spec.replicas; Services that select its pods.
Look-alikes: this is the look-alike: a workload without pods that is no fault.
Remedy: nothing, if that is meant; otherwise scale it up again.
"""

from __future__ import annotations

from collections.abc import Iterator

from holmes.analyzers.base import Facts, ref, spec_of
from holmes.analyzers.words import listed
from holmes.core.findings import Finding
from holmes.kube.cluster import Object
from holmes.kube.related import name_of, namespace_of, selector_matches

KINDS = ("Deployment", "StatefulSet", "Service")
LOGS = False


def scaled_to_zero(facts: Facts) -> Iterator[Finding]:
    """Workloads with zero replicas."""
    for kind in ("Deployment", "StatefulSet"):
        for workload in facts.all(kind):
            if spec_of(workload).get("replicas") == 0:
                yield _finding(facts, workload)


def services_of(facts: Facts, workload: Object) -> list[Object]:
    """Services that would select the pods of a workload."""
    labels = ((spec_of(workload).get("template") or {}).get("metadata") or {}).get("labels") or {}
    return [
        service
        for service in facts.all("Service")
        if namespace_of(service) == namespace_of(workload)
        and (selector := spec_of(service).get("selector"))
        and selector_matches(selector, labels)
    ]


def _finding(facts: Facts, workload: Object) -> Finding:
    about = ref(workload)
    services = services_of(facts, workload)
    nobody = f", so Service {listed([name_of(item) for item in services])} has no endpoint" if services else ""
    return Finding(
        cause="scaled-to-zero",
        object=about,
        severity="info",
        explanation=f"{about} is scaled to zero{nobody}.",
        evidence=("spec: replicas 0",),
        remedy="Nothing, if that is meant; otherwise "
        f"`kubectl scale {about.kind.lower()}/{about.name} --replicas=N -n {about.namespace}`.",
        confidence=0.95,
        related=tuple(map(ref, services)),
    )
