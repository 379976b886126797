"""jq, count, describe and events over a saved cluster."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holmes.core.results import Status, StructuredToolResult
from holmes.kube.cluster import Cluster, Gap
from holmes.tools.tool import Tool
from holmes.toolsets.kubernetes.core import make_core
from support.shop import CATALOG, CATALOG_2, ago, event, pod, shop
from support.tool_context import call, context, services

TOOLS: dict[str, Tool] = {tool.name: tool for tool in make_core({}, services()).tools()}


def run(tool: str, cluster: Cluster | Gap | None = None, /, default: str = "", **args: Any) -> StructuredToolResult:
    return call(TOOLS[tool], context(cluster or shop(), namespace=default), **args)


def test_jq_runs_over_the_list_as_kubectl_gives_it() -> None:
    program = '.kind, (.items[] | select(.status.phase == "Running") | .metadata.name)'
    result = run("kubernetes_jq_query", kind="po", jq_expr=program, namespace="prod")
    assert result.status is Status.SUCCESS
    assert result.data["values"] == ["List", "web-6d5e4f3c2-bbbbb"]
    assert "1 pods in namespace prod (cluster shop-test" in result.text
    assert result.invocation.startswith("kubectl get pods -n prod -o json | jq -r ")


def test_jq_items_have_kind_and_no_managed_fields() -> None:
    keys = '.items[] | .kind, .apiVersion, (.metadata | has("managedFields"))'
    assert run("kubernetes_jq_query", kind="pods", namespace="prod", jq_expr=keys).data["values"] == [
        "Pod",
        "v1",
        False,
    ]


def test_jq_sees_no_secret_values_and_no_environment() -> None:
    result = run("kubernetes_jq_query", kind="secrets", jq_expr=".items[].data, env")
    assert "aHVudGVyMg" not in result.text
    assert result.data["values"][0] == {"password": "(hidden, 7 bytes)"}
    assert "KUBECONFIG" not in result.text


def test_selectors_hold_for_jq() -> None:
    result = run("kubernetes_jq_query", kind="pods", jq_expr=".items | length", label_selector="app=catalog")
    assert result.data["values"] == [2]


def test_a_wrong_jq_program_is_an_error_that_names_the_input() -> None:
    result = run("kubernetes_jq_query", kind="pods", jq_expr=".items[] | select(.status")
    assert result.status is Status.ERROR
    assert "begin with .items[]" in result.error
    assert "pods in all namespaces" in result.error


def test_jq_that_prints_nothing_says_how_much_it_read() -> None:
    result = run("kubernetes_jq_query", kind="pods", namespace="shop", jq_expr=".items[] | select(false)")
    assert result.status is Status.NO_DATA
    assert "it read 3 pods in namespace shop" in result.text


@pytest.mark.parametrize(
    ("program", "count"),
    [
        ("", 3),
        ('.items[] | select(.metadata.labels.app == "catalog")', 2),
        ('[.items[] | select(.metadata.labels.app == "catalog")]', 2),
        ('[.items[] | select(.metadata.labels.app == "catalog")] | length', 2),
        ('.items[] | select(.metadata.labels.app == "none")', 0),
        ("def app: .metadata.labels.app; .items[] | app # of each", 3),
    ],
)
def test_count_takes_any_way_to_say_it(program: str, count: int) -> None:
    result = run("kubernetes_count", kind="pods", namespace="shop", jq_expr=program)
    assert result.status is Status.SUCCESS
    assert result.data["count"] == count
    assert result.text.startswith(str(count))


def test_count_previews_names() -> None:
    result = run("kubernetes_count", kind="pods", label_selector="app=catalog", jq_expr=".items[]")
    assert result.data["preview"] == [f"shop/{CATALOG}", f"shop/{CATALOG_2}"]


def test_count_of_nothing_says_where_there_are_some() -> None:
    result = run("kubernetes_count", kind="statefulset", namespace="shop")
    assert result.status is Status.NO_DATA
    assert result.text.startswith("0. No statefulsets in namespace shop. There are statefulsets in: prod (1)")


def test_describe_a_deployment() -> None:
    result = run("kubectl_describe", kind="deployment catalog", name="")
    assert result.status is Status.SUCCESS
    assert "cluster shop-test (snapshot), namespace shop" in result.text
    assert "catalog" in result.text
    assert result.data["items"][0]["kind"] == "Deployment"
    assert result.invocation == "kubectl describe deployment catalog -n shop"


def test_describe_a_workloads_pod_takes_the_sick_one() -> None:
    result = run("kubectl_describe", kind="pod", name="catalog")
    assert result.data["items"][0]["metadata"]["name"] == CATALOG
    assert any(CATALOG_2 in note for note in result.notes)


def test_describe_wants_one_object() -> None:
    twice = run("kubectl_describe", kind="deployment", name="web")
    assert twice.status is Status.ERROR
    assert "give the namespace: prod, shop" in twice.error
    assert run("kubectl_describe", default="prod", kind="deployment", name="web").status is Status.SUCCESS
    assert "which of the nodes?" in run("kubectl_describe", kind="node").error


def test_events_of_a_deployment_are_those_of_its_pods_too() -> None:
    result = run("kubectl_events", resource_type="deployment", resource_name="catalog", namespace="shop")
    lines = result.text.splitlines()
    assert "1 different warnings, 1 others" in lines[0]
    assert lines[2].split()[:5] == ["5m", "9", "Warning", "BackOff", "pod/catalog-7f9d8c6b5-*"]
    assert lines[3].split()[2:5] == ["Normal", "ScalingReplicaSet", "deployment/catalog"]
    assert "web-" not in result.text
    assert result.data["items"][0] | {"first": "", "last": ""} == {
        "type": "Warning",
        "reason": "BackOff",
        "message": f"Back-off restarting app in pod {CATALOG_2}",
        "kind": "Pod",
        "namespace": "shop",
        "name": CATALOG_2,
        "objects": 2,
        "count": 9,
        "first": "",
        "last": "",
    }


@pytest.mark.parametrize("args", [{"name": "web"}, {"kind": "pod", "name": "web"}, {"resource_name": "shop/web"}])
def test_events_by_a_bare_or_workloads_name(args: dict[str, str]) -> None:
    result = run("kubectl_events", default="shop", **args)
    assert result.status is Status.SUCCESS
    assert "no such image" in result.text
    assert "BackOff" not in result.text


def test_events_of_pods_that_are_gone_belong_to_their_workload() -> None:
    gone = event("e9", "shop", ("Pod", "catalog-7f9d8c6b5-zzzzz"), "Evicted", "The node was low on memory")
    result = run("kubectl_events", shop([gone]), kind="deployment", name="catalog")
    assert "low on memory" in result.text


def test_events_of_an_object_that_is_gone() -> None:
    gone = event("e9", "shop", ("Pod", "one-off"), "Evicted", "The node was low on memory")
    assert "low on memory" in run("kubectl_events", shop([gone]), kind="pod", name="one-off", namespace="shop").text
    result = run("kubectl_events", kind="pod", name="one-of", namespace="shop")
    assert result.status is Status.ERROR


def test_all_events_warnings_first_then_the_newest() -> None:
    result = run("kubectl_events")
    assert [item["reason"] for item in result.data["items"]] == ["Failed", "BackOff", "ScalingReplicaSet"]
    assert "shop/pod/web-5c4d3b2a1-aaaaa" in result.text
    assert result.invocation == "kubectl events -A"


def test_runs_of_a_cron_job_are_one_line() -> None:
    runs = [event(f"j{n}", "prod", ("Job", f"report-2900000{n}"), "BackoffLimitExceeded", "failed") for n in range(5)]
    result = run("kubectl_events", shop(runs), namespace="prod")
    assert result.data["total"] == 1
    assert "job/report-* (5)" in result.text


def test_events_with_new_style_times() -> None:
    new = event("n", "prod", ("Pod", "web-6d5e4f3c2-bbbbb"), "Unhealthy", "probe failed", count=None)
    new |= {"firstTimestamp": None, "lastTimestamp": None, "eventTime": ago(minutes=9)}
    new["series"] = {"count": 40, "lastObservedTime": ago(seconds=30)}
    result = run("kubectl_events", shop([new]), namespace="prod")
    assert result.text.splitlines()[2].split()[:2] == ["30s", "40"]


def test_no_events_says_how_long_they_are_kept() -> None:
    result = run("kubectl_events", kind="statefulset", name="ledger", namespace="prod")
    assert result.status is Status.NO_DATA
    assert "about an hour" in result.text
    assert 'no namespace "shpo"' in run("kubectl_events", namespace="shpo").error


def test_forbidden_events_are_no_silence() -> None:
    gap = Gap("events in all namespaces", "forbidden", "jane cannot list events")
    cluster = shop(gaps={"objects/shop/events": gap, "objects/*/events": gap})
    result = run("kubectl_events", cluster, namespace="shop")
    assert result.status is Status.ERROR
    assert "jane cannot list events" in result.error


def test_data_is_bounded() -> None:
    cluster = shop([pod(f"job-{n:04}", "prod", "job") for n in range(1500)])
    names = run("kubernetes_jq_query", cluster, kind="pods", jq_expr=".items[].metadata.name")
    assert len(json.dumps(names.data)) < 20_000
    assert len(run("kubernetes_count", cluster, kind="pods").text) < 2_000
