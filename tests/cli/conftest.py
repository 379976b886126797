"""The command as people start it, and a terminal to look at."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import pyte
import pytest

Holmes = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An environment with nothing in it that the tests do not know."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "HOLMES_HOME": str(tmp_path / "state"),
        "KUBECONFIG": str(tmp_path / "no-kubeconfig"),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
    }


@pytest.fixture
def command() -> list[str]:
    return [sys.executable, "-m", "holmes"]


@pytest.fixture
def holmes(env: dict[str, str], command: list[str], tmp_path: Path) -> Holmes:
    """Run the command to its end; ``given`` is what is piped in, None is no input at all."""

    def run(*arguments: str, given: str | None = None, more: Mapping[str, str] | None = None, **options: Any) -> Any:
        settings = {"stdin": subprocess.DEVNULL} if given is None else {"input": given}
        return subprocess.run(
            [*command, *arguments],
            env={**env, **(more or {})},
            cwd=tmp_path,
            text=True,
            encoding="utf-8",
            timeout=30,
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **settings, **options},
        )

    return run


@dataclass
class Window:
    """A terminal window: what is written to ``stream`` is on the screen."""

    columns: int
    stream: TextIO
    _master: int
    _received: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def raw(self) -> bytes:
        """All bytes that were sent; the window is closed for writing."""
        if not self.stream.closed:
            self.stream.close()
        self._reader.join()
        return bytes(self._received)

    def lines(self) -> list[str]:
        """The lines on the screen; the window is closed for writing."""
        screen = pyte.Screen(self.columns, 50)
        pyte.ByteStream(screen).feed(self.raw())
        return [line.rstrip() for line in screen.display[: screen.cursor.y + 1]]

    def _read(self) -> None:
        while True:
            try:
                chunk = os.read(self._master, 65536)
            except OSError:  # the other end is closed
                return
            self._received += chunk


@pytest.fixture
def window() -> Iterator[Callable[..., Window]]:
    opened: list[Window] = []

    def make(columns: int = 80) -> Window:
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        made = Window(columns, os.fdopen(slave, "w", encoding="utf-8"), master)
        opened.append(made)
        return made

    yield make
    for each in opened:
        each.raw()
        os.close(each._master)
