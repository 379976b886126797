"""Asks the person at the terminal whether a call may run."""

from __future__ import annotations

import asyncio
import os
import select
import termios
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holmes.agent.approval import Decision
from holmes.cli.terminal import Terminal

CHOICES = "[y]es, yes to [a]ll until I leave, [n]o, or type why not"
_TERMINAL = Path("/dev/tty")


@dataclass(slots=True)
class TerminalApprovals:
    """Questions go to the terminal itself, never to standard output."""

    terminal: Terminal
    _all: bool = False

    async def decide(self, pending: dict[str, Any]) -> Decision:
        """Ask about one call; Ctrl-D means no. Can be cancelled while it waits."""
        if self._all:
            return Decision(True)
        self.terminal.print()
        self.terminal.print("A person has to decide:", "yellow", "bold")
        for line in visible(pending["description"]).splitlines():
            self.terminal.print(f"  {line}")
        self.terminal.print(f"  {visible(pending['reason'])}", "dim")
        reply = (await _ask(f"Run it? {CHOICES}: ")).strip()
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


def visible(text: str) -> str:
    """The text with escapes in the place of all that does not show: what is approved is what is seen."""
    return "".join(
        character if character.isprintable() or character == "\n" else character.encode("unicode_escape").decode()
        for character in text
    )


def somebody_there() -> bool:
    """Whether there is a terminal to ask at, whatever standard input is."""
    try:
        with _TERMINAL.open("r+b", buffering=0):
            return True
    except OSError:
        return False


async def _ask(question: str) -> str:
    """The line that is typed; "" at its end and without a terminal."""
    stop, wake = os.pipe()
    try:
        return await asyncio.to_thread(_read, question, stop)
    finally:
        os.close(wake)  # ends the thread when we are cancelled


def _read(question: str, stop: int) -> str:
    try:
        with _TERMINAL.open("r+b", buffering=0) as terminal:
            termios.tcflush(terminal, termios.TCIFLUSH)  # what was typed before the question is no answer to it
            terminal.write(question.encode())
            ready, _, _ = select.select([terminal.fileno(), stop], [], [])
            return terminal.readline().decode("utf-8", "replace") if stop not in ready else ""
    except (OSError, termios.error):
        return ""
    finally:
        os.close(stop)
