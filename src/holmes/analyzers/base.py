"""What analyzers look at, and the form that they have.

An analyzer is a module with one plain function of the module's own name:

    def oom_killed(facts: Facts) -> Iterator[Finding]

beside it stand ``KINDS`` (the kinds of objects that it needs, as a tuple) and ``LOGS`` (whether it reads log lines).
Its docstring has a title line and four parts, which the documentation is made of:

    Finds:        one line for each cause, ``cause-name: when``
    From:         the facts that it reads
    Look-alikes:  what is similar and no fault
    Remedy:       what usually helps

It never waits, never reads the clock (``facts.now``) and never changes an object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from holmes.core.findings import Finding, ObjectRef
from holmes.kube.cluster import Gap, Object
from holmes.kube.related import is_ready, labels_of, name_of, namespace_of, owner, parse_time, selector_matches

Analyze = Callable[["Facts"], Iterable[Finding]]
T = TypeVar("T")

WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob")
_CLIMBS = frozenset(
    [*WORKLOADS, "ReplicationController", "Rollout"]
)  # owners above these (custom resources) say little about a fault


@dataclass(frozen=True, slots=True)
class KubeEvent:
    """One event of the cluster, from either events API. ``last`` is None where the source has no time."""

    reason: str
    message: str
    warning: bool
    count: int
    last: datetime | None
    field: str = ""  # spec.containers{app}

    @property
    def container(self) -> str:
        """The container that it is about, "" for the whole object."""
        return self.field.partition("{")[2].rstrip("}")


def ref(obj: Object) -> ObjectRef:
    """Which object this is."""
    return ObjectRef(str(obj.get("kind") or ""), name_of(obj), namespace_of(obj))


class Facts:
    """Objects, events and log tails of one moment, with quick lookups.

    ``gaps`` say what could not be looked at. Absence means something only where ``is_missing`` says so.
    """

    def __init__(self, now: datetime, gaps: Iterable[Gap] = ()) -> None:
        self.now = now
        self.gaps: list[Gap] = list(gaps)
        self._objects: dict[str, dict[tuple[str, str], Object]] = {}
        self._whole: set[tuple[str, str]] = set()  # (kind, namespace) whose list was complete; "" = all namespaces
        self._missing: set[tuple[str, str, str]] = set()
        self._partial: dict[str, frozenset[str]] = {}
        self._logs: dict[tuple[str, str, str, bool], Sequence[str]] = {}
        self._derived: dict[Any, Any] = {}  # by what is computed, from objects and logs
        self._owners: dict[int, tuple[Object, ObjectRef]] = {}  # top owners by id of the object, which stays alive here

    @classmethod
    def from_objects(
        cls,
        objects: Iterable[Object],
        now: datetime,
        logs: Mapping[str, Sequence[str]] | None = None,
        gaps: Iterable[Gap] = (),
    ) -> Facts:
        """Facts that are complete: what is not among ``objects`` does not exist.

        ``logs`` has lines by ``namespace/pod/container``, ``container.previous`` for the container before.
        """
        facts = cls(now, gaps)
        by_kind: dict[str, list[Object]] = {}
        for obj in objects:
            by_kind.setdefault(str(obj.get("kind")), []).append(obj)
        for kind, items in by_kind.items():
            facts.add(kind, items)
        facts._whole.add(("*", ""))
        for place, lines in (logs or {}).items():
            namespace, pod, container = place.split("/")
            facts.add_log(namespace, pod, container.removesuffix(".previous"), lines, container.endswith(".previous"))
        return facts

    # What is put in

    def add(self, kind: str, items: Iterable[Object], partial: frozenset[str] = frozenset()) -> None:
        """Objects of one kind; items of typed lists carry no kind of their own. The same object twice counts once."""
        place = self._objects.setdefault(kind, {})
        for item in items:
            obj = item if item.get("kind") else {**item, "kind": kind}
            place[(namespace_of(obj), name_of(obj))] = obj
        if partial:
            self._partial[kind] = self.partial(kind) | partial
        self._derived.clear()
        self._owners.clear()

    def add_whole(self, kind: str, namespace: str = "", selector: str = "") -> None:
        """The list of a kind in a namespace ("" = everywhere), or what a label selector takes of it, was complete."""
        self._whole.add((f"{kind}?{selector}" if selector else kind, namespace))

    def add_missing(self, kind: str, namespace: str, name: str) -> None:
        """The API server said that this object does not exist."""
        self._missing.add((kind, namespace, name))

    def add_log(self, namespace: str, pod: str, container: str, lines: Sequence[str], previous: bool = False) -> None:
        """The last lines of a container's log."""
        self._logs[(namespace, pod, container, previous)] = lines
        for work in [work for work in self._derived if work not in _FROM_OBJECTS]:
            del self._derived[work]

    # What is read

    def all(self, kind: str) -> list[Object]:
        """All known objects of a kind."""
        return list(self._objects.get(kind, {}).values())

    def kinds(self) -> list[str]:
        """The kinds of which at least one object is known."""
        return [kind for kind, items in self._objects.items() if items]

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """One object, None when it is not known."""
        return self._objects.get(kind, {}).get((namespace, name))

    def is_missing(self, kind: str, namespace: str, name: str) -> bool:
        """True only when it is certain that there is no such object."""
        if self.get(kind, namespace, name):
            return False
        return (kind, namespace, name) in self._missing or self.knows_all(kind, namespace)

    def knows_all(self, kind: str, namespace: str, selector: str = "") -> bool:
        """Whether every object of that kind in that namespace (that the selector takes) is known."""
        return not self._whole.isdisjoint([(kind, namespace), (kind, ""), ("*", ""), (f"{kind}?{selector}", namespace)])

    def partial(self, kind: str) -> frozenset[str]:
        """Fields that the source does not have for this kind: unknown is not empty."""
        return self._partial.get(kind, frozenset())

    def log(self, namespace: str, pod: str, container: str, previous: bool = False) -> Sequence[str]:
        """The last log lines, oldest first; empty when none were read."""
        return self._logs.get((namespace, pod, container, previous), ())

    def logs(self) -> Iterator[tuple[tuple[str, str, str, bool], Sequence[str]]]:
        """All log tails by (namespace, pod, container, previous)."""
        yield from self._logs.items()

    def events(self, about: ObjectRef, *reasons: str) -> list[KubeEvent]:
        """Events of an object, the latest first; all reasons when none is given."""
        found = self.once(_events_by_object).get((about.kind, about.namespace, about.name), [])
        return [event for event in found if not reasons or event.reason in reasons]

    def once(self, work: Callable[[Facts], T]) -> T:
        """The result of ``work(facts)``, computed once for all analyzers."""
        if work not in self._derived:
            self._derived[work] = work(self)
        result: T = self._derived[work]
        return result

    def top_owner(self, obj: Object) -> ObjectRef:
        """The workload that a person would name: the Deployment of a pod, the CronJob of a job's pod, or itself."""
        known = self._owners.get(id(obj))
        if known is None:
            known = self._owners[id(obj)] = obj, self._climb(obj)
        return known[1]

    def _climb(self, obj: Object) -> ObjectRef:
        current, namespace = ref(obj), namespace_of(obj)
        seen = {current}
        held: Object | None = obj
        while held is not None and (above := owner(held)):
            kind, name = above
            if kind == "Node" or (current.kind != "Pod" and kind not in _CLIMBS):
                break
            held = self.get(kind, namespace, name)
            if held is None and kind == "ReplicaSet":
                kind, name = _deployment_of(name, labels_of(obj)) or (kind, name)
            current = ObjectRef(kind, name, namespace)
            if current in seen:
                break
            seen.add(current)
        return current

    def pods_of(self, workload: ObjectRef) -> list[Object]:
        """The pods below a workload."""
        return self.once(_pods_by_owner).get(workload, [])

    def children(self, kind: str, parent: ObjectRef) -> list[Object]:
        """Objects of a kind whose controller is ``parent``."""
        return self.once(_children).get((kind, parent), [])

    def pods_matching(self, namespace: str, selector: Mapping[str, Any] | None) -> list[Object]:
        """Pods that a Service's map or a LabelSelector selects; an empty selector selects none here."""
        if not selector:
            return []
        plain = selector.get("matchLabels") if "matchExpressions" in selector or "matchLabels" in selector else selector
        index = self.once(_pods_by_label)
        if plain:
            key, value = next(iter(plain.items()))
            near = index.get((namespace, key, value), [])
        else:
            near = [pod for pod in self.all("Pod") if namespace_of(pod) == namespace]
        return [pod for pod in near if selector_matches(selector, (pod.get("metadata") or {}).get("labels") or {})]

    def seconds_since(self, time: object) -> float | None:
        """Seconds from an API time to now, None when the time is not known."""
        then = parse_time(time)
        return (self.now - then).total_seconds() if then else None


