"""Many toolsets in one engine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from holmes.agent.engine import Engine
from holmes.core.http import DefaultHttp
from holmes.core.process import ChildProcess
from holmes.core.results import StructuredToolResult
from holmes.llm.base import LLM
from holmes.tools.manager import Definition, ToolsetManager
from holmes.tools.tool import FunctionTool, Services, SimpleToolset, ToolContext
from support.engines import NoClusters, parts

Toolsets = dict[str, Definition]
Run = Callable[[LLM, Sequence[Definition]], AbstractAsyncContextManager[Engine]]

SCHEMA = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "what to look for, in the words of the system itself"},
        "start": {"type": "string", "description": "beginning of the time span, RFC 3339 or seconds before now"},
        "end": {"type": "string", "description": "end of the time span; now when it is left out"},
        "limit": {"type": "integer", "description": "how many at most"},
    },
    "required": ["query"],
}


def make_tool(name: str, **more: Any) -> FunctionTool:
    """A tool with a schema of ordinary length that says its own name."""

    async def run(args: Any, ctx: ToolContext) -> StructuredToolResult:
        return StructuredToolResult.success(f"{name} found {args['query']}")

    return FunctionTool(name, f"Look up what {name} knows, newest entries first.", SCHEMA, run, **more)


def make_toolset(name: str, count: int = 7, **more: Any) -> Definition:
    """A toolset with ``count`` tools, called after it."""
    plain = name.replace("/", "_").replace("-", "_")
    members = tuple(make_tool(f"{plain}_{number}") for number in range(1, count + 1))
    made = SimpleToolset(members, f"Ask {name} by service name.")
    about = {"description": f"What {name} has recorded of services and their neighbours, by time"} | more
    return Definition(name, lambda config, services: made, quick=True, **about)


@pytest.fixture
def toolset() -> Callable[..., Definition]:
    """Makes a toolset by name."""
    return make_toolset


@pytest.fixture
def tool() -> Callable[..., FunctionTool]:
    """Makes a tool by name."""
    return make_tool


@pytest.fixture
def forty() -> list[Definition]:
    """300 tools in 40 toolsets, the default ones among them."""
    names = ["kubernetes/core", "kubernetes/logs", "bash", *(f"vendor{number:02}/metrics" for number in range(37))]
    counts = [4, 1, 1] + [8] * 35 + [7] * 2
    return [make_toolset(name, count) for name, count in zip(names, counts, strict=True)]


@pytest.fixture
def engine_with() -> Run:
    """An engine with these toolsets."""

    @asynccontextmanager
    async def run(llm: LLM, definitions: Sequence[Definition]) -> AsyncIterator[Engine]:
        env = {"PATH": "/usr/bin:/bin"}
        services = Services(env, NoClusters(), ChildProcess(), DefaultHttp(env))
        made = replace(parts(llm), manager=ToolsetManager(list(definitions), services))
        async with Engine(made) as engine:
            yield engine

    return run
