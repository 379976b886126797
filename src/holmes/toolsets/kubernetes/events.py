"""kubectl_events: what happened, repeated events as one line, warnings first, the newest first among them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from holmes.core.results import StructuredToolResult
from holmes.kube.cluster import Cluster, Object
from holmes.kube.event_lines import first_seen, last_seen, times
from holmes.kube.related import age, name_of, namespace_of
from holmes.tools.tool import ToolContext
from holmes.toolsets.kubernetes.absent import check_namespace, not_found
from holmes.toolsets.kubernetes.grid import aligned
from holmes.toolsets.kubernetes.lists import (
    LOOKED_FOR,
    Listed,
    involved_objects,
    listed,
    locate,
    query_for,
    seen,
)
from holmes.toolsets.kubernetes.query import Query, Unanswered, answering, read_query, text_of

_MOST = 50  # lines
_MOST_MESSAGE = 500  # characters


@dataclass(slots=True)
class Happening:
    """The same event, however often it came and for however many objects of one family."""

    warning: bool
    reason: str
    message: str
    kind: str
    namespace: str
    first: datetime
    last: datetime
    names: set[str] = field(default_factory=set)
    count: int = 0

    @property
    def object(self) -> str:
        """``pod/web-7f9-x2x4p``, or ``pod/web-7f9-* (3)`` for several."""
        kind = self.kind.lower()
        if len(self.names) == 1:
            return f"{kind}/{next(iter(self.names))}"
        return f"{kind}/{_series(self.kind, min(self.names))}-* ({len(self.names)})"


@answering
async def kubectl_events(cluster: Cluster, args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
    """Events of an object and of what it brought about, of a namespace, or of the cluster."""
    if unknown := sorted(args.keys() - {"kind", "name", "namespace", "resource_type", "resource_name"}):
        raise Unanswered(f"there is no parameter {unknown[0]}; there are: kind, name, namespace")
    asked = {**args, "kind": text_of(args, "kind", "resource_type") or "events"}
    query = await read_query(cluster, asked, ctx)
    wanted = Listed()
    if query.name:
        query, wanted = await _wanted(cluster, query)
    scope = Query(_events_kind(), namespace=query.namespace)
    found = await listed(cluster, scope)
    chosen = _belonging(found.items, wanted.items, query) if query.name else _of_kind(found.items, query)
    if query.name and not chosen and not wanted.items:
        raise await not_found(cluster, query)
    about = f"{query.kind.kind} {query.name}" if query.name and query.kind.plural != "events" else query.name
    what = f"events of {about} in {scope.place}" if about else f"events in {scope.place}"
    shared: dict[str, Any] = {
        "invocation": _command(query),
        "gaps": found.told,
        "notes": tuple(filter(None, [wanted.note])),
    }
    if not chosen:
        if not query.name:
            await check_namespace(cluster, scope)
        there = f" {len(found.items)} events are there for other objects." if found.items and query.name else ""
        text = f"No {what} (cluster {cluster.name}); the API server keeps them for about an hour.{there}"
        return StructuredToolResult.nothing(text, **shared)
    return _result(cluster, what, happenings(chosen), shared, everywhere=scope.namespace is None)


def _events_kind() -> Any:
    return query_for("events", None).kind


async def _wanted(cluster: Cluster, query: Query) -> tuple[Query, Listed]:
    """The objects whose events are asked for; a bare name may be that of any workload, service or pod."""
    if query.kind.plural != "events":
        found = await locate(cluster, query)
    else:
        found = Listed()
        for kind in (*LOOKED_FOR, "pods"):
            found.items += await seen(cluster, query_for(kind, query.namespace, query.name)) or []
    related: list[Object] = []
    for obj in found.items:
        related += await involved_objects(cluster, obj)
    namespaces = {namespace_of(obj) for obj in found.items}
    if len(namespaces) == 1:
        query = replace(query, namespace=namespaces.pop() or None)
    return query, Listed(related, found.gaps, found.note)


def _belonging(events: Iterable[Object], objects: Sequence[Object], query: Query) -> list[Object]:
    """Events of these objects, and of pods that are gone but were theirs; by name alone when none is left."""
    exact = {(obj.get("kind"), namespace_of(obj), name_of(obj)) for obj in objects}
    families = {(namespace_of(obj), name_of(obj)) for obj in objects if obj.get("kind") != "Pod"}
    chosen = []
    for event in events:
        involved = event.get("involvedObject") or {}
        kind, namespace, name = involved.get("kind"), namespace_of(event), str(involved.get("name") or "")
        place = str(involved.get("namespace") or "")
        if not objects:
            belongs = name == query.name or (query.kind.kind == "Event" and name.startswith(f"{query.name}-"))
        else:
            belongs = (kind, place, name) in exact or (kind == "Pod" and (namespace, _family("Pod", name)) in families)
        if belongs:
            chosen.append(event)
    return chosen


def _of_kind(events: Sequence[Object], query: Query) -> list[Object]:
    """All events, or those of a kind of objects."""
    if query.kind.plural == "events":
        return list(events)
    return [event for event in events if (event.get("involvedObject") or {}).get("kind") == query.kind.kind]


def _family(kind: str, name: str) -> str:
    """The name that pods of one owner share."""
    return name.rpartition("-")[0] if kind == "Pod" and "-" in name else name


def _series(kind: str, name: str) -> str:
    """The name that a CronJob's jobs and their pods share as well: without the number of the run."""
    return re.sub(r"-\d{7,}$", "", _family(kind, name))


