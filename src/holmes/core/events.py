"""What happens in a run, as dataclasses. ``kind`` is also the name of the server-sent event.

The first nine kinds are HolmesGPT's; the others go only to clients that ask for them. ``answer_delta``,
``answer_reset`` and ``tool_output_chunk`` are provisional and never journalled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """Base. ``lossy`` events may be dropped for slow readers and are not kept."""

    kind: ClassVar[str] = ""
    lossy: ClassVar[bool] = False

    def as_data(self) -> Data:
        """JSON types: the payload of the journal, of ``-o jsonl`` and of SSE."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class StartToolCalling(Event):
    """A tool call begins."""

    kind: ClassVar[str] = "start_tool_calling"
    id: str
    tool_name: str
    params: Data = field(default_factory=dict)
    reference: str = ""


@dataclass(frozen=True, slots=True)
class ToolCallingResult(Event):
    """A tool call ended; ``result`` has HolmesGPT's keys plus ours (reference, notes, gaps, truncated)."""

    kind: ClassVar[str] = "tool_calling_result"
    tool_call_id: str
    tool_name: str
    description: str
    result: Data
    toolset_name: str = ""
    role: str = "tool"

    @property
    def name(self) -> str:
        """HolmesGPT sends the name twice."""
        return self.tool_name


@dataclass(frozen=True, slots=True)
class AiMessage(Event):
    """Text or reasoning that came along with tool calls, or a notice of the program."""

    kind: ClassVar[str] = "ai_message"
    content: str
    reasoning: str = ""
    metadata: Data = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TokenCount(Event):
    """Usage so far, after each model call."""

    kind: ClassVar[str] = "token_count"
    metadata: Data


@dataclass(frozen=True, slots=True)
class CompactionStart(Event):
    """The history is about to be shortened."""

    kind: ClassVar[str] = "conversation_history_compaction_start"
    content: str
    metadata: Data = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Compacted(Event):
    """The history was shortened."""

    kind: ClassVar[str] = "conversation_history_compacted"
    content: str
    metadata: Data = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ApprovalRequired(Event):
    """A person has to decide; with approvals "suspend" this ends the turn."""

    kind: ClassVar[str] = "approval_required"
    pending_approvals: tuple[Data, ...] = ()
    content: str = ""


@dataclass(frozen=True, slots=True)
class AnswerEnd(Event):
    """The verified answer. ``report`` is core.report.Report.as_data()."""

    kind: ClassVar[str] = "ai_answer_end"
    analysis: str
    report: Data = field(default_factory=dict)
    metadata: Data = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ErrorEvent(Event):
    """The run failed."""

    kind: ClassVar[str] = "error"
    description: str
    error_code: int = 1
    msg: str = ""
    success: bool = False


@dataclass(frozen=True, slots=True)
class AnswerDelta(Event):
    """A piece of the answer as it streams in; provisional."""

    kind: ClassVar[str] = "answer_delta"
    lossy: ClassVar[bool] = True
    content: str


@dataclass(frozen=True, slots=True)
class AnswerReset(Event):
    """The deltas so far were not the answer."""

    kind: ClassVar[str] = "answer_reset"
    lossy: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class TodoUpdated(Event):
    """The model's task list changed."""

    kind: ClassVar[str] = "todo_updated"
    todos: tuple[Data, ...]


@dataclass(frozen=True, slots=True)
class ToolOutputChunk(Event):
    """Output of a running tool; provisional."""

    kind: ClassVar[str] = "tool_output_chunk"
    lossy: ClassVar[bool] = True
    tool_call_id: str
    size: int


@dataclass(frozen=True, slots=True)
class EvidenceVerified(Event):
    """What the check of the answer against the stored results found."""

    kind: ClassVar[str] = "evidence_verified"
    metadata: Data


@dataclass(frozen=True, slots=True)
class Record(Event):
    """A journal entry that no client sees: question, assistant message, tool message, limits, decisions."""

    kind: ClassVar[str] = "record"
    what: str
    data: Mapping[str, Any]
