"""Objects of a query: the list, and the one that a name means."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from holmes.kube.builtin_kinds import builtin_kinds
from holmes.kube.cluster import Cluster, Gap, Object
from holmes.kube.related import name_of, namespace_of, owned_by, pods_of, service_pods
from holmes.toolsets.kubernetes.query import Query, Unanswered

WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job", "ReplicaSet", "Rollout")
LOOKED_FOR = ("deployments", "statefulsets", "daemonsets", "cronjobs", "jobs", "replicasets", "services")


@dataclass(slots=True)
class Listed:
    """Objects and what was not seen of them."""

    items: list[Object] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    note: str = ""  # how the name was understood

    @property
    def told(self) -> tuple[str, ...]:
        """The gaps as a result takes them."""
        return tuple(str(gap) for gap in self.gaps)


async def listed(cluster: Cluster, query: Query) -> Listed:
    """All objects of a query; Unanswered when nothing could be seen: a refusal is never an empty list."""
    found = Listed()
    async for page in cluster.list(query.resource, query.namespace, query.selector, query.fields):
        if isinstance(page, Gap):
            found.gaps.append(page)
        else:
            found.items += page.items
    if found.gaps and not found.items:
        raise Unanswered(str(found.gaps[0]), *found.gaps)
    return found


async def seen(cluster: Cluster, query: Query) -> list[Object] | None:
    """The objects, for hints; None when they may not be seen: nothing must be said of them then."""
    try:
        return (await listed(cluster, query)).items
    except Unanswered:
        return None


def query_for(kind: str, namespace: str | None, name: str = "") -> Query:
    """The query of a built-in kind, of all objects or of one name."""
    found = builtin_kinds().find(kind)
    assert found is not None
    scope = namespace if found.namespaced else None
    return Query(found, namespace=scope, fields=f"metadata.name={name}" if name else "")


async def locate(cluster: Cluster, query: Query) -> Listed:
    """The objects that a name means: one, several of that name in several namespaces, or a workload's pods.

    The default namespace is looked at first, then all of them. Nothing is left when there is none of that name;
    Unanswered when it could not be seen whether there is.
    """
    found = Listed()
    scopes = [query] if query.chosen or query.namespace is None else [query, replace(query, namespace=None)]
    for scope in scopes:
        for name in dict.fromkeys([query.name, query.name.lower()]):
            found = await named(cluster, replace(scope, name=name))
            if not found.items and query.kind.kind == "Pod" and not query.kind.group:
                pods = await pods_of_name(cluster, replace(scope, name=name))
                found = Listed(pods.items, found.gaps or pods.gaps, pods.note)
            if found.items:
                return found
    if found.gaps:
        raise Unanswered(str(found.gaps[0]), *found.gaps)
    return found


async def named(cluster: Cluster, query: Query) -> Listed:
    """Objects of exactly that name."""
    if query.namespace is not None or not query.kind.namespaced:
        answer = await cluster.get(query.resource, query.name, query.namespace)
        if isinstance(answer, Gap):
            return Listed(gaps=[] if answer.reason == "not_found" else [answer])
        return Listed([answer])
    result = Listed()
    async for page in cluster.list(query.resource, None, query.selector, f"metadata.name={query.name}"):
        if isinstance(page, Gap):
            result.gaps.append(page)
        else:
            result.items += page.items
    return result


async def pods_of_name(cluster: Cluster, query: Query) -> Listed:
    """Pods of the workload (or else the Service) of that name, or pods whose name begins with it."""
    kinds = [query.owner.plural] if query.owner and query.owner.kind != "Pod" else LOOKED_FOR
    owners = await asyncio.gather(*(seen(cluster, query_for(kind, query.namespace, query.name)) for kind in kinds))
    candidates = [owner for group in owners for owner in group or ()]
    found = await listed(cluster, query_for("pods", query.namespace))
    pods = found.items
    for services in (False, True):
        owners_of_kind = [owner for owner in candidates if (owner.get("kind") == "Service") is services]
        select = service_pods if services else pods_of
        chosen = {full_name(pod): pod for owner in owners_of_kind for pod in select(owner, pods)}
        if chosen:
            told = ", ".join(f"{owner.get('kind')} {full_name(owner)}" for owner in owners_of_kind)
            return Listed(list(chosen.values()), found.gaps, f"pods of {told}")
    begun = [pod for pod in pods if len(query.name) > 2 and name_of(pod).startswith(query.name)]
    if candidates and not begun and not found.gaps:
        owner = candidates[0]
        there = f"{owner.get('kind')} {full_name(owner)}"
        raise Unanswered(f"{there} exists and has no pods; kubectl_describe it, its events say why")
    return Listed(begun, found.gaps, f"pods whose name begins with {query.name}" if begun else "")


async def involved_objects(cluster: Cluster, obj: Object) -> list[Object]:
    """An object and what it brought about: replica sets, jobs and pods, for events."""
    namespace = namespace_of(obj)
    if obj.get("kind") not in WORKLOADS or not namespace:
        return [obj]
    pods, sets, jobs = await asyncio.gather(
        *(seen(cluster, query_for(kind, namespace)) for kind in ("pods", "replicasets", "jobs"))
    )
    return [obj, *(item for item in (*(sets or ()), *(jobs or ())) if owned_by(item, obj)), *pods_of(obj, pods or ())]


def full_name(obj: Object) -> str:
    """``namespace/name``, or the name of a cluster-wide object."""
    namespace = namespace_of(obj)
    return f"{namespace}/{name_of(obj)}" if namespace else name_of(obj)


def in_one_namespace(found: Listed, query: Query) -> None:
    """Unanswered when a name means objects of several namespaces, and only those of one can be meant."""
    namespaces = sorted({namespace_of(obj) for obj in found.items})
    if len(namespaces) > 1:
        names = ", ".join(full_name(obj) for obj in found.items[:10])
        what = f'"{query.name}" is in {len(namespaces)} namespaces ({names})'
        raise Unanswered(f"{what}; give the namespace: {', '.join(namespaces)}")
