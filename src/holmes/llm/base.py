"""What Holmes asks of a language model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from holmes.core.messages import Message, Turn

JsonSchema = Mapping[str, Any]
Dialect = Literal["openai", "anthropic", "bedrock"]
OnDelta = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as the model sees it."""

    name: str
    description: str
    parameters: JsonSchema


@dataclass(frozen=True, slots=True)
class Request:
    """One call of a model. Tools stay declared when ``tool_choice`` is "none"."""

    messages: Sequence[Message]
    tools: Sequence[ToolSchema] = ()
    tool_choice: Literal["auto", "none"] = "auto"
    response_format: JsonSchema | None = None  # {"name": ..., "schema": {...}}
    effort: str = ""  # "", "low", "medium", "high"


class LLM(Protocol):
    """A model behind any wire.

    ``window`` and ``max_output`` are tokens. ``complete`` raises the ModelError tree and nothing else; ``deadline``
    is in seconds of ``time.monotonic()``. ``on_delta`` gets answer text as it streams in; what it got is provisional.
    """

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    @property
    def window(self) -> int:
        """Tokens of a request and its answer."""
        ...

    @property
    def max_output(self) -> int:
        """Tokens of an answer."""
        ...

    @property
    def dialect(self) -> Dialect:
        """Whose rules a request has to follow."""
        ...

    async def complete(self, request: Request, on_delta: OnDelta | None = None, deadline: float | None = None) -> Turn:
        """Ask once."""
        ...

    async def close(self) -> None:
        """Close connections."""
        ...
