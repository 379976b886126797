"""A HorizontalPodAutoscaler does not work.

Finds:
    hpa-no-metrics: it cannot get or use the metrics that it scales by.
    hpa-target-missing: what it is to scale does not exist.
    hpa-at-max: it runs the most replicas that it may, and the load is still above its target (info).
From: conditions ScalingActive, AbleToScale and ScalingLimited, current metrics, spec.
Look-alikes: the first minute of an autoscaler; scaling switched off by zero replicas.
Remedy: set requests on the target's containers, run metrics-server, or correct scaleTargetRef.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from holmes.analyzers.base import Facts, is_going, ref, spec_of, status_of
from holmes.analyzers.words import cut, quoted
from holmes.core.findings import Finding, ObjectRef
from holmes.kube.cluster import Object
from holmes.kube.related import condition

KINDS = ("HorizontalPodAutoscaler", "Deployment", "StatefulSet", "Pod", "Event")
LOGS = False

YOUNG = 45.0  # seconds: the first metrics of a new pod take as long


def hpa(facts: Facts) -> Iterator[Finding]:
    """Autoscalers that cannot scale."""
    for item in facts.all("HorizontalPodAutoscaler"):
        if is_going(item):
            continue
        able = condition(item, "AbleToScale") or {}
        active = condition(item, "ScalingActive") or {}
        limited = condition(item, "ScalingLimited") or {}
        if able.get("status") == "False" and able.get("reason") == "FailedGetScale":
            yield _no_target(item, str(able.get("message") or ""))
        elif active.get("status") == "False" and active.get("reason") != "ScalingDisabled":
            since = facts.seconds_since((item.get("metadata") or {}).get("creationTimestamp"))
            if since is None or since > YOUNG:
                yield _no_metrics(item, active)
        elif limited.get("status") == "True" and limited.get("reason") == "TooManyReplicas":
            yield _at_max(item, limited)


def _target(item: Object) -> ObjectRef:
    target: Mapping[str, Any] = spec_of(item).get("scaleTargetRef") or {}
    return ObjectRef(str(target.get("kind")), str(target.get("name")), ref(item).namespace)


def _commands(item: Object) -> tuple[str, ...]:
    return (f"kubectl describe hpa {ref(item).name} -n {ref(item).namespace}",)


def _no_target(item: Object, message: str) -> Finding:
    about, target = ref(item), _target(item)
    return Finding(
        cause="hpa-target-missing",
        object=about,
        severity="critical",
        explanation=f"{about} scales nothing: its target {target} cannot be read "
        f"({cut(message.rpartition(': ')[2], 120)}).",
        evidence=(quoted("condition AbleToScale", f"FailedGetScale: {message}"), f"spec: scaleTargetRef {target}"),
        remedy=f"Correct scaleTargetRef of {about}, or make {target}.",
        confidence=0.95,
        commands=_commands(item),
        related=(target,),
    )


def _no_metrics(item: Object, active: Mapping[str, Any]) -> Finding:
    about, target, message = ref(item), _target(item), str(active.get("message") or "")
    if "missing request for" in message:
        resource = message.partition("missing request for ")[2].partition(" ")[0]
        why = f"the containers of {target} set no {resource} request, so there is no share to compare"
        remedy = f"Set resources.requests.{resource} on every container of {target}."
    elif "no metrics returned" in message or "unable to fetch metrics" in message or "metrics API" in message:
        why = "the metrics API gives no metrics for its pods"
        remedy = "Check that metrics-server (or the metrics adapter) runs: `kubectl top pods` must answer."
    else:
        why = cut(message.rpartition(": ")[2] or str(active.get("reason")), 160)
        remedy = "Mend what the message names: the metric, its adapter, or the pods that give it."
    return Finding(
        cause="hpa-no-metrics",
        object=about,
        severity="warning",
        explanation=f"{about} cannot scale {target}: {why}.",
        evidence=(quoted("condition ScalingActive", f"{active.get('reason')}: {message}"),),
        remedy=remedy,
        confidence=0.95,
        commands=_commands(item),
        related=(target,),
    )


def _at_max(item: Object, limited: Mapping[str, Any]) -> Finding:
    about, target, status = ref(item), _target(item), status_of(item)
    current = [metric.get("resource") or {} for metric in status.get("currentMetrics") or []]
    use = ", ".join(
        f"{part.get('name')} {(part.get('current') or {}).get('averageUtilization')}%" for part in current if part
    )
    return Finding(
        cause="hpa-at-max",
        object=about,
        severity="info",
        explanation=f"{about} runs its maximum of {spec_of(item).get('maxReplicas')} replicas of {target}, and the "
        f"load asks for more{f' ({use})' if use else ''}.",
        evidence=(quoted("condition ScalingLimited", f"TooManyReplicas: {limited.get('message')}"),),
        remedy="If the load is real, raise maxReplicas or the resources of each replica.",
        confidence=0.8,
        commands=_commands(item),
        related=(target,),
    )
