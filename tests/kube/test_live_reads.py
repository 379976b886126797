"""Reading: pages, tables, logs, resource types, the clock; and what nobody may see."""

from __future__ import annotations

import base64
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from holmes.kube.cluster import Gap, Kinds, Lines, LogWindow, Page, Table
from holmes.kube.live import LiveCluster
from holmes.kube.log_lines import LineBuffer
from holmes.kube.redact import LAST_APPLIED

pytestmark = pytest.mark.anyio
Connect = Callable[..., AbstractAsyncContextManager[LiveCluster]]
PODS = "/api/v1/namespaces/prod/pods"
SECRET = "hunter2-hunter2"


async def pages_of(cluster: LiveCluster, *args: Any, **more: Any) -> list[Page]:
    found = [page async for page in cluster.list(*args, **more)]
    assert all(isinstance(page, Page) for page in found), found
    return found  # type: ignore[return-value]


def listed(*names: str, kind: str = "PodList", **metadata: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": metadata, "items": [{"metadata": {"name": name}} for name in names]}


class TestLists:
    async def test_pages_to_the_end(self, connect: Connect, api: Any) -> None:
        replies = {"": listed("a", "b", **{"continue": "next", "remainingItemCount": 1}), "next": listed("c")}
        api.answer(PODS, lambda asked: (200, replies[asked.query.get("continue", "")], {}))
        async with connect() as cluster:
            pages = await pages_of(cluster, "po", "prod", "app=web", "status.phase=Running")
        assert [len(page.items) for page in pages] == [2, 1]
        assert pages[0].total == 3
        assert api.asked[0].query == {
            "limit": "500",
            "labelSelector": "app=web",
            "fieldSelector": "status.phase=Running",
        }

    async def test_items_know_their_kind(self, connect: Connect, api: Any) -> None:
        api.on("/apis/apps/v1/deployments", listed("web", kind="DeploymentList"))
        async with connect() as cluster:
            (page,) = await pages_of(cluster, "deploy")
        assert (page.items[0]["kind"], page.items[0]["apiVersion"]) == ("Deployment", "apps/v1")

    async def test_an_empty_list_is_a_page(self, connect: Connect, api: Any) -> None:
        api.on(PODS, listed())
        async with connect() as cluster:
            assert await pages_of(cluster, "pods", "prod") == [Page([], total=0)]


class TestNamespaces:
    async def test_the_contexts_own_is_the_default_of_get(self, connect: Connect, api: Any) -> None:
        api.on(f"{PODS}/web", {"kind": "Pod"})
        api.on("/api/v1/namespaces/shop/pods/web", {"kind": "Pod"})
        api.on("/api/v1/nodes/n-1", {"kind": "Node"})
        async with connect() as cluster:
            for name, namespace in (("web", None), ("web", "shop")):
                await cluster.get("pod", name, namespace)
            await cluster.get("node", "n-1", "shop")
        assert api.paths() == [f"{PODS}/web", "/api/v1/namespaces/shop/pods/web", "/api/v1/nodes/n-1"]

    async def test_a_server_behind_a_path(self, connect: Connect, api: Any) -> None:
        api.on(f"/k8s/clusters/c-1{PODS}/web", {"kind": "Pod"})
        async with connect(server=f"{api.url}/k8s/clusters/c-1") as cluster:
            assert await cluster.get("pod", "web") == {"kind": "Pod"}


async def test_basic_auth_and_impersonation(connect: Connect, api: Any) -> None:
    api.on(f"{PODS}/web", {"kind": "Pod"})
    async with connect(username="u", password="p", impersonate=(("Impersonate-User", "admin"),)) as cluster:
        await cluster.get("pod", "web")
    headers = api.asked[0].headers
    assert headers["authorization"] == f"Basic {base64.b64encode(b'u:p').decode()}"
    assert headers["impersonate-user"] == "admin"


class TestSecrets:
    def secret(self) -> dict[str, Any]:
        data = {"password": base64.b64encode(SECRET.encode()).decode(), "empty": ""}
        annotations = {LAST_APPLIED: f'{{"stringData":{{"password":"{SECRET}"}}}}', "team": "shop"}
        metadata = {"name": "db", "namespace": "prod", "annotations": annotations, "managedFields": [{"x": 1}]}
        return {"kind": "Secret", "metadata": metadata, "data": data, "stringData": {"plain": SECRET}}

    def check(self, obj: dict[str, Any]) -> None:
        assert obj["data"] == {"password": "(hidden, 15 bytes)", "empty": "(hidden, 0 bytes)"}
        assert obj["stringData"] == {"plain": "(hidden, 15 bytes)"}
        assert obj["metadata"]["annotations"] == {"team": "shop"}
        assert "managedFields" not in obj["metadata"]

    async def test_get(self, connect: Connect, api: Any) -> None:
        api.on("/api/v1/namespaces/prod/secrets/db", self.secret())
        async with connect() as cluster:
            found = await cluster.get("secret", "db")
        assert isinstance(found, dict)
        self.check(found)

    async def test_list(self, connect: Connect, api: Any) -> None:
        item = {key: value for key, value in self.secret().items() if key != "kind"}
        api.on("/api/v1/secrets", {"kind": "SecretList", "items": [item]})
        async with connect() as cluster:
            (page,) = await pages_of(cluster, "secrets")
        self.check(page.items[0])

    @pytest.mark.parametrize("kind", ["SecretList", "List"])
    async def test_raw(self, connect: Connect, api: Any, kind: str) -> None:
        item = self.secret() if kind == "List" else {k: v for k, v in self.secret().items() if k != "kind"}
        api.on("/api/v1/secrets", {"kind": kind, "items": [item]})
        async with connect() as cluster:
            found = await cluster.raw("/api/v1/secrets?limit=5")
        assert isinstance(found, dict)
        self.check(found["items"][0])
        assert api.asked[0].query == {"limit": "5"}

    async def test_last_applied_goes_from_every_kind(self, connect: Connect, api: Any) -> None:
        metadata = {"name": "web", "annotations": {LAST_APPLIED: SECRET}, "managedFields": []}
        api.on("/apis/apps/v1/namespaces/prod/deployments/web", {"kind": "Deployment", "metadata": metadata})
        async with connect() as cluster:
            found = await cluster.get("deploy", "web")
        assert found == {"kind": "Deployment", "metadata": {"name": "web", "annotations": {}}}


class TestTables:
    def table(self, *rows: Any, token: str = "") -> dict[str, Any]:
        columns = [{"name": "Name", "type": "string", "priority": 0}, {"name": "Node", "type": "string", "priority": 1}]
        objects = [{"cells": cells, "object": {"metadata": {"name": cells[0], "namespace": "prod"}}} for cells in rows]
        return {"kind": "Table", "metadata": {"continue": token}, "columnDefinitions": columns, "rows": objects}

    async def test_pages_become_one_table(self, connect: Connect, api: Any) -> None:
        replies = {"": self.table(["a", 3], token="x"), "x": self.table(["b", None])}
        api.answer(PODS, lambda asked: (200, replies[asked.query.get("continue", "")], {}))
        async with connect() as cluster:
            found = await cluster.table("pods", "prod")
        rows, names = (("a", "3"), ("b", "")), (("prod", "a"), ("prod", "b"))
        assert found == Table(("Name", "Node"), (0, 1), rows, names)
        assert "as=Table" in api.asked[0].headers["accept"]

    async def test_of_one_object(self, connect: Connect, api: Any) -> None:
        api.on(f"{PODS}/a", self.table(["a", "n"]))
        async with connect() as cluster:
            found = await cluster.table("pods", name="a")
        assert isinstance(found, Table)
        assert found.rows == (("a", "n"),)


class TestLogs:
    def serve(self, api: Any, text: str, containers: tuple[str, ...] = ("app",), default: str = "") -> None:
        annotations = {"kubectl.kubernetes.io/default-container": default} if default else {}
        spec = {"containers": [{"name": name} for name in containers]}
        api.on(f"{PODS}/web", {"kind": "Pod", "metadata": {"name": "web", "annotations": annotations}, "spec": spec})
        api.on(f"{PODS}/web/log", text)

    async def logs(self, connect: Connect, **window: Any) -> Lines:
        async with connect() as cluster:
            found = await cluster.logs("web", "prod", LogWindow(**window))
        assert isinstance(found, Lines), found
        return found

    async def test_the_window_is_the_servers_work(self, connect: Connect, api: Any) -> None:
        self.serve(api, "a\n")
        await self.logs(
            connect,
            previous=True,
            tail=5,
            since_seconds=60,
            since_time="2026-01-01T00:00:00Z",
            timestamps=True,
            limit_bytes=9,
        )
        assert api.asked[-1].query == {
            "container": "app",
            "previous": "true",
            "tailLines": "6",
            "sinceSeconds": "60",
            "sinceTime": "2026-01-01T00:00:00Z",
            "timestamps": "true",
            "limitBytes": "9",
        }

    async def test_whether_there_was_more_is_known_exactly(self, connect: Connect, api: Any) -> None:
        self.serve(api, "a\nb\nc\n")
        found = await self.logs(connect, tail=2)
        assert (found.lines, found.truncated) == (["b", "c"], True)
        found = await self.logs(connect, tail=3)
        assert (found.lines, found.truncated) == (["a", "b", "c"], False)
        found = await self.logs(connect, limit_bytes=6)
        assert found.truncated

    @pytest.mark.parametrize(("default", "chosen"), [("", "app"), ("sidecar", "sidecar"), ("gone", "app")])
    async def test_the_default_container(self, connect: Connect, api: Any, default: str, chosen: str) -> None:
        self.serve(api, "x\n", ("app", "sidecar"), default)
        assert (await self.logs(connect)).container == chosen

    async def test_no_lines(self, connect: Connect, api: Any) -> None:
        self.serve(api, "")
        assert await self.logs(connect) == Lines([], "app")

    async def test_bytes_that_are_no_text(self, connect: Connect, api: Any) -> None:
        self.serve(api, b"ok \xff\r\nlast without end")  # type: ignore[arg-type]
        assert (await self.logs(connect)).lines == ["ok \ufffd", "last without end"]


class TestLineBuffer:
    def test_pieces_may_cut_lines_and_characters(self) -> None:
        whole = LineBuffer()
        for byte in "eins\n\nzwei ä\ndrei".encode():
            whole.take(bytes([byte]))
        assert whole.finish() == ["eins", "", "zwei ä", "drei"]
        assert not whole.dropped

    def test_a_long_log_keeps_the_newest_lines_in_bounded_memory(self) -> None:
        buffer = LineBuffer(max_bytes=10_000)
        for number in range(2000):
            buffer.take(f"line {number:04} {'x' * 50}\n".encode())
        lines = buffer.finish()
        assert lines[-1].startswith("line 1999")
        assert sum(map(len, lines)) <= 10_000
        assert buffer.dropped

    def test_many_empty_lines_cost_memory_too(self) -> None:
        buffer = LineBuffer(max_bytes=10_000)
        buffer.take(b"\n" * 100_000)
        assert len(buffer.finish()) <= 200

    def test_one_endless_line_is_cut(self) -> None:
        buffer = LineBuffer(max_bytes=100)
        for _ in range(50):
            buffer.take(b"y" * 10)
        assert buffer.finish() == ["y" * 100]
        assert buffer.dropped


class TestKinds:
    def discovery(self, api: Any) -> None:
        def resource(plural: str, kind: str, scope: str = "Namespaced", **more: Any) -> dict[str, Any]:
            return {
                "resource": plural,
                "responseKind": {"kind": kind},
                "scope": scope,
                "verbs": ["get", "list"],
                **more,
            }

        core = {"metadata": {"name": ""}, "versions": [{"version": "v1", "resources": [resource("pods", "Pod")]}]}
        rollouts = resource("rollouts", "Rollout", shortNames=["ro"], singularResource="rollout")
        newer = {"version": "v1", "resources": [rollouts]}
        older = {"version": "v1alpha1", "resources": [rollouts, resource("old", "Old", "Cluster")]}
        argo = {"metadata": {"name": "argoproj.io"}, "versions": [newer, older]}
        api.on("/api", {"kind": "APIGroupDiscoveryList", "items": [core]})
        api.on("/apis", {"kind": "APIGroupDiscoveryList", "items": [argo]})

    async def test_a_plain_question_needs_no_discovery(self, connect: Connect, api: Any) -> None:
        api.on("/apis/batch/v1/namespaces/prod/cronjobs/backup", {"kind": "CronJob"})
        async with connect() as cluster:
            for name in ("cj", "CronJob", "cronjobs", "cronjob.batch", "cronjobs.v1.batch"):
                assert await cluster.get(name, "backup") == {"kind": "CronJob"}
        assert set(api.paths()) == {"/apis/batch/v1/namespaces/prod/cronjobs/backup"}

    async def test_custom_resources_are_discovered_once(self, connect: Connect, api: Any) -> None:
        self.discovery(api)
        api.on("/apis/argoproj.io/v1/namespaces/prod/rollouts/web", {"kind": "Rollout"})
        async with connect() as cluster:
            for name in ("ro", "Rollout", "rollouts.argoproj.io"):
                assert await cluster.get(name, "web") == {"kind": "Rollout"}
            kinds = await cluster.kinds()
        assert isinstance(kinds, Kinds)
        found = kinds.find("old")
        assert found and (found.version, found.namespaced, found.verbs) == ("v1alpha1", False, ("get", "list"))
        assert api.paths().count("/apis") == 1

    async def test_servers_before_aggregated_discovery(self, connect: Connect, api: Any) -> None:
        def group(name: str) -> dict[str, Any]:
            return {"name": name, "preferredVersion": {"version": "v1"}}

        api.on("/api", {"kind": "APIVersions", "versions": ["v1"]})
        api.on("/apis", {"kind": "APIGroupList", "groups": [group("argoproj.io"), group("broken.io")]})
        api.on("/api/v1", {"resources": [{"name": "pods", "kind": "Pod"}, {"name": "pods/log", "kind": "Pod"}]})
        rollout = {"name": "rollouts", "kind": "Rollout", "namespaced": True, "shortNames": ["ro"], "singularName": ""}
        api.on("/apis/argoproj.io/v1", {"resources": [rollout]})
        api.refuse("/apis/broken.io/v1", 503, "ServiceUnavailable", "service unavailable")
        async with connect() as cluster:
            kinds = await cluster.kinds()
        assert isinstance(kinds, Kinds)
        assert [(kind.plural, kind.api_version) for kind in kinds.all] == [
            ("pods", "v1"),
            ("rollouts", "argoproj.io/v1"),
        ]
        assert kinds.find("ro") is not None

    async def test_a_cluster_with_another_version_of_a_built_in_kind(self, connect: Connect, api: Any) -> None:
        scaler = {"resource": "horizontalpodautoscalers", "responseKind": {"kind": "HorizontalPodAutoscaler"}}
        versions = [{"version": "v1", "resources": [{**scaler, "scope": "Namespaced"}]}]
        api.on("/api", {"kind": "APIGroupDiscoveryList", "items": []})
        api.on(
            "/apis",
            {"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": "autoscaling"}, "versions": versions}]},
        )
        api.on("/apis/autoscaling/v1/namespaces/prod/horizontalpodautoscalers/web", {"kind": "HorizontalPodAutoscaler"})
        async with connect() as cluster:
            assert await cluster.get("hpa", "web") == {"kind": "HorizontalPodAutoscaler"}

    async def test_discovery_that_fails_is_a_gap(self, connect: Connect, api: Any) -> None:
        api.refuse("/api", 403, "Forbidden", "no")
        async with connect() as cluster:
            found = await cluster.kinds()
        assert isinstance(found, Gap)
        assert (found.what, found.reason) == ("resource types", "forbidden")


