"""A large snapshot: the one fault among 1,000 pods is found. The time is printed (pytest -s), not judged."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

from holmes.kube.snapshot import SnapshotCluster
from holmes.kube.snapshot_writer import Written, write_snapshot
from support import thousand_pods
from support.shop import NOW


def test_the_one_fault_of_a_thousand_pods(tmp_path: Path) -> None:
    everything = list(thousand_pods.objects())
    cluster = SnapshotCluster.from_objects(everything, now=NOW, logs=thousand_pods.logs(), cluster="large")
    written = asyncio.run(write_snapshot(cluster, tmp_path / "saved", mask=lambda text: text))
    assert isinstance(written, Written)
    assert written.objects == len(everything)
    command = [sys.executable, "-m", "holmes", "scan", "--snapshot", str(tmp_path / "saved"), "-o", "json"]
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env={"HOME": str(tmp_path)}, timeout=50)
    print(f"holmes scan, {len(everything)} objects: {time.perf_counter() - started:.2f} s")
    assert done.returncode == 1, done.stderr
    data = json.loads(done.stdout)
    assert data["looked_at"]["Pod"] == 1000
    assert data["healthy"]["Pod"] == 996
    assert data["gaps"] == []
    (cause,) = [cause for cause in data["causes"] if cause["severity"] != "info"]
    assert cause["cause"] == "crash-loop"
    assert cause["object"] == {"kind": "Deployment", "name": "service-3", "namespace": thousand_pods.SICK}
    assert any("DATABASE_URL" in line for line in cause["evidence"])
