"""The live reader against a real API server, with kubectl as the judge."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from holmes.core.http import DefaultHttp
from holmes.core.process import ChildProcess
from holmes.kube.cluster import Gap, Kinds, Lines, LogWindow, Object, Page, Table
from holmes.kube.clusters import LiveClusters
from holmes.kube.describe import describe
from holmes.kube.live import LiveCluster
from holmes.kube.paths import paging
from holmes.kube.related import name_of, pod_status

# Starting the cluster belongs to the first test's time.
pytestmark = [pytest.mark.e2e, pytest.mark.anyio, pytest.mark.timeout(300)]
Kubectl = Callable[..., str]
SECRET = "correct-horse-battery"
READER = """
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [pods, pods/log], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: reader}]
"""
WIDGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.NAMESPACE.example.com}
spec:
  group: NAMESPACE.example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, shortNames: [wdg]}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""


@asynccontextmanager
async def clusters_of(kubeconfig: str) -> AsyncIterator[LiveClusters]:
    clusters = LiveClusters(dict(os.environ), DefaultHttp({}), ChildProcess(), kubeconfig)
    try:
        yield clusters
    finally:
        await clusters.close()


@asynccontextmanager
async def cluster_of(kubeconfig: str) -> AsyncIterator[LiveCluster]:
    async with clusters_of(kubeconfig) as clusters:
        cluster = await clusters.get()
        assert isinstance(cluster, LiveCluster), cluster
        yield cluster


async def items(cluster: LiveCluster, kind: str, namespace: str | None = None, **more: str) -> list[Object]:
    found: list[Object] = []
    async for page in cluster.list(kind, namespace, **more):
        assert isinstance(page, Page), page
        found += page.items
    return found


async def until(check: Callable[[], object], seconds: float = 90) -> None:
    """Wait for a state of the cluster; there is nothing to be told by."""
    with anyio.fail_after(seconds):
        while not await check():  # type: ignore[misc]
            await anyio.sleep(0.3)


@pytest.fixture(scope="module")
def faulty(apply_fault: Callable[[str], None], namespace: str) -> str:
    """The namespace with a few faults in it."""
    for fault in (
        "crash-loop",
        "oom-killed",
        "init-failing",
        "service-selector-mismatch",
        "missing-configmap",
        "pending-pvc-unbound",
    ):
        apply_fault(fault)
    return namespace


async def test_states_are_those_that_kubectl_prints(kubeconfig: str, faulty: str) -> None:
    async with cluster_of(kubeconfig) as cluster:

        async def crashing() -> bool:
            pods = await items(cluster, "pods", faulty)
            return any(pod_status(pod) == "CrashLoopBackOff" for pod in pods)

        await until(crashing)

        async def same() -> bool:
            # States change between two requests, so the whole comparison may be tried again.
            table = await cluster.table("pods", faulty)
            assert isinstance(table, Table)
            printed = {row[0]: row[2] for row in table.rows}
            return len(printed) >= 5 and printed == {
                name_of(pod): pod_status(pod) for pod in await items(cluster, "pods", faulty)
            }

        await until(same, 20)


async def test_tables_are_those_of_kubectl(kubeconfig: str, kubectl: Kubectl) -> None:
    async with cluster_of(kubeconfig) as cluster:
        table = await cluster.table("namespaces")
    assert isinstance(table, Table)
    printed = kubectl("get", "namespaces", "--no-headers").splitlines()
    assert {row[0] for row in table.rows} >= {"kube-system"}
    assert [row[0] for row in table.rows] == [line.split()[0] for line in printed]


async def test_fields_and_labels_are_selected_by_the_server(kubeconfig: str, faulty: str) -> None:
    async with cluster_of(kubeconfig) as cluster:
        labelled = await items(cluster, "po", faulty, selector="app=init-failing")
        chosen = await items(cluster, "po", None, fields=f"metadata.name=init-failing,metadata.namespace={faulty}")
        (wrong,) = [page async for page in cluster.list("po", faulty, selector="app in (")]
    assert [name_of(pod) for pod in labelled] == [name_of(pod) for pod in chosen] == ["init-failing"]
    assert isinstance(wrong, Gap)
    assert "unable to parse" in wrong.message


async def test_long_lists_come_in_pages(
    kubeconfig: str, kubectl: Kubectl, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holmes.kube.live.paging", lambda token: paging(token, 2))
    for number in range(5):
        kubectl("-n", namespace, "create", "configmap", f"page-{number}")
    async with cluster_of(kubeconfig) as cluster:
        pages = [page async for page in cluster.list("cm", namespace)]
        table = await cluster.table("cm", namespace)
    names = [name_of(item) for page in pages if isinstance(page, Page) for item in page.items]
    assert [name for name in names if name.startswith("page-")] == [f"page-{number}" for number in range(5)]
    assert [isinstance(page, Page) and len(page.items) for page in pages[:2]] == [2, 2]
    assert isinstance(pages[0], Page) and pages[0].total == len(names)
    assert isinstance(table, Table) and [row[0] for row in table.rows] == names


async def test_secrets_are_empty(kubeconfig: str, kubectl: Kubectl, namespace: str) -> None:
    text = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: db}}\nstringData: {{password: {SECRET}}}\n"
    kubectl("-n", namespace, "apply", "-f", "-", stdin=text)
    async with cluster_of(kubeconfig) as cluster:
        seen = [
            await cluster.get("secret", "db", namespace),
            await items(cluster, "secrets", namespace),
            await cluster.table("secrets", namespace),
            await cluster.raw(f"/api/v1/namespaces/{namespace}/secrets"),
            await cluster.raw(f"/api/v1/namespaces/{namespace}/secrets/db"),
            await describe(cluster, "secret", "db", namespace),
        ]
    assert not any(word in str(seen) for word in (SECRET, "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5"))
    assert f"(hidden, {len(SECRET)} bytes)" in str(seen[0])


async def test_logs(kubeconfig: str, kubectl: Kubectl, faulty: str) -> None:
    async with cluster_of(kubeconfig) as cluster:
        found: list[Lines] = []

        async def has_a_previous_log() -> bool:
            (pod,) = await items(cluster, "pods", faulty, selector="app=crash-loop")
            previous = await cluster.logs(name_of(pod), faulty, LogWindow(previous=True))
            found.extend([previous] if isinstance(previous, Lines) else [])
            return bool(found)

        await until(has_a_previous_log)
        (pod,) = await items(cluster, "pods", faulty, selector="app=crash-loop")
        last = await cluster.logs(name_of(pod), faulty, LogWindow(tail=1, timestamps=True))
        waiting = await cluster.logs("init-failing", faulty, LogWindow())
        wrong = await cluster.logs("init-failing", faulty, LogWindow("nope"))
        printed = kubectl("-n", faulty, "logs", name_of(pod), "--tail=1")
    assert (found[0].container, found[0].previous, found[0].truncated) == ("app", True, False)
    assert len(found[0].lines) > 1
    assert isinstance(last, Lines) and last.truncated
    assert last.lines[0].split(" ", 1)[0].endswith("Z")
    assert printed.split()[-3:] == last.lines[0].split()[-3:]
    assert isinstance(waiting, Gap) and waiting.reason == "not_found"
    assert "waiting to start" in waiting.message
    assert isinstance(wrong, Gap) and "it has: migrate, app" in wrong.message


async def test_resource_types(kubeconfig: str, kubectl: Kubectl, namespace: str) -> None:
    kubectl("apply", "-f", "-", stdin=WIDGETS.replace("NAMESPACE", namespace))
    try:
        kubectl("wait", "--for=condition=Established", f"crd/widgets.{namespace}.example.com", "--timeout=20s")
        widget = f"apiVersion: {namespace}.example.com/v1\nkind: Widget\nmetadata: {{name: w1}}\nspec: {{size: 3}}\n"
        kubectl("-n", namespace, "apply", "-f", "-", stdin=widget)
        async with cluster_of(kubeconfig) as cluster:
            kinds = await cluster.kinds()
            found = await cluster.get("wdg", "w1", namespace)
            digest = await describe(cluster, "widget", "w1", namespace)
            unknown = await cluster.get("widgetz", "w1", namespace)
        printed = kubectl("api-resources", "-o", "name").split()
    finally:
        kubectl("delete", "crd", f"widgets.{namespace}.example.com", "--wait=false")
    assert isinstance(kinds, Kinds)
    assert {f"{kind.plural}.{kind.group}".rstrip(".") for kind in kinds.all} == set(printed)
    assert isinstance(found, dict) and found["spec"] == {"size": 3}
    assert isinstance(digest, str) and "size: 3" in digest
    assert isinstance(unknown, Gap) and "did you mean widgets?" in unknown.message


async def test_a_reader_of_one_namespace(kubeconfig: str, kubectl: Kubectl, faulty: str, tmp_path: Path) -> None:
    kubectl("-n", faulty, "apply", "-f", "-", stdin=READER)
    token = kubectl("-n", faulty, "create", "token", "reader").strip()
    restricted = restricted_kubeconfig(kubectl, tmp_path, token, faulty)
    async with cluster_of(restricted) as cluster:
        pages = [page async for page in cluster.list("pods")]
        nodes = await cluster.get("node", "node-1")
        (events,) = [page async for page in cluster.list("events", faulty)]
        table = await cluster.table("pods")
        digest = await describe(cluster, "pod", "init-failing")
    *read, last = pages
    assert read and all(isinstance(page, Page) for page in read)
    assert isinstance(last, Gap) and last.reason == "forbidden"
    assert f"It may be read in: {faulty}" in last.message
    assert isinstance(nodes, Gap) and "cannot get resource" in nodes.message
    assert isinstance(events, Gap) and events.what == f"events in namespace {faulty}"
    assert isinstance(table, Gap) and f"It may be read in: {faulty}" in table.message
    assert isinstance(digest, str)
    assert "Init:" in digest and "events: not known: events is forbidden" in digest


async def test_a_token_that_nobody_knows(kubectl: Kubectl, tmp_path: Path) -> None:
    async with cluster_of(restricted_kubeconfig(kubectl, tmp_path, "nonsense", "default")) as cluster:
        found = await cluster.get("pod", "x")
    assert isinstance(found, Gap)
    assert found.reason == "unauthorized"


def restricted_kubeconfig(kubectl: Kubectl, folder: Path, token: str, namespace: str) -> str:
    """The administrator's cluster with another user."""
    path = folder / "restricted"
    path.write_text(kubectl("config", "view", "--raw", "--minify"))
    config = ["config", "--kubeconfig", str(path)]
    kubectl(*config, "set-credentials", "reader", f"--token={token}")
    kubectl(*config, "set-context", "--current", "--user=reader", f"--namespace={namespace}")
    return str(path)


