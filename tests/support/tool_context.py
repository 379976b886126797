"""A ToolContext for tests of tools: given clusters, real child processes, results in memory.

Use: ``from support.tool_context import context, services``; pytest needs ``-o pythonpath=tests``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holmes.core.http import DefaultHttp
from holmes.core.principal import Principal
from holmes.core.process import ChildProcess
from holmes.core.result_store import Stored
from holmes.core.results import StructuredToolResult
from holmes.kube.cluster import Cluster, Clusters, Gap
from holmes.tools.tool import Invoke, Services, Tool, ToolContext


class MemorySink:
    """A ResultSink that keeps everything."""

    def __init__(self, reference: str = "E1") -> None:
        self.reference = reference
        self.chunks: list[bytes] = []

    @property
    def size(self) -> int:
        return sum(map(len, self.chunks))

    @property
    def text(self) -> str:
        return b"".join(self.chunks).decode("utf-8", "replace")

    def write(self, chunk: bytes | str) -> None:
        self.chunks.append(chunk.encode("utf-8", "replace") if isinstance(chunk, str) else chunk)

    def finish(self) -> Stored:
        return Stored(self.reference, len(self.text), self.text.count("\n") + 1, self.text)


class MemoryResults:
    """RunResults in memory."""

    def __init__(self) -> None:
        self.sinks: dict[str, MemorySink] = {}
        self._count = 0

    def next_reference(self) -> str:
        self._count += 1
        return f"E{self._count}"

    def sink(self, reference: str) -> MemorySink:
        return self.sinks.setdefault(reference, MemorySink(reference))

    def stored(self, reference: str) -> Stored | None:
        return self.sinks[reference].finish() if reference in self.sinks else None

    def read(self, reference: str) -> str:
        return self.sinks[reference].text

    def contains(self, reference: str, text: str) -> bool:
        return reference in self.sinks and " ".join(text.split()) in " ".join(self.sinks[reference].text.split())

    def close(self) -> None:
        self.sinks.clear()


class OneCluster:
    """Clusters with one member, or with the Gap that says why there is none. Children get no kubeconfig of it."""

    def __init__(self, cluster: Cluster | Gap) -> None:
        self.cluster = cluster

    async def get(self, context: str = "") -> Cluster | Gap:
        return self.cluster

    async def child_kubeconfig(self, folder: Path) -> Gap:
        return NO_CLUSTER

    async def close(self) -> None:
        pass


NO_CLUSTER = Gap("kubeconfig", "not_found", "there is no kubeconfig")


def context(
    cluster: Cluster | Gap | None = None,
    *,
    clusters: Clusters | None = None,
    namespace: str = "",
    env: Mapping[str, str] | None = None,
    seconds: float = 20.0,
    **more: Any,
) -> ToolContext:
    """The world of one call. ``clusters`` (or one ``cluster``) stands behind it; ``seconds`` until its deadline."""
    results = MemoryResults()
    now = cluster.now if cluster is not None and not isinstance(cluster, Gap) else datetime.now(UTC)
    world: dict[str, Any] = {
        "run_id": "run",
        "call_id": "call",
        "principal": Principal(),
        "env": dict(env or {}),
        "clusters": clusters or OneCluster(cluster or NO_CLUSTER),
        "process": ChildProcess(),
        "http": DefaultHttp(env or {}),
        "sink": results.sink("E1"),
        "results": results,
        "deadline": time.monotonic() + seconds,
        "clock": lambda: now,
        "namespace": namespace,
    }
    return ToolContext(**(world | more))


def services(cluster: Cluster | Gap | None = None, *, env: Mapping[str, str] | None = None) -> Services:
    """What a toolset factory gets."""
    return Services(dict(env or {}), OneCluster(cluster or NO_CLUSTER), ChildProcess(), DefaultHttp(env or {}))


def call(tool: Tool | Invoke, ctx: ToolContext, /, **args: Any) -> StructuredToolResult:
    """Run one call to its end, outside of an event loop; text that went to the sink is put back into the result."""
    return asyncio.run(acall(tool, ctx, **args))


async def acall(tool: Tool | Invoke, ctx: ToolContext, /, **args: Any) -> StructuredToolResult:
    """The same inside of an event loop."""
    result = await (tool(args, ctx) if callable(tool) else tool.invoke(args, ctx))
    if not result.text and isinstance(ctx.sink, MemorySink):
        result.text = ctx.sink.text
    return result
