"""Saves a cluster as a snapshot: a folder as snapshot.py describes it. Reads only, keeps gaps as gaps, masks all text.

Memory holds one page of objects and one table at a time, whatever the size of the cluster.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import anyio.to_thread

from holmes.core.errors import UsageError
from holmes.kube.cluster import Cluster, Gap, Kind, Kinds, LogWindow, Object, Table
from holmes.kube.related import is_ready, name_of, namespace_of
from holmes.kube.snapshot_store import CLUSTER_WIDE, SCHEMA, is_plain_name, resource_name, without_secrets

Mask = Callable[[str], str]

# The same events twice, and a kind that the API server calls deprecated and answers slowly.
_LEFT_OUT = frozenset(["events.events.k8s.io", "componentstatuses"])


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is saved. Lines and bytes are for each container."""

    log_lines: int = 1000
    previous_lines: int = 300
    log_bytes: int = 1_000_000
    log_pods: int = 500  # pods that are not ready come first
    parallel: int = 8  # requests at a time


@dataclass(slots=True)
class Written:
    """What was saved."""

    folder: Path
    objects: int = 0
    logs: int = 0
    gaps: dict[str, Gap] = field(default_factory=dict)  # by the path of the missing file


@dataclass(frozen=True, slots=True)
class _Log:
    """One log to fetch."""

    namespace: str
    pod: str
    container: str
    previous: bool

    @property
    def path(self) -> str:
        ending = ".previous" if self.previous else ""
        return f"logs/{self.namespace}/{self.pod}/{self.container}{ending}"


async def write_snapshot(
    cluster: Cluster, folder: Path, *, mask: Mask, namespace: str | None = None, limits: Limits | None = None
) -> Written | Gap:
    """Save a cluster, or one namespace of it with the cluster-wide objects, into a new or empty folder.

    ``mask`` takes secrets out of text. A Gap comes back when not even the kinds can be read; UsageError is raised when
    the folder cannot be used.
    """
    kinds = await cluster.kinds()
    if isinstance(kinds, Gap):
        return kinds
    await anyio.to_thread.run_sync(_prepare, folder)
    writer = _Writer(cluster, folder, mask, namespace, limits or Limits())
    return await writer.run(kinds)


