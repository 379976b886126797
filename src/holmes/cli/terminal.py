"""What the command line knows of the terminal: colours, width, who is watching."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

from holmes.core.text import clean

_CODES = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_DEFAULT_WIDTH = 100  # columns of what is no terminal: a log file, a pipe


@dataclass(frozen=True, slots=True)
class Terminal:
    """Standard error as people see it. Colours follow NO_COLOR, CLICOLOR_FORCE and TERM=dumb.

    Whatever is printed is cleaned of control characters here: no text of a model or a tool can drive the terminal.
    """

    stream: TextIO | None  # None: it was closed before we started
    live: bool  # a terminal that can rewrite its line
    colour: bool

    @classmethod
    def of(cls, stream: TextIO | None, env: Mapping[str, str]) -> Terminal:
        """Look at a stream."""
        tty = stream is not None and stream.isatty()
        dumb = env.get("TERM") == "dumb"
        forced = env.get("CLICOLOR_FORCE", "0") not in ("", "0")
        return cls(stream, tty and not dumb, not env.get("NO_COLOR") and ((tty and not dumb) or forced))

    @property
    def width(self) -> int:
        """Columns, as they are now: windows are resized."""
        try:
            return (os.get_terminal_size(self.stream.fileno()).columns if self.stream else 0) or _DEFAULT_WIDTH
        except (OSError, ValueError):
            return _DEFAULT_WIDTH

    def fit(self, text: str, width: int = 0) -> str:
        """One line, no wider than ``width`` columns (default: the terminal); what is cut ends in an ellipsis."""
        line, room = " ".join(text.split()), (width or self.width) - 1
        return line if columns(line) <= room else f"{line[: _fitting(line, room - 1)]}…"

    def fit_end(self, text: str) -> str:
        """The end of a text as one line, no wider than the terminal."""
        line, room = " ".join(text.split()), self.width - 1
        return line if columns(line) <= room else f"…{line[len(line) - _fitting(line[::-1], room - 1) :]}"

    def print(self, text: str = "", *styles: str) -> None:
        """Write a line in the place of the status line."""
        self._write(f"{self._erase()}{self._painted(text, styles)}\n")

    def status(self, text: str, *styles: str) -> None:
        """Rewrite the last line; only on a live terminal."""
        if self.live:
            self._write(f"{self._erase()}{self._painted(text, styles)}")

    def clear(self) -> None:
        """Take the status line away."""
        self._write(self._erase())

    def _painted(self, text: str, styles: tuple[str, ...]) -> str:
        text = clean(text)
        if not (self.colour and styles and text):
            return text
        return f"\033[{';'.join(_CODES[style] for style in styles)}m{text}\033[0m"

    def _erase(self) -> str:
        return "\r\033[K" if self.live else ""

    def _write(self, text: str) -> None:
        """A reader that went away is no reason to stop."""
        try:
            if self.stream is not None and text:
                self.stream.write(text)
                self.stream.flush()
        except (OSError, ValueError):
            pass


def columns(text: str) -> int:
    """How many columns a line takes: most Chinese characters take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _fitting(text: str, room: int) -> int:
    """How many of the first characters fit into ``room`` columns."""
    used = 0
    for index, character in enumerate(text):
        used += columns(character)
        if used > room:
            return index
    return len(text)


def is_interactive() -> bool:
    """Both ends are terminals: a person can be asked."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))