async def test_kubectl_takes_the_kubeconfig_of_children(kubeconfig: str, kubectl: Kubectl, tmp_path: Path) -> None:
    async with clusters_of(kubeconfig) as clusters:
        path = await clusters.child_kubeconfig(tmp_path / "run")
    assert isinstance(path, Path)
    child = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECONFIG": str(path)}
    assert kubectl("auth", "whoami", "-o", "name", environment=child) == kubectl("auth", "whoami", "-o", "name")
    assert "kube-system" in kubectl("get", "namespaces", environment=child)


async def test_the_clock_is_the_servers(kubeconfig: str) -> None:
    async with cluster_of(kubeconfig) as cluster:
        before = cluster.now
        await cluster.get("namespace", "default")
        assert abs((cluster.now - before).total_seconds()) < 2


def test_a_first_answer_comes_fast(kubeconfig: str) -> None:
    """Connecting and the first GET, without the imports of the HTTP client; the limit is for busy machines."""
    code = f"""
import time, asyncio, httpx2, httpcore2, h11, anyio._backends._asyncio
from holmes.core.http import DefaultHttp
from holmes.kube.clusters import LiveClusters
async def main():
    start = time.perf_counter()
    clusters = LiveClusters({{}}, DefaultHttp({{}}), None, {kubeconfig!r})
    found = await (await clusters.get()).get("namespace", "default")
    assert isinstance(found, dict), found
    print(time.perf_counter() - start)
    await clusters.close()
asyncio.run(main())
"""
    times = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(3)
    ]
    assert min(times) < 0.2
