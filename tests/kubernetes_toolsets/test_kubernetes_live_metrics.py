"""kubectl_top_pods and kubectl_top_nodes, and the health of their toolset."""

from __future__ import annotations

import asyncio
from typing import Any

from holmes.core.results import Status, StructuredToolResult
from holmes.kube.cluster import Cluster, Gap
from holmes.kube.snapshot import SnapshotCluster
from holmes.toolsets.kubernetes.live_metrics import make_live_metrics
from support.shop import CATALOG, CATALOG_2, NOW, objects, shop
from support.tool_context import call, context, services

PODS, NODES = make_live_metrics({}, services()).tools()
BARE = SnapshotCluster.from_objects([each for each in objects() if "Metrics" not in each["kind"]], now=NOW)


def run(tool: Any, cluster: Cluster | None = None, /, **args: Any) -> StructuredToolResult:
    return call(tool, context(cluster or shop()), **args)


def test_containers_with_percent_of_requests_and_limits() -> None:
    result = run(PODS, namespace="shop")
    assert result.status is Status.SUCCESS
    lines = [line.split() for line in result.text.splitlines()]
    assert lines[2] == ["shop", CATALOG, "app", "150m", "150%", "-", "120Mi", "188%", "94%"]
    assert lines[3] == ["shop", CATALOG_2, "app", "20m", "20%", "-", "32Mi", "50%", "25%"]
    assert "web-5c4d3b2a1-aaaaa" in result.notes[0]
    assert result.invocation == "kubectl top pod -n shop --containers"
    assert result.data["items"][0]["memory_of_limit"] == 0.9375


def test_pods_of_a_workload() -> None:
    assert {item["name"] for item in run(PODS, name="catalog").data["items"]} == {CATALOG, CATALOG_2}


def test_nodes_with_percent_of_allocatable() -> None:
    result = run(NODES)
    assert result.text.splitlines()[-1].split() == ["node-1", "500m", "25%", "3Gi", "75%"]


def test_no_metrics_api_names_metrics_server() -> None:
    for tool in (PODS, NODES):
        result = run(tool, BARE)
        assert result.status is Status.ERROR
        assert "metrics-server" in result.error
        assert result.gaps


def test_the_toolset_is_healthy_only_with_the_metrics_api() -> None:
    assert asyncio.run(make_live_metrics({}, services(shop())).open()).status == "enabled"
    health = asyncio.run(make_live_metrics({}, services(BARE)).open())
    assert health.status == "failed"
    assert "metrics-server" in health.remedy
    nowhere = Gap("kubeconfig", "not_found", "there is none")
    assert "there is none" in asyncio.run(make_live_metrics({}, services(nowhere)).open()).reason
