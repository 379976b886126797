"""An object was deleted and does not go away.

Finds:
    stuck-terminating: a deleted object is still there after its grace period, held by finalizers, its node or its use.
From: deletionTimestamp, finalizers, status of namespaces, node of pods, pods that use a claim.
Look-alikes: objects within their grace period and a minute.
Remedy: mend the controller that owns the finalizer; only then, and knowing what it guards, take the finalizer away.
"""

from __future__ import annotations

from collections.abc import Iterator

from holmes.analyzers.base import Facts, is_going, ref, spec_of, status_of
from holmes.analyzers.references import claims_of
from holmes.analyzers.words import listed, quoted
from holmes.core.findings import Finding
from holmes.kube.cluster import Object
from holmes.kube.related import condition, duration, name_of

KINDS = ("Pod", "Namespace", "PersistentVolumeClaim", "PersistentVolume", "Service", "Node", "Job", "Deployment")
LOGS = False

PATIENCE = 60.0  # seconds after deletionTimestamp (of pods: after their grace period)
_NOT = ("Event", "PodMetrics", "EndpointSlice")
_NAMESPACE: tuple[str, ...] = (
    "NamespaceContentRemaining",
    "NamespaceFinalizersRemaining",
    "NamespaceDeletionDiscoveryFailure",
)
_NAMESPACE += ("NamespaceDeletionGroupVersionParsingFailure", "NamespaceDeletionContentFailure")


def stuck_terminating(facts: Facts) -> Iterator[Finding]:
    """Deleted objects that stay."""
    for kind in facts.kinds():
        if kind in _NOT:
            continue
        for obj in facts.all(kind):
            since = facts.seconds_since(obj["metadata"].get("deletionTimestamp")) if is_going(obj) else None
            if since is not None and since > PATIENCE:
                yield _finding(facts, obj, since)


def _finding(facts: Facts, obj: Object, since: float) -> Finding:
    about, finalizers = ref(obj), [str(item) for item in obj["metadata"].get("finalizers") or []]
    why, remedy, evidence = _why(facts, obj, finalizers)
    place = f" -n {about.namespace}" if about.namespace else ""
    node = facts.get("Node", "", str(spec_of(obj).get("nodeName"))) if about.kind == "Pod" else None
    return Finding(
        cause="stuck-terminating",
        object=about,
        severity="warning",
        explanation=f"{about} was deleted and is still there after {duration(since)}: {why}.",
        evidence=(f"metadata: deletionTimestamp {obj['metadata']['deletionTimestamp']}", *evidence),
        remedy=remedy,
        confidence=0.93,
        commands=(f"kubectl get {about.kind.lower()} {about.name}{place} -o yaml",),
        related=(ref(node),) if node else (),
    )


def _why(facts: Facts, obj: Object, finalizers: list[str]) -> tuple[str, str, list[str]]:
    """Why it stays, what to do, evidence."""
    about = ref(obj)
    held = [f"metadata: finalizers {', '.join(finalizers)}"] if finalizers else []
    if about.kind == "Namespace":
        found = [item for name in _NAMESPACE if (item := condition(obj, name)) and item.get("status") == "True"]
        evidence = [quoted(f"condition {item.get('type')}", item.get("message")) for item in found]
        remedy = "Mend or remove what still lives in it (its finalizers, or an API that does not answer)."
        return "its contents cannot be removed", remedy, [*held, *evidence]
    if about.kind == "PersistentVolumeClaim" and "kubernetes.io/pvc-protection" in finalizers:
        users = [name_of(pod) for pod in facts.all("Pod") if about in claims_of(pod)]
        by = f"pod {listed(users)} uses it" if users else "it counts as in use"
        return by, "End the pods that use it: the claim goes by itself then.", held
    if finalizers:
        place = f" -n {about.namespace}" if about.namespace else ""
        owner = f"the controller of {listed(finalizers)}"
        remedy = (
            f"See whether {owner} runs and what it waits for. Only when what it guards is gone: "
            f"`kubectl patch {about.kind.lower()} {about.name}{place} "
            '--type=merge -p \'{"metadata":{"finalizers":null}}\'`.'
        )
        return f"finalizer {listed(finalizers)} holds it, and nobody takes it away", remedy, held
    if about.kind == "Pod":
        node = str(spec_of(obj).get("nodeName") or "")
        evidence = [f"spec: nodeName {node}", f"status: phase {status_of(obj).get('phase')}"]
        why = f"the kubelet of node {node} has not confirmed that it ended"
        return why, f"Look at node {node}: is it ready, and does its container runtime answer?", evidence
    return "it is not removed", "Look at the controllers that depend on it.", held
