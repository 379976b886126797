"""Prompt, prompt file, attached files and what is piped in."""

from __future__ import annotations

import os
import pty
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holmes.cli import inputs
from holmes.cli.inputs import DEFAULT_QUESTION, Inputs, gather
from holmes.core.errors import UsageError

QUICK = 0.05  # seconds of silence that these tests wait for


class Pipe:
    """What standard input is connected to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        read, self.write = os.pipe()
        self.stream = os.fdopen(read)
        monkeypatch.setattr(sys, "stdin", self.stream)

    def send(self, data: bytes, *, end: bool = True) -> None:
        os.write(self.write, data)
        if end:
            self.end()

    def end(self) -> None:
        os.close(self.write)
        self.write = -1

    def close(self) -> None:
        self.stream.close()
        if self.write >= 0:
            self.end()


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pipe]:
    made = Pipe(monkeypatch)
    yield made
    made.close()


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Standard input is /dev/null."""
    with Path(os.devnull).open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        yield


def ask(prompt: str | None = None, file: Path | None = None, *attached: Path) -> tuple[Inputs, list[str]]:
    said: list[str] = []
    return gather(prompt, file, attached, said.append, silence=QUICK), said


def test_a_prompt_alone(nothing: None) -> None:
    assert ask("  why?\n") == (Inputs("why?"), [])


def test_a_prompt_file(nothing: None, tmp_path: Path) -> None:
    file = tmp_path / "question.txt"
    file.write_bytes(b"\xef\xbb\xbfwhy is it\nslow?\r\n")
    assert ask(None, file) == (Inputs("why is it\nslow?"), [])


def test_a_prompt_and_a_prompt_file_contradict_each_other(nothing: None, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not both"):
        ask("why?", tmp_path / "question.txt")


def test_what_cannot_be_shown_is_taken_out_of_the_question(nothing: None) -> None:
    assert ask("why\x1b[2J is \udcff it\x07 \u202eslow?")[0].question == "why is \ufffd it slow?"


def test_files_are_attached_as_they_are(nothing: None, tmp_path: Path) -> None:
    one, two = tmp_path / "one.log", tmp_path / "two.bin"
    one.write_text("first")
    two.write_bytes(b"\xff\x00")
    assert ask("why?", None, one, two)[0].files == ((str(one), b"first"), (str(two), b"\xff\x00"))


def test_a_pipe_comes_along_with_the_prompt(pipe: Pipe) -> None:
    pipe.send(b"log line\n")
    assert ask("why?") == (Inputs("why?", (("standard input", b"log line\n"),), True), [])


def test_a_pipe_alone_brings_its_own_question(pipe: Pipe) -> None:
    pipe.send(b"log line\n")
    assert ask()[0] == Inputs(DEFAULT_QUESTION, (("standard input", b"log line\n"),), True)


def test_a_pipe_that_stays_silent_is_dropped_when_there_is_a_prompt(pipe: Pipe) -> None:
    found, said = ask("why?")
    assert found == Inputs("why?")
    assert said == [f"standard input stayed silent for {QUICK} s and is ignored"]


def test_a_pipe_that_stays_silent_is_waited_for_when_there_is_no_prompt(pipe: Pipe) -> None:
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        pipe.send(b"at last")

    assert gather(None, None, (), say, silence=QUICK).files == (("standard input", b"at last"),)
    assert said == ["waiting for standard input"]


def test_a_pipe_that_pauses_is_read_to_its_end_and_that_is_said_once(pipe: Pipe) -> None:
    pipe.send(b"one ", end=False)
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        pipe.send(b"two")

    assert gather("why?", None, (), say, silence=QUICK).files == (("standard input", b"one two"),)
    assert said == ["reading standard input until it ends"]


def test_an_empty_pipe_is_no_pipe(pipe: Pipe) -> None:
    pipe.end()
    assert ask("why?") == (Inputs("why?"), [])
    assert ask() == (Inputs(""), [])


def test_a_closed_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert ask("why?") == (Inputs("why?"), [])


def test_a_terminal_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        os.write(master, b"typed\n")
        assert ask("why?") == (Inputs("why?"), [])
    os.close(master)


@pytest.mark.parametrize("prompt", ["", "  \n"])
def test_an_empty_prompt_stays_empty(prompt: str, pipe: Pipe, tmp_path: Path) -> None:
    pipe.send(b"log line\n")
    assert ask(prompt)[0].question == ""
    file = tmp_path / "empty.txt"
    file.write_text(prompt)
    assert ask(None, file)[0].question == ""


@pytest.mark.parametrize("make", [lambda path: None, Path.mkdir], ids=["missing", "folder"])
def test_what_cannot_be_read_is_named(make: Callable[[Path], None], nothing: None, tmp_path: Path) -> None:
    path = tmp_path / "there"
    make(path)
    for arguments in ((None, path), ("why?", None, path)):
        with pytest.raises(UsageError) as caught:
            ask(*arguments)
        assert str(caught.value).startswith(f"{path}: cannot be read: ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_forbidden_file_is_named(nothing: None, tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.touch(mode=0)
    with pytest.raises(UsageError, match="cannot be read: Permission denied"):
        ask("why?", None, path)


def test_a_standard_input_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with (tmp_path / "only-written").open("w") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        with pytest.raises(UsageError, match="standard input: cannot be read: Bad file descriptor"):
            ask("why?")


def test_too_large_is_said(pipe: Pipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "LIMIT", 1_000_000)
    monkeypatch.setattr(inputs, "_CHUNK", 65_536)
    file = tmp_path / "large.log"
    file.write_bytes(bytes(1_000_001))
    with pytest.raises(UsageError, match="is larger than 1 MB"):
        ask("why?", None, file)
    writer = threading.Thread(target=_write, args=(pipe, 1_200_000))
    writer.start()
    found, said = ask("why?")
    pipe.stream.close()
    writer.join()
    assert 1_000_000 < len(found.files[0][1]) < 1_100_000
    assert said == ["standard input is cut at 1 MB"]


def test_fifty_megabytes_are_read_in_bounded_time(pipe: Pipe) -> None:
    writer = threading.Thread(target=_write, args=(pipe, 50_000_000))
    writer.start()
    started = time.monotonic()
    found, said = ask("why?")
    assert time.monotonic() - started < 5
    writer.join()
    assert len(found.files[0][1]) == 50_000_000
    assert said == []


def _write(pipe: Pipe, size: int) -> None:
    piece = bytes(1_000_000)
    try:
        for start in range(0, size, len(piece)):
            os.write(pipe.write, piece[: size - start])
    except BrokenPipeError:
        pass
    pipe.end()
