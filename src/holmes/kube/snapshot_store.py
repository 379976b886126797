"""Where a snapshot's data lies: in a folder (read file by file, on demand) or in memory. Format: see snapshot.py."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar

import anyio.to_thread

from holmes.core.errors import UsageError
from holmes.kube.cluster import Gap, Kind, Kinds, Object, Table
from holmes.kube.custom_kinds import kinds_of
from holmes.kube.redact import LAST_APPLIED, redacted
from holmes.kube.related import namespace_of, parse_time

SCHEMA = "holmes.snapshot/v1"
CLUSTER_WIDE = "_cluster"  # in place of a namespace
_BETWEEN = "\n },\n {"  # between two objects of a file; text inside of them has no line breaks

Loaded = TypeVar("Loaded")


@dataclass(frozen=True, slots=True)
class About:
    """What snapshot.json says. ``namespaces`` None: all were saved. ``gaps`` by the path that could not be saved."""

    captured_at: datetime
    cluster: str = "cluster"
    context: str = ""
    namespace: str = "default"
    namespaces: tuple[str, ...] | None = None
    version: Mapping[str, Any] = field(default_factory=dict)
    gaps: Mapping[str, Gap] = field(default_factory=dict)


class Store(Protocol):
    """The parts of a snapshot. Lists that it returns are kept and must not be changed."""

    @property
    def about(self) -> About:
        """What the snapshot says of itself."""
        ...

    async def kinds(self) -> Kinds | Gap:
        """All resource types."""
        ...

    def namespaces(self, resource: str) -> Sequence[str]:
        """Where there are objects of a resource: namespaces, or CLUSTER_WIDE; sorted."""
        ...

    async def objects(self, resource: str, namespace: str) -> list[Object] | Gap:
        """Objects of a resource in a namespace; a Gap when the file is damaged."""
        ...

    async def table(self, resource: str, namespace: str) -> Table | Gap | None:
        """The saved table, None when there is none."""
        ...

    async def log(self, namespace: str, pod: str, container: str) -> list[str] | Gap | None:
        """Log lines (``container.previous`` for the one before), None when none was saved."""
        ...


def resource_name(kind: Kind) -> str:
    """How files and gaps call a kind: ``pods``, ``deployments.apps``."""
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural


class FolderStore:
    """A snapshot in a folder. Nothing is read before it is asked for; what was read is kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._about = read_about(folder)
        self._kinds: Kinds | None = None
        self._where: dict[str, list[str]] | None = None
        self._objects: dict[tuple[str, str], list[Object]] = {}

    @property
    def about(self) -> About:
        """What snapshot.json says."""
        return self._about

    async def kinds(self) -> Kinds | Gap:
        """kinds.json."""
        if self._kinds is None:
            loaded = await self._read("kinds.json", parse_kinds)
            if not isinstance(loaded, Kinds):
                return loaded or Gap("kinds", "not_found", f"{self._folder / 'kinds.json'} is missing")
            self._kinds = loaded
        return self._kinds

    def namespaces(self, resource: str) -> Sequence[str]:
        """Folders below objects/ that have a file of the resource."""
        if self._where is None:
            self._where = {}
            for path in sorted(self._folder.glob("objects/*/*.json")):
                self._where.setdefault(path.name.removesuffix(".json"), []).append(path.parent.name)
        return self._where.get(resource, [])

    async def objects(self, resource: str, namespace: str) -> list[Object] | Gap:
        """``objects/<namespace>/<resource>.json``, parsed in a thread."""
        key = (resource, namespace)
        if key not in self._objects:
            if namespace not in self.namespaces(resource):
                return []
            loaded = await self._read(f"objects/{namespace}/{resource}.json", parse_objects)
            if not isinstance(loaded, list):
                return loaded or []
            self._objects[key] = loaded
        return self._objects[key]

    async def table(self, resource: str, namespace: str) -> Table | Gap | None:
        """``tables/<namespace>/<resource>.json``."""
        if namespace not in self.namespaces(resource):
            return None
        return await self._read(f"tables/{namespace}/{resource}.json", parse_table)

    async def log(self, namespace: str, pod: str, container: str) -> list[str] | Gap | None:
        """``logs/<namespace>/<pod>/<container>.log``; names that would leave the folder have no log."""
        if not all(map(is_plain_name, (namespace, pod, container))):
            return None
        return await self._read(f"logs/{namespace}/{pod}/{container}.log", parse_log)

    async def _read(self, name: str, parse: Callable[[str], Loaded]) -> Loaded | Gap | None:
        """Read and parse in a thread; None when there is no such file."""

        def read() -> Loaded | Gap | None:
            try:
                return parse((self._folder / name).read_text("utf-8", "replace"))
            except FileNotFoundError:
                return None
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                return Gap(f"snapshot file {self._folder / name}", "error", f"cannot be read: {error}")

        return await anyio.to_thread.run_sync(read)


