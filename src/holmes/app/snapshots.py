"""Saving a cluster into a folder, and what is in a saved one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio.to_thread

from holmes.core.errors import UsageError
from holmes.kube.cluster import Cluster, Gap
from holmes.kube.snapshot_store import About, FolderStore, read_about, resource_name
from holmes.kube.snapshot_writer import Mask, write_snapshot

_PARTS = ("kinds.json", "objects", "tables", "logs", "snapshot.json")  # the last one says that all is there
_UNFINISHED = ".saving-"  # where a capture stays until it is complete


@dataclass(frozen=True, slots=True)
class Contents:
    """What a snapshot's folder holds. ``objects`` counts by resource; ``size`` is in bytes."""

    folder: Path
    about: About
    objects: Mapping[str, int]
    logs: int
    size: int

    def as_data(self) -> dict[str, Any]:
        """JSON types."""
        about = self.about
        return {
            "folder": str(self.folder),
            "captured_at": about.captured_at.isoformat(),
            "cluster": about.cluster,
            "context": about.context,
            "version": str(about.version.get("gitVersion") or ""),
            "namespaces": None if about.namespaces is None else list(about.namespaces),
            "objects": dict(self.objects),
            "logs": self.logs,
            "bytes": self.size,
            "gaps": [{"what": gap.what, "reason": gap.reason, "message": gap.message} for gap in about.gaps.values()],
        }


async def save(cluster: Cluster, folder: Path, *, mask: Mask, namespace: str | None = None) -> list[Gap]:
    """Save a cluster, or one namespace of it; gives the gaps when nothing could be saved, else nothing.

    An earlier snapshot in the folder is replaced once the new one is complete. UsageError when the folder holds
    something else or cannot be written.
    """
    existed = await anyio.to_thread.run_sync(_check, folder)
    capture = folder / f"{_UNFINISHED}{os.getpid()}"
    try:
        written = await write_snapshot(cluster, capture, mask=mask, namespace=namespace)
        if isinstance(written, Gap):
            return [written]
        if not written.objects:
            return list(written.gaps.values()) or [Gap(cluster.name, "not_found", "there is nothing in it")]
        await anyio.to_thread.run_sync(_put_in_place, capture, folder)
        return []
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", where=str(folder)) from error
    finally:
        shutil.rmtree(capture, ignore_errors=True)
        if not existed and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def _check(folder: Path) -> bool:
    """Whether the folder exists. UsageError when it holds what is no snapshot. A capture that was killed is removed."""
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700)
        return False
    if not folder.is_dir():
        raise UsageError("this is a file, a folder is needed here", where=str(folder), remedy="name a new folder")
    left = [path for path in folder.iterdir() if not path.name.startswith(_UNFINISHED)]
    if left:
        try:
            read_about(folder)
        except UsageError as error:
            problem = "the folder is not empty, and it holds no snapshot that could be replaced"
            raise UsageError(problem, where=str(folder), remedy="name a new folder") from error
    for path in folder.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(path, ignore_errors=True)
    return True


def _put_in_place(capture: Path, folder: Path) -> None:
    """Replace the parts one by one; in between there is no snapshot.json, so half a snapshot is never read as one."""
    (folder / _PARTS[-1]).unlink(missing_ok=True)
    for name in _PARTS:
        old, new = folder / name, capture / name
        if old.is_dir():
            shutil.rmtree(old)
        if new.exists():
            new.replace(old)


async def contents(folder: Path) -> Contents:
    """Count what a snapshot holds; UsageError when there is none. A file that is damaged counts no objects."""
    store = FolderStore(folder)
    kinds = await store.kinds()
    counts: dict[str, int] = {}
    for kind in () if isinstance(kinds, Gap) else kinds.all:
        resource = resource_name(kind)
        for place in store.namespaces(resource):
            objects = await store.objects(resource, place)
            counts[resource] = counts.get(resource, 0) + (0 if isinstance(objects, Gap) else len(objects))
    logs, size = await anyio.to_thread.run_sync(_measured, folder)
    return Contents(folder, store.about, counts, logs, size)


def _measured(folder: Path) -> tuple[int, int]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sum(path.suffix == ".log" for path in files), sum(path.stat().st_size for path in files)
