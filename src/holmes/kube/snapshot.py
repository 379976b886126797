"""A saved cluster behind the same protocol as a live one.

A snapshot is a folder of plain files that a person can read and compare:

    snapshot.json     schema "holmes.snapshot/v1", captured_at, cluster, context, namespace (the default one),
                      namespaces (null: all), version (of the server), gaps [{path, what, reason, message}]
    kinds.json        the resource types, as discovery told them
    objects/<namespace or _cluster>/<plural[.group]>.json           [object, ...], never a Secret's values
    tables/<namespace or _cluster>/<plural[.group]>.json            {columns, priorities, rows, names}
    logs/<namespace>/<pod>/<container>[.previous].log               RFC 3339 time, a space, the line

A gap's ``path`` is that of the file which is missing, without its ending; ``objects/*/pods`` means pods of all
namespaces. snapshot.json is written last: a folder without it was not finished.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from holmes.kube.cluster import Gap, Kind, Kinds, Lines, LogWindow, Object, Page, Table
from holmes.kube.log_times import lines_after, without_time
from holmes.kube.related import name_of, parse_time
from holmes.kube.selectors import Matches, field_selector, label_selector
from holmes.kube.snapshot_store import CLUSTER_WIDE, About, FolderStore, MemoryStore, Store, resource_name
from holmes.kube.tables import make_table

PAGE = 500  # objects of a page
_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"


class SnapshotCluster:
    """Implements ``Cluster`` over saved data. Objects and lists that it gives are shared: do not change them."""

    def __init__(self, store: Store) -> None:
        about = store.about
        held = "" if about.namespaces is None else f" of namespace {', '.join(about.namespaces)}"
        self.name = f"{about.cluster} (snapshot{held})"
        self.context = about.context
        self.namespace = about.namespace
        self._store = store

    @classmethod
    def load(cls, folder: Path) -> SnapshotCluster:
        """A snapshot's folder; UsageError when there is none."""
        return cls(FolderStore(folder))

    @classmethod
    def from_objects(
        cls,
        objects: Iterable[Object],
        *,
        now: datetime | None = None,
        logs: Mapping[str, str | Sequence[str]] | None = None,
        gaps: Mapping[str, Gap] | None = None,
        cluster: str = "test",
        context: str = "",
        namespace: str = "default",
    ) -> SnapshotCluster:
        """A cluster made of objects (events among them).

        ``logs``: text or lines by ``namespace/pod/container`` (``container.previous`` for the one before).
        ``gaps``: by path as in snapshot.json, ``objects/*/pods``, ``objects/prod/secrets``.
        """
        about = About(now or datetime.now(UTC), cluster, context, namespace, gaps=gaps or {})
        return cls(MemoryStore(about, objects, logs or {}))

    @property
    def now(self) -> datetime:
        """The time of the capture."""
        return self._store.about.captured_at

    async def kinds(self) -> Kinds | Gap:
        """The resource types that the server had."""
        return await self._store.kinds()

    async def get(self, kind: str, name: str, namespace: str | None = None) -> Object | Gap:
        """One object; Gap ``not_found`` when the snapshot has none of that name."""
        found = await self._kind(kind)
        if isinstance(found, Gap):
            return found
        place = (namespace or self.namespace) if found.namespaced else CLUSTER_WIDE
        what = f"{found.kind} {place}/{name}" if found.namespaced else f"{found.kind} {name}"
        if gap := self._gap(found, place):
            return gap
        objects = await self._store.objects(resource_name(found), place)
        if isinstance(objects, Gap):
            return objects
        missing = Gap(what, "not_found", f'{found.plural} "{name}" not found')
        return next((obj for obj in objects if name_of(obj) == name), missing)

    async def list(
        self, kind: str, namespace: str | None = None, selector: str = "", fields: str = ""
    ) -> AsyncIterator[Page | Gap]:
        """Pages of objects; what could not be saved follows as Gaps."""
        found = await self._kind(kind)
        tests = self._tests(kind, selector, fields)
        if isinstance(found, Gap):
            yield found
            return
        if isinstance(tests, Gap):
            yield tests
            return
        resource = resource_name(found)
        if gap := self._gap(found, namespace):
            if namespace is None and self._store.namespaces(resource):
                async for page in self._pages(resource, self._store.namespaces(resource), tests):
                    yield page
            yield gap
            return
        async for page in self._pages(resource, self._places(found, namespace), tests):
            yield page

    async def _pages(self, resource: str, places: Sequence[str], tests: Sequence[Matches]) -> AsyncIterator[Page | Gap]:
        for place in places:
            objects = await self._store.objects(resource, place)
            if isinstance(objects, Gap):
                yield objects
                continue
            items = [obj for obj in objects if all(test(obj) for test in tests)] if tests else objects
            for start in range(0, len(items), PAGE):
                yield Page(items[start : start + PAGE])

    async def table(
        self, kind: str, namespace: str | None = None, name: str = "", selector: str = "", fields: str = ""
    ) -> Table | Gap:
        """The saved table, or one made from the objects when none was saved."""
        found = await self._kind(kind)
        if isinstance(found, Gap):
            return found
        if name:
            fields = f"metadata.name={name}" + (f",{fields}" if fields else "")
        objects: list[Object] = []
        async for page in self.list(kind, namespace, selector, fields):
            if isinstance(page, Gap):
                return page  # half a table is none
            objects += page.items
        if name and not objects:
            return Gap(f"{found.kind} {name}", "not_found", f'{found.plural} "{name}" not found')
        saved = [await self._store.table(resource_name(found), place) for place in self._places(found, namespace)]
        wanted = {(str(obj["metadata"].get("namespace") or ""), name_of(obj)) for obj in objects}
        return _joined(saved, wanted) or make_table(found.kind, objects, self.now)

    async def logs(self, pod: str, namespace: str, window: LogWindow) -> Lines | Gap:
        """Saved lines of one container."""
        what = f"logs of pod {namespace}/{pod}"
        found = await self.get("pods", pod, namespace)
        if isinstance(found, Gap) and found.reason == "not_found":
            return found
        container = window.container or ("" if isinstance(found, Gap) else _default_container(found))
        key = f"{container}.previous" if window.previous else container
        lines = await self._store.log(namespace, pod, key)
        if isinstance(lines, Gap):
            return lines
        if lines is None:
            kept = self._store.about.gaps.get(f"logs/{namespace}/{pod}/{key}")
            which = "log of the previous container" if window.previous else "log of container"
            return kept or Gap(what, "not_found", f"no {which} {container} was saved")
        return _cut(lines, container, window, self.now)

    async def raw(self, path: str) -> Object | Gap:
        """``/version``, and ``/api/v1/...`` and ``/apis/...`` where the objects are saved."""
        url = urlsplit(path)
        if url.path == "/version" and self._store.about.version:
            return dict(self._store.about.version)
        parts = url.path.strip("/").split("/")
        if parts[:1] == ["api"] and len(parts) > 2:
            group, rest = "", parts[2:]
        elif parts[:1] == ["apis"] and len(parts) > 3:
            group, rest = parts[1], parts[3:]
        else:
            return Gap(path, "unsupported", "this path is not in the snapshot")
        namespace = rest[1] if len(rest) > 2 and rest[0] == "namespaces" else None
        plural, *name = rest[2:] if namespace else rest
        kind = f"{plural}.{group}" if group else plural
        if name:
            return await self.get(kind, name[0], namespace)
        asked = {key: values[0] for key, values in parse_qs(url.query).items()}
        items: list[Object] = []
        async for page in self.list(kind, namespace, asked.get("labelSelector", ""), asked.get("fieldSelector", "")):
            if isinstance(page, Gap):
                return Gap(path, "not_found", page.message) if page.reason == "unsupported" else page
            items += page.items
        return {"apiVersion": "/".join(parts[1:3] if group else parts[1:2]), "kind": "List", "items": items}

    async def close(self) -> None:
        """Nothing is open."""

    async def _kind(self, name: str) -> Kind | Gap:
        kinds = await self._store.kinds()
        if isinstance(kinds, Gap):
            return kinds
        near = kinds.near(name)
        hint = f" (near: {', '.join(near)})" if near else ""
        return kinds.find(name) or Gap(name, "unsupported", f'the server has no resource type "{name}"{hint}')

    def _places(self, kind: Kind, namespace: str | None) -> Sequence[str]:
        if not kind.namespaced:
            return [CLUSTER_WIDE]
        return self._store.namespaces(resource_name(kind)) if namespace is None else [namespace]

    def _gap(self, kind: Kind, place: str | None) -> Gap | None:
        """What could not be saved of a kind in a namespace (None: in all)."""
        about, resource = self._store.about, resource_name(kind)
        if not kind.namespaced:
            place = CLUSTER_WIDE
        elif place is not None and about.namespaces is not None and place not in about.namespaces:
            held = ", ".join(about.namespaces)
            return Gap(
                f"{kind.plural} in namespace {place}", "unsupported", f"this snapshot holds namespace {held} only"
            )
        everywhere = about.gaps.get(f"objects/*/{resource}")
        if place is None:
            inside = (gap for path, gap in about.gaps.items() if path.startswith("objects/") and _is_of(path, resource))
            return everywhere or next(inside, None)
        here = about.gaps.get(f"objects/{place}/{resource}")
        return here or (None if place in self._store.namespaces(resource) else everywhere)

    @staticmethod
    def _tests(kind: str, selector: str, fields: str) -> Sequence[Matches] | Gap:
        try:
            return [label_selector(selector)] * bool(selector) + [field_selector(fields)] * bool(fields)
        except ValueError as error:
            return Gap(kind, "error", str(error))


