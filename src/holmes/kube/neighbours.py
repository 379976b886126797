"""Fetches what belongs to an object: its events, its owners, and the objects that explain its state."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holmes.kube.cluster import Cluster, Gap, Object
from holmes.kube.related import is_ready, name_of, namespace_of, owned_by, owner, pods_of, selector_text

_MAX_OBJECTS = 2000
_MAX_OWNERS = 4

Related = Mapping[str, Sequence[Object] | Gap]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """``related`` is by plural (``pods``); a Gap there is what could not be looked at."""

    events: Sequence[Object] | Gap = ()
    owners: Sequence[tuple[str, str]] = ()
    related: Related = field(default_factory=dict)


async def neighbours_of(cluster: Cluster, obj: Object) -> Neighbours:
    """Everything that a digest of the object needs, fetched in parallel."""
    own, owners, related = await asyncio.gather(
        events_of(cluster, obj), owners_of(cluster, obj), related_of(cluster, obj)
    )
    return Neighbours(own, owners, related)


async def collect(
    cluster: Cluster, kind: str, namespace: str | None, selector: str = "", fields: str = ""
) -> list[Object] | Gap:
    """The objects of a list, at most 2000; a Gap when it could not be read to there."""
    found: list[Object] = []
    async for page in cluster.list(kind, namespace, selector, fields):
        if isinstance(page, Gap):
            return page
        found += page.items
        if len(found) >= _MAX_OBJECTS:
            break
    return found


async def events_of(cluster: Cluster, obj: Object) -> list[Object] | Gap:
    """Events about the object itself, oldest first as the server gives them."""
    # Events of cluster-wide objects are kept in the namespace default.
    fields = f"involvedObject.name={name_of(obj)},involvedObject.kind={obj.get('kind')}"
    return await collect(cluster, "events", namespace_of(obj) or "default", fields=fields)


async def owners_of(cluster: Cluster, obj: Object) -> list[tuple[str, str]]:
    """Owners from the nearest to the topmost, as far as they can be read."""
    chain: list[tuple[str, str]] = []
    above = owner(obj)
    while above and above not in chain and len(chain) < _MAX_OWNERS:
        chain.append(above)
        if above[0] in ("Deployment", "StatefulSet", "DaemonSet", "CronJob", "Node"):
            break  # hardly ever owned by anything: not worth a request
        found = await cluster.get(above[0], above[1], namespace_of(obj) or None)
        above = None if isinstance(found, Gap) else owner(found)
    return chain


async def related_of(cluster: Cluster, obj: Object) -> Related:
    """The objects that explain this one's state, by plural."""
    kind, namespace, spec = obj.get("kind"), namespace_of(obj), obj.get("spec") or {}
    if kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "Rollout"):
        return await _of_workload(cluster, obj, selector_text(spec.get("selector")))
    if kind == "CronJob":
        return await _of_cron_job(cluster, obj)
    if kind == "Service" and spec.get("selector"):
        return await _lists(
            cluster,
            pods=("pods", namespace, selector_text(spec["selector"])),
            endpointslices=("endpointslices", namespace, f"kubernetes.io/service-name={name_of(obj)}"),
        )
    if kind == "Service":
        slices = ("endpointslices", namespace, f"kubernetes.io/service-name={name_of(obj)}")
        return await _lists(cluster, endpointslices=slices)
    if kind == "Node":
        return {"pods": await collect(cluster, "pods", None, fields=f"spec.nodeName={name_of(obj)}")}
    if kind == "PersistentVolumeClaim":
        return await _of_claim(cluster, obj)
    if kind == "Ingress":
        return await _lists(
            cluster, services=("services", namespace, ""), endpointslices=("endpointslices", namespace, "")
        )
    if kind == "HorizontalPodAutoscaler":
        target = spec.get("scaleTargetRef") or {}
        return {"target": await _one(cluster, str(target.get("kind")), str(target.get("name")), namespace)}
    return {}


async def _lists(cluster: Cluster, **wanted: tuple[str, str | None, str]) -> dict[str, Sequence[Object] | Gap]:
    """Several lists in parallel: name = (kind, namespace, selector)."""
    found = await asyncio.gather(*(collect(cluster, *where) for where in wanted.values()))
    return dict(zip(wanted, found, strict=True))


async def _one(cluster: Cluster, kind: str, name: str, namespace: str) -> list[Object] | Gap:
    found = await cluster.get(kind, name, namespace)
    return found if isinstance(found, Gap) else [found]


async def _of_workload(cluster: Cluster, obj: Object, selector: str) -> Related:
    namespace = namespace_of(obj)
    wanted: dict[str, tuple[str, str | None, str]] = {"pods": ("pods", namespace, selector)}
    if obj.get("kind") in ("Deployment", "Rollout"):
        wanted["replicasets"] = ("replicasets", namespace, selector)
    found = await _lists(cluster, **wanted)
    pods, sets = found["pods"], found.get("replicasets", [])
    if not isinstance(sets, Gap) and "replicasets" in found:
        found["replicasets"] = sets = [item for item in sets if owned_by(item, obj)]
    if not isinstance(pods, Gap):
        found["pods"] = pods = pods_of(obj, pods)
    members = [item for group in (sets, pods) if not isinstance(group, Gap) for item in group if not is_ready(item)]
    if members:
        found["warnings"] = await _warnings(cluster, namespace, members)
    return found


async def _warnings(cluster: Cluster, namespace: str, members: Sequence[Object]) -> list[Object] | Gap:
    """Warnings about the parts of a workload: they say why pods are missing or not ready."""
    events = await collect(cluster, "events", namespace, fields="type=Warning")
    if isinstance(events, Gap):
        return events
    names = {(str(item.get("kind")), name_of(item)) for item in members}
    return [event for event in events if _involved(event) in names]


def _involved(event: Object) -> tuple[str, str]:
    involved: Mapping[str, Any] = event.get("involvedObject") or {}
    return str(involved.get("kind")), str(involved.get("name"))


async def _of_cron_job(cluster: Cluster, obj: Object) -> Related:
    found = await _lists(cluster, jobs=("jobs", namespace_of(obj), ""), pods=("pods", namespace_of(obj), ""))
    jobs, pods = found["jobs"], found["pods"]
    if not isinstance(jobs, Gap):
        found["jobs"] = [job for job in jobs if owned_by(job, obj)]
    if not isinstance(pods, Gap):
        found["pods"] = pods_of(obj, pods)
    return found


async def _of_claim(cluster: Cluster, obj: Object) -> Related:
    spec, namespace = obj.get("spec") or {}, namespace_of(obj)
    found = await _lists(cluster, pods=("pods", namespace, ""), storageclasses=("storageclasses", None, ""))
    pods = found["pods"]
    if not isinstance(pods, Gap):
        found["pods"] = [pod for pod in pods if name_of(obj) in claims_of(pod)]
    if spec.get("volumeName"):
        found["persistentvolumes"] = await _one(cluster, "persistentvolumes", str(spec["volumeName"]), namespace)
    elif (obj.get("status") or {}).get("phase") == "Pending":
        found["persistentvolumes"] = await collect(cluster, "persistentvolumes", None)
    return found


def claims_of(pod: Object) -> list[str]:
    """Names of the PersistentVolumeClaims that a pod mounts."""
    volumes = (pod.get("spec") or {}).get("volumes") or []
    return [
        str((volume["persistentVolumeClaim"] or {}).get("claimName"))
        for volume in volumes
        if volume.get("persistentVolumeClaim")
    ]