def _deployment_of(replica_set: str, labels: Mapping[str, str]) -> tuple[str, str] | None:
    """The Deployment whose ReplicaSet is not known, from the pod-template-hash at the end of its name."""
    ending = f"-{labels.get('pod-template-hash', '')}"
    if len(ending) > 1 and replica_set.endswith(ending):
        return "Deployment", replica_set.removesuffix(ending)
    return None


def _pods_by_owner(facts: Facts) -> dict[ObjectRef, list[Object]]:
    found: dict[ObjectRef, list[Object]] = {}
    for pod in facts.all("Pod"):
        top, direct = facts.top_owner(pod), owner(pod)
        found.setdefault(top, []).append(pod)
        if direct and direct != (top.kind, top.name):
            found.setdefault(ObjectRef(*direct, namespace_of(pod)), []).append(pod)
    return found


def _pods_by_label(facts: Facts) -> dict[tuple[str, str, str], list[Object]]:
    found: dict[tuple[str, str, str], list[Object]] = {}
    for pod in facts.all("Pod"):
        namespace = namespace_of(pod)
        for key, value in ((pod.get("metadata") or {}).get("labels") or {}).items():
            found.setdefault((namespace, key, value), []).append(pod)
    return found


def _children(facts: Facts) -> dict[tuple[str, ObjectRef], list[Object]]:
    found: dict[tuple[str, ObjectRef], list[Object]] = {}
    for kind in ("ReplicaSet", "Job", "Pod"):
        for obj in facts.all(kind):
            if above := owner(obj):
                found.setdefault((kind, ObjectRef(*above, namespace_of(obj))), []).append(obj)
    return found


