"""The names of a cluster's objects, cheaply: from the API server's tables, not the objects."""

from __future__ import annotations

import anyio

from holmes.core.findings import ObjectRef
from holmes.kube.cluster import Cluster, Gap

KINDS = (
    "Namespace",
    "Node",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "CronJob",
    "Job",
    "Service",
    "Ingress",
    "HorizontalPodAutoscaler",
    "PersistentVolumeClaim",
    "Pod",
)


async def inventory(cluster: Cluster, namespace: str | None = None) -> tuple[list[ObjectRef], list[Gap]]:
    """Every object that a person is likely to name, and the kinds that could not be listed.

    When all namespaces may not be listed, the context's own one is.
    """
    found: dict[str, list[ObjectRef]] = {}
    gaps: list[Gap] = []

    async def read(kind: str) -> None:
        table = await cluster.table(kind, namespace)
        if isinstance(table, Gap) and namespace is None and table.reason == "forbidden":
            gaps.append(table)
            table = await cluster.table(kind, cluster.namespace)
        if isinstance(table, Gap):
            gaps.append(table)
        else:
            found[kind] = [ObjectRef(kind, name, space) for space, name in table.names]

    async with anyio.create_task_group() as tasks:
        for kind in KINDS:
            tasks.start_soon(read, kind)
    return [ref for kind in KINDS for ref in found.get(kind, [])], gaps
