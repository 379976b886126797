"""Asks the person at the terminal whether a call may run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holmes.agent.approval import Decision
from holmes.cli.terminal import Terminal

CHOICES = "[y]es, yes to [a]ll until I leave, [n]o, or type why not"


@dataclass(slots=True)
class TerminalApprovals:
    """Questions go to the terminal itself, never to standard output."""

    terminal: Terminal
    _all: bool = False
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def decide(self, pending: dict[str, Any]) -> Decision:
        """One question at a time; Ctrl-D means no."""
        async with self._lock:
            if self._all:
                return Decision(True)
            self.terminal.print()
            self.terminal.print(self.terminal.paint("A person has to decide:", "yellow", "bold"))
            self.terminal.print(f"  {pending['description']}")
            self.terminal.print(f"  {pending['reason']}")
            reply = (await asyncio.to_thread(_read, f"Run it? {CHOICES}: ")).strip()
            match reply.lower():
                case "y" | "yes":
                    return Decision(True)
                case "a" | "all":
                    self._all = True
                    return Decision(True)
                case "" | "n" | "no":
                    return Decision(False)
                case _:
                    return Decision(False, reply)


def _read(question: str) -> str:
    try:
        with Path("/dev/tty").open("r+b", buffering=0) as terminal:
            terminal.write(question.encode())
            return terminal.readline().decode("utf-8", "replace")
    except OSError:
        return ""
