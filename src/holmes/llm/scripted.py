"""A model that says what a script tells it, and refuses requests that a strict provider would refuse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from holmes.core.errors import ModelError
from holmes.core.messages import Message, ToolCall, Turn
from holmes.llm import protocol
from holmes.llm.base import Dialect, OnDelta, Request
from holmes.llm.openai_compatible import request_body
from holmes.llm.strict import violations

Step = Turn | str | ToolCall | Sequence[ToolCall] | ModelError | Callable[[Request], Any]


class ScriptError(AssertionError):
    """The caller sent a request that a provider would refuse, or asked more often than the script has steps."""


class ScriptedLLM:
    """Answers the n-th request with the n-th step.

    A step is a Turn, a text (an answer), one or more ToolCalls (ids may be empty), a ModelError (raised), or a
    function that gets the request and gives one of these. Each request is encoded and checked first; ``requests``
    and ``bodies`` keep them all.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        *,
        name: str = "scripted",
        window: int = 128_000,
        max_output: int = 4096,
        dialect: Dialect = "openai",
    ) -> None:
        self.name = name
        self.window = window
        self.max_output = max_output
        self.dialect = dialect
        self.requests: list[Request] = []
        self.bodies: list[dict[str, Any]] = []
        self._steps = list(steps)

    async def complete(self, request: Request, on_delta: OnDelta | None = None, deadline: float | None = None) -> Turn:
        """The next step as a Turn. Raises ScriptError, and the ModelError that a step is."""
        self._check(request)
        if len(self.requests) > len(self._steps):
            raise ScriptError(f"request {len(self.requests)}, but the script has only {len(self._steps)} steps")
        step = self._steps[len(self.requests) - 1]
        while callable(step):
            step = step(request)
        if isinstance(step, ModelError):
            raise step
        turn = _turn(step, protocol.call_ids(request.messages))
        if on_delta and turn.message.content:
            on_delta(turn.message.content)
        return turn

    async def close(self) -> None:
        """Nothing to close."""

    @property
    def remaining(self) -> int:
        """Steps that nobody asked for yet."""
        return max(0, len(self._steps) - len(self.requests))

    def _check(self, request: Request) -> None:
        if self.dialect == "anthropic":
            from holmes.llm.anthropic import request_body as anthropic_body

            body = anthropic_body(request, model=self.name, max_output=self.max_output)
        else:
            body = request_body(request, model=self.name, max_output=self.max_output)
        # A request is kept as it was: the caller may go on with the same list.
        self.requests.append(
            Request(
                tuple(request.messages),
                tuple(request.tools),
                request.tool_choice,
                request.response_format,
                request.effort,
            )
        )
        self.bodies.append(body)
        if wrong := violations(body, self.dialect):
            listed = "\n  ".join(wrong)
            raise ScriptError(f"request {len(self.requests)} would be refused:\n  {listed}")


def _turn(step: Any, known_ids: set[str]) -> Turn:
    if isinstance(step, Turn):
        return step
    if isinstance(step, str):
        return Turn(Message("assistant", step))
    calls = [step] if isinstance(step, ToolCall) else list(step)
    raw = [protocol.RawCall(call.id, call.name, call.arguments) for call in calls]
    return protocol.normalise("", raw, known_ids=known_ids)