def _is_of(path: str, resource: str) -> bool:
    return path.rpartition("/")[2] == resource


def _joined(saved: Sequence[Table | Gap | None], wanted: set[tuple[str, str]]) -> Table | None:
    """The wanted rows of all saved tables; None when one is missing or they do not have the same columns."""
    tables = [table for table in saved if isinstance(table, Table)]
    if not tables or len(tables) < len(saved) or len({table.columns for table in tables}) > 1:
        return None
    pairs = [pair for table in tables for pair in zip(table.names, table.rows, strict=True) if pair[0] in wanted]
    return Table(
        columns=tables[0].columns,
        priorities=tables[0].priorities,
        rows=tuple(row for _, row in pairs),
        names=tuple(name for name, _ in pairs),
    )


def _default_container(pod: Object) -> str:
    annotated = (pod["metadata"].get("annotations") or {}).get(_DEFAULT_CONTAINER)
    containers: list[Any] = (pod.get("spec") or {}).get("containers") or [{}]
    return str(annotated or containers[0].get("name") or "")


def _cut(lines: Sequence[str], container: str, window: LogWindow, now: datetime) -> Lines:
    """What the API server's log options leave of the lines."""
    since = parse_time(window.since_time)
    if window.since_seconds is not None:
        since = now - timedelta(seconds=window.since_seconds)
    kept = lines_after(lines, since.strftime("%Y-%m-%dT%H:%M:%S")) if since else list(lines)
    truncated = window.tail is not None and len(kept) > window.tail
    if window.tail is not None:
        kept = kept[max(0, len(kept) - window.tail) :]
    if not window.timestamps:
        kept = [without_time(line) for line in kept]
    if window.limit_bytes is not None:
        size = 0
        for at, line in enumerate(kept):
            size += len(line.encode("utf-8", "replace")) + 1
            if size > window.limit_bytes:
                return Lines(kept[:at], container, window.previous, truncated=True)
    return Lines(kept, container, window.previous, truncated)


class SnapshotClusters:
    """Implements ``Clusters``: one saved cluster under its own context and under ""."""

    def __init__(self, cluster: SnapshotCluster) -> None:
        self._cluster = cluster

    @property
    def now(self) -> datetime:
        """The time of the capture."""
        return self._cluster.now

    async def get(self, context: str = "") -> SnapshotCluster | Gap:
        """The snapshot; a Gap for other contexts."""
        if context in ("", self._cluster.context):
            return self._cluster
        message = f"a snapshot stands in for the cluster; it has context {self._cluster.context or 'none'} only"
        return Gap(f"context {context}", "not_found", message)

    async def close(self) -> None:
        """Nothing is open."""