def _prepare(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError("the folder is not empty", where=str(folder), remedy="name a new folder")
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", where=str(folder)) from error


class _Writer:
    """One capture."""

    def __init__(self, cluster: Cluster, folder: Path, mask: Mask, namespace: str | None, limits: Limits) -> None:
        self._cluster = cluster
        self._mask = mask
        self._namespace = namespace
        self._limits = limits
        self._written = Written(folder)
        self._logs: list[tuple[bool, str, _Log]] = []  # (ready, pod, log)
        self._slots = asyncio.Semaphore(limits.parallel)

    async def run(self, kinds: Kinds) -> Written:
        """Objects, tables, logs, then the two files that tell of them."""
        saved = [kind for kind in kinds.all if "list" in kind.verbs and resource_name(kind) not in _LEFT_OUT]
        await asyncio.gather(*(self._save_kind(kind) for kind in saved if is_plain_name(resource_name(kind))))
        await asyncio.gather(*(self._save_log(log) for log in self._chosen_logs()))
        version = await self._cluster.raw("/version")
        about = {
            "schema": SCHEMA,
            "captured_at": self._cluster.now.isoformat(),  # the end of the capture: nothing in it is younger
            "cluster": self._cluster.name,
            "context": self._cluster.context,
            "namespace": self._namespace or self._cluster.namespace,
            "namespaces": [self._namespace] if self._namespace else None,
            "version": {} if isinstance(version, Gap) else version,
            "gaps": [{"path": path, **_masked(asdict(gap), self._mask)} for path, gap in self._written.gaps.items()],
        }
        await self._write("kinds.json", _rows([asdict(kind) for kind in saved]))
        await self._write("snapshot.json", json.dumps(about, indent=1, ensure_ascii=False) + "\n")
        return self._written

    async def _save_kind(self, kind: Kind) -> None:
        resource = resource_name(kind)
        namespace = self._namespace if kind.namespaced else None
        wanted = (namespace or "*") if kind.namespaced else CLUSTER_WIDE
        places: set[str] = set()
        async with self._slots:
            async for page in self._cluster.list(resource, namespace):
                if isinstance(page, Gap):
                    self._written.gaps[f"objects/{wanted}/{resource}"] = page
                    break
                saved = await anyio.to_thread.run_sync(self._append, kind, page.items, places)
                self._written.objects += saved  # not in one statement: others add to it while this one waits
            for place in places:
                await anyio.to_thread.run_sync(self._end, self._path("objects", place, resource))
            if places:
                table = await self._cluster.table(resource, namespace)
                if isinstance(table, Table):
                    await anyio.to_thread.run_sync(self._save_table, resource, table, kind.namespaced)

    def _append(self, kind: Kind, items: Iterable[Object], places: set[str]) -> int:
        """Add a page's objects to the files of their namespaces; how many. Runs in a thread."""
        by_place: dict[str, list[Object]] = {}
        for item in items:
            place = namespace_of(item) if kind.namespaced else CLUSTER_WIDE
            if place != CLUSTER_WIDE and not is_plain_name(place):
                continue
            typed = {"apiVersion": kind.api_version, "kind": kind.kind, **item}
            by_place.setdefault(place, []).append(_masked(without_secrets(typed), self._mask))
            self._note(kind, item, place)
        for place, objects in by_place.items():
            path = self._path("objects", place, resource_name(kind))
            path.parent.mkdir(parents=True, exist_ok=True)
            start = ",\n" if place in places else "[\n"
            with path.open("ab") as file:
                file.write(_bytes(start + ",\n".join(map(_pretty, objects))))
            places.add(place)
        return sum(map(len, by_place.values()))

    def _note(self, kind: Kind, item: Object, place: str) -> None:
        """Remember which logs a pod has."""
        if kind.kind != "Pod" or kind.group:
            return
        status = item.get("status") or {}
        states = [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
        names = (place, name_of(item))
        for state in states:
            container = str(state.get("name"))
            if not all(map(is_plain_name, (*names, container))):
                continue
            current = state.get("state") or {}
            if "running" in current or "terminated" in current or state.get("restartCount"):
                self._logs.append((is_ready(item), "/".join(names), _Log(*names, container, False)))
            if state.get("restartCount"):
                self._logs.append((is_ready(item), "/".join(names), _Log(*names, container, True)))

    def _end(self, path: Path) -> None:
        with path.open("ab") as file:
            file.write(b"\n]\n")

    def _save_table(self, resource: str, table: Table, namespaced: bool) -> None:
        rows: dict[str, list[int]] = {}
        for at, (namespace, _) in enumerate(table.names):
            rows.setdefault(namespace if namespaced else CLUSTER_WIDE, []).append(at)
        for place, chosen in rows.items():
            if place != CLUSTER_WIDE and not is_plain_name(place):
                continue
            parts = {
                "columns": json.dumps(table.columns),
                "priorities": json.dumps(table.priorities),
                "rows": _rows([[self._mask(cell) for cell in table.rows[at]] for at in chosen]).rstrip(),
                "names": _rows([table.names[at] for at in chosen]).rstrip(),
            }
            path = self._path("tables", place, resource)
            path.parent.mkdir(parents=True, exist_ok=True)
            text = ",\n".join(f'"{key}": {value}' for key, value in parts.items())
            path.write_bytes(_bytes(f"{{\n{text}\n}}\n"))

    def _chosen_logs(self) -> Sequence[_Log]:
        """Those of pods that are not ready first; a gap says how many pods were left out."""
        self._logs.sort(key=lambda entry: (entry[0], entry[1]))
        pods = list(dict.fromkeys(pod for _, pod, _ in self._logs))
        kept = set(pods[: self._limits.log_pods])
        if len(kept) < len(pods):
            left_out = f"{len(pods) - len(kept)} of {len(pods)} pods have no log here: limit of {len(kept)} pods"
            self._written.gaps["logs/*"] = Gap("logs of pods", "unsupported", left_out)
        return [log for _, pod, log in self._logs if pod in kept]

    async def _save_log(self, log: _Log) -> None:
        window = LogWindow(
            container=log.container,
            previous=log.previous,
            tail=self._limits.previous_lines if log.previous else self._limits.log_lines,
            timestamps=True,
            limit_bytes=self._limits.log_bytes,
        )
        async with self._slots:
            lines = await self._cluster.logs(log.pod, log.namespace, window)
        if isinstance(lines, Gap):
            self._written.gaps[log.path] = lines
        else:
            text = await anyio.to_thread.run_sync(self._mask, "".join(f"{line}\n" for line in lines.lines))
            await self._write(f"{log.path}.log", text)
            self._written.logs += 1

    def _path(self, part: str, place: str, resource: str) -> Path:
        return self._written.folder / part / place / f"{resource}.json"

    async def _write(self, name: str, text: str) -> None:
        def write() -> None:
            path = self._written.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_bytes(text))

        await anyio.to_thread.run_sync(write)


def _pretty(obj: Object) -> str:
    """JSON with sorted keys, one space deep as an element of the file's list."""
    text = json.dumps(obj, indent=1, sort_keys=True, ensure_ascii=False)
    return " " + text.replace("\n", "\n ")


def _rows(values: Sequence[Any]) -> str:
    """A JSON list, one element a line."""
    return "[\n" + ",\n".join(f" {json.dumps(value, ensure_ascii=False)}" for value in values) + "\n]\n"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _masked(value: Any, mask: Mask) -> Any:
    """A copy with masked text. A value is shown to ``mask`` beside its key or variable's name, which often tells."""
    pairs = list(_pairs(value, ""))
    text = "\n".join(pairs)
    return value if mask(text) == text else _masked_tree(value, "", mask)


def _pairs(value: Any, key: str) -> Iterable[str]:
    if isinstance(value, dict):
        name = value.get("name")
        for inner, item in value.items():
            yield from _pairs(item, str(name) if inner == "value" and isinstance(name, str) else inner)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _pairs(item, key)
    elif isinstance(value, str):
        yield f"{key}: {value}"


def _masked_tree(value: Any, key: str, mask: Mask) -> Any:
    if isinstance(value, dict):
        name = value.get("name")
        return {
            inner: _masked_tree(item, str(name) if inner == "value" and isinstance(name, str) else inner, mask)
            for inner, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_masked_tree(item, key, mask) for item in value]
    if not isinstance(value, str):
        return value
    prefix = f"{key}: "
    hidden = mask(prefix + value)
    return hidden.removeprefix(prefix) if hidden.startswith(prefix) else mask(value)
