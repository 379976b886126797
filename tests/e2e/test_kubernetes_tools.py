"""The Kubernetes tools on a real cluster, and the same answers from a snapshot of it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from holmes.core.http import DefaultHttp
from holmes.core.process import ChildProcess
from holmes.core.results import Status, StructuredToolResult
from holmes.kube.cluster import Clusters, Gap
from holmes.kube.clusters import LiveClusters
from holmes.kube.snapshot import SnapshotCluster, SnapshotClusters
from holmes.kube.snapshot_writer import Written, write_snapshot
from holmes.toolsets.kubernetes.core import kubectl_describe
from holmes.toolsets.kubernetes.events import kubectl_events
from holmes.toolsets.kubernetes.get import kubectl_get, kubectl_get_yaml
from holmes.toolsets.kubernetes.live_metrics import kubectl_top_pods
from holmes.toolsets.kubernetes.logs import fetch_pod_logs
from holmes.toolsets.kubernetes.objects import kubernetes_count, kubernetes_jq_query
from support.tool_context import acall, context

pytestmark = pytest.mark.e2e

WORKLOADS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: payments, labels: {app: payments}}
spec:
  replicas: 1
  selector: {matchLabels: {app: payments}}
  template:
    metadata: {labels: {app: payments}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - name: app
        image: busybox:1.36
        command: [sh, -c, 'echo "starting payments"; sleep 1; echo "ERROR: DATABASE_URL is not set"; exit 3']
---
apiVersion: v1
kind: Pod
metadata: {name: talker, labels: {app: talker}}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: talker
    image: busybox:1.36
    command: [sh, -c, 'i=0; while [ $i -lt 500 ]; do echo "line $i"; i=$((i+1)); done; sleep 3600']
  - name: quiet
    image: busybox:1.36
    command: [sleep, '3600']
---
apiVersion: v1
kind: Secret
metadata: {name: password}
stringData: {password: hunter2}
"""


class Space:
    """A namespace of the real cluster, and kubectl in it."""

    def __init__(self, kubectl: Callable[..., str], kubeconfig: str, namespace: str) -> None:
        self._kubectl = kubectl
        self.kubeconfig = kubeconfig
        self.namespace = namespace

    def __call__(self, *args: str, stdin: str = "") -> str:
        return self._kubectl("-n", self.namespace, *args, stdin=stdin)


@pytest.fixture(scope="module")
def space(kubectl: Callable[..., str], kubeconfig: str, namespace: str) -> Space:
    """A crashing deployment, a talking pod and a secret."""
    here = Space(kubectl, kubeconfig, namespace)
    here("apply", "-f", "-", stdin=WORKLOADS)
    here("wait", "--for=condition=Ready", "pod/talker", "--timeout=40s")
    restarted = "--for=jsonpath={.status.containerStatuses[0].restartCount}=1"
    here("wait", restarted, "pod", "-l", "app=payments", "--timeout=40s")
    return here


Step = Callable[[Clusters], Awaitable[Any]]


def with_clusters(kubeconfig: str, step: Step) -> Any:
    """Run a step with live clusters of a kubeconfig."""

    async def main() -> Any:
        env = dict(os.environ)
        clusters = LiveClusters(env, DefaultHttp(env), ChildProcess(), kubeconfig=kubeconfig, context="")
        try:
            return await step(clusters)
        finally:
            await clusters.close()

    return asyncio.run(main())


def run(space: Space, tool: Any, kubeconfig: str = "", **args: Any) -> StructuredToolResult:
    async def step(clusters: Clusters) -> StructuredToolResult:
        return await acall(tool, context(clusters=clusters), **args)

    result = with_clusters(kubeconfig or space.kubeconfig, step)
    assert isinstance(result, StructuredToolResult)
    return result


def test_the_table_is_that_of_kubectl(space: Space) -> None:
    result = run(space, kubectl_get, kind="po", namespace=space.namespace)
    assert result.status is Status.SUCCESS
    ours = {item["name"]: item["cells"]["Ready"] for item in result.data["items"]}
    theirs = json.loads(space("get", "pods", "-o", "json"))["items"]
    assert ours.keys() == {item["metadata"]["name"] for item in theirs}
    assert ours["talker"] == "2/2"


def test_a_deployments_name_is_enough(space: Space) -> None:
    pods = run(space, kubectl_get, kind="pods", name="deployment payments", namespace=space.namespace)
    assert [item["name"].startswith("payments-") for item in pods.data["items"]] == [True]
    digest = run(space, kubectl_describe, kind="deployment payments", namespace=space.namespace)
    assert "payments" in digest.text
    assert digest.status is Status.SUCCESS


def test_slips_are_answered_with_what_exists(space: Space) -> None:
    assert "payments" in run(space, kubectl_get, kind="deployment", name="paymnets", namespace=space.namespace).error
    assert space.namespace in run(space, kubectl_get, kind="pods", namespace=f"{space.namespace}x").error
    assert "no resource type" in run(space, kubectl_get, kind="gizmos", namespace=space.namespace).error


