"""kubectl_top_pods and kubectl_top_nodes: what is used now, beside what is requested and allowed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from holmes.core.results import StructuredToolResult
from holmes.kube.cluster import Cluster, Gap, Object
from holmes.kube.quantities import bytes_text, cpu_text, quantity
from holmes.kube.related import name_of, namespace_of
from holmes.tools.tool import FunctionTool, Health, Services, SimpleToolset, ToolContext, Toolset
from holmes.toolsets.kubernetes.absent import located, nothing_there
from holmes.toolsets.kubernetes.grid import aligned
from holmes.toolsets.kubernetes.lists import listed
from holmes.toolsets.kubernetes.query import Unanswered, answering, read_query

_API = "/apis/metrics.k8s.io/v1beta1"
_MOST = 100  # rows
_INSTALL = "install metrics-server, or look at its pods (kube-system) and at APIService v1beta1.metrics.k8s.io"
_POD_HEAD = ("CONTAINER", "CPU", "%REQUEST", "%LIMIT", "MEMORY", "%REQUEST", "%LIMIT")
_NODE_HEAD = ("NODE", "CPU", "%", "MEMORY", "%")


@answering
async def kubectl_top_pods(cluster: Cluster, args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
    """Use of each container, with percent of its requests and limits; the nearest to a memory limit first."""
    query = await read_query(cluster, {**args, "kind": "pods"}, ctx)
    place = f"/namespaces/{query.namespace}" if query.namespace else ""
    usage = await _metrics(cluster, f"{_API}{place}/pods")
    found = await (located if query.name else listed)(cluster, query)
    used = {
        (namespace_of(item), name_of(item), container.get("name")): container.get("usage") or {}
        for item in usage
        for container in item.get("containers") or []
    }
    items = [item for pod in found.items for item in _pod_items(pod, used)]
    items.sort(key=lambda item: -max(item["memory_of_limit"] or 0.0, item["cpu_of_limit"] or 0.0, 0.0))
    unmeasured = [name_of(pod) for pod in found.items if not any(item["name"] == name_of(pod) for item in items)]
    shared: dict[str, Any] = {
        "invocation": query.command("top", "--containers").replace("top pods", "top pod"),
        "gaps": found.told,
        "data": {"cluster": cluster.name, "total": len(items), "items": items[:_MOST]},
    }
    if not found.items:
        return StructuredToolResult.nothing(f"{await nothing_there(cluster, query)} (cluster {cluster.name})", **shared)
    if unmeasured:
        shared["notes"] = (f"no figures yet for {len(unmeasured)} pods: {', '.join(unmeasured[:10])}",)
    if not items:
        text = f"No figures for the {len(found.items)} pods in {query.place} (cluster {cluster.name}): not running yet?"
        return StructuredToolResult.nothing(text, **shared)
    lines = [
        ["NAMESPACE", "POD", *_POD_HEAD],
        *([item["namespace"], item["name"], *_cells(item)] for item in items[:_MOST]),
    ]
    head = f"cluster {cluster.name}, {query.place}: use of {len(items)} containers, nearest to a limit first"
    return StructuredToolResult.success(f"{head}\n{aligned(lines)}{_left_out(items)}", **shared)


def _pod_items(pod: Object, used: Mapping[tuple[str, str, Any], Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
    spec = pod.get("spec") or {}
    for container in [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]:
        usage = used.get((namespace_of(pod), name_of(pod), container.get("name")))
        if usage is None:
            continue
        resources = container.get("resources") or {}
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        item = {"kind": "Pod", "namespace": namespace_of(pod), "name": name_of(pod), "container": container.get("name")}
        for resource in ("cpu", "memory"):
            value = quantity(usage.get(resource))
            item[resource] = value
            item[f"{resource}_of_request"] = _share(value, requests.get(resource))
            item[f"{resource}_of_limit"] = _share(value, limits.get(resource))
        yield item


def _cells(item: Mapping[str, Any]) -> list[str]:
    return [
        str(item["container"]),
        cpu_text(item["cpu"]),
        _percent(item["cpu_of_request"]),
        _percent(item["cpu_of_limit"]),
        bytes_text(item["memory"]),
        _percent(item["memory_of_request"]),
        _percent(item["memory_of_limit"]),
    ]


@answering
async def kubectl_top_nodes(cluster: Cluster, args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
    """Use of each node, with percent of what it can give to pods."""
    query = await read_query(cluster, {**args, "kind": "nodes"}, ctx)
    usage = {name_of(item): item.get("usage") or {} for item in await _metrics(cluster, f"{_API}/nodes")}
    found = await (located if query.name else listed)(cluster, query)
    items: list[dict[str, Any]] = []
    for node in found.items:
        room = (node.get("status") or {}).get("allocatable") or {}
        used = usage.get(name_of(node))
        if used is not None:
            cpu, memory = quantity(used.get("cpu")), quantity(used.get("memory"))
            shares = {"cpu_share": _share(cpu, room.get("cpu")), "memory_share": _share(memory, room.get("memory"))}
            items.append({"kind": "Node", "name": name_of(node), "cpu": cpu, "memory": memory, **shares})
    items.sort(key=lambda item: -max(item["cpu_share"] or 0.0, item["memory_share"] or 0.0))
    missing = [name_of(node) for node in found.items if name_of(node) not in usage]
    shared: dict[str, Any] = {
        "invocation": "kubectl top node" + (f" {query.name}" if query.name else ""),
        "gaps": (*found.told, *(f"use of node {name}: metrics-server has no figures" for name in missing)),
        "data": {"cluster": cluster.name, "total": len(items), "items": items[:_MOST]},
    }
    if not items:
        return StructuredToolResult.nothing(f"No figures for any node (cluster {cluster.name})", **shared)
    lines: list[list[str]] = [list(_NODE_HEAD)]
    for item in items[:_MOST]:
        of_cpu, of_memory = _percent(item["cpu_share"]), _percent(item["memory_share"])
        lines.append([item["name"], cpu_text(item["cpu"]), of_cpu, bytes_text(item["memory"]), of_memory])
    head = f"cluster {cluster.name}: use of {len(items)} nodes, % of what is allocatable, the fullest first"
    return StructuredToolResult.success(f"{head}\n{aligned(lines)}{_left_out(items)}", **shared)


async def _metrics(cluster: Cluster, path: str) -> list[Object]:
    answer = await cluster.raw(path)
    if isinstance(answer, Gap):
        if answer.reason in ("not_found", "unsupported"):
            raise Unanswered(f"the metrics API (metrics.k8s.io) is not served: {_INSTALL}", answer)
        raise Unanswered(f"{answer.message}; the metrics API comes from metrics-server: {_INSTALL}", answer)
    items: list[Object] = answer.get("items") or []
    return items


def _share(value: float, of: object) -> float | None:
    """A part of the whole; None when there is no whole."""
    whole = quantity(of)
    return round(value / whole, 4) if whole else None


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def _left_out(items: Sequence[Any]) -> str:
    more = len(items) - _MOST
    return f"\n… {more:,} more rows; narrow with name, namespace or label_selector" if more > 0 else ""


def make_live_metrics(config: Mapping[str, Any], services: Services) -> Toolset:
    """The toolset kubernetes/live-metrics; it fails to open where the metrics API is not served."""

    async def check() -> Health:
        cluster = await services.clusters.get("")
        if isinstance(cluster, Gap):
            return Health("failed", cluster.message)
        answer = await cluster.raw(f"{_API}/nodes")
        return Health("failed", f"{_API}: {answer.message}", _INSTALL) if isinstance(answer, Gap) else Health("enabled")

    text = {"type": "string"}
    pods = {"name": text, "namespace": text, "label_selector": text}
    tools = (
        FunctionTool(
            name="kubectl_top_pods",
            description="CPU and memory of containers now, with percent of requests and limits.",
            parameters={"type": "object", "properties": pods},
            function=kubectl_top_pods,
            live=True,
        ),
        FunctionTool(
            name="kubectl_top_nodes",
            description="CPU and memory of nodes now, with percent of what is allocatable.",
            parameters={"type": "object", "properties": {"name": text}},
            function=kubectl_top_nodes,
            live=True,
        ),
    )
    return SimpleToolset(tools, check=check)
