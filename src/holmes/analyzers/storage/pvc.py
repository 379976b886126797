"""A volume claim gets no volume.

Finds:
    storage-class-missing: the claim names a storage class that does not exist.
    no-storage-class: the claim names no class, there is no default one, and no volume fits.
    provisioning-failed: the provisioner cannot make the volume.
    pvc-pending: the claim waits for another reason (no PersistentVolume fits).
    pvc-lost: the volume of the claim is gone.
From: phase and spec of PersistentVolumeClaims, StorageClasses, PersistentVolumes, events of the claim.
Look-alikes: claims that wait for their first pod (volumeBindingMode WaitForFirstConsumer); claims seconds old.
Remedy: name an existing class, mend the provisioner, or make a volume that fits.
"""

from __future__ import annotations

from collections.abc import Iterator

from holmes.analyzers.base import WORKLOADS, Facts, is_going, ref, spec_of, status_of
from holmes.analyzers.references import claims_of
from holmes.analyzers.words import cut, event_line, listed
from holmes.core.findings import Finding
from holmes.kube.cluster import Object
from holmes.kube.related import name_of

KINDS = ("Pod", *WORKLOADS, "PersistentVolumeClaim", "PersistentVolume", "StorageClass", "Event")
LOGS = False

LONG = 120.0  # seconds that provisioning may take
SOON = 10.0
_DEFAULT = "storageclass.kubernetes.io/is-default-class"


def pvc(facts: Facts) -> Iterator[Finding]:
    """Claims that are not bound."""
    for claim in facts.all("PersistentVolumeClaim"):
        phase = status_of(claim).get("phase")
        if phase == "Lost":
            yield _finding(facts, claim, "pvc-lost", "its volume no longer exists", _LOST, 0.95)
        elif phase == "Pending" and not is_going(claim):
            yield from _pending(facts, claim)


_LOST = "The data may be gone: look for the PersistentVolume and its storage, then restore and make the claim again."


def _pending(facts: Facts, claim: Object) -> Iterator[Finding]:
    age = facts.seconds_since((claim.get("metadata") or {}).get("creationTimestamp"))
    name = spec_of(claim).get("storageClassName")
    failed = next(iter(facts.events(ref(claim), "ProvisioningFailed")), None)
    message = failed.message if failed else ""
    storage_class = facts.get("StorageClass", "", str(name)) if name else None
    if age is not None and age < SOON:
        return
    if name and (facts.is_missing("StorageClass", "", str(name)) or (str(name) in message and "not found" in message)):
        classes = [name_of(item) for item in facts.all("StorageClass")]
        have = f"there is {listed(classes)}" if classes else "the cluster has none"
        remedy = f"Make StorageClass {name}, or make the claim again with a class that exists ({have})."
        why = f"storage class {name} does not exist ({have})"
        yield _finding(facts, claim, "storage-class-missing", why, remedy, 0.97)
    elif failed:
        remedy = "Mend what the message names: the provisioner's pods, its permissions, or the parameters of the class."
        why = f"the provisioner cannot make the volume: {cut(message, 200)}"
        yield _finding(facts, claim, "provisioning-failed", why, remedy, 0.9)
    elif (
        storage_class and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer" and not _users(facts, claim)
    ):
        return
    elif not name and facts.knows_all("StorageClass", "") and not _default_class(facts):
        remedy = "Name a storage class in the claim, mark one as the default, or make a PersistentVolume that fits."
        why = "it names no storage class, the cluster has no default one, and no free PersistentVolume fits"
        yield _finding(facts, claim, "no-storage-class", why, remedy, 0.93)
    elif age is None or age > LONG:
        remedy = "Make a PersistentVolume of that class, size and access mode, or look at the class's provisioner."
        yield _finding(facts, claim, "pvc-pending", "no volume was bound to it", remedy, 0.75)


def _default_class(facts: Facts) -> bool:
    annotations = [(item.get("metadata") or {}).get("annotations") or {} for item in facts.all("StorageClass")]
    return any(item.get(_DEFAULT) == "true" for item in annotations)


def _users(facts: Facts, claim: Object) -> list[Object]:
    about = ref(claim)
    return [pod for pod in facts.all("Pod") if about in claims_of(pod)]


def _finding(facts: Facts, claim: Object, cause: str, why: str, remedy: str, confidence: float) -> Finding:
    about, spec = ref(claim), spec_of(claim)
    users = _users(facts, claim)
    waits = [str(owner) for owner in dict.fromkeys(facts.top_owner(pod) for pod in users)]
    asked = (spec.get("resources") or {}).get("requests") or {}
    name = spec.get("storageClassName")
    event = next(iter(facts.events(about, "ProvisioningFailed", "FailedBinding")), None)
    return Finding(
        cause=cause,
        object=about,
        severity="critical" if users else "warning",
        explanation=f"{about} is {status_of(claim).get('phase')}: {why}"
        f"{f'; {listed(waits)} waits for it' if waits else ''}.",
        evidence=tuple(
            line
            for line in (
                f"claim {about.name}: {status_of(claim).get('phase')}",
                f"spec: storageClassName {'not set' if name is None else name or '(none)'}, {asked.get('storage')}, "
                f"{', '.join(spec.get('accessModes') or [])}",
                event_line(event, facts.now) if event else "",
            )
            if line
        ),
        remedy=remedy,
        confidence=confidence,
        commands=(f"kubectl describe pvc {about.name} -n {about.namespace}", "kubectl get storageclass,pv"),
        related=tuple(ref(pod) for pod in users[:6]),
    )
