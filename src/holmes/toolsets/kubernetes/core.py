"""The toolset kubernetes/core: few declared tools, and the older names that models know, callable without being told.

Every tool works through the run's cluster: a live one or a snapshot, never a kubectl binary.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holmes.core.results import StructuredToolResult
from holmes.kube.cluster import Cluster, Gap, Object
from holmes.kube.related import is_ready, name_of, namespace_of, restarts
from holmes.tools.tool import FunctionTool, Invoke, Services, SimpleToolset, ToolContext, Toolset
from holmes.toolsets.kubernetes.absent import located
from holmes.toolsets.kubernetes.events import kubectl_events
from holmes.toolsets.kubernetes.get import kubectl_get, kubectl_get_yaml, readable
from holmes.toolsets.kubernetes.health import needs_cluster
from holmes.toolsets.kubernetes.lists import full_name, in_one_namespace
from holmes.toolsets.kubernetes.objects import kubernetes_count, kubernetes_jq_query
from holmes.toolsets.kubernetes.query import Unanswered, answering, read_query

_TEXT: Mapping[str, Any] = {"type": "string"}


@answering
async def kubectl_describe(cluster: Cluster, args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
    """The digest of one object; of several pods of a workload, that of the least healthy one."""
    from holmes.kube.describe import describe

    query = await read_query(cluster, args, ctx)
    if not query.name:
        raise Unanswered(f'"name" is missing: which of the {query.kind.plural}? kubectl_get lists them')
    found = await located(cluster, query)
    in_one_namespace(found, query)
    chosen = min(found.items, key=lambda obj: (is_ready(obj), -restarts(obj), name_of(obj)))
    others = [full_name(obj) for obj in found.items if obj is not chosen]
    if others and query.kind.kind != "Pod":
        names = ", ".join(full_name(obj) for obj in found.items)
        raise Unanswered(
            f'{len(found.items)} {query.kind.plural} are called "{query.name}": {names}; give the namespace'
        )
    namespace = namespace_of(chosen) or None
    text = await describe(cluster, query.resource, name_of(chosen), namespace)
    if isinstance(text, Gap):
        raise Unanswered(str(text), text)
    place = f", namespace {namespace}" if namespace else ""
    notes = [found.note, f"other pods of it, not described: {', '.join(others[:10])}" if others else ""]
    return StructuredToolResult.success(
        f"cluster {cluster.name}{place}\n{text}",
        invocation=_describe_command(query.kind.singular, chosen),
        data={"cluster": cluster.name, "total": 1, "items": [readable(chosen)]},
        notes=tuple(filter(None, notes)),
        gaps=found.told,
    )


def _describe_command(kind: str, obj: Object) -> str:
    namespace = namespace_of(obj)
    return f"kubectl describe {kind} {name_of(obj)}" + (f" -n {namespace}" if namespace else "")


def make_core(config: Mapping[str, Any], services: Services) -> Toolset:
    """The toolset; it can be used as soon as the kubeconfig (or the snapshot) names a cluster."""

    return SimpleToolset((*_declared(), *_older()), check=needs_cluster(services))


def _schema(*required: str, **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def _declared() -> tuple[FunctionTool, ...]:
    """What a model is told of. Optional arguments are left out of ``required``, descriptions hold no example values."""
    place = {"namespace": _TEXT, "label_selector": _TEXT, "field_selector": _TEXT}
    return (
        FunctionTool(
            name="kubectl_get",
            description="List objects of a kind, or find one by name. Without namespace: all namespaces.",
            parameters=_schema(
                "kind",
                kind=_TEXT,
                name=_TEXT,
                **place,
                columns={**_TEXT, "description": "as kubectl custom-columns"},
                filter_pattern={**_TEXT, "description": "regex on rows"},
                output={**_TEXT, "enum": ["table", "wide", "yaml"]},
            ),
            function=kubectl_get,
            aliases=("kubectl_get_by_name", "kubernetes_tabular_query"),
        ),
        FunctionTool(
            name="kubectl_describe",
            description="State, faults, related objects and events of one object.",
            parameters=_schema("kind", kind=_TEXT, name=_TEXT, namespace=_TEXT),
            function=kubectl_describe,
        ),
        FunctionTool(
            name="kubectl_events",
            description="Events of an object and its pods, or of a namespace; warnings first.",
            # Open, because the tool of that name used to have resource_type and resource_name.
            parameters=_schema(kind=_TEXT, name=_TEXT, namespace=_TEXT) | {"additionalProperties": True},
            function=kubectl_events,
            live=True,
        ),
        FunctionTool(
            name="kubernetes_jq_query",
            description="Run jq over {items: [...]} of all objects of a kind.",
            parameters=_schema("kind", "jq_expr", kind=_TEXT, jq_expr=_TEXT, **place),
            function=kubernetes_jq_query,
        ),
    )


def _older() -> tuple[FunctionTool, ...]:
    """Names from HolmesGPT that mean something of their own, or have other arguments."""
    place = {"namespace": _TEXT, "label_selector": _TEXT, "field_selector": _TEXT}
    one = _schema("kind", "name", kind=_TEXT, name=_TEXT, namespace=_TEXT)
    there = _schema("kind", "namespace", kind=_TEXT, namespace=_TEXT)
    search = _schema("kind", "keyword", kind=_TEXT, keyword=_TEXT, namespace=_TEXT)
    count = _schema("kind", kind=_TEXT, jq_expr=_TEXT, **place)
    return (
        _hidden("kubectl_get_yaml", "One object as YAML.", one, kubectl_get_yaml),
        _hidden("kubectl_get_by_kind_in_namespace", "Objects of a kind.", there, kubectl_get),
        _hidden(
            "kubectl_get_by_kind_in_cluster", "Objects of a kind everywhere.", _schema("kind", kind=_TEXT), _in_cluster
        ),
        _hidden("kubectl_find_resource", "Objects of a kind that a keyword is in.", search, kubectl_get),
        _hidden("kubernetes_count", "How many objects, or values of a jq program.", count, kubernetes_count),
    )


def _hidden(name: str, description: str, parameters: Mapping[str, Any], function: Invoke) -> FunctionTool:
    return FunctionTool(name, description, parameters, function, hidden=True)


async def _in_cluster(args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
    return await kubectl_get({**args, "namespace": "", "all_namespaces": True}, ctx)
