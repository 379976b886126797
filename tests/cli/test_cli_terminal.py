"""Colours, width, and text that must not drive the terminal."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import sys
import termios
from typing import Any

import pytest

from holmes.cli.terminal import Terminal, columns, is_interactive


class Pretended(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("tty", "env", "live", "colour"),
    [
        (True, {}, True, True),
        (False, {}, False, False),
        (True, {"NO_COLOR": "1"}, True, False),
        (True, {"NO_COLOR": ""}, True, True),
        (True, {"TERM": "dumb"}, False, False),
        (True, {"TERM": "xterm-256color"}, True, True),
        (False, {"CLICOLOR_FORCE": "1"}, False, True),
        (False, {"CLICOLOR_FORCE": "0"}, False, False),
        (True, {"TERM": "dumb", "CLICOLOR_FORCE": "1"}, False, True),
        (True, {"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, True, False),
    ],
)
def test_who_gets_colours(tty: bool, env: dict[str, str], live: bool, colour: bool) -> None:
    terminal = Terminal.of(Pretended() if tty else io.StringIO(), env)
    assert (terminal.live, terminal.colour) == (live, colour)


def test_a_closed_stream_takes_everything() -> None:
    terminal = Terminal.of(None, {"CLICOLOR_FORCE": "1"})
    terminal.print("text", "red")
    terminal.status("text")
    terminal.clear()
    assert not terminal.live


def test_a_reader_that_went_away_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    stream = os.fdopen(write, "w", buffering=1)
    terminal = Terminal(stream, live=True, colour=False)
    terminal.print("text")
    terminal.status("text")
    terminal.clear()
    with pytest.raises(BrokenPipeError):
        stream.close()
    terminal.print("a closed file")


def test_styles_are_for_colour_terminals_alone() -> None:
    plain, coloured = io.StringIO(), io.StringIO()
    Terminal(plain, live=False, colour=False).print("text", "red", "bold")
    Terminal(coloured, live=False, colour=True).print("text", "red", "bold")
    assert (plain.getvalue(), coloured.getvalue()) == ("text\n", "\x1b[31;1mtext\x1b[0m\n")


def test_a_status_line_needs_a_live_terminal() -> None:
    stream = io.StringIO()
    terminal = Terminal.of(stream, {})
    terminal.status("working")
    terminal.clear()
    assert stream.getvalue() == ""


def test_the_status_line_is_replaced(window: Any) -> None:
    screen = window()
    terminal = Terminal.of(screen.stream, {})
    terminal.status("working")
    terminal.print("done")
    terminal.status("working on")
    terminal.status("still")
    assert screen.lines() == ["done", "still"]


def test_the_status_line_goes_away(window: Any) -> None:
    screen = window()
    terminal = Terminal.of(screen.stream, {})
    terminal.status("working", "dim")
    terminal.clear()
    assert screen.lines() == [""]


@pytest.mark.parametrize("size", [10, 20, 40, 79, 200])
@pytest.mark.parametrize(
    "text", ["short", "word " * 60, "x" * 300, "检查" * 100, "a检" * 100, "e\u0301" * 200, "🦀" * 90, "tab\tand\nline"]
)
def test_a_line_stays_one_line(size: int, text: str, window: Any) -> None:
    screen = window(size)
    terminal = Terminal.of(screen.stream, {})
    assert terminal.width == size
    for line in (terminal.fit(text), terminal.fit_end(text)):
        assert columns(line) < size
        assert columns(line) >= min(size - 3, columns(" ".join(text.split())))
    terminal.status(terminal.fit(text), "dim")
    terminal.status(terminal.fit_end(text), "dim")
    assert len(screen.lines()) == 1


def test_what_is_cut_says_so(window: Any) -> None:
    terminal = Terminal.of(window(20).stream, {})
    text = "the first words and the last words"
    assert terminal.fit(text) == "the first words an…"
    assert terminal.fit_end(text) == "…and the last words"
    assert terminal.fit(text, 10) == "the firs…"


def test_a_window_may_change_its_size(window: Any) -> None:
    screen = window(80)
    terminal = Terminal.of(screen.stream, {})
    assert terminal.width == 80
    fcntl.ioctl(screen.stream.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", 50, 30, 0, 0))
    assert terminal.width == 30


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[2J\x1b[1;1Howned",
        "\x1b]0;owned\x07",
        "\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\",
        "a\rb",
        "\x9b2Jx",
        "\u202eabc",
    ],
)
def test_no_text_drives_the_terminal(text: str) -> None:
    stream = Pretended()
    terminal = Terminal(stream, live=True, colour=True)
    terminal.print(text, "red")
    terminal.status(terminal.fit(text), "dim")
    written = stream.getvalue()
    for own in ("\r\x1b[K", "\x1b[31m", "\x1b[2m", "\x1b[0m"):
        written = written.replace(own, "")
    assert all(character.isprintable() or character == "\n" for character in written)


def test_interactive_takes_two_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave, "r+b", buffering=0) as terminal, open(os.devnull) as nothing:
        for stdin, stdout, expected in [
            (terminal, terminal, True),
            (nothing, terminal, False),
            (terminal, nothing, False),
            (None, terminal, False),
            (terminal, None, False),
        ]:
            monkeypatch.setattr(sys, "stdin", stdin)
            monkeypatch.setattr(sys, "stdout", stdout)
            assert is_interactive() is expected
    os.close(master)