def test_events_of_a_deployment_tell_of_its_pods(space: Space) -> None:
    result = run(space, kubectl_events, kind="deployment", name="payments", namespace=space.namespace)
    reasons = {(item["kind"], item["reason"]) for item in result.data["items"]}
    assert ("Pod", "Started") in reasons
    assert ("Deployment", "ScalingReplicaSet") in reasons


def test_jq_and_count(space: Space) -> None:
    program = '.items[] | select(.metadata.name == "talker") | .spec.containers[].name'
    result = run(space, kubernetes_jq_query, kind="pods", namespace=space.namespace, jq_expr=program)
    assert result.data["values"] == ["talker", "quiet"]
    assert run(space, kubernetes_count, kind="pods", namespace=space.namespace).data["count"] == 2


def test_secret_values_stay_in_the_cluster(space: Space) -> None:
    result = run(space, kubectl_get_yaml, kind="secret", name="password", namespace=space.namespace)
    assert result.status is Status.SUCCESS
    assert "aHVudGVyMg" not in result.text
    assert "hunter2" not in result.text


def test_logs_with_filters_and_limits(space: Space) -> None:
    result = run(space, fetch_pod_logs, pod_name="talker", namespace=space.namespace, filter="line 4\\d\\d", limit=3)
    assert '500 lines read, 100 match "line 4\\d\\d", 3 shown' in result.text
    assert "quiet" in result.text
    assert "line 499" in result.text
    assert "line 496" not in result.text
    period = run(space, fetch_pod_logs, pod_name="talker", namespace=space.namespace, end_time="365d")
    assert period.status is Status.NO_DATA


def test_logs_of_a_crashed_container(space: Space) -> None:
    result = run(space, fetch_pod_logs, pod_name="deployment/payments", namespace=space.namespace)
    assert "ERROR: DATABASE_URL is not set" in result.text
    assert "exit code 3" in result.text


def test_top_gives_figures_or_names_metrics_server(space: Space) -> None:
    result = run(space, kubectl_top_pods, namespace="kube-system")
    assert result.status in (Status.SUCCESS, Status.NO_DATA) or "metrics-server" in result.error


def test_a_snapshot_gives_the_same_answers(space: Space, tmp_path: Path) -> None:
    async def save(clusters: Clusters) -> Written | Gap:
        cluster = await clusters.get("")
        assert not isinstance(cluster, Gap)
        return await write_snapshot(cluster, tmp_path / "saved", mask=lambda text: text, namespace=space.namespace)

    written = with_clusters(space.kubeconfig, save)
    assert isinstance(written, Written)
    everything = "".join(path.read_text() for path in (tmp_path / "saved").rglob("*") if path.is_file())
    assert "hunter2" not in everything
    assert "aHVudGVyMg" not in everything
    saved = SnapshotClusters(SnapshotCluster.load(tmp_path / "saved"))

    def again(tool: Any, **args: Any) -> StructuredToolResult:
        return asyncio.run(acall(tool, context(clusters=saved), **args))

    table = again(kubectl_get, kind="pods", name="payments")
    assert [item["name"].startswith("payments-") for item in table.data["items"]] == [True]
    assert "DATABASE_URL is not set" in again(fetch_pod_logs, pod_name="payments").text
    assert "line 499" in again(fetch_pod_logs, pod_name="talker").text
    assert again(kubectl_events, kind="deployment", name="payments").status is Status.SUCCESS
    assert "only" in again(kubectl_get, kind="pods", namespace="kube-system").error


def test_a_reader_of_one_namespace_is_told_what_it_may_not_see(space: Space, tmp_path: Path) -> None:
    space("create", "serviceaccount", "reader")
    space("create", "rolebinding", "reader", "--clusterrole=view", f"--serviceaccount={space.namespace}:reader")
    config = json.loads(space("config", "view", "--raw", "--minify", "-o", "json"))
    config["users"] = [{"name": "reader", "user": {"token": space("create", "token", "reader").strip()}}]
    config["contexts"][0]["context"] |= {"user": "reader", "namespace": space.namespace}
    limited = tmp_path / "kubeconfig"
    limited.write_text(json.dumps(config))
    limited.chmod(0o600)
    here = run(space, kubectl_get, str(limited), kind="pods")
    assert {item["namespace"] for item in here.data["items"]} == {space.namespace}
    assert here.gaps
    refused = run(space, kubernetes_count, str(limited), kind="pods", namespace="kube-system")
    assert refused.status is Status.ERROR
    assert "forbidden" in refused.error
    assert run(space, kubectl_get, str(limited), kind="secrets", namespace=space.namespace).status is Status.ERROR
    logs = run(space, fetch_pod_logs, str(limited), pod_name="payments")
    assert "DATABASE_URL" in logs.text
