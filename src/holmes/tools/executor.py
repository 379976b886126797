"""Runs a model's tool calls: side by side, each under its deadline, each answered exactly once, in call order."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Protocol

from holmes.core.events import Event, Record, StartToolCalling
from holmes.core.messages import Message, ToolCall
from holmes.core.result_store import RunResults
from holmes.core.results import StructuredToolResult
from holmes.tools.arguments import coerce
from holmes.tools.delivery import Delivery
from holmes.tools.tool import PERSON, Gate, Tool, ToolContext, Verdict

PARALLEL = 16
LONGEST = 300.0  # seconds that a model may ask for with a ``timeout`` argument


@dataclass(frozen=True, slots=True)
class Bound:
    """A tool and the name of the toolset that it belongs to; ``transformers`` are what the configuration adds."""

    tool: Tool
    toolset: str
    transformers: tuple[Mapping[str, Any], ...] = ()


class Toolbox:
    """The tools of a run by name; aliases and hidden tools are callable and not declared."""

    def __init__(self, bound: Sequence[Bound]) -> None:
        self._tools = {item.tool.name: item for item in bound}
        self._aliases = {
            alias: item for item in bound for alias in getattr(item.tool, "aliases", ()) if alias not in self._tools
        }

    def declared(self) -> Iterator[Bound]:
        """The tools that the model is told of."""
        return (item for item in self._tools.values() if not getattr(item.tool, "hidden", False))

    def get(self, name: str) -> Bound | None:
        """The tool of that name or alias."""
        return self._tools.get(name) or self._aliases.get(name)

    def names(self) -> list[str]:
        """Every name by which a tool can be called."""
        return [*self._tools, *self._aliases]

    def near(self, name: str) -> list[str]:
        """Names that look like ``name``, best first."""
        return get_close_matches(name, self.names(), n=3, cutoff=0.5)

    def use(self, bound: Bound) -> None:
        """A model called the tool; nothing to do when all are declared."""


class Guard(Protocol):
    """Knows the calls that were made before (agent/safeguards.py)."""

    def begin(self) -> None:
        """A new step of the model."""
        ...

    def claim(self, name: str, args: Mapping[str, Any], tool: Tool, reference: str) -> str:
        """Claim a call for ``reference``; the reference of the earlier result when it was made before, else ""."""
        ...

    def release(self, name: str, args: Mapping[str, Any]) -> None:
        """The call did not work: it may be made again, some times."""
        ...

    def fault(self, problem: str) -> None:
        """A call could not be run at all, and why."""
        ...


@dataclass(frozen=True, slots=True)
class Ready:
    """A call that may run once the gate lets it."""

    bound: Bound
    name: str  # as the model called it
    args: dict[str, Any]
    reference: str


class ToolExecutor:
    """Executes the calls of one run.

    ``context`` makes the world of a call from its id, reference and deadline; ``timeout`` is in seconds and bounds
    calls whose tool has no longer one of its own.
    """

    def __init__(
        self,
        toolbox: Toolbox,
        context: Callable[[str, str, float], ToolContext],
        results: RunResults,
        delivery: Delivery,
        guard: Guard,
        emit: Callable[[Event], None],
        timeout: float = 60.0,
    ) -> None:
        self.toolbox = toolbox
        self._context = context
        self._results = results
        self._delivery = delivery
        self._guard = guard
        self._emit = emit
        self._timeout = timeout
        self._slots = asyncio.Semaphore(PARALLEL)

    async def run(self, calls: Sequence[ToolCall], gate: Gate) -> list[Message]:
        """Answer every call, in call order. A call that fails, hangs or waits never holds up the others."""
        self._guard.begin()
        prepared = [self._prepare(call) for call in calls]  # in call order: references count up here
        answers = (self._answer(call, step, gate) for call, step in zip(calls, prepared, strict=True))
        return list(await asyncio.gather(*answers))

    def _prepare(self, call: ToolCall) -> Ready | StructuredToolResult:
        bound = self.toolbox.get(call.name)
        if bound is None:
            near = self.toolbox.near(call.name)
            hint = f"Did you mean {', '.join(near)}?" if near else "Use one of the declared tools."
            return self._wrong(call, f"There is no tool {call.name}. {hint}")
        self.toolbox.use(bound)
        if call.problem:
            return self._wrong(call, call.problem)
        args, problem = coerce(call.arguments, bound.tool.parameters)
        if problem:
            return self._wrong(call, problem)
        reference = self._results.next_reference()
        earlier = self._guard.claim(call.name, args, bound.tool, reference)
        if earlier:
            return StructuredToolResult.nothing(
                f"Not run again: the same call gave {earlier} above. Use that result, or ask something else.",
                notes=(f"repeats {earlier}",),
            )
        return Ready(bound, call.name, args, reference)

    def _wrong(self, call: ToolCall, problem: str) -> StructuredToolResult:
        self._guard.fault(f"{call.name}: {problem}")
        return StructuredToolResult.failure(problem)

    async def _answer(self, call: ToolCall, step: Ready | StructuredToolResult, gate: Gate) -> Message:
        params = self._delivery.masked(dict(call.arguments))
        reference = step.reference if isinstance(step, Ready) else ""
        self._emit(StartToolCalling(call.id, call.name, params, reference))
        result = await self._run(call, step, gate) if isinstance(step, Ready) else step
        result.params = params
        result.reference = reference
        bound = self.toolbox.get(call.name)
        message = self._delivery.message(call, result)
        self._emit(self._delivery.event(call, result, bound.toolset if bound else ""))
        return message

    async def _run(self, call: ToolCall, ready: Ready, gate: Gate) -> StructuredToolResult:
        tool = ready.bound.tool
        seconds = self._seconds(tool, ready.args)
        ctx = self._context(call.id, ready.reference, time.monotonic() + seconds)
        judged = tool.judge(ready.args, ctx)
        verdict = await gate.decide(tool, ready.args, judged, ctx)
        self._emit(Record("decision", self._delivery.masked(decision_data(call, ready.args, judged, verdict, ctx))))
        if verdict.decision != "allow":
            self._guard.release(ready.name, ready.args)
            return refused(verdict)
        async with self._slots:
            # The clock starts with the call, not while it waits for a person or a slot.
            ctx = replace(ctx, deadline=time.monotonic() + seconds)
            result = await self._delivery.run(ready.bound, ready.name, ready.args, ctx)
        if not result.ok:
            self._guard.release(ready.name, ready.args)
        return result

    def _seconds(self, tool: Tool, args: Mapping[str, Any]) -> float:
        asked = args.get("timeout")
        if isinstance(asked, int | float) and not isinstance(asked, bool) and asked > 0:
            return min(float(asked), LONGEST)
        return max(self._timeout, float(getattr(tool, "timeout", 0.0)))


def decision_data(
    call: ToolCall, args: Mapping[str, Any], judged: Verdict, final: Verdict, ctx: ToolContext
) -> dict[str, Any]:
    """The audit record of one decision: who (the policy, the mode, a person), what, and why."""
    return {
        "actor": ctx.principal.user or "person" if final.rule == PERSON else "policy",
        "call_id": call.id,
        "tool": call.name,
        "args": dict(args),
        "verdict": final.decision,
        "policy": judged.decision,
        "rule": final.rule or judged.rule,
        "reason": final.reason,
        "show": final.show or judged.show,
    }


def refused(verdict: Verdict) -> StructuredToolResult:
    """The answer to a call that may not run: why, and the exact command for a person who wants to run it."""
    show = f" Command for a person to run: {verdict.show}" if verdict.show else ""
    return StructuredToolResult.failure(
        f"Not run: {verdict.reason}.{show} Nothing was changed or queued; go on without it.",
        invocation=verdict.show,
        notes=(f"refused by rule: {verdict.rule}",) if verdict.rule else (),
    )
