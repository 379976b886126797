"""Collects the Facts for a scan (a namespace, or all) and for an inspection (one object and what belongs to it)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import anyio

from holmes.analyzers.base import WORKLOADS, Facts, ref, spec_of
from holmes.analyzers.follow_up import climb, follow_up, open_service
from holmes.analyzers.reader import CLUSTER_WIDE, PLURALS, Job, Reader
from holmes.analyzers.references import claims_of
from holmes.core.findings import ObjectRef
from holmes.kube.cluster import Cluster, Gap, Object
from holmes.kube.related import labels_of, name_of, namespace_of, owner, selector_matches, selector_text

# The normal events that matter: the kubelet says in them that a probe ended a container.
EVENTS = ("type=Warning", "reason=Killing")
_LATER = (
    "ConfigMap",
    "Secret",
    "ResourceQuota",
    "LimitRange",
    "StorageClass",
    "PersistentVolume",
    "Node",
    "PodMetrics",
)
_JOBS_KEPT = 3  # newest Jobs of a CronJob


async def gather_scan(cluster: Cluster, namespace: str | None, kinds: Iterable[str], deadline: float) -> Facts:
    """Facts of a namespace (None: all). ``deadline`` is in seconds of time.monotonic().

    When pods of all namespaces may not be listed, the context's own namespace is read, and the gap says so.
    """
    reader = Reader(cluster)
    with anyio.move_on_after(deadline - time.monotonic()) as scope:
        await reader.together(_lists(reader, namespace, kinds))
        if namespace is None and not reader.facts.all("Pod") and _refused(reader.facts, "pods"):
            await reader.together(_lists(reader, cluster.namespace, kinds))
        await follow_up(reader)
    _note_cut(reader, scope)
    return reader.facts


def _lists(reader: Reader, namespace: str | None, kinds: Iterable[str]) -> Iterator[Job]:
    for kind in dict.fromkeys(kinds):
        if kind == "Event":
            yield from _events(reader, namespace)
        elif kind == "Namespace" and namespace:
            yield partial(reader.get, ObjectRef(kind, namespace))
        elif kind not in _LATER and kind in PLURALS:
            yield partial(reader.list, kind, None if kind in CLUSTER_WIDE else namespace)
    yield partial(reader.metrics, namespace)


def _events(reader: Reader, namespace: str | None) -> Iterator[Job]:
    for fields in EVENTS:
        yield partial(reader.list, "Event", namespace, fields=fields)


def _refused(facts: Facts, what: str) -> bool:
    return any(gap.what.startswith(what) and gap.reason in ("forbidden", "unauthorized") for gap in facts.gaps)


def _note_cut(reader: Reader, scope: anyio.CancelScope) -> None:
    if scope.cancelled_caught:
        reader.add_gap(Gap("the rest", "error", "time was over before everything was read"))


async def gather_object(cluster: Cluster, about: ObjectRef, deadline: float) -> tuple[Facts, set[ObjectRef]]:
    """Facts of one object and its relatives, and which objects these are.

    An object that does not exist is a gap of its own; ``deadline`` is in seconds of time.monotonic().
    """
    reader = Reader(cluster)
    near: set[ObjectRef] = {about}
    with anyio.move_on_after(deadline - time.monotonic()) as scope:
        found = await reader.get(about)
        if isinstance(found, Gap):
            if found.reason == "not_found" and about.kind in PLURALS:
                await reader.names(about.kind, about.namespace)
            reader.add_gap(found)
            return reader.facts, near
        await _open(reader, found, near)
        near |= await follow_up(reader, logs=about.kind != "Node")
    _note_cut(reader, scope)
    return reader.facts, near


async def _open(reader: Reader, obj: Object, near: set[ObjectRef]) -> None:
    """Read what belongs to the object."""
    kind, namespace, spec = str(obj.get("kind")), namespace_of(obj), spec_of(obj)
    if namespace:
        await reader.together(_events(reader, namespace))
    else:
        fields = f"involvedObject.name={name_of(obj)}"
        await reader.list("Event", "default", fields=fields)
    if kind == "Pod" or kind in WORKLOADS or spec.get("template"):
        await _open_workload(reader, await climb(reader, obj, near), near)
    elif kind == "Service":
        await reader.list("Service", namespace)
        await _open_called(reader, ref(obj), near)
        await reader.list("Ingress", namespace, keep=lambda item: name_of(obj) in _ingress_services(item))
    elif kind == "Ingress":
        await reader.list("Service", namespace)
        names = [name for name in _ingress_services(obj) if reader.facts.get("Service", namespace, name)]
        await reader.together(
            partial(_open_called, reader, ObjectRef("Service", name, namespace), near) for name in names
        )
    elif kind == "HorizontalPodAutoscaler":
        target = spec.get("scaleTargetRef") or {}
        scaled = await reader.get(ObjectRef(str(target.get("kind")), str(target.get("name")), namespace))
        if isinstance(scaled, dict):
            await _open_workload(reader, scaled, near)
    elif kind == "PersistentVolumeClaim":
        await reader.list("Pod", namespace, keep=lambda pod: ref(obj) in claims_of(pod))
        await reader.together(partial(climb, reader, pod, near) for pod in reader.facts.all("Pod")[:3])
    elif kind == "Node":
        await reader.list("Pod", None, fields=f"spec.nodeName={name_of(obj)}")
    elif kind in ("PodDisruptionBudget", "NetworkPolicy"):
        chosen = spec.get("selector") or spec.get("podSelector")
        await reader.list("Pod", namespace, selector_text(chosen))


async def _open_called(reader: Reader, service: ObjectRef, near: set[ObjectRef]) -> None:
    near.add(service)
    await open_service(reader, service, near)


async def _open_workload(reader: Reader, workload: Object, near: set[ObjectRef]) -> None:
    """Pods, ReplicaSets or Jobs of a workload, and what in its namespace has to do with them."""
    near.add(ref(workload))
    namespace, labels = namespace_of(workload), _pod_labels(workload)

    def scales(item: Object) -> bool:
        target = spec_of(item).get("scaleTargetRef") or {}
        return (target.get("kind"), target.get("name")) == (workload.get("kind"), name_of(workload))

    def selects(item: Object) -> bool:
        return selector_matches(spec_of(item).get("selector") or spec_of(item).get("podSelector"), labels)

    await reader.together(
        [
            *_pods(reader, workload),
            partial(reader.list, "Service", namespace),
            partial(reader.list, "HorizontalPodAutoscaler", namespace, keep=scales),
            partial(reader.list, "PodDisruptionBudget", namespace, keep=selects),
            partial(reader.list, "NetworkPolicy", namespace, keep=selects),
            partial(reader.metrics, namespace),
        ]
    )
    facts = reader.facts
    services = [name_of(item) for item in facts.all("Service") if _takes(item, namespace, labels)]
    jobs: list[Job] = []
    if services:
        by_name = f"kubernetes.io/service-name in ({','.join(services)})"
        jobs.append(partial(reader.list, "EndpointSlice", namespace, by_name))
        keep: Callable[[Object], bool] = lambda item: bool(_ingress_services(item) & set(services))  # noqa: E731
        jobs.append(partial(reader.list, "Ingress", namespace, keep=keep))
    await reader.together(jobs)
    near.update(ObjectRef("Service", name, namespace) for name in services)
    for kind in (*WORKLOADS, "Pod", "HorizontalPodAutoscaler", "PodDisruptionBudget", "NetworkPolicy", "Ingress"):
        near.update(ref(item) for item in facts.all(kind))
    near.update(claim for pod in facts.all("Pod") for claim in claims_of(pod))
    near.update(ObjectRef("Node", str(spec_of(pod).get("nodeName"))) for pod in facts.all("Pod"))


def _pods(reader: Reader, workload: Object) -> Iterator[Job]:
    """What reads the pods of a workload and the objects between."""
    kind, namespace, name = workload.get("kind"), namespace_of(workload), name_of(workload)
    selector = selector_text(spec_of(workload).get("selector"))
    if kind == "Pod":
        return
    if kind == "CronJob":
        yield partial(_cron_pods, reader, namespace, name)
    elif selector:
        yield partial(reader.list, "Pod", namespace, selector)
        if kind not in ("ReplicaSet", "Job"):
            yield partial(reader.list, "ReplicaSet", namespace, selector)
    else:
        yield partial(reader.list, "Pod", namespace, keep=lambda pod: owner(pod) == (kind, name))


async def _cron_pods(reader: Reader, namespace: str, name: str) -> None:
    await reader.list("Job", namespace, keep=lambda job: owner(job) == ("CronJob", name))
    made = sorted(reader.facts.all("Job"), key=lambda job: str(job["metadata"].get("creationTimestamp") or ""))
    newest = [name_of(job) for job in made[-_JOBS_KEPT:]]
    if newest:
        await reader.list("Pod", namespace, f"job-name in ({','.join(newest)})")


def _pod_labels(workload: Object) -> dict[str, str]:
    """The labels that its pods have."""
    if workload.get("kind") == "Pod":
        return labels_of(workload)
    template = spec_of(workload).get("template") or {}
    return labels_of(template)


def _takes(service: Object, namespace: str, labels: dict[str, str]) -> bool:
    selector = spec_of(service).get("selector")
    return bool(selector) and namespace_of(service) == namespace and selector_matches(selector, labels)


def _ingress_services(ingress: Object) -> set[str]:
    """Names of the Services that an Ingress sends to."""
    spec = spec_of(ingress)
    backends = [spec.get("defaultBackend") or {}]
    for rule in spec.get("rules") or []:
        backends += [path.get("backend") or {} for path in (rule.get("http") or {}).get("paths") or []]
    return {str(backend["service"].get("name")) for backend in backends if backend.get("service")}
