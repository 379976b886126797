"""Live progress of a run on standard error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holmes.cli.terminal import Terminal, columns
from holmes.core.events import (
    AiMessage,
    AnswerDelta,
    AnswerEnd,
    AnswerReset,
    Compacted,
    Event,
    Record,
    StartToolCalling,
    TodoUpdated,
    TokenCount,
    ToolCallingResult,
)

_SIGNS = {"success": "✓", "no_data": "∅", "error": "✗"}
_TODO_SIGNS = {"pending": "☐", "in_progress": "◐", "completed": "☑", "failed": "☒"}
_KEPT = 500  # characters of the answer being written that the status line may need


@dataclass(slots=True)
class Progress:
    """Shows events as they come: a line for each finished call, the answer's last words while it is written."""

    terminal: Terminal
    show_output: bool = False
    verbose: int = 0
    _writing: str = ""
    _running: dict[str, str] = field(default_factory=dict)

    def show(self, event: Event) -> None:
        """Show one event."""
        match event:
            case StartToolCalling():
                self._running[event.id] = event.tool_name
                self._status()
            case ToolCallingResult():
                self._running.pop(event.tool_call_id, None)
                self._finished(event)
                self._status()
            case AnswerDelta():
                self._writing = (self._writing + event.content)[-_KEPT:]
                self.terminal.status(self.terminal.fit_end(self._writing), "dim")
            case AnswerReset() | AnswerEnd():
                self._writing = ""
            case AiMessage():
                if event.content.strip():
                    self.terminal.print(event.content.strip(), "dim")
            case TodoUpdated():
                for todo in event.todos:
                    sign = _TODO_SIGNS.get(todo["status"], "☐")
                    self.terminal.print(self.terminal.fit(f"{sign} {todo['content']}"))
            case Compacted():
                self.terminal.print(f"  {event.content}", "dim")
            case TokenCount():
                if self.verbose:
                    self.terminal.print(f"  {usage_line(event.metadata)}", "dim")
            case Record():
                self._status()
            case _:
                pass

    def waiting(self, seconds: float, reason: str) -> None:
        """The provider asked to wait."""
        self.terminal.print(f"  {reason}; trying again in {seconds:.0f} s", "yellow")

    def clear(self) -> None:
        """Take the status line away."""
        self.terminal.clear()

    def _finished(self, event: ToolCallingResult) -> None:
        result, terminal = event.result, self.terminal
        failed = result["status"] == "error"
        before = f"{_SIGNS.get(result['status'], '?')} {result.get('reference') or '–'} "
        after = f" ({result['elapsed_seconds']:.1f} s) {result.get('error') or ''}"
        room = max(terminal.width - columns(before) - columns(after), terminal.width // 3)
        what = terminal.fit(result.get("invocation") or event.description, room)
        terminal.print(terminal.fit(f"{before}{what}{after}"), *(["red"] if failed else []))
        if self.show_output:
            for line in str(result.get("data") or "").splitlines():
                terminal.print(f"    {line}", "dim")

    def _status(self) -> None:
        doing = ", ".join(self._running.values()) or "thinking"
        self.terminal.status(self.terminal.fit(f"… {doing}"), "dim")


def usage_line(metadata: Mapping[str, Any]) -> str:
    """Tokens and money in one line."""
    usage = metadata["usage"]
    cost = metadata["costs"]["total_cost"]
    money = "price unknown" if cost is None else f"${cost:.4f}"
    cached = f", {usage['cached_tokens']:,} of them cached" if usage["cached_tokens"] else ""
    return f"{usage['prompt_tokens']:,} tokens in{cached}, {usage['completion_tokens']:,} out, {money}"
