"""Runs the analyzers over a cluster: ``scan`` a namespace or all, ``inspect`` one object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import anyio.to_thread

from holmes.analyzers.base import Facts, ref
from holmes.analyzers.changes import with_changes
from holmes.analyzers.gather import gather_object, gather_scan
from holmes.analyzers.graph import Cause, causes_of
from holmes.analyzers.health import state_of
from holmes.analyzers.registry import Analyzer, load_all
from holmes.core.findings import Finding, ObjectRef
from holmes.kube.cluster import Cluster, Gap

SCHEMA = "holmes.scan/v1"
_COUNTED = ("Pod", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "Service", "Ingress", "Node")
_COUNTED += ("PersistentVolumeClaim", "HorizontalPodAutoscaler")


@dataclass(frozen=True)
class ScanResult:
    """What the analyzers say.

    ``causes`` come with their symptoms, the worst first. ``looked_at`` and ``healthy`` count objects by kind: all, and
    those that no fault names. ``state`` is what an inspected object is like. ``gaps`` are what could not be looked at.
    """

    scope: str
    cluster: str
    now: datetime
    causes: tuple[Cause, ...] = ()
    looked_at: Mapping[str, int] = field(default_factory=dict)
    healthy: Mapping[str, int] = field(default_factory=dict)
    gaps: tuple[Gap, ...] = ()
    state: tuple[str, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings that nothing else explains."""
        return tuple(cause.finding for cause in self.causes)

    @property
    def faults(self) -> tuple[Cause, ...]:
        """Causes that are more than information."""
        return tuple(cause for cause in self.causes if cause.severity != "info")

    @property
    def blind(self) -> bool:
        """Nothing could be looked at."""
        return bool(self.gaps) and not sum(self.looked_at.values())

    def as_data(self) -> dict[str, Any]:
        """JSON types, for results and reports."""
        return {
            "schema": SCHEMA,
            "scope": self.scope,
            "cluster": self.cluster,
            "now": self.now.isoformat(),
            "causes": [cause.as_data() for cause in self.causes],
            "looked_at": dict(self.looked_at),
            "healthy": dict(self.healthy),
            "state": list(self.state),
            "gaps": [{"what": gap.what, "reason": gap.reason, "message": gap.message} for gap in self.gaps],
        }


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
    place = "" if found and not found.namespaced else namespace or cluster.namespace
    about = ObjectRef(found.kind if found else kind, name, place)
    facts, near = await gather_object(cluster, about, deadline)
    causes = await anyio.to_thread.run_sync(lambda: _nearby(analyze(facts, used), about, near))
    result = _result(facts, cluster, str(about), causes)
    return replace(result, state=tuple(state_of(facts, about)))


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
