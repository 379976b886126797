"""What the command line knows of the terminal: colours, width, who is watching."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

_CODES = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


@dataclass(frozen=True, slots=True)
class Terminal:
    """Standard error as people see it. Colours follow NO_COLOR, CLICOLOR_FORCE and TERM=dumb."""

    stream: TextIO
    live: bool  # a terminal that can rewrite its line
    colour: bool
    width: int

    @classmethod
    def of(cls, stream: TextIO, env: Mapping[str, str]) -> Terminal:
        """Look at a stream."""
        tty = stream.isatty()
        dumb = env.get("TERM") == "dumb"
        colour = not env.get("NO_COLOR") and ((tty and not dumb) or bool(env.get("CLICOLOR_FORCE")))
        return cls(stream, tty and not dumb, colour, _width(stream))

    def paint(self, text: str, *styles: str) -> str:
        """The text in colours where they are wanted."""
        if not self.colour:
            return text
        return f"\033[{';'.join(_CODES[style] for style in styles)}m{text}\033[0m"

    def fit(self, text: str) -> str:
        """One line, no wider than the terminal."""
        line = " ".join(text.split())
        return line if len(line) < self.width else line[: max(self.width - 2, 10)] + "…"

    def print(self, text: str = "") -> None:
        """Write a line; a reader that went away is no error."""
        try:
            self.stream.write(f"\r\033[K{text}\n" if self.live else f"{text}\n")
            self.stream.flush()
        except (BrokenPipeError, ValueError):
            pass

    def status(self, text: str) -> None:
        """Rewrite the last line; only on a live terminal."""
        if self.live:
            self.stream.write(f"\r\033[K{self.fit(text)}")
            self.stream.flush()


def _width(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 100


def is_interactive() -> bool:
    """Both ends are terminals: a person can be asked."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