def happenings(events: Iterable[Object]) -> list[Happening]:
    """Equal events as one, warnings first, then by the last time. Messages are equal up to the object's own name."""
    found: dict[tuple[str, ...], Happening] = {}
    for event in events:
        involved = event.get("involvedObject") or {}
        kind, name = str(involved.get("kind") or ""), str(involved.get("name") or "")
        message = " ".join(str(event.get("message") or event.get("note") or "").split())
        key = (
            str(event.get("type")),
            str(event.get("reason")),
            kind,
            namespace_of(event),
            _series(kind, name),
            message.replace(name, "*") if name else message,
        )
        first, last = first_seen(event), last_seen(event)
        one = found.setdefault(key, Happening(key[0] == "Warning", key[1], message, kind, key[3], first, last))
        one.names.add(name)
        one.count += times(event)
        one.first = min(one.first, first)
        if last >= one.last:
            one.last, one.message = last, message
    return sorted(found.values(), key=lambda one: (not one.warning, -one.last.timestamp()))


def _result(
    cluster: Cluster, what: str, found: Sequence[Happening], shared: Mapping[str, Any], *, everywhere: bool
) -> StructuredToolResult:
    now = cluster.now
    lines = [["LAST SEEN", "COUNT", "TYPE", "REASON", "OBJECT", "MESSAGE"]]
    for one in found[:_MOST]:
        place = f"{one.namespace}/" if everywhere else ""
        message = one.message if len(one.message) <= _MOST_MESSAGE else f"{one.message[:_MOST_MESSAGE]}…"
        kind = "Warning" if one.warning else "Normal"
        lines.append([age(one.last, now), str(one.count), kind, one.reason, f"{place}{one.object}", message])
    warnings = sum(one.warning for one in found)
    text = f"cluster {cluster.name}: {what}: {warnings} different warnings, {len(found) - warnings} others\n"
    text += aligned(lines)
    if len(found) > _MOST:
        text += f"\n… {len(found) - _MOST} more; narrow with namespace, kind and name"
    items = [
        {
            "type": "Warning" if one.warning else "Normal",
            "reason": one.reason,
            "message": one.message,
            "kind": one.kind,
            "namespace": one.namespace,
            "name": min(one.names),
            "objects": len(one.names),
            "count": one.count,
            "first": one.first.isoformat(),
            "last": one.last.isoformat(),
        }
        for one in found[:_MOST]
    ]
    data = {"cluster": cluster.name, "total": len(found), "items": items}
    return StructuredToolResult.success(text, data=data, **shared)


def _command(query: Query) -> str:
    words = ["kubectl", "events", *(["-n", query.namespace] if query.namespace else ["-A"])]
    if query.name and query.kind.plural != "events":
        words += ["--for", f"{query.kind.singular}/{query.name}"]
    return shlex.join(words)
