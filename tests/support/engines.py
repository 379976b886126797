"""Engines for tests: a scripted model, real tools, real results, nothing outside the process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from holmes.agent.engine import Engine, Parts
from holmes.core.http import DefaultHttp
from holmes.core.journal import Journal
from holmes.core.local_results import LocalResults
from holmes.core.masking import Masker
from holmes.core.principal import Principal
from holmes.core.process import ChildProcess
from holmes.core.results import StructuredToolResult
from holmes.llm.base import LLM
from holmes.tools.manager import Definition, ToolsetManager
from holmes.tools.tool import FunctionTool, Services, SimpleToolset, Tool, ToolContext

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class NoClusters:
    """A world without Kubernetes."""

    async def get(self, context: str = "") -> Any:
        """There is none."""
        raise AssertionError("no test of the loop talks to a cluster")

    async def close(self) -> None:
        """Nothing to close."""


def say(name: str, text: str = "pod-a OOMKilled exit 137", **more: Any) -> FunctionTool:
    """A tool that gives a fixed text and accepts any argument."""

    async def run(args: Any, ctx: ToolContext) -> StructuredToolResult:
        return StructuredToolResult.success(text, invocation=f"{name} {dict(args)}")

    schema = {"type": "object", "properties": {"x": {"type": "string"}}}
    return FunctionTool(name, f"says {name}", schema, run, **more)


def parts(llm: LLM, tools: Sequence[Tool] = (), instructions: str = "", **more: Any) -> Parts:
    """What an engine is made of, with one toolset that holds ``tools``."""

    async def no_cluster() -> str:
        return ""

    env = {"PATH": "/usr/bin:/bin"}
    process, http, clusters, masker = ChildProcess(), DefaultHttp(env), NoClusters(), Masker()
    services = Services(env, clusters, process, http)
    own = Definition("test", lambda config, services: SimpleToolset(tuple(tools), instructions), quick=True)
    results = LocalResults(None, masker)
    nothing: Any = None
    world = ToolContext(
        "", "", Principal(), env, clusters, process, http, nothing, nothing, deadline=0.0, clock=lambda: NOW
    )
    made = Parts(
        llm,
        ToolsetManager([own], services),
        results,
        Journal.open(None),
        masker,
        world,
        no_cluster,
        clock=lambda: NOW,
        now=lambda: NOW,
    )
    return replace(made, **more)


@asynccontextmanager
async def engine(llm: LLM, tools: Sequence[Tool] = (), **more: Any) -> AsyncIterator[Engine]:
    """An engine at work."""
    async with Engine(parts(llm, tools, **more)) as made:
        yield made
