"""The bundled incident: the quiet cause first, the loud fault told apart, offline, and nothing left behind."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from holmes.analyzers.run import inspect, scan
from holmes.cli.demonstration import QUESTION, snapshot_folder
from holmes.kube.snapshot import SnapshotCluster
from support.command import Command

QUIET, LOUD = "service-port-name-missing", "crash-loop"


def test_the_quiet_cause_comes_first_and_the_loud_fault_is_not_taken_for_one() -> None:
    async def causes(kind: str) -> list[tuple[str, str]]:
        cluster = SnapshotCluster.load(snapshot_folder())
        result = await inspect(cluster, kind, "checkout", "shop", time.monotonic() + 20)
        return [(cause.finding.cause, cause.finding.object.name) for cause in result.faults]

    for kind in ("Deployment", "Service"):
        found = asyncio.run(causes(kind))
        assert found[0] == (QUIET, "inventory")
        assert all(name != "report-builder" for _, name in found)


def test_a_scan_finds_both() -> None:
    cluster = SnapshotCluster.load(snapshot_folder())
    result = asyncio.run(scan(cluster, None, time.monotonic() + 20))
    assert [cause.finding.cause for cause in result.faults] == [QUIET, LOUD]
    assert not result.gaps


def test_the_snapshot_is_small_and_tells_nothing_of_the_machine() -> None:
    files = [path for path in snapshot_folder().rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 300_000
    text = "".join(path.read_text() for path in files)
    assert not re.search(r"/(home|root|work|tmp|Users)/", text)
    assert "PRIVATE KEY" not in text


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Whatever would leave the process by a socket is noted and fails."""
    tried: list[Any] = []

    def refuse(self: socket.socket, address: Any) -> None:
        tried.append(address)
        raise OSError(f"no network in this test: {address}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    return tried


def test_the_demo(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    holmes: Command,
    no_network: list[Any],
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for name in ("OPENAI_API_KEY", "MODEL", "HOLMES_HOME"):
        monkeypatch.setenv(name, "never-used")
    monkeypatch.setenv("HOLMES_HOME", str(home / "state"))
    outcome = holmes("demo")
    assert outcome.code == 0, outcome
    assert no_network == []
    assert list(home.iterdir()) == [], "nothing is kept"
    assert QUESTION in outcome.err
    assert "E1" in outcome.err
    root, _, rest = outcome.out.partition("## Evidence")
    assert root.startswith("## Root cause")
    assert "Service shop/inventory" in root and "[E1]" in root
    assert "report-builder" not in root
    ruled_out = rest.partition("## Ruled out")[2].partition("## Next steps")[0]
    assert re.search(r"report-builder \(crash-loop\) is a fault of its own.*\[E\d\]", ruled_out)
    assert "kubectl describe service inventory -n shop" in rest
    assert [line.split(":")[0] for line in outcome.out.rstrip().splitlines()[-3:]] == [
        "Ask your own cluster",
        "With a model",
        "Find all faults",
    ]


def test_the_demo_as_json_is_json_alone(holmes: Command) -> None:
    report = json.loads(holmes("demo", "-o", "json").out)
    assert report["schema"] == "holmes.report/v1"
    assert report["question"] == QUESTION
    assert report["status"] == "answered"
