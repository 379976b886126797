"""Reads objects and logs of a cluster into Facts, in parallel; what is refused or cut off becomes a gap."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import anyio

from holmes.analyzers.base import Facts
from holmes.analyzers.log_needs import RECENT, TAIL, LogNeed
from holmes.core.findings import ObjectRef
from holmes.kube.cluster import Cluster, Gap, LogWindow, Object, Page

AT_ONCE = 8  # requests; each needs a connection, and making one costs more than waiting for one
LOG_BYTES = 64_000  # of a tail: 50 lines of any length
Job = Callable[[], Coroutine[Any, Any, object]]

PLURALS = {
    "Pod": "pods",
    "Event": "events",
    "ReplicaSet": "replicasets",
    "Deployment": "deployments",
    "StatefulSet": "statefulsets",
    "DaemonSet": "daemonsets",
    "Job": "jobs",
    "CronJob": "cronjobs",
    "Service": "services",
    "EndpointSlice": "endpointslices",
    "Ingress": "ingresses",
    "NetworkPolicy": "networkpolicies",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "PersistentVolume": "persistentvolumes",
    "StorageClass": "storageclasses",
    "ResourceQuota": "resourcequotas",
    "LimitRange": "limitranges",
    "HorizontalPodAutoscaler": "horizontalpodautoscalers",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "ConfigMap": "configmaps",
    "Secret": "secrets",
    "ServiceAccount": "serviceaccounts",
    "Node": "nodes",
    "Namespace": "namespaces",
}
CLUSTER_WIDE = ("Node", "Namespace", "PersistentVolume", "StorageClass")


class Reader:
    """Fills ``facts``. Whoever sets a deadline around it gets a gap for each thing that was being read then."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.facts = Facts(cluster.now)
        self._limiter = anyio.CapacityLimiter(AT_ONCE)

    async def together(self, jobs: Iterable[Job]) -> None:
        """Run all of them at once."""
        async with anyio.create_task_group() as group:
            for job in jobs:
                group.start_soon(job)

    async def list(
        self,
        kind: str,
        namespace: str | None,
        selector: str = "",
        fields: str = "",
        keep: Callable[[Object], bool] | None = None,
    ) -> None:
        """Add the objects of a list; all of them being known afterwards when there is no gap."""
        what = f"{PLURALS[kind]} in {f'namespace {namespace}' if namespace else 'all namespaces'}"
        if kind in CLUSTER_WIDE:
            what = PLURALS[kind]
        with _Unread(self.facts, what) as reading:
            async with self._limiter:
                whole = True
                async for page in self.cluster.list(PLURALS[kind], namespace, selector, fields):
                    if isinstance(page, Gap):
                        self.add_gap(page)
                        whole = False
                    else:
                        self._add(kind, page, keep)
            reading.done = True
            if whole and keep is None and not fields:
                self.facts.add_whole(kind, namespace or "", selector)

    def _add(self, kind: str, page: Page, keep: Callable[[Object], bool] | None) -> None:
        items = [item for item in page.items if keep(item)] if keep else page.items
        self.facts.add(kind, items, page.partial)

    async def get(self, about: ObjectRef) -> Object | Gap:
        """Add one object, once. That it does not exist is a fact and no gap."""
        if known := self.facts.get(about.kind, about.namespace, about.name):
            return known
        with _Unread(self.facts, str(about)) as reading:
            async with self._limiter:
                found = await self.cluster.get(PLURALS.get(about.kind, about.kind), about.name, about.namespace or None)
            reading.done = True
            if not isinstance(found, Gap):
                self.facts.add(about.kind, [found])
            elif found.reason == "not_found":
                self.facts.add_missing(about.kind, about.namespace, about.name)
            else:
                self.add_gap(found)
        return found

    async def log(self, need: LogNeed) -> None:
        """Add one log tail. A log that is not there any more is no gap."""
        window = LogWindow(
            container=need.container,
            previous=need.previous,
            tail=TAIL,
            since_seconds=RECENT if need.recent else None,
            limit_bytes=LOG_BYTES,
        )
        with _Unread(self.facts, f"log of pod {need.namespace}/{need.pod}") as reading:
            async with self._limiter:
                lines = await self.cluster.logs(need.pod, need.namespace, window)
            reading.done = True
            if not isinstance(lines, Gap):
                self.facts.add_log(need.namespace, need.pod, need.container, lines.lines, need.previous)
            elif lines.reason in ("forbidden", "unauthorized", "unreachable"):
                self.add_gap(lines)

    async def names(self, kind: str, namespace: str) -> None:
        """Add the names of all objects of a kind, without anything else of them."""
        async with self._limiter:
            table = await self.cluster.table(PLURALS[kind], namespace or None)
        if not isinstance(table, Gap):
            known = [{"metadata": {"name": name, "namespace": place}} for place, name in table.names]
            new = [item for item in known if not self.facts.get(kind, namespace, item["metadata"]["name"])]
            self.facts.add(kind, new, frozenset(["data"]))
            self.facts.add_whole(kind, namespace)

    async def metrics(self, namespace: str | None) -> None:
        """Add what metrics-server knows of pods; clusters without it have no gap for that."""
        place = f"/namespaces/{namespace}" if namespace else ""
        async with self._limiter:
            found = await self.cluster.raw(f"/apis/metrics.k8s.io/v1beta1{place}/pods")
        if not isinstance(found, Gap):
            self.facts.add("PodMetrics", found.get("items") or [])

    def add_gap(self, gap: Gap) -> None:
        """Note a gap, each once."""
        if gap not in self.facts.gaps:
            self.facts.gaps.append(gap)


class _Unread:
    """Notes a gap when its body is cut off by the deadline."""

    def __init__(self, facts: Facts, what: str) -> None:
        self._facts = facts
        self._what = what
        self.done = False

    def __enter__(self) -> _Unread:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.done:
            self._facts.gaps.append(Gap(self._what, "error", "not read in time"))
