"""What a scan and an inspection read of a cluster, what they do when they may not, and how they tell it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import pytest

from holmes.analyzers.reader import AT_ONCE
from holmes.analyzers.run import ScanResult, inspect, scan, to_data, to_text
from holmes.kube.cluster import Gap, LogWindow, Page
from holmes.kube.snapshot import SnapshotCluster

pytestmark = pytest.mark.anyio
FORBIDDEN = Gap("pods in all namespaces", "forbidden", "pods is forbidden: User jane cannot list pods")


def soon(seconds: float = 20.0) -> float:
    return time.monotonic() + seconds


def told(result: ScanResult) -> dict[str, str]:
    return {item.cause: str(item.object) for item in result.findings}


class Watched(SnapshotCluster):
    """Notes what is asked of it."""

    asked: list[str]
    tails: list[LogWindow]
    busy: int
    most: int

    def watch(self) -> Watched:
        self.asked, self.tails, self.busy, self.most = [], [], 0, 0
        return self

    async def list(
        self, kind: str, namespace: str | None = None, selector: str = "", fields: str = ""
    ) -> AsyncIterator[Page | Gap]:
        self.asked.append(f"{kind} {namespace} {selector} {fields}".strip())
        self.busy += 1
        self.most = max(self.most, self.busy)
        await anyio.sleep(0)
        async for page in super().list(kind, namespace, selector, fields):
            yield page
        self.busy -= 1

    async def logs(self, pod: str, namespace: str, window: LogWindow) -> Any:
        self.tails.append(window)
        return await super().logs(pod, namespace, window)


class TestLogs:
    async def test_a_crashed_container_s_previous_log(self, incident: Callable[[str], Any]) -> None:
        cluster = watched(incident("crash-loop"))
        await scan(cluster, "shop", soon())
        (tail,) = cluster.tails
        assert (tail.container, tail.previous, tail.tail, tail.since_seconds) == ("app", True, 50, None)
        assert tail.limit_bytes

    async def test_a_healthy_workload_s_recent_lines_of_one_pod(self, incident: Callable[[str], Any]) -> None:
        cluster = watched(incident("healthy"))
        await scan(cluster, "shop", soon())
        assert [(tail.container, tail.since_seconds) for tail in cluster.tails] == [("app", 900), ("shell", 900)]

    async def test_none_for_pods_that_never_ran(self, incident: Callable[[str], Any]) -> None:
        for name in ("image-pull-bad-tag", "pending-cpu", "missing-configmap", "quota-needs-limits"):
            cluster = watched(incident(name))
            await scan(cluster, "shop", soon())
            assert cluster.tails == []


def watched(source: Any, **more: Any) -> Watched:
    return Watched.from_objects(source.objects, now=source.now, logs=source.cluster_logs, **more).watch()


class TestInspect:
    async def test_only_relatives_are_read(self, incident: Callable[[str], Any]) -> None:
        cluster = watched(incident("healthy"))
        result = await inspect(cluster, "deploy", "healthy", "shop", soon())
        assert "pods shop app=healthy" in cluster.asked
        assert not [line for line in cluster.asked if line == "pods shop"]
        assert result.state == (
            "Deployment shop/healthy: 2 of 2 pods ready, 0 restarts",
            "Service healthy: 2 ready endpoints",
        )
        assert not result.causes
        assert result.looked_at["Pod"] == 2

    async def test_a_loud_neighbour_is_not_told(self, incident: Callable[[str], Any]) -> None:
        quiet, loud = incident("service-selector-mismatch"), incident("crash-loop")
        cluster = SnapshotCluster.from_objects(
            [*loud.objects, *quiet.objects], now=quiet.now, logs=quiet.cluster_logs, namespace="shop"
        )
        for kind, name in (("deployment", "frontend"), ("service", "backend")):
            result = await inspect(cluster, kind, name, "shop", soon())
            assert told(result) == {"service-selects-nothing": "Service shop/backend"}
        assert set(told(await scan(cluster, "shop", soon()))) == {"service-selects-nothing", "crash-loop"}

    async def test_a_pod_leads_to_its_workload(self, incident: Callable[[str], Any]) -> None:
        source = incident("missing-secret-env")
        pod = next(obj["metadata"]["name"] for obj in source.objects if obj["kind"] == "Pod")
        result = await inspect(source.cluster, "po", pod, None, soon())
        assert told(result) == {"missing-secret": "Deployment shop/orders"}
        assert "(2 of 2 pods)" in result.findings[0].explanation

    async def test_the_service_that_is_called_is_looked_at_in_its_own_namespace(
        self, incident: Callable[[str], Any]
    ) -> None:
        source = incident("upstream-crash")
        text = {"db": "data", "api": "shop"}
        objects = [moved(obj, text) for obj in source.objects]
        logs = {
            place.replace("shop/db-", "data/db-"): [line.replace("http://db:", "http://db.data:") for line in lines]
            for place, lines in source.cluster_logs.items()
        }
        cluster = SnapshotCluster.from_objects(objects, now=source.now, logs=logs, namespace="shop")
        for result in (
            await inspect(cluster, "deployment", "api", "shop", soon()),
            await scan(cluster, "shop", soon()),
        ):
            assert told(result) == {"crash-loop": "Deployment data/db"}
            assert "Deployment shop/api" in {str(item.object) for item in result.causes[0].symptoms}

    async def test_what_does_not_exist_and_what_does(self, incident: Callable[[str], Any]) -> None:
        result = await inspect(incident("healthy").cluster, "Deployment", "heathy", "shop", soon())
        assert result.missing
        assert result.blind
        assert "Deployment shop/heathy does not exist; namespace shop has healthy" in to_text(result)

    async def test_a_kind_that_the_cluster_does_not_have(self, incident: Callable[[str], Any]) -> None:
        result = await inspect(incident("healthy").cluster, "deploymnet", "healthy", "shop", soon())
        assert result.blind
        assert 'no resource type "deploymnet"; near: deployments' in result.gaps[0].message

    async def test_a_namespace_is_scanned(self, incident: Callable[[str], Any]) -> None:
        assert told(await inspect(incident("oom-killed").cluster, "ns", "shop", None, soon())) == {
            "oom-killed": "Deployment shop/oom-killed"
        }

    async def test_a_node_tells_of_itself_not_of_all_its_pods(self, incident: Callable[[str], Any]) -> None:
        source = incident("healthy")
        loud = incident("crash-loop")
        cluster = SnapshotCluster.from_objects([*source.objects, *loud.objects], now=source.now, namespace="shop")
        result = await inspect(cluster, "node", "node-1", None, soon())
        assert not result.causes
        assert result.state == ("Node node-1: Ready True, 4 pods",)


def moved(obj: dict[str, Any], namespaces: dict[str, str]) -> dict[str, Any]:
    """The same object in the namespace of the workload that it belongs to."""

    def change(value: Any, namespace: str) -> Any:
        if isinstance(value, dict):
            return {key: namespace if key == "namespace" else change(item, namespace) for key, item in value.items()}
        return [change(item, namespace) for item in value] if isinstance(value, list) else value

    about = obj.get("involvedObject") or obj["metadata"]
    return dict(change(obj, namespaces[about["name"].partition("-")[0].partition(".")[0]]))


class TestGaps:
    async def test_refused_pods_are_a_gap_not_health(self, incident: Callable[[str], Any]) -> None:
        source = incident("healthy")
        cluster = SnapshotCluster.from_objects([], now=source.now, gaps={"objects/*/pods": FORBIDDEN}, namespace="shop")
        result = await scan(cluster, None, soon())
        assert result.blind
        assert FORBIDDEN in result.gaps
        assert "could not be looked at" in to_text(result)
        assert "pods in all namespaces (forbidden)" in to_text(result)

    async def test_when_all_namespaces_are_refused_the_own_one_is_read(self, incident: Callable[[str], Any]) -> None:
        source = incident("crash-loop")

        class OwnOnly(SnapshotCluster):
            async def list(self, kind: str, namespace: str | None = None, selector: str = "", fields: str = "") -> Any:
                if namespace is None and kind not in ("nodes", "namespaces"):
                    yield Gap(f"{kind} in all namespaces", "forbidden", "no")
                    return
                async for page in super().list(kind, namespace, selector, fields):
                    yield page

        cluster = OwnOnly.from_objects(source.objects, now=source.now, logs=source.cluster_logs, namespace="shop")
        result = await scan(cluster, None, soon())
        assert told(result) == {"crash-loop": "Deployment shop/crash-loop"}
        assert any(gap.what == "pods in all namespaces" for gap in result.gaps)

    async def test_a_refused_kind_does_not_keep_the_rest(self, incident: Callable[[str], Any]) -> None:
        source = incident("readiness-failing")
        refused = Gap("events in namespace shop", "forbidden", "events is forbidden")
        cluster = SnapshotCluster.from_objects(
            source.objects, now=source.now, gaps={"objects/shop/events": refused}, namespace="shop"
        )
        result = await scan(cluster, "shop", soon())
        assert "readiness-failing" in told(result)
        assert result.gaps == (refused,)
        assert "not looked at: events in namespace shop (forbidden)" in to_text(result)

    async def test_a_source_that_hangs_is_left_at_the_deadline(self, incident: Callable[[str], Any]) -> None:
        class Hanging(Watched):
            async def list(self, kind: str, namespace: str | None = None, selector: str = "", fields: str = "") -> Any:
                if kind == "services":
                    await anyio.Event().wait()
                async for page in super().list(kind, namespace, selector, fields):
                    yield page

        source = incident("bad-command")
        cluster = Hanging.from_objects(source.objects, now=source.now, namespace="shop").watch()
        started = time.monotonic()
        result = await scan(cluster, "shop", soon(0.3))
        assert time.monotonic() - started < 2
        assert told(result) == {"bad-command": "Pod shop/bad-command"}
        assert "services in namespace shop" in [gap.what for gap in result.gaps]

    async def test_requests_are_bounded(self, incident: Callable[[str], Any]) -> None:
        cluster = watched(incident("healthy"))
        await scan(cluster, None, soon())
        assert 4 < cluster.most <= AT_ONCE

    async def test_an_empty_namespace_is_no_fault(self, incident: Callable[[str], Any]) -> None:
        result = await scan(incident("healthy").cluster, "empty", soon())
        assert not result.faults
        assert not result.blind
        assert "nothing is there to look at" in to_text(result)


class TestTelling:
    async def test_a_fault_in_full(self, incident: Callable[[str], Any]) -> None:
        text = to_text(await scan(incident("readiness-failing").cluster, "shop", soon()))
        assert "1 fault found." in text
        assert "1. critical readiness-failing (confidence 0.90)" in text
        assert "   - event Unhealthy (x" in text
        assert "   follows from it: Service shop/readiness-failing has no ready endpoint: no pod of" in text
        assert "   remedy: " in text
        assert "kubectl describe pod" in text
        assert "without a fault: 0 of 1 Pods, 0 of 1 Deployments, 0 of 1 Services" in text

    @pytest.mark.parametrize("budget", [120, 250, 600, 1200])
    async def test_many_faults_within_the_budget(self, budget: int, incident: Callable[[str], Any]) -> None:
        names = ("crash-loop", "oom-killed", "image-pull-bad-tag", "missing-configmap", "pending-cpu", "job-failing")
        names += ("bad-command", "init-failing", "pending-pvc", "cronjob-failing", "quota-exceeded", "upstream-errors")
        objects = [obj for name in names for obj in incident(name).objects]
        logs = {place: lines for name in names for place, lines in incident(name).cluster_logs.items()}
        cluster = SnapshotCluster.from_objects(objects, now=incident("crash-loop").now, logs=logs)
        result = await scan(cluster, "shop", soon())
        assert len(result.faults) >= 12
        text = to_text(result, budget)
        assert len(text) <= budget * 3.5 + 200
        assert f"{len(result.faults)} faults found" in text
        if budget >= 600:
            assert all(cause.finding.object.name in text for cause in result.faults)

    async def test_information_is_a_note(self, incident: Callable[[str], Any]) -> None:
        result = await scan(incident("healthy-scaled-to-zero").cluster, "shop", soon())
        assert "no fault found" in to_text(result)
        assert "note: Deployment shop/batch is scaled to zero" in to_text(result)

    async def test_data_is_json(self, incident: Callable[[str], Any]) -> None:
        import json

        result = await scan(incident("readiness-failing").cluster, "shop", soon())
        data = json.loads(json.dumps(to_data(result)))
        assert data["schema"] == "holmes.scan/v1"
        (cause,) = data["causes"]
        assert cause["cause"] == "readiness-failing"
        assert cause["analyzer"] == "probes"
        assert cause["object"] == {"kind": "Deployment", "name": "readiness-failing", "namespace": "shop"}
        assert cause["symptoms"][0]["cause"] == "service-no-ready-endpoints"
        assert data["healthy"]["Pod"] == 0
