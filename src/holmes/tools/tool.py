"""Tools, toolsets, and what a tool gets of the world."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

from holmes.core.principal import Principal
from holmes.core.results import StructuredToolResult

if TYPE_CHECKING:
    from holmes.core.events import Event
    from holmes.core.http import Http
    from holmes.core.process import Process
    from holmes.core.result_store import ResultSink, RunResults
    from holmes.kube.cluster import Clusters

JsonSchema = Mapping[str, Any]
Effect = Literal["read", "write", "unknown"]
Trust = Literal["data", "directions"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the policy says of one call: allow, ask (a person decides) or deny.

    ``reason`` is one sentence for people, ``rule`` the short name of the rule, ``show`` what a person is to approve
    (the exact command), ``prefixes`` what could be allowed for good.
    """

    decision: Literal["allow", "ask", "deny"]
    reason: str = ""
    rule: str = ""
    show: str = ""
    prefixes: tuple[str, ...] = ()


PERSON = "decided by a person"  # the rule of verdicts that somebody gave
ALLOW = Verdict("allow", rule="read-only tool")


class Summarize(Protocol):
    """A fast model that shortens text; None in a context where no model is at hand."""

    async def __call__(self, text: str, instructions: str, max_tokens: int, model: str = "") -> str:
        """A shorter text that keeps what ``instructions`` name; by ``model`` instead of the usual one.

        HolmesError when there is none: the model failed, or nobody knows it.
        """
        ...


@dataclass(frozen=True)
class ToolContext:
    """The world of one tool call. Nothing else may be reached: no globals, no os.environ."""

    run_id: str
    call_id: str
    principal: Principal
    env: Mapping[str, str]  # the process environment; children get only what env.child_environment lets through
    clusters: Clusters
    process: Process
    http: Http
    sink: ResultSink  # write large output here as it arrives
    results: RunResults  # earlier results of this run
    deadline: float  # seconds of time.monotonic()
    clock: Callable[[], datetime]  # of the data: a snapshot's "now" is its capture time
    namespace: str = ""  # --namespace: a default and a hint, no fence
    question: str = ""  # what the person asked in this turn, in their own words: no alert text
    summarize: Summarize | None = None
    ask: Callable[[Any], Awaitable[Any]] | None = None  # OAuth, elicitation
    emit: Callable[[Event], None] = field(default=lambda event: None)  # never blocks


class Tool(Protocol):
    """Something a model can call."""

    @property
    def name(self) -> str:
        """Unique, at most 64 of ``[a-zA-Z0-9_-]``."""
        ...

    @property
    def description(self) -> str:
        """What it gives and when to use it, for the model."""
        ...

    @property
    def parameters(self) -> JsonSchema:
        """JSON Schema of an object."""
        ...

    @property
    def effect(self) -> Effect:
        """Whether it may change anything outside."""
        ...

    @property
    def trust(self) -> Trust:
        """Whether its results are data or directions."""
        ...

    def judge(self, args: Mapping[str, Any], ctx: ToolContext) -> Verdict:
        """May this call run? Default: read -> allow, else ask."""
        ...

    async def invoke(self, args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
        """Run. Faults of the outside world are results with status error; an exception is a bug and is caught."""
        ...


Invoke = Callable[[Mapping[str, Any], ToolContext], Awaitable[StructuredToolResult]]


@dataclass(frozen=True)
class FunctionTool:
    """A tool made of one async function: the usual way to write one in Python.

    ``aliases`` are names that stay callable without being declared to the model. ``live`` marks sources whose answer
    changes (logs, metrics): the duplicate guard lets them run again after a minute. ``timeout`` is in seconds, 0 is the
    configured default. ``hidden`` tools are callable and not declared: old names with arguments of their own.
    ``transformers`` are specs as in YAML toolsets.
    """

    name: str
    description: str
    parameters: JsonSchema
    function: Invoke
    effect: Effect = "read"
    trust: Trust = "data"
    aliases: tuple[str, ...] = ()
    live: bool = False
    timeout: float = 0.0
    hidden: bool = False
    transformers: tuple[Mapping[str, Any], ...] = ()

    def judge(self, args: Mapping[str, Any], ctx: ToolContext) -> Verdict:
        """Reading runs; everything else needs a person."""
        return ALLOW if self.effect == "read" else Verdict("ask", f"{self.name} may change something", "effect")

    async def invoke(self, args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
        """Call the function."""
        return await self.function(args, ctx)


@dataclass(frozen=True, slots=True)
class Health:
    """Whether a toolset can be used; ``reason`` and ``remedy`` are for people."""

    status: Literal["enabled", "failed", "disabled"]
    reason: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class Services:
    """What a toolset factory gets beside its config."""

    env: Mapping[str, str]
    clusters: Clusters
    process: Process
    http: Http
    deadline: float = 20.0  # seconds that a prerequisite may take


class Toolset(Protocol):
    """Tools for one data source, made by ``factory(config, services)``."""

    @property
    def instructions(self) -> str:
        """A few lines for the model; "" when the descriptions say it all."""
        ...

    async def open(self) -> Health:
        """Check prerequisites. Skipped when the same config was fine a moment ago, so tools connect on first use."""
        ...

    def tools(self) -> Sequence[Tool]:
        """The tools now; may change between turns."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


Factory = Callable[[Mapping[str, Any], Services], Toolset]


@dataclass(frozen=True)
class SimpleToolset:
    """A toolset without connections: a list of tools, always healthy unless ``check`` says otherwise."""

    members: tuple[Tool, ...]
    instructions: str = ""
    check: Callable[[], Awaitable[Health]] | None = None

    async def open(self) -> Health:
        """Enabled, or what ``check`` found."""
        return await self.check() if self.check else Health("enabled")

    def tools(self) -> Sequence[Tool]:
        """The members."""
        return self.members

    async def close(self) -> None:
        """Nothing to let go of."""


class Gate(Protocol):
    """Decides whether a judged call runs; agent/approval.py implements it."""

    async def decide(self, tool: Tool, args: Mapping[str, Any], verdict: Verdict, ctx: ToolContext) -> Verdict:
        """A final verdict: allow or deny. "ask" comes back only when the run is to be suspended."""
        ...
