"""A live cluster and its snapshot tell the same of one incident: findings, objects, tables and logs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from holmes.analyzers.run import inspect, scan
from holmes.app.clusters import clusters_for
from holmes.core.config import load_config
from holmes.kube.cluster import Cluster, Gap, Lines, LogWindow, Table
from holmes.kube.related import name_of

pytestmark = [pytest.mark.e2e, pytest.mark.anyio, pytest.mark.timeout(240)]

FAULTS = ("crash-loop", "service-selector-mismatch", "missing-configmap")
EXPECTED = {"crash-loop", "service-selects-nothing", "missing-configmap"}
KINDS = ("pods", "deployments", "services", "configmaps", "endpointslices", "replicasets")


@pytest.fixture(scope="module")
def incident(
    kubectl: Callable[..., str],
    namespace: str,
    apply_fault: Callable[[str], None],
    kubeconfig: str,
    tmp_path_factory: Any,
) -> Path:
    """Three faults, settled, and the snapshot that the command made of them."""
    for fault in FAULTS:
        apply_fault(fault)
    states = {
        "crash-loop": ("waiting.reason", "CrashLoopBackOff"),
        "missing-configmap": ("waiting.reason", "CreateContainerConfigError"),
    }
    for app, (path, value) in states.items():
        condition = f"--for=jsonpath={{.status.containerStatuses[0].state.{path}}}={value}"
        kubectl("wait", "pod", "-n", namespace, "-l", f"app={app}", condition, "--timeout=50s")
    kubectl("wait", "pod", "-n", namespace, "-l", "app=backend", "--for=condition=Ready", "--timeout=50s")
    _until_logged(kubectl, namespace, "deployment/frontend", 5)
    folder = tmp_path_factory.mktemp("snapshot") / "saved"
    command = [sys.executable, "-m", "holmes", "snapshot", "create", str(folder), "--namespace", namespace]
    env = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "KUBECONFIG": kubeconfig}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return folder


def _until_logged(kubectl: Callable[..., str], namespace: str, what: str, lines: int) -> None:
    """Wait until a program has logged that many errors: a few failed calls are no finding."""
    end = time.monotonic() + 50
    while kubectl("logs", "-n", namespace, what).count("ERROR") < lines:
        assert time.monotonic() < end, f"{what} logs no errors"
        time.sleep(0.5)


@pytest.fixture
async def live(kubeconfig: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    async for cluster in _opened({"KUBECONFIG": kubeconfig, "HOME": str(tmp_path)}, None):
        yield cluster


@pytest.fixture
async def saved(incident: Path, tmp_path: Path) -> AsyncIterator[Cluster]:
    async for cluster in _opened({"HOME": str(tmp_path)}, incident):
        yield cluster


async def _opened(env: dict[str, str], folder: Path | None) -> AsyncIterator[Cluster]:
    clusters = clusters_for(load_config(None, env, {})[0], env, folder)
    cluster = await clusters.get()
    assert not isinstance(cluster, Gap)
    yield cluster
    await clusters.close()


def essence(result: Any) -> list[Any]:
    """What does not change with the seconds that pass between two looks."""
    return sorted(
        (
            cause.finding.cause,
            str(cause.finding.object),
            cause.severity,
            sorted(map(str, cause.finding.related)),
            cause.finding.remedy,
            cause.finding.commands,
            sorted((symptom.cause, str(symptom.object)) for symptom in cause.symptoms),
        )
        for cause in result.causes
    )


async def test_the_same_findings(live: Cluster, saved: Cluster, namespace: str) -> None:
    async def look(cluster: Cluster) -> Any:
        return await scan(cluster, namespace, time.monotonic() + 30)

    there, then = await look(live), await look(saved)
    assert essence(there) == essence(then)
    assert {cause.finding.cause for cause in then.faults} >= EXPECTED
    assert there.looked_at == then.looked_at
    assert there.healthy == then.healthy
    assert not then.gaps


@pytest.mark.parametrize(
    "kind, name", [("Deployment", "frontend"), ("Deployment", "crash-loop"), ("Service", "backend")]
)
async def test_the_same_inspection(live: Cluster, saved: Cluster, namespace: str, kind: str, name: str) -> None:
    async def look(cluster: Cluster) -> Any:
        return await inspect(cluster, kind, name, namespace, time.monotonic() + 30)

    there, then = await look(live), await look(saved)
    assert essence(there) == essence(then)
    assert then.faults


@pytest.mark.parametrize("kind", KINDS)
async def test_the_same_objects_and_tables(live: Cluster, saved: Cluster, namespace: str, kind: str) -> None:
    there, then = await objects(live, kind, namespace), await objects(saved, kind, namespace)
    assert there.keys() == then.keys() and there
    for name, obj in there.items():
        assert then[name].get("spec") == obj.get("spec")
        assert then[name]["metadata"]["uid"] == obj["metadata"]["uid"]
        assert then[name]["apiVersion"] == obj["apiVersion"]
    tables = [await cluster.table(kind, namespace) for cluster in (live, saved)]
    assert all(isinstance(table, Table) for table in tables)
    assert tables[0].columns == tables[1].columns  # type: ignore[union-attr]
    assert sorted(tables[0].names) == sorted(tables[1].names)  # type: ignore[union-attr]


async def objects(cluster: Cluster, kind: str, namespace: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    async for page in cluster.list(kind, namespace):
        assert not isinstance(page, Gap), page
        found |= {name_of(obj): obj for obj in page.items}
    return found


async def test_the_same_log(live: Cluster, saved: Cluster, namespace: str) -> None:
    """The live one may have gone on since."""
    pods = await objects(saved, "pods", namespace)
    name = next(pod for pod in pods if pod.startswith("frontend"))
    window = LogWindow(tail=None, timestamps=True)
    there, then = await live.logs(name, namespace, window), await saved.logs(name, namespace, window)
    assert isinstance(there, Lines) and isinstance(then, Lines)
    assert then.lines and there.lines[: len(then.lines)] == then.lines


async def test_the_command_says_the_same(incident: Path, kubeconfig: str, namespace: str, tmp_path: Path) -> None:
    def run(*more: str) -> dict[str, Any]:
        command = [sys.executable, "-m", "holmes", "scan", "--namespace", namespace, "-o", "json", *more]
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    there, then = run("--kubeconfig", kubeconfig), run("--snapshot", str(incident))
    assert {cause["cause"] for cause in there["causes"]} == {cause["cause"] for cause in then["causes"]}
    assert there["looked_at"] == then["looked_at"]
