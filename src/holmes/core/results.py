"""What a tool call gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """How a tool call ended. The names are those of HolmesGPT's API."""

    SUCCESS = "success"
    ERROR = "error"
    NO_DATA = "no_data"
    APPROVAL_REQUIRED = "approval_required"
    FRONTEND_PAUSE = "frontend_pause"


@dataclass(slots=True)
class StructuredToolResult:
    """The outcome of one tool call.

    A tool fills in what it knows (``status``, ``text``, ``error``, ``invocation``, ``data``, ...); the executor
    adds ``reference``, ``elapsed_seconds`` and whatever cutting it had to do.
    """

    status: Status
    text: str = ""  # what the model reads; empty when the tool wrote to its sink instead
    error: str = ""  # one line or a short block: what went wrong and what to try next
    data: Any = None  # the same facts for programs (JSON types only); never sent to a model
    invocation: str = ""  # what a person would type to see the same
    url: str = ""
    return_code: int | None = None
    params: dict[str, Any] = field(default_factory=dict)
    reference: str = ""  # E1, E2, ...: how an answer cites this result, and the handle of read_result
    elapsed_seconds: float = 0.0
    size: int = 0  # characters stored (the model may have seen fewer)
    truncated: bool = False  # the model saw less than was stored
    notes: tuple[str, ...] = ()  # remarks for the reader of the result
    gaps: tuple[str, ...] = ()  # what could not be looked at: "pods in prod: forbidden"

    @classmethod
    def success(cls, text: str = "", **more: Any) -> StructuredToolResult:
        """The call worked; ``text`` may be empty when the tool wrote to its sink."""
        return cls(Status.SUCCESS, text, **more)

    @classmethod
    def failure(cls, error: str, **more: Any) -> StructuredToolResult:
        """The call failed; ``error`` says why and what to try instead."""
        return cls(Status.ERROR, error=error, **more)

    @classmethod
    def nothing(cls, text: str, **more: Any) -> StructuredToolResult:
        """The call worked and found nothing; ``text`` says where it looked and what does exist there."""
        return cls(Status.NO_DATA, text, **more)

    @property
    def ok(self) -> bool:
        """True when the result may be cited: it worked, even if it found nothing."""
        return self.status in (Status.SUCCESS, Status.NO_DATA)
