"""Reads what a model asks for, whatever its spelling: kind, name, namespace and selectors as one ``Query``.

Nothing here reads more than the resource types: whether the object exists is found out by ``locate``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

from holmes.core.results import StructuredToolResult
from holmes.kube.builtin_kinds import builtin_kinds
from holmes.kube.cluster import Cluster, Gap, Kind
from holmes.tools.tool import Invoke, ToolContext

_EVERYWHERE = frozenset(["*", "all", "-a", "--all-namespaces", "all namespaces", "all-namespaces", "any"])
_QUOTES = "\"'` \t\n"


class Unanswered(Exception):
    """The question cannot be answered: why, and what to ask instead. Becomes a result with status error."""

    def __init__(self, message: str, *gaps: Gap) -> None:
        super().__init__(message)
        self.gaps = tuple(str(gap) for gap in gaps)


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked for. ``namespace`` None means all; ``owner`` is set when the name was given as ``deployment/x``."""

    kind: Kind
    name: str = ""
    namespace: str | None = None
    owner: Kind | None = None
    selector: str = ""
    fields: str = ""
    chosen: bool = False  # the namespace stands in the arguments, it is not the default

    @property
    def resource(self) -> str:
        """The kind as the cluster takes it, with its group."""
        return f"{self.kind.plural}.{self.kind.group}" if self.kind.group else self.kind.plural

    @property
    def place(self) -> str:
        """``namespace shop``, ``all namespaces`` or ``the cluster``."""
        if not self.kind.namespaced:
            return "the cluster"
        return f"namespace {self.namespace}" if self.namespace else "all namespaces"

    def command(self, verb: str = "get", *more: str) -> str:
        """The kubectl command that a person would type."""
        words = ["kubectl", verb, self.kind.plural, *filter(None, [self.name])]
        if self.kind.namespaced:
            words += ["-n", self.namespace] if self.namespace else ["-A"]
        words += ["-l", self.selector] if self.selector else []
        words += [f"--field-selector={self.fields}"] if self.fields else []
        return shlex.join([*words, *more])


Answer = Callable[[Cluster, Mapping[str, Any], ToolContext], Awaitable[StructuredToolResult]]


def answering(function: Answer) -> Invoke:
    """A tool's function out of one that gets the run's cluster and may raise ``Unanswered``."""

    @wraps(function)
    async def invoke(args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
        cluster = await ctx.clusters.get("")
        if isinstance(cluster, Gap):
            return StructuredToolResult.failure(str(cluster), gaps=(str(cluster),))
        try:
            return await function(cluster, args, ctx)
        except Unanswered as problem:
            return StructuredToolResult.failure(f"{problem} (cluster {cluster.name})", gaps=problem.gaps)

    return invoke


async def find_kind(cluster: Cluster, text: str) -> Kind | None:
    """The kind of that name in any spelling; the server is asked only for kinds that are not built in."""
    if known := builtin_kinds().find(text):
        return known
    kinds = await cluster.kinds()
    if isinstance(kinds, Gap):
        raise Unanswered(f'the resource type "{text}" could not be looked up: {kinds.message}', kinds)
    return kinds.find(text)


async def unknown_kind(cluster: Cluster, text: str) -> Unanswered:
    """The error for a kind that the server does not have."""
    kinds = await cluster.kinds()
    near = [] if isinstance(kinds, Gap) else kinds.near(text)
    if not text:
        return Unanswered('"kind" is missing: pods, deployments, services, nodes, or any other resource type')
    hint = f"did you mean {', '.join(near)}?" if near else "kubectl_get with kind customresourcedefinitions lists CRDs"
    return Unanswered(f'the server has no resource type "{text}"; {hint}')


async def read_query(cluster: Cluster, args: Mapping[str, Any], ctx: ToolContext) -> Query:
    """The query of a call's arguments. ``resource_type`` and ``resource_name`` are other words for kind and name."""
    kind, leftover = await _read_kind(cluster, text_of(args, "kind", "resource_type"))
    query = await _read_name(Query(kind), text_of(args, "name", "resource_name") or leftover)
    namespace = text_of(args, "namespace")
    if namespace.lower() in _EVERYWHERE or args.get("all_namespaces") is True:
        query = replace(query, namespace=None, chosen=True)
    elif namespace:
        query = replace(query, namespace=namespace, chosen=True)
    elif query.namespace is None and ctx.namespace:
        query = replace(query, namespace=ctx.namespace)
    if not query.kind.namespaced:
        query = replace(query, namespace=None)
    return replace(query, selector=text_of(args, "label_selector"), fields=text_of(args, "field_selector"))


def text_of(args: Mapping[str, Any], *names: str) -> str:
    """The first of these arguments that is not empty, without quotes around it."""
    return next((text for name in names if (text := str(args.get(name) or "").strip(_QUOTES))), "")


def pattern_of(args: Mapping[str, Any], *names: str) -> str:
    """The first of these arguments that is not blank, as it was written: quotes may be part of it."""
    return next((text for name in names if (text := str(args.get(name) or "")).strip()), "")


async def _read_kind(cluster: Cluster, text: str) -> tuple[Kind, str]:
    """A kind and the name that came with it: ``deployment/web``, ``deployment web``, ``web deployment``."""
    words = [word for word in re.split(r"[\s/]+", text) if word]
    if words and (found := await find_kind(cluster, "".join(words))):  # "stateful set"
        return found, ""
    for word in words if len(words) > 1 else []:
        if found := await find_kind(cluster, word):
            rest = list(words)
            rest.remove(word)
            return found, "/".join(rest)
    raise await unknown_kind(cluster, text)


async def _read_name(query: Query, text: str) -> Query:
    """A name that may carry a namespace, a kind, or both: ``shop/web``, ``deployment web``, ``deploy/web``."""
    *before, name = [word for word in re.split(r"[\s/]+", text) if word] or [""]
    if before and builtin_kinds().find(name) and not builtin_kinds().find(before[-1]):
        before, name = [*before[:-1], name], before[-1]  # "web deployment"
    for word in before:
        if known := builtin_kinds().find(word):
            query = replace(query, owner=known)
        else:
            query = replace(query, namespace=word, chosen=True)
    return replace(query, name=name)