def _events_by_object(facts: Facts) -> dict[tuple[str, str, str], list[KubeEvent]]:
    found: dict[tuple[str, str, str], list[KubeEvent]] = {}
    for obj in facts.all("Event"):
        about = obj.get("involvedObject") or obj.get("regarding") or {}
        key = (str(about.get("kind")), str(about.get("namespace") or ""), str(about.get("name")))
        found.setdefault(key, []).append(kube_event(obj))
    beginning = datetime.min.replace(tzinfo=UTC)
    for events in found.values():
        events.sort(key=lambda event: event.last or beginning, reverse=True)
    return found


_FROM_OBJECTS = frozenset(
    [_pods_by_owner, _pods_by_label, _children, _events_by_object]
)  # new logs change none of them


def kube_event(obj: Object) -> KubeEvent:
    """An Event object of v1 or events.k8s.io/v1."""
    series: Mapping[str, Any] = obj.get("series") or {}
    times = (
        series.get("lastObservedTime"),
        obj.get("lastTimestamp") or obj.get("deprecatedLastTimestamp"),
        obj.get("eventTime"),
        (obj.get("metadata") or {}).get("creationTimestamp"),
    )
    about = obj.get("involvedObject") or obj.get("regarding") or {}
    return KubeEvent(
        reason=str(obj.get("reason") or ""),
        message=str(obj.get("message") or obj.get("note") or ""),
        warning=obj.get("type") == "Warning",
        count=int(series.get("count") or obj.get("count") or obj.get("deprecatedCount") or 1),
        last=next((found for time in times if (found := parse_time(time))), None),
        field=str(about.get("fieldPath") or ""),
    )


def spec_of(obj: Object) -> Mapping[str, Any]:
    """``spec``, empty when there is none."""
    spec: Mapping[str, Any] = obj.get("spec") or {}
    return spec


def status_of(obj: Object) -> Mapping[str, Any]:
    """``status``, empty when there is none."""
    status: Mapping[str, Any] = obj.get("status") or {}
    return status


def is_going(obj: Object) -> bool:
    """Whether the object is being deleted."""
    return bool((obj.get("metadata") or {}).get("deletionTimestamp"))


def live_pods(pods: Iterable[Object]) -> list[Object]:
    """Pods that are meant to run: neither ended nor being deleted."""
    return [pod for pod in pods if status_of(pod).get("phase") not in ("Succeeded", "Failed") and not is_going(pod)]


def ready_count(pods: Iterable[Object]) -> int:
    """How many of them take traffic."""
    return sum(1 for pod in pods if is_ready(pod))
