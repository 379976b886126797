"""`holmes scan`: what it prints, and what its exit code says."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import Any

import pytest

from holmes.kube.builtin_kinds import builtin_kinds
from holmes.kube.cluster import Gap
from holmes.kube.paths import path_of
from kube.conftest import FakeApi
from scan.conftest import Saved
from support.command import Command
from support.shop import ago, deployment, event, obj, owned, pod, replica_set

SAID = "ERROR cannot open the ledger: permission denied"


def well() -> list[Any]:
    """A namespace in which all is well."""
    return [
        obj("Namespace", "prod", status={"phase": "Active"}),
        obj("Namespace", "empty", status={"phase": "Active"}),
        deployment("web", "prod"),
        replica_set("web-6d5e4f3c2", "web", "prod"),
        pod("web-6d5e4f3c2-bbbbb", "prod", "web", ("ReplicaSet", "web-6d5e4f3c2")),
        obj("Service", "web", "prod", spec={"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]}),
        obj(
            "EndpointSlice",
            "web-1",
            "prod",
            "discovery.k8s.io/v1",
            metadata={"labels": {"kubernetes.io/service-name": "web"}},
            endpoints=[{"addresses": ["10.0.0.7"], "conditions": {"ready": True}}],
            ports=[{"port": 8080}],
        ),
    ]


def crashing() -> list[Any]:
    """Two replicas that end with an error again and again, and a Service that has no endpoint for it."""
    ended = {"reason": "Error", "exitCode": 3, "finishedAt": ago(minutes=1)}
    state = {
        "ready": False,
        "restartCount": 7,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": ended},
    }
    return [
        *well(),
        deployment("ledger", "prod", ready=0),
        replica_set("ledger-7f9d8c6b5", "ledger", "prod"),
        pod("ledger-7f9d8c6b5-x2k4p", "prod", "ledger", ("ReplicaSet", "ledger-7f9d8c6b5"), **state),
        obj("Service", "ledger", "prod", spec={"selector": {"app": "ledger"}, "ports": [{"port": 80}]}),
        event("e1", "prod", ("Pod", "ledger-7f9d8c6b5-x2k4p"), "BackOff", "Back-off restarting", count=9),
    ]


LOGS = {f"prod/ledger-7f9d8c6b5-x2k4p/app{which}": f"{ago(minutes=1)} {SAID}\n" for which in ("", ".previous")}


def test_nothing_wrong_is_exit_0(holmes: Command, saved: Saved) -> None:
    outcome = holmes("scan", "--snapshot", saved(well()))
    assert outcome.code == 0, outcome
    assert "no fault found" in outcome.out
    assert "1 of 1 Deployment" in outcome.out
    assert outcome.err == ""


def test_a_fault_is_exit_1_and_told_cause_first(holmes: Command, saved: Saved) -> None:
    outcome = holmes("scan", "--snapshot", saved(crashing(), logs=LOGS))
    assert outcome.code == 1
    text = outcome.out
    at = [
        text.index(part)
        for part in (
            "1. critical: crash-loop",
            "Deployment prod/ledger keeps ending",
            f"log of app (previous run): {SAID}",
            "follows from it:",
            "Service prod/ledger has no ready endpoint",
            "→ ",
            "kubectl logs ledger-7f9d8c6b5-x2k4p",
            "Without a fault: 1 of 2 Pods",
        )
    ]
    assert at == sorted(at)
    assert "\x1b" not in text


def test_json_has_the_keys_that_programs_read(holmes: Command, saved: Saved) -> None:
    folder = saved(crashing(), logs=LOGS)
    outcome = holmes("scan", "--snapshot", folder, "-o", "json")
    assert outcome.code == 1
    data = json.loads(outcome.out)
    assert data["schema"] == "holmes.scan/v1"
    assert set(data) >= {"scope", "cluster", "now", "causes", "looked_at", "healthy", "state", "missing", "gaps"}
    (cause,) = data["causes"]
    assert set(cause) >= {
        "cause", "object", "severity", "explanation", "evidence", "remedy", "confidence", "analyzer", "commands",
        "related", "symptoms",
    }  # fmt: skip
    assert cause["object"] == {"kind": "Deployment", "name": "ledger", "namespace": "prod"}
    assert data["looked_at"]["Pod"] == 2
    assert holmes("scan", "--snapshot", folder, "--json").out == outcome.out


def test_markdown_quotes_evidence_and_commands(holmes: Command, saved: Saved) -> None:
    text = holmes("scan", "--snapshot", saved(crashing(), logs=LOGS), "-o", "markdown").out
    assert text.startswith("# all namespaces of cluster test")
    assert "\n## 1. critical: crash-loop\n" in text
    assert f"- `log of app (previous run): {SAID}`" in text
    assert re.search(r"```sh\nkubectl logs .*\n(.*\n)*```", text)


def test_one_namespace_alone(holmes: Command, saved: Saved) -> None:
    folder = saved([*crashing(), deployment("web", "other"), pod("web-1", "other", "web")], logs=LOGS)
    outcome = holmes("scan", "--snapshot", folder, "--namespace", "other")
    assert outcome.code == 0
    assert "namespace other" in outcome.out
    assert "ledger" not in outcome.out


def test_a_namespace_where_nothing_runs_is_healthy_and_says_so(holmes: Command, saved: Saved) -> None:
    outcome = holmes("scan", "--snapshot", saved(well()), "--namespace", "empty")
    assert outcome.code == 0
    assert "nothing runs there" in outcome.out


def test_a_namespace_that_does_not_exist_is_not_healthy(holmes: Command, saved: Saved) -> None:
    outcome = holmes("scan", "--snapshot", saved(well()), "--namespace", "prdo")
    assert outcome.code == 5
    assert "namespace prdo" in outcome.out
    assert "does not exist" in outcome.out
    assert "did you mean prod?" in outcome.out


def test_what_could_not_be_saved_is_not_healthy(holmes: Command, saved: Saved) -> None:
    gap = Gap("jobs in all namespaces", "forbidden", "jane cannot list jobs")
    outcome = holmes("scan", "--snapshot", saved(well(), gaps={"objects/*/jobs.batch": gap}))
    assert outcome.code == 0
    assert "no fault found in what could be looked at" in outcome.out
    assert "jobs in all namespaces: jane cannot list jobs" in outcome.out


def test_no_cluster_at_all(holmes: Command) -> None:
    outcome = holmes("scan")
    assert outcome.code == 5
    assert "nothing could be looked at" in outcome.out
    assert "--kubeconfig" in outcome.out
    data = holmes("scan", "-o", "json")
    assert data.code == 5
    (gap,) = json.loads(data.out)["gaps"]
    assert gap["what"] == "kubeconfig"


def test_a_cluster_that_does_not_answer(holmes: Command, kubeconfig: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        config = json.loads(kubeconfig.read_text())
        config["clusters"][0]["cluster"]["server"] = f"http://127.0.0.1:{taken.getsockname()[1]}"
        kubeconfig.write_text(json.dumps(config))
        outcome = holmes("scan", "--kubeconfig", kubeconfig)
    assert outcome.code == 5
    assert outcome.out.count("connection refused") == 1, "one cause, told once"
    assert "is the cluster running?" in outcome.out


def forbid(api: FakeApi, namespace: str, *but: str) -> None:
    for kind in builtin_kinds().all:
        place = namespace if kind.namespaced else None
        path = path_of(kind, place, "")
        if path and kind.plural in but:
            api.on(path, {"kind": "List", "items": []})
        elif path:
            api.refuse(path, 403, "Forbidden", f'User "jane" cannot list resource "{kind.plural}"')
            api.refuse(f"{path}/{namespace}", 403, "Forbidden", f'User "jane" cannot get resource "{kind.plural}"')


def test_a_forbidden_namespace_is_exit_5_with_the_next_step(holmes: Command, api: FakeApi, kubeconfig: Path) -> None:
    forbid(api, "prod")
    outcome = holmes("scan", "--kubeconfig", kubeconfig, "--namespace", "prod")
    assert outcome.code == 5
    assert 'User "jane" cannot list resource "pods"' in outcome.out
    assert "kubectl auth can-i --list" in outcome.out


def test_partly_forbidden_names_what_was_not_looked_at(holmes: Command, api: FakeApi, kubeconfig: Path) -> None:
    forbid(api, "prod", "pods", "services")
    path = "/api/v1/namespaces/prod/pods"
    api.on(path, {"kind": "PodList", "items": [pod("web-1", "prod", "web")]})
    outcome = holmes("scan", "--kubeconfig", kubeconfig, "--namespace", "prod")
    assert outcome.code == 0
    assert "in what could be looked at" in outcome.out
    assert "Not looked at:" in outcome.out
    assert "deployments" in outcome.out


def test_a_server_that_hangs_is_given_up_in_time(holmes: Command, kubeconfig: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(64)
        config = json.loads(kubeconfig.read_text())
        config["clusters"][0]["cluster"]["server"] = f"http://127.0.0.1:{silent.getsockname()[1]}"
        kubeconfig.write_text(json.dumps(config))
        outcome = holmes("scan", "--kubeconfig", kubeconfig, "--timeout", "1")
    assert outcome.code == 5
    assert "not read in time" in outcome.out


def test_a_folder_that_is_no_snapshot_is_a_usage_error(holmes: Command, tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        outcome = holmes("scan", "--snapshot", folder)
        assert outcome.code == 2
        assert outcome.out == ""
        assert str(folder) in outcome.err
        assert "holmes snapshot create" in outcome.err


def test_a_snapshot_and_a_context_exclude_each_other(holmes: Command, saved: Saved) -> None:
    outcome = holmes("scan", "--snapshot", saved(well()), "--context", "prod")
    assert outcome.code == 2
    assert "--snapshot or --context, not both" in outcome.err


@pytest.mark.parametrize("output", ["html", "jsonl", "yaml"])
def test_formats_that_a_scan_does_not_have(holmes: Command, output: str) -> None:
    outcome = holmes("scan", "-o", output)
    assert outcome.code == 2
    assert "markdown" in outcome.err


def test_logs_bring_no_secret_and_no_control_character_to_the_terminal(holmes: Command, saved: Saved) -> None:
    key = "ghp_" + "a1B2c3D4e5" * 4
    hostile = f"{ago(minutes=1)} FATAL \x1b]0;owned\x07\x1b[31mtoken {key} refused\n"
    logs = dict.fromkeys(LOGS, hostile)
    folder = saved(crashing(), logs=logs)
    for output in ("text", "markdown", "json"):
        outcome = holmes("scan", "--snapshot", folder, "-o", output)
        assert outcome.code == 1
        assert "refused" in outcome.out
        assert key not in outcome.out
        assert "[MASKED:" in outcome.out
        assert "\x1b" not in outcome.out
        assert "owned" not in outcome.out or output == "json"


def test_events_of_others_are_no_faults(holmes: Command, saved: Saved) -> None:
    finished = pod("migrate-1", "prod", "migrate", ("Job", "migrate"), state={"terminated": {"exitCode": 0}})
    finished["status"]["phase"] = "Succeeded"
    job = obj("Job", "migrate", "prod", "batch/v1", status={"succeeded": 1}, spec={"completions": 1})
    finished["metadata"]["ownerReferences"] = owned("Job", "migrate", "prod")
    outcome = holmes("scan", "--snapshot", saved([*well(), job, finished]))
    assert outcome.code == 0, outcome.out
