"""A workload does not get its pods ready.

Finds:
    rollout-stuck: a Deployment made no progress within its progressDeadlineSeconds.
    replicas-missing: a workload has fewer ready pods than it wants for more than ten minutes.
From: conditions Progressing and Available, replica counts, ReplicaSets, ages.
Look-alikes: a rollout under way within its deadline; a workload scaled to zero; a paused rollout.
Remedy: mend the new pods (see the finding above it), or go back to the revision that worked.
"""

from __future__ import annotations

from collections.abc import Iterator

from holmes.analyzers.base import WORKLOADS, Facts, is_going, live_pods, ref, spec_of, status_of
from holmes.analyzers.words import quoted
from holmes.core.findings import Finding, Severity
from holmes.kube.cluster import Object
from holmes.kube.related import condition, duration, is_ready, name_of, namespace_of

KINDS = ("Pod", *WORKLOADS)
LOGS = False

LONG = 600.0  # seconds, the default progressDeadlineSeconds


def rollout(facts: Facts) -> Iterator[Finding]:
    """Workloads without their ready pods."""
    for kind in ("Deployment", "StatefulSet", "DaemonSet"):
        for workload in facts.all(kind):
            wanted, ready = _numbers(workload)
            if not wanted or is_going(workload):
                continue
            progressing = condition(workload, "Progressing") or {}
            if progressing.get("reason") == "ProgressDeadlineExceeded":
                yield _stuck(workload, wanted, ready, str(progressing.get("message") or ""))
            elif ready < wanted and (since := _unready_for(facts, workload)) is not None and since > LONG:
                yield _missing(workload, wanted, ready, since)


def _numbers(workload: Object) -> tuple[int, int]:
    """How many pods are wanted, and how many are ready."""
    spec, status = spec_of(workload), status_of(workload)
    if workload.get("kind") == "DaemonSet":
        return int(status.get("desiredNumberScheduled") or 0), int(status.get("numberReady") or 0)
    replicas = spec.get("replicas")
    return 1 if replicas is None else int(replicas), int(status.get("readyReplicas") or 0)


def _unready_for(facts: Facts, workload: Object) -> float | None:
    """Seconds since the oldest of its pods that are not ready became so; of the workload itself without such pods."""
    ages = []
    for pod in live_pods(facts.pods_of(ref(workload))):
        if not is_ready(pod):
            changed = (condition(pod, "Ready") or condition(pod, "PodScheduled") or {}).get("lastTransitionTime")
            ages.append(facts.seconds_since(changed or pod["metadata"].get("creationTimestamp")))
    known = [age for age in ages if age is not None]
    if known:
        return max(known)
    available = condition(workload, "Available") or {}
    if available.get("status") == "False":
        return facts.seconds_since(available.get("lastTransitionTime"))
    return facts.seconds_since(workload["metadata"].get("creationTimestamp"))


def _severity(ready: int) -> Severity:
    return "warning" if ready else "critical"


def _stuck(workload: Object, wanted: int, ready: int, message: str) -> Finding:
    about, status = ref(workload), status_of(workload)
    updated = int(status.get("updatedReplicas") or 0)
    deadline = float(spec_of(workload).get("progressDeadlineSeconds") or LONG)
    return Finding(
        cause="rollout-stuck",
        object=about,
        severity=_severity(ready),
        explanation=f"The rollout of {about} made no progress for {duration(deadline)}: {ready} of {wanted} "
        f"pods are ready, {updated} of the new revision.",
        evidence=(quoted("condition Progressing", f"ProgressDeadlineExceeded: {message}"),),
        remedy="Mend the new pods, or go back to a revision that worked (`kubectl rollout undo`).",
        confidence=0.9,
        commands=(
            f"kubectl rollout history deployment/{about.name} -n {about.namespace}",
            f"kubectl describe deployment {about.name} -n {about.namespace}",
        ),
    )


def _missing(workload: Object, wanted: int, ready: int, since: float) -> Finding:
    about, kind = ref(workload), str(workload.get("kind")).lower()
    return Finding(
        cause="replicas-missing",
        object=about,
        severity=_severity(ready),
        explanation=f"{about} has {ready} of {wanted} pods ready for {duration(since)}.",
        evidence=(f"{workload.get('kind')} {name_of(workload)}: ready {ready} of {wanted}",),
        remedy="Look at its pods that are not ready, and at its events.",
        confidence=0.7,
        commands=(f"kubectl describe {kind} {name_of(workload)} -n {namespace_of(workload)}",),
    )
