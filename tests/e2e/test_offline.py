"""The offline model on the real cluster: every fault in a namespace of its own, asked as a person would."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from support.subprocesses import holmes

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

POD = "pod"
WAITING = "{.status.containerStatuses[0].state.waiting.reason}"
INIT_WAITING = "{.status.initContainerStatuses[0].state.waiting.reason}"
PHASE = "{.status.phase}"
FAILED = "{.status.conditions[?(@.type=='Failed')].status}"


@dataclass(frozen=True)
class Case:
    """A fault, the question, the cause that must come first, and how to know that the fault is there."""

    fault: str
    question: str
    cause: str
    kind: str = POD
    path: str = WAITING
    value: str = "CrashLoopBackOff"
    selector: str = ""  # default: app=<fault>


CASES = (
    Case("crash-loop", "Why is crash-loop restarting?", "crash-loop"),
    Case("oom-killed", "oom-killed 为什么一直重启？", "oom-killed"),
    Case("image-pull-bad-tag", "what's wrong with image-pull-bad-tag", "image-not-found", value="ImagePullBackOff"),
    Case("pending-cpu", "why is pending-cpu pending?", "insufficient-cpu", path=PHASE, value="Pending"),
    Case("readiness-failing", "readiness-failing is not ready, why?", "readiness-failing", path=PHASE, value="Running"),
    Case("missing-configmap", "missing-configmap is stuck", "missing-configmap", value="CreateContainerConfigError"),
    Case(
        "service-selector-mismatch", "why can frontend not reach backend?", "service-selects-nothing",
        path=PHASE, value="Running", selector="app=backend",
    ),
    Case("bad-command", "bad-command does not start", "bad-command"),
    Case("crash-panic", "crash-panic keeps crashing", "panic"),
    Case("image-pull-denied", "image-pull-denied is broken", "image-pull-denied", value="ImagePullBackOff"),
    Case("init-failing", "init-failing does not come up", "init-failing", path=INIT_WAITING),
    Case("job-failing", "job-failing failed, why?", "job-failed", "job", FAILED, "True"),
    Case("liveness-failing", "liveness-failing is restarted again and again", "liveness-failing"),
    Case("missing-secret-volume", "missing-secret-volume hangs", "missing-secret", value="ContainerCreating"),
    Case("pending-node-selector", "pending-node-selector is pending", "node-selector", path=PHASE, value="Pending"),
    Case("pending-pvc", "pending-pvc is pending", "missing-pvc", path=PHASE, value="Pending"),
    Case("pending-pvc-unbound", "pending-pvc-unbound is pending", "storage-class", path=PHASE, value="Pending"),
    Case("rollout-stuck", "rollout-stuck is not finished", "readiness-failing", path=PHASE, value="Running"),
    Case("healthy", "is the deployment healthy all right?", "", path=PHASE, value="Running"),
)  # fmt: skip


@pytest.fixture(scope="module")
def places(cluster_folder: Path, kubectl: Callable[..., str]) -> Iterator[dict[str, str]]:
    """The namespace of each fault, all of them there and in their state."""
    tag = uuid4().hex[:4]
    names = {case.fault: f"off-{tag}-{case.fault}" for case in CASES}

    def make(case: Case) -> None:
        name = names[case.fault]
        kubectl("create", "namespace", name)
        text = (cluster_folder / "faults" / f"{case.fault}.yaml").read_text()
        kubectl("apply", "-f", "-", stdin=text.replace("namespace: demo", f"namespace: {name}"))

    def settle(case: Case) -> None:
        where = ["-l", case.selector or f"app={case.fault}"] if case.kind == POD else ["--all"]
        condition = f"--for=jsonpath={case.path}={case.value}"
        kubectl("wait", case.kind, "-n", names[case.fault], *where, condition, "--timeout=120s", seconds=130)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(make, CASES))
        list(pool.map(settle, CASES))
    yield names
    kubectl("delete", "namespace", "--wait=false", *names.values())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.fault)
def test_the_top_cause_is_right(case: Case, places: dict[str, str], kubeconfig: str, tmp_path: Path) -> None:
    def ask() -> tuple[int, dict[str, Any]]:
        done = holmes(
            "ask", case.question, "--namespace", places[case.fault], "-n", "-o", "json", "--model", "offline",
            home=tmp_path, env={"KUBECONFIG": kubeconfig},
        )  # fmt: skip
        return done.code, done.json

    code, report = ask()
    assert code == 0
    found = [cause["cause"] for item in report["evidence"] for cause in causes(item, report, tmp_path)]
    assert report["status"] == "answered"
    assert not report["notes"], "the answer quotes only what the results have"
    if case.cause:
        assert found and case.cause in found[0], f"{found}: {report['root_cause']}"
        assert report["root_cause"] and report["remediation"]
    else:
        assert not report["root_cause"], report["answer"]
        assert "No fault was found" in report["answer"]


def causes(item: dict[str, Any], report: dict[str, Any], home: Path) -> list[dict[str, Any]]:
    """The causes that a result of the run named, from the journal: reports have words, journals have data."""
    from holmes.core.journal import Journal

    with Journal.open(home / ".holmes" / "journal.db") as journal:
        for entry in journal.read(report["run_id"]):
            if entry.kind == "tool_calling_result" and entry.payload["result"]["reference"] == item["reference"]:
                data = entry.payload["result"].get("findings") or {}
                return [cause for cause in data.get("causes", []) if cause["severity"] != "info"]
    return []