class TestClock:
    async def now(self, connect: Connect, api: Any, ahead: timedelta) -> timedelta:
        date = format_datetime(datetime.now(UTC) + ahead, usegmt=True)

        api.on(f"{PODS}/web", {"kind": "Pod"}, headers={"Date": date})
        async with connect() as cluster:
            await cluster.get("pod", "web")
            return cluster.now - datetime.now(UTC)

    async def test_it_is_the_servers(self, connect: Connect, api: Any) -> None:
        drift = await self.now(connect, api, timedelta(hours=2))
        assert abs(drift - timedelta(hours=2)) < timedelta(seconds=2)

    async def test_less_than_two_seconds_is_no_drift(self, connect: Connect, api: Any) -> None:
        assert abs(await self.now(connect, api, timedelta(seconds=1))) < timedelta(milliseconds=100)

    async def test_ours_before_the_first_answer(self, connect: Connect) -> None:
        async with connect() as cluster:
            assert abs(cluster.now - datetime.now(UTC)) < timedelta(seconds=1)


async def test_an_answer_without_end_is_cut(connect: Connect, api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holmes.kube.api._MAX_BODY", 1 << 20)
    api.on(PODS, " " * (2 << 20))
    async with connect() as cluster:
        (found,) = [page async for page in cluster.list("pods", "prod")]
    assert isinstance(found, Gap)
    assert "larger than 1 MB; narrow it by namespace or selector" in found.message


async def test_raw_text_is_said_not_to_be_json(connect: Connect, api: Any) -> None:
    api.on("/healthz", "ok")
    async with connect() as cluster:
        found = await cluster.raw("/healthz")
    assert isinstance(found, Gap)
    assert "text/plain, not a JSON object: ok" in found.message
