"""A Service selects no pod.

Finds:
    service-selects-nothing: no pod in the namespace has the labels that the Service selects.
From: the Service's selector, labels of pods and of the templates of workloads.
Look-alikes: Services without a selector (endpoints made by hand, ExternalName); workloads that are scaled to zero or
    whose pods could not be made: their own finding is the cause.
Remedy: make the selector equal to the labels of the pods it is meant for.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from holmes.analyzers.base import WORKLOADS, Facts, is_going, ref, spec_of
from holmes.core.findings import Finding
from holmes.kube.cluster import Object
from holmes.kube.related import labels_of, name_of, namespace_of, selector_matches, selector_text

KINDS = ("Pod", *WORKLOADS, "Service")
LOGS = False

NEAR = 0.5  # how alike a selector and labels must be to be named


def service_selector(facts: Facts) -> Iterator[Finding]:
    """Services whose selector no pod and no workload meets."""
    for service in facts.all("Service"):
        selector = spec_of(service).get("selector")
        if not selector or spec_of(service).get("type") == "ExternalName" or is_going(service):
            continue
        namespace = namespace_of(service)
        if not facts.knows_all("Pod", namespace, selector_text(selector)) or facts.pods_matching(namespace, selector):
            continue
        if not any(selector_matches(selector, labels) for _, labels in _templates(facts, namespace)):
            yield _finding(facts, service)


def _templates(facts: Facts, namespace: str) -> Iterator[tuple[Object, dict[str, str]]]:
    """Workloads and the labels that their pods get."""
    for kind in ("Deployment", "StatefulSet", "DaemonSet"):
        for workload in facts.all(kind):
            if namespace_of(workload) == namespace:
                yield workload, labels_of(spec_of(workload).get("template") or {})


def _finding(facts: Facts, service: Object) -> Finding:
    about, selector = ref(service), spec_of(service)["selector"]
    wanted = selector_text(selector)
    near = _nearest(facts, service)
    evidence = [f"spec: selector {wanted}", f"pods in namespace {about.namespace} with these labels: none"]
    if near is None:
        return Finding(
            cause="service-selects-nothing",
            object=about,
            severity="warning",
            explanation=f"{about} selects {wanted}, which no pod in its namespace has: it has no endpoint.",
            evidence=tuple(evidence),
            remedy="Correct the selector, or remove the Service if its pods are gone for good.",
            confidence=0.85,
            commands=(f"kubectl get pods -n {about.namespace} --show-labels",),
        )
    workload, labels = near
    have = selector_text({key: labels[key] for key in labels if key in selector or len(labels) <= 3})
    evidence.append(f"pods of {ref(workload)}: labels {have}")
    return Finding(
        cause="service-selects-nothing",
        object=about,
        severity="critical",
        explanation=f"{about} selects {wanted}, but the pods of {ref(workload)} have {have}: it has no endpoint, and "
        "calls to it fail.",
        evidence=tuple(evidence),
        remedy=f"Make the selector of {about} equal to the labels of the pods ({have}).",
        confidence=0.95,
        commands=(
            f"kubectl get service {about.name} -n {about.namespace} -o jsonpath='{{.spec.selector}}'",
            f"kubectl get pods -n {about.namespace} --show-labels",
        ),
        related=(ref(workload),),
    )


def _nearest(facts: Facts, service: Object) -> tuple[Object, dict[str, str]] | None:
    """The workload that the Service is probably meant for: alike labels, or the same name."""
    selector = spec_of(service)["selector"]
    best: tuple[float, Object, dict[str, str]] | None = None
    for workload, labels in _templates(facts, namespace_of(service)):
        alike = [SequenceMatcher(None, value, labels[key]).ratio() for key, value in selector.items() if key in labels]
        score = sum(alike) / len(selector) + (0.5 if name_of(workload) == name_of(service) else 0)
        if score >= NEAR and (best is None or score > best[0]):
            best = (score, workload, labels)
    return (best[1], best[2]) if best else None
