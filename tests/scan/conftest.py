"""A command line, saved clusters, and an API server of the tests' own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holmes.kube.cluster import Gap, Object
from holmes.kube.snapshot import SnapshotCluster
from holmes.kube.snapshot_writer import write_snapshot
from kube.conftest import FakeApi
from support.command import Command, command_in
from support.shop import NOW


@pytest.fixture
def holmes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return command_in(tmp_path / "home", monkeypatch, capsys)


Saved = Callable[..., Path]


@pytest.fixture
def saved(tmp_path: Path) -> Saved:
    """Writes a cluster of objects into a snapshot's folder."""

    def save(objects: Iterable[Object], gaps: dict[str, Gap] | None = None, **more: Any) -> Path:
        folder = tmp_path / "saved"
        cluster = SnapshotCluster.from_objects(objects, now=NOW, gaps=gaps, cluster="test", **more)
        asyncio.run(write_snapshot(cluster, folder, mask=lambda text: text))
        return folder

    return save


@pytest.fixture
def api() -> Iterator[FakeApi]:
    server = FakeApi()
    yield server
    server.close()


@pytest.fixture
def kubeconfig(tmp_path: Path, api: FakeApi) -> Path:
    """A kubeconfig for the API server."""
    path = tmp_path / "kubeconfig"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "fake", "cluster": {"server": api.url}}],
        "users": [{"name": "jane", "user": {"token": "t"}}],
        "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "jane", "namespace": "prod"}}],
        "current-context": "fake",
    }
    path.write_text(json.dumps(config))
    return path
