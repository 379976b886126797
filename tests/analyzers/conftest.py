"""Fixtures of the analyzers: ``fixtures/*.json`` were taken from a real cluster, ``*.yaml`` are written by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from holmes.analyzers.base import Facts
from holmes.analyzers.graph import Cause
from holmes.analyzers.registry import Analyzer, load_all
from holmes.analyzers.run import analyze
from holmes.kube.builtin_kinds import builtin_kinds
from holmes.kube.log_times import without_time
from holmes.kube.snapshot import SnapshotCluster

FOLDER = Path(__file__).parent / "fixtures"


@dataclass(frozen=True)
class Incident:
    """What a fixture file holds."""

    name: str
    now: datetime
    objects: list[dict[str, Any]]
    logs: dict[str, list[str]]

    @property
    def facts(self) -> Facts:
        logs = {place: [without_time(line) for line in lines] for place, lines in self.logs.items()}
        return Facts.from_objects(self.objects, self.now, logs)

    @property
    def cluster_logs(self) -> dict[str, list[str]]:
        """Lines with the kubelet's time; those written by hand have none."""
        stamp = self.now.strftime("%Y-%m-%dT%H:%M:%SZ")
        return {
            place: [line if line[:4] == stamp[:4] else f"{stamp} {line}" for line in lines]
            for place, lines in self.logs.items()
        }

    @property
    def cluster(self) -> SnapshotCluster:
        return SnapshotCluster.from_objects(self.objects, now=self.now, logs=self.cluster_logs, namespace="shop")


def read_incident(name: str) -> Incident:
    path = next(path for path in FOLDER.iterdir() if path.stem == name)
    text = path.read_text()
    data = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    objects = [with_version(obj) for obj in data["objects"]]
    return Incident(name, datetime.fromisoformat(data["now"]), objects, data.get("logs") or {})


def with_version(obj: dict[str, Any]) -> dict[str, Any]:
    """Files written by hand leave the apiVersion out."""
    if obj["kind"] == "PodMetrics":
        return {"apiVersion": "metrics.k8s.io/v1beta1", **obj}
    known = builtin_kinds().find(obj["kind"])
    assert known, obj["kind"]
    return {"apiVersion": known.api_version, **obj}


@pytest.fixture
def incident() -> Callable[[str], Incident]:
    return read_incident


@pytest.fixture(scope="session")
def analyzers() -> list[Analyzer]:
    return load_all()


@pytest.fixture
def causes(analyzers: list[Analyzer]) -> Callable[[Facts | Incident], list[Cause]]:
    """All causes of facts or of a fixture."""

    def find(source: Facts | Incident) -> list[Cause]:
        return analyze(source.facts if isinstance(source, Incident) else source, analyzers)

    return find


@pytest.fixture
def facts_of() -> Callable[..., Facts]:
    """Facts of objects written in a test, at a fixed time."""

    def make(objects: str | Sequence[dict[str, Any]], logs: dict[str, list[str]] | None = None, **more: Any) -> Facts:
        loaded = yaml.safe_load(objects) if isinstance(objects, str) else objects
        now = datetime.fromisoformat(more.pop("now", "2026-12-01T16:00:00Z"))
        return Facts.from_objects(loaded, now, logs, **more)

    return make
