"""kubectl_get and its older names: whatever the spelling, the right objects or an error that helps."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holmes.core.results import Status, StructuredToolResult
from holmes.kube.cluster import Cluster, Gap
from holmes.tools.tool import Tool
from holmes.toolsets.kubernetes.core import make_core
from support.shop import CATALOG, CATALOG_2, FORBIDDEN, obj, pod, shop
from support.tool_context import call, context, services

TOOLS: dict[str, Tool] = {}
for each in make_core({}, services()).tools():
    for known_as in (each.name, *getattr(each, "aliases", ())):
        TOOLS[known_as] = each


def run(tool: str, cluster: Cluster | Gap | None = None, /, default: str = "", **args: Any) -> StructuredToolResult:
    return call(TOOLS[tool], context(cluster or shop(), namespace=default), **args)


def names(result: StructuredToolResult) -> list[str]:
    return [f"{item['namespace']}/{item['name']}".lstrip("/") for item in result.data["items"]]


def test_the_old_names_are_callable_and_few_tools_are_declared() -> None:
    wanted = {
        "kubectl_get_by_name",
        "kubectl_get_by_kind_in_namespace",
        "kubectl_get_by_kind_in_cluster",
        "kubectl_find_resource",
        "kubectl_get_yaml",
        "kubectl_describe",
        "kubectl_events",
        "kubernetes_jq_query",
        "kubernetes_tabular_query",
        "kubernetes_count",
    }
    assert wanted <= TOOLS.keys()
    declared = [tool for tool in make_core({}, services()).tools() if not getattr(tool, "hidden", False)]
    assert len(declared) <= 5


def test_the_schemas_are_small() -> None:
    from holmes.toolsets.kubernetes.logs import make_logs

    tools = [*make_core({}, services()).tools(), *make_logs({}, services()).tools()]
    declared = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in tools
        if not getattr(tool, "hidden", False)
    ]
    assert len(json.dumps(declared)) < 2_600


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("kubectl_get_by_name", {"kind": "pod", "name": "x", "namespace": "y"}),
        ("kubectl_get_by_kind_in_namespace", {"kind": "pod", "namespace": "y"}),
        ("kubectl_get_by_kind_in_cluster", {"kind": "pod"}),
        ("kubectl_find_resource", {"kind": "pod", "keyword": "x"}),
        ("kubectl_get_yaml", {"kind": "pod", "name": "x", "namespace": "y"}),
        ("kubectl_describe", {"kind": "pod", "name": "x", "namespace": "y"}),
        ("kubectl_events", {"resource_type": "pod", "resource_name": "x", "namespace": "y"}),
        ("kubernetes_jq_query", {"kind": "pods", "jq_expr": ".", "label_selector": "a=b", "field_selector": "a=b"}),
        ("kubernetes_tabular_query", {"kind": "pods", "columns": "A:.a", "filter_pattern": "x", "namespace": None}),
        ("kubernetes_count", {"kind": "pods", "jq_expr": ".items[]", "namespace": "y", "label_selector": "a=b"}),
    ],
)
def test_the_older_arguments_pass_the_schemas(tool: str, args: dict[str, Any]) -> None:
    from holmes.tools.arguments import coerce

    assert coerce(args, TOOLS[tool].parameters)[1] == ""


def test_the_manifest_names_toolsets_that_can_be_made() -> None:
    from importlib import import_module
    from importlib.resources import files

    import yaml

    entries = yaml.safe_load(files("holmes.toolsets.kubernetes").joinpath("manifest.yaml").read_text())
    names = [entry["name"].removeprefix("kubernetes/") for entry in entries]
    assert names == ["core", "logs", "live-metrics", "analysis"]
    for entry in entries:
        module, _, function = entry["factory"].partition(":")
        assert getattr(import_module(module), function)({}, services()).tools()
        assert len(entry["description"].split()) <= 12


@pytest.mark.parametrize("kind", ["pods", "Pod", "po", "PODS", "pod"])
def test_any_spelling_of_a_kind(kind: str) -> None:
    result = run("kubectl_get_by_kind_in_namespace", kind=kind, namespace="shop")
    assert result.status is Status.SUCCESS
    assert names(result) == [f"shop/{CATALOG}", f"shop/{CATALOG_2}", "shop/web-5c4d3b2a1-aaaaa"]
    assert "shop-test" in result.text
    assert "namespace shop" in result.text
    assert result.invocation == "kubectl get pods -n shop"


def test_two_words_for_a_kind() -> None:
    assert names(run("kubectl_get", kind="stateful set")) == ["prod/ledger"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("deployment", "catalog"),
        ("deployment catalog", ""),
        ("catalog deployment", ""),
        ("deployments/catalog", ""),
        ("deploy", "deployment catalog"),
        ("deploy", "shop/catalog"),
        ("deploy", "catalog deployment"),
        ("deploy", "Catalog"),
        ("deploy", '"catalog"'),
    ],
)
def test_any_spelling_of_a_name(kind: str, name: str) -> None:
    result = run("kubectl_get_by_name", kind=kind, name=name)
    assert names(result) == ["shop/catalog"]
    assert "1/2" in result.text


@pytest.mark.parametrize("name", ["catalog", "deployment/catalog", "deployment catalog", "shop/catalog"])
def test_a_workloads_name_finds_its_pods(name: str) -> None:
    result = run("kubectl_get", kind="pod", name=name)
    assert names(result) == [f"shop/{CATALOG}", f"shop/{CATALOG_2}"]
    assert "pods of Deployment shop/catalog" in result.notes


def test_the_beginning_of_a_pods_name_finds_it() -> None:
    assert names(run("kubectl_get", kind="pod", name="catalog-7f9d8c6b5-x2")) == [f"shop/{CATALOG}"]


def test_a_workload_without_pods_is_said_to_have_none() -> None:
    result = run("kubectl_get", kind="pods", name="ledger")
    assert result.status is Status.ERROR
    assert "StatefulSet prod/ledger exists and has no pods" in result.error


def test_two_objects_of_one_name_are_both_listed() -> None:
    result = run("kubectl_get", kind="deployment", name="web")
    assert names(result) == ["prod/web", "shop/web"]
    assert "all namespaces" in result.text


def test_the_default_namespace_comes_first_and_is_no_fence() -> None:
    assert names(run("kubectl_get", default="shop", kind="deployment", name="web")) == ["shop/web"]
    assert names(run("kubectl_get", default="shop", kind="statefulset", name="ledger")) == ["prod/ledger"]
    assert len(names(run("kubectl_get", default="shop", kind="pods"))) == 3
    assert len(names(run("kubectl_get_by_kind_in_cluster", default="shop", kind="pods"))) == 4


def test_a_slip_in_a_name_lists_close_ones() -> None:
    result = run("kubectl_get", kind="deployment", name="catlog", namespace="shop")
    assert result.status is Status.ERROR
    assert "close names: shop/catalog" in result.error
    pods = run("kubectl_get", kind="pods", name="catlog", namespace="shop")
    assert CATALOG in pods.error


def test_a_name_of_another_kind_or_namespace_is_pointed_out() -> None:
    assert "there is StatefulSet prod/ledger" in run("kubectl_get", kind="deployment", name="ledger").error
    result = run("kubectl_get", kind="statefulset", name="ledger", namespace="shop")
    assert "it exists as prod/ledger" in result.error


def test_an_unknown_namespace_names_the_near_ones() -> None:
    result = run("kubectl_get", kind="pods", namespace="shpo")
    assert result.status is Status.ERROR
    assert 'no namespace "shpo"; did you mean shop' in result.error


def test_an_empty_list_says_what_there_is() -> None:
    result = run("kubectl_get", kind="pods", namespace="empty")
    assert result.status is Status.NO_DATA
    assert "There are pods in: shop (3), prod (1)" in result.text
    result = run("kubectl_get", kind="ingress", namespace="shop")
    assert "nor in any other namespace" in result.text
    assert "2 deployments" in result.text


def test_an_unknown_label_is_an_error_and_an_unknown_value_is_not() -> None:
    result = run("kubectl_get", kind="pods", namespace="shop", label_selector="application=catalog")
    assert result.status is Status.ERROR
    assert 'has a label "application"; known: app' in result.error
    result = run("kubectl_get", kind="pods", namespace="shop", label_selector="app=cart")
    assert result.status is Status.NO_DATA
    assert "Known values of app: catalog, web" in result.text


def test_selectors_choose() -> None:
    assert len(names(run("kubectl_get", kind="pods", label_selector="app in (catalog), app!=web"))) == 2
    assert len(names(run("kubectl_get", kind="pods", field_selector="metadata.namespace=prod"))) == 1


def test_an_unknown_kind_names_close_ones() -> None:
    result = run("kubectl_get", kind="deploymints")
    assert result.status is Status.ERROR
    assert "deployments" in result.error


def test_a_custom_resource_is_a_kind_like_any_other() -> None:
    assert names(run("kubectl_get", kind="widget")) == ["prod/gizmo"]


def test_several_kinds_at_once() -> None:
    result = run("kubectl_get", kind="deployments,services", namespace="shop")
    assert {item["kind"] for item in result.data["items"]} == {"Deployment", "Service"}
    assert "2 deployments" in result.text
    assert "1 service in" in result.text


def test_one_refused_kind_does_not_spoil_the_others() -> None:
    gap = Gap("services in namespace shop", "forbidden", "jane cannot list services")
    cluster = shop(gaps={"objects/shop/services": gap, "objects/*/services": gap})
    result = run("kubectl_get", cluster, kind="deploy,svc", namespace="shop")
    assert result.status is Status.SUCCESS
    assert names(result) == ["shop/catalog", "shop/web"]
    assert result.gaps == (str(gap),)
    assert "services" not in result.text


@pytest.mark.parametrize("tool", ["kubectl_get", "kubernetes_count"])
def test_a_refusal_is_an_error_and_never_an_empty_list(tool: str) -> None:
    cluster = shop(
        gaps={"objects/*/secrets": Gap("secrets in all namespaces", "forbidden", "jane cannot list secrets")}
    )
    pods = shop(gaps={f"objects/{place}/pods": FORBIDDEN for place in ("shop", "prod", "*")})
    for result in (
        run(tool, cluster, kind="secrets", namespace="prod"),
        run(tool, pods, kind="pods", namespace="shop"),
    ):
        assert result.status is Status.ERROR
        assert "cannot list" in result.error
        assert result.gaps
        assert not result.text


def test_what_may_be_seen_is_shown_with_the_gap() -> None:
    result = run("kubectl_get", shop(gaps={"objects/*/pods": FORBIDDEN}), kind="pods")
    assert len(names(result)) == 4
    assert result.gaps == (str(FORBIDDEN),)


def test_no_cluster_is_an_error_that_says_why() -> None:
    result = run("kubectl_get", Gap("kubeconfig", "not_found", "no file /home/me/.kube/config"), kind="pods")
    assert result.status is Status.ERROR
    assert "no file /home/me/.kube/config" in result.error


def test_long_tables_are_cut_with_the_odd_ones_kept() -> None:
    many = [pod(f"job-{n:04}", "prod", "job") for n in range(900)]
    odd = pod("zzz", "prod", "job", ready=False, state={"waiting": {"reason": "CrashLoopBackOff"}})
    result = run("kubectl_get", shop([*many, odd]), kind="pods", namespace="prod")
    assert result.text.splitlines()[3].startswith("zzz")
    assert "702 more rows" in result.text
    assert "Running 901" in result.text
    assert result.data["total"] == 902
    assert len(result.data["items"]) == 200


def test_wide_columns_show_where_there_are_few_rows() -> None:
    assert "10.0.0.7" in run("kubectl_get", kind="pod", name=CATALOG).text


def test_the_plain_list_of_events_is_sorted_and_without_repeats() -> None:
    result = run("kubectl_get", kind="ev", namespace="shop")
    assert [item["reason"] for item in result.data["items"]] == ["Failed", "BackOff", "ScalingReplicaSet"]
    assert len(run("kubectl_get", kind="events", namespace="shop", field_selector="type=Normal").data["items"]) == 1


def test_custom_columns_as_kubectl_has_them() -> None:
    columns = 'NAME:.metadata.name,IMAGE:{.spec.containers[*].image},UP:.status.conditions[?(@.type=="Ready")].status'
    result = run("kubernetes_tabular_query", kind="pod", namespace="prod", columns=columns)
    assert result.text.splitlines()[-2:] == [
        "NAME                 IMAGE    UP",
        "web-6d5e4f3c2-bbbbb  web:1.0  True",
    ]
    assert result.data["items"][0]["cells"]["IMAGE"] == "web:1.0"


def test_a_word_is_a_column_of_the_servers_table() -> None:
    result = run("kubernetes_tabular_query", kind="pod", namespace="shop", columns="NAME,restarts,Ready")
    assert f"{CATALOG}  4         0/1" in result.text


def test_an_unknown_column_names_the_known_ones() -> None:
    word = run("kubernetes_tabular_query", kind="pods", columns="NAME,CPU")
    assert word.status is Status.ERROR
    assert "known columns: NAME, READY, STATUS, RESTARTS" in word.error
    slip = run("kubernetes_tabular_query", kind="pods", columns="NODE:.spec.nodename")
    assert "did you mean nodeName?" in slip.error
    top = run("kubernetes_tabular_query", kind="configmaps", columns="PHASE:.status.phase")
    assert "fields there: apiVersion, data, kind, metadata" in top.error


def test_an_optional_field_that_nobody_has_is_none_with_a_note() -> None:
    result = run("kubernetes_tabular_query", kind="pods", namespace="prod", columns="N:.metadata.name,R:.status.reason")
    assert result.status is Status.SUCCESS
    assert "<none>" in result.text
    assert "fields there: conditions, containerStatuses" in result.notes[0]


def test_rows_can_be_filtered_by_a_pattern() -> None:
    result = run("kubernetes_tabular_query", kind="pods", columns="NAME,STATUS", filter_pattern="image.*off|BBB")
    assert names(result) == ["prod/web-6d5e4f3c2-bbbbb", "shop/web-5c4d3b2a1-aaaaa"]
    assert "2 of 4 pods" in result.notes[0]
    literal = run("kubectl_get", kind="pods", filter_pattern="(catalog")
    assert literal.status is Status.NO_DATA
    assert any("taken literally" in note for note in literal.notes)


def test_a_search_by_keyword_says_what_is_close() -> None:
    assert names(run("kubectl_find_resource", kind="pod", keyword="prod")) == ["prod/web-6d5e4f3c2-bbbbb"]
    result = run("kubectl_find_resource", kind="pod", keyword="catalgo")
    assert result.status is Status.NO_DATA
    assert CATALOG in result.text


def test_yaml_has_no_secret_values_and_no_managed_fields() -> None:
    secret = run("kubectl_get_yaml", kind="secret", name="password")
    assert "aHVudGVyMg" not in json.dumps([secret.text, secret.data])
    assert "(hidden, 7 bytes)" in secret.text
    whole = run("kubectl_get", kind="pod", name=CATALOG, output="yaml")
    assert "managedFields" not in whole.text
    assert "restartCount: 4" in whole.text
    assert whole.invocation == f"kubectl get pods {CATALOG} -n shop -o yaml"


def test_too_many_objects_are_no_yaml() -> None:
    cluster = shop([obj("ConfigMap", f"c{n}", "prod") for n in range(30)])
    assert "name one of them" in run("kubectl_get", cluster, kind="configmap", namespace="prod", output="yaml").error


def test_names_can_have_wildcards() -> None:
    assert names(run("kubectl_get", kind="pods", name="*-bbbbb")) == ["prod/web-6d5e4f3c2-bbbbb"]
