"""Live progress of a run on standard error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holmes.cli.terminal import Terminal
from holmes.core.events import (
    AiMessage,
    AnswerDelta,
    AnswerReset,
    Compacted,
    Event,
    StartToolCalling,
    TodoUpdated,
    TokenCount,
    ToolCallingResult,
)

_LOOK = {"success": ("✓", "green"), "no_data": ("∅", "yellow"), "error": ("✗", "red")}
_TODO = {"pending": "☐", "in_progress": "◐", "completed": "☑", "failed": "☒"}


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
                self._writing = (self._writing + event.content)[-200:]
                self.terminal.status(self.terminal.paint(f"… {self._writing.splitlines()[-1]}", "dim"))
            case AnswerReset():
                self._writing = ""
            case AiMessage():
                if event.content.strip():
                    self.terminal.print(self.terminal.paint(event.content.strip(), "dim"))
            case TodoUpdated():
                for todo in event.todos:
                    self.terminal.print(self.terminal.fit(f"  {_TODO[todo['status']]} {todo['content']}"))
            case Compacted():
                self.terminal.print(self.terminal.paint(f"  {event.content}", "dim"))
            case TokenCount():
                if self.verbose:
                    self.terminal.print(self.terminal.paint(f"  {usage_line(event.metadata)}", "dim"))
            case _:
                pass

    def waiting(self, seconds: float, reason: str) -> None:
        """The provider asked to wait."""
        self.terminal.print(self.terminal.paint(f"  {reason}; trying again in {seconds:.0f} s", "yellow"))

    def clear(self) -> None:
        """Take the status line away."""
        self.terminal.status("")
        if self.terminal.live:
            self.terminal.stream.write("\r\033[K")
            self.terminal.stream.flush()

    def _finished(self, event: ToolCallingResult) -> None:
        result = event.result
        sign, colour = _LOOK.get(result["status"], ("?", "yellow"))
        reference = result.get("reference") or "–"
        detail = f" {result['error']}" if result.get("error") else ""
        what = result.get("invocation") or event.description
        line = self.terminal.fit(f"{sign} {reference} {what} ({result['elapsed_seconds']:.1f} s){detail}")
        self.terminal.print(self.terminal.paint(line, colour) if sign == "✗" else line)
        if self.show_output and result.get("data"):
            for text in str(result["data"]).splitlines():
                self.terminal.print(self.terminal.paint(f"    {text}", "dim"))

    def _status(self) -> None:
        if self._running:
            self.terminal.status(self.terminal.paint(f"… {', '.join(self._running.values())}", "dim"))
        else:
            self.terminal.status(self.terminal.paint("… thinking", "dim"))


def usage_line(metadata: Mapping[str, Any]) -> str:
    """Tokens and money in one line."""
    usage = metadata["usage"]
    cost = metadata["costs"]["total_cost"]
    money = "price unknown" if cost is None else f"${cost:.4f}"
    cached = f", {usage['cached_tokens']:,} of them cached" if usage["cached_tokens"] else ""
    return f"{usage['prompt_tokens']:,} tokens in{cached}, {usage['completion_tokens']:,} out, {money}"