class MemoryStore:
    """A snapshot made of objects."""

    def __init__(self, about: About, objects: Iterable[Object], logs: Mapping[str, str | Sequence[str]]) -> None:
        everything = [without_secrets(obj) for obj in objects]
        self._about = about
        self._kinds = kinds_of(everything)
        self._logs = logs
        self._objects: dict[tuple[str, str], list[Object]] = {}
        names = {(kind.group, kind.kind): kind for kind in self._kinds.all}
        for obj in everything:
            kind = names[str(obj.get("apiVersion") or "v1").rpartition("/")[0], str(obj.get("kind") or "")]
            namespace = (namespace_of(obj) or about.namespace) if kind.namespaced else CLUSTER_WIDE
            self._objects.setdefault((resource_name(kind), namespace), []).append(obj)

    @property
    def about(self) -> About:
        """As given."""
        return self._about

    async def kinds(self) -> Kinds | Gap:
        """The built-in ones and those of the objects."""
        return self._kinds

    def namespaces(self, resource: str) -> Sequence[str]:
        """Where the objects are."""
        return sorted(namespace for name, namespace in self._objects if name == resource)

    async def objects(self, resource: str, namespace: str) -> list[Object] | Gap:
        """The objects themselves."""
        return self._objects.get((resource, namespace), [])

    async def table(self, resource: str, namespace: str) -> Table | Gap | None:
        """None: tables are made from the objects."""
        return None

    async def log(self, namespace: str, pod: str, container: str) -> list[str] | Gap | None:
        """Lines of the key ``namespace/pod/container``."""
        lines = self._logs.get(f"{namespace}/{pod}/{container}")
        return parse_log(lines) if isinstance(lines, str) else None if lines is None else list(lines)


def is_plain_name(name: str) -> bool:
    """Whether a name can be a file's: what Kubernetes allows for namespaces, pods, containers and resources."""
    return bool(name) and not name.startswith(".") and all(sign.isalnum() or sign in "-._" for sign in name)


def read_about(folder: Path) -> About:
    """snapshot.json; UsageError when the folder holds no snapshot that this version can read."""
    path = folder / "snapshot.json"
    try:
        data = json.loads(path.read_text("utf-8"))
        if data["schema"] != SCHEMA:
            raise UsageError(f"schema {data['schema']} is not known (this version reads {SCHEMA})", where=str(path))
        captured_at = parse_time(data["captured_at"])
        if captured_at is None:
            raise ValueError("captured_at is no time")
        return About(
            captured_at=captured_at,
            cluster=data["cluster"],
            context=data.get("context", ""),
            namespace=data.get("namespace") or "default",
            namespaces=None if data.get("namespaces") is None else tuple(data["namespaces"]),
            version=data.get("version") or {},
            gaps={gap["path"]: Gap(gap["what"], gap["reason"], gap["message"]) for gap in data.get("gaps", [])},
        )
    except FileNotFoundError as error:
        remedy = "name a folder that `holmes snapshot` wrote to the end"
        raise UsageError("no snapshot here: snapshot.json is missing", where=str(folder), remedy=remedy) from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"cannot be read: {error!r}", where=str(path)) from error


def parse_kinds(text: str) -> Kinds:
    """The content of kinds.json."""
    return Kinds(
        tuple(
            Kind(**{**item, "short_names": tuple(item["short_names"]), "verbs": tuple(item["verbs"])})
            for item in json.loads(text)
        )
    )


def parse_objects(text: str) -> list[Object]:
    """The content of an objects file. One object at a time, so that other threads get their turn in between."""
    if not text.startswith("[\n {") or _BETWEEN not in text:
        return [without_secrets(obj) for obj in json.loads(text)]
    parts = text.strip().removeprefix("[").removesuffix("]").split(_BETWEEN)
    last = len(parts) - 1
    return [
        without_secrets(json.loads(f"{'{' if at else ''}{part}{'}' if at < last else ''}"))
        for at, part in enumerate(parts)
    ]


def without_secrets(obj: Object) -> Object:
    """The object, or a copy of a Secret without values that were not hidden before."""
    if obj.get("kind") != "Secret":
        return obj
    values = [value for field in ("data", "stringData") for value in (obj.get(field) or {}).values()]
    annotated = LAST_APPLIED in ((obj.get("metadata") or {}).get("annotations") or {})
    if not annotated and all(str(value).startswith("(hidden") for value in values):
        return obj
    return redacted(json.loads(json.dumps(obj)))


def parse_table(text: str) -> Table:
    """The content of a tables file."""
    data = json.loads(text)
    return Table(
        columns=tuple(data["columns"]),
        priorities=tuple(data["priorities"]),
        rows=tuple(tuple(row) for row in data["rows"]),
        names=tuple((namespace, name) for namespace, name in data["names"]),
    )


def parse_log(text: str) -> list[str]:
    """Lines; only line feeds end one."""
    return text.removesuffix("\n").split("\n") if text else []
