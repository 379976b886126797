"""The toolset kubernetes/analysis: the analyzers as tools, for any model or none. They are loaded by the first call."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from holmes.core.findings import ObjectRef
from holmes.core.results import StructuredToolResult
from holmes.kube.cluster import Cluster, Gap
from holmes.tools.tool import FunctionTool, Services, SimpleToolset, ToolContext, Toolset
from holmes.toolsets.kubernetes.health import needs_cluster

SCAN_TOKENS = 600
INSPECT_TOKENS = 450
_TEXT = {"type": "string"}
_EVERYWHERE = ("", "all", "*")


def make_analysis(config: Mapping[str, Any], services: Services) -> Toolset:
    """The toolset; it can be used as soon as the kubeconfig (or the snapshot) names a cluster."""

    tools = (
        FunctionTool(
            "scan",
            "Faults of a namespace, or of all, with evidence and remedy.",
            {"type": "object", "properties": {"namespace": _TEXT}},
            _scan,
            live=True,
        ),
        FunctionTool(
            "inspect",
            "Faults and state of one object and what belongs to it. Look here first.",
            {
                "type": "object",
                "properties": {"kind": _TEXT, "name": _TEXT, "namespace": _TEXT},
                "required": ["name"],
            },
            _inspect,
            live=True,
        ),
    )
    return SimpleToolset(tools, check=needs_cluster(services))


async def _scan(args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
    from holmes.analyzers.run import scan
    from holmes.analyzers.told import told

    cluster = await ctx.clusters.get("")
    if isinstance(cluster, Gap):
        return StructuredToolResult.failure(str(cluster))
    wanted = str(args.get("namespace") if args.get("namespace") is not None else ctx.namespace).strip()
    namespace = None if wanted.lower() in _EVERYWHERE else wanted
    if namespace and (wrong := await _no_namespace(cluster, namespace)):
        return StructuredToolResult.failure(wrong)
    result = await scan(cluster, namespace, ctx.deadline)
    return told(result, f"holmes scan {f'--namespace {namespace}' if namespace else ''}".strip(), SCAN_TOKENS)


async def _inspect(args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
    from holmes.analyzers.run import inspect
    from holmes.analyzers.told import told

    cluster = await ctx.clusters.get("")
    if isinstance(cluster, Gap):
        return StructuredToolResult.failure(str(cluster))
    kind, name = str(args.get("kind") or "").strip(), str(args["name"]).strip()
    namespace = str(args.get("namespace") or "").strip() or ctx.namespace
    found = await resolve(cluster, kind, name, namespace)
    if isinstance(found, str):
        return StructuredToolResult.failure(found)
    result = await inspect(cluster, found.kind, found.name, found.namespace or None, ctx.deadline)
    place = f" -n {found.namespace}" if found.namespace else ""
    return told(result, f"kubectl describe {found.kind.lower()} {found.name}{place}", INSPECT_TOKENS)


async def resolve(cluster: Cluster, kind: str, name: str, namespace: str) -> ObjectRef | str:
    """The object that is meant, or in words why none or which ones."""
    if "/" in name:
        namespace, _, name = name.rpartition("/")
    if kind and name:
        kinds = await cluster.kinds()
        known = None if isinstance(kinds, Gap) else kinds.find(kind)
        place = namespace if known is None or known.namespaced else ""
        if known and (place or not known.namespaced):
            obj = await cluster.get(kind, name, place or None)
            if not isinstance(obj, Gap):
                return ObjectRef(known.kind, name, place)
    from holmes.kube.inventory import inventory
    from holmes.kube.mentions import find_mentions

    names, gaps = await inventory(cluster)
    words = f"{kind} {name}" + (f" in namespace {namespace}" if namespace else "")
    objects = [mention.object for mention in find_mentions(words, names).objects]
    if not objects:
        near = get_close_matches(name, sorted({ref.name for ref in names}), 5, 0.5)
        hint = f" Near: {', '.join(near)}." if near else ""
        unseen = f" Not seen: {'; '.join(str(gap) for gap in gaps[:3])}." if gaps else ""
        return f"There is no object like {words}.{hint}{unseen}"
    best = [ref for ref in objects if ref.name == objects[0].name and ref.kind == objects[0].kind]
    if len({ref.namespace for ref in best}) > 1:
        return f"{name} is in several namespaces: {', '.join(str(ref) for ref in best)}. Give the namespace."
    return objects[0]


async def _no_namespace(cluster: Cluster, namespace: str) -> str:
    obj = await cluster.get("Namespace", namespace)
    if not isinstance(obj, Gap) or obj.reason != "not_found":
        return ""
    table = await cluster.table("Namespace")
    names = [] if isinstance(table, Gap) else [name for _, name in table.names]
    near = get_close_matches(namespace, names, 3, 0.4) or names[:10]
    return f"There is no namespace {namespace}. There are: {', '.join(near)}."
