"""Messages between Holmes and a language model, in no provider's dialect."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from holmes.core.results import StructuredToolResult

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A picture in a user message: an https or data URL."""

    url: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to run a tool. ``problem`` set means: do not run, answer with this text."""

    id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of a conversation."""

    role: Role
    content: str = ""
    images: tuple[ImagePart, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()  # assistant only
    tool_call_id: str = ""  # tool only: the call that this answers
    tool_name: str = ""  # tool only
    result: StructuredToolResult | None = None  # tool only; wire encoders send ``content`` alone
    provider_data: Any = None  # assistant only: opaque (thinking signatures, ...), travels back verbatim
    reasoning: str = ""  # assistant only: thoughts meant for the reader, never sent back
    evidence: tuple[StructuredToolResult, ...] = ()  # user only: what was gathered before the question was asked


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and money of one model call. ``cost`` is in US dollars, None when the price is unknown."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            None if self.cost is None or other.cost is None else self.cost + other.cost,
        )

    @property
    def total_tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens


FinishReason = Literal["stop", "length", "tool_calls", "content_filter"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of a model: text, tool calls, or both."""

    message: Message
    finish_reason: FinishReason = "stop"
    usage: Usage = Usage()
    notes: tuple[str, ...] = ()  # what had to be mended on the way in
