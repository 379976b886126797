"""Runs the analyzers over a cluster: ``scan`` a namespace or all, ``inspect`` one object."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import anyio.to_thread

from holmes.analyzers.base import Facts, ref
from holmes.analyzers.changes import with_changes
from holmes.analyzers.gather import gather_object, gather_scan
from holmes.analyzers.graph import Cause, causes_of
from holmes.analyzers.health import state_of
from holmes.analyzers.registry import Analyzer, load_all
from holmes.analyzers.render import to_data, to_text
from holmes.analyzers.scan_result import ScanResult
from holmes.core.findings import Finding, ObjectRef
from holmes.kube.cluster import Cluster, Gap

__all__ = ["ScanResult", "analyze", "inspect", "scan", "to_data", "to_text"]

_COUNTED = (
    "Pod Deployment StatefulSet DaemonSet Job CronJob Service Ingress PersistentVolumeClaim HorizontalPodAutoscaler "
    "Node"
).split()


async def scan(
    cluster: Cluster, namespace: str | None, deadline: float, analyzers: Sequence[Analyzer] = ()
) -> ScanResult:
    """Look at a namespace (None: all of them) until ``deadline``, in seconds of time.monotonic()."""
    used = analyzers or load_all()
    facts = await gather_scan(cluster, namespace, [kind for item in used for kind in item.kinds], deadline)
    causes = await anyio.to_thread.run_sync(lambda: analyze(facts, used))
    return _result(facts, cluster, f"namespace {namespace}" if namespace else "all namespaces", causes)


async def inspect(
    cluster: Cluster,
    kind: str,
    name: str,
    namespace: str | None,
    deadline: float,
    analyzers: Sequence[Analyzer] = (),
) -> ScanResult:
    """Look at one object and its relatives until ``deadline``, in seconds of time.monotonic().

    ``kind`` is taken in any spelling that kubectl takes; ``namespace`` None is the context's default.
    """
    used = analyzers or load_all()
    kinds = await cluster.kinds()
    found = None if isinstance(kinds, Gap) else kinds.find(kind)
    if found and found.kind == "Namespace":
        return await scan(cluster, name, deadline, used)
    if found is None and not isinstance(kinds, Gap):
        alike = kinds.near(kind)
        hint = f"; near: {', '.join(alike)}" if alike else ""
        gap = Gap(f"{kind} {name}", "unsupported", f'the cluster has no resource type "{kind}"{hint}')
        return ScanResult(f"{kind} {name}", cluster.name, cluster.now, gaps=(gap,))
    place = "" if found and not found.namespaced else namespace or cluster.namespace
    about = ObjectRef(found.kind if found else kind, name, place)
    facts, near = await gather_object(cluster, about, deadline)
    causes = await anyio.to_thread.run_sync(lambda: _nearby(analyze(facts, used), about, near))
    result = _result(facts, cluster, str(about), causes)
    state = tuple(state_of(facts, about))
    if facts.is_missing(about.kind, about.namespace, about.name):
        return replace(result, state=state, looked_at={}, healthy={}, missing=True)
    return replace(result, state=state)


def analyze(facts: Facts, analyzers: Iterable[Analyzer]) -> list[Cause]:
    """All findings, put below their causes. Pure."""
    findings = [
        replace(finding, analyzer=item.name) if not finding.analyzer else finding
        for item in analyzers
        for finding in item.analyze(facts)
    ]
    causes = causes_of(facts, findings)
    return [replace(cause, finding=with_changes(facts, cause.finding)) for cause in causes]


def _nearby(causes: Iterable[Cause], about: ObjectRef, near: set[ObjectRef]) -> list[Cause]:
    """Causes that have to do with the inspected object: others came along because lists hold more."""

    def belongs(finding: Finding) -> bool:
        return finding.object in near or about in finding.related

    return [cause for cause in causes if any(map(belongs, (cause.finding, *cause.symptoms)))]


def _result(facts: Facts, cluster: Cluster, scope: str, causes: Sequence[Cause]) -> ScanResult:
    ill = {item for cause in causes if cause.severity != "info" for item in _named(cause)}
    looked_at = {kind: len(facts.all(kind)) for kind in _COUNTED if facts.all(kind)}
    healthy = {kind: sum(1 for obj in facts.all(kind) if ref(obj) not in ill) for kind in looked_at}
    return ScanResult(scope, cluster.name, facts.now, tuple(causes), looked_at, healthy, tuple(facts.gaps))


def _named(cause: Cause) -> set[ObjectRef]:
    """Objects that are ill by a cause: its own, those of its symptoms, and the pods that they name."""
    found: set[ObjectRef] = set()
    for finding in (cause.finding, *cause.symptoms):
        found.add(finding.object)
        found.update(item for item in finding.related if item.kind == "Pod")
    return found
