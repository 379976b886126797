"""What a person gives to ``holmes ask``: a prompt, files, a pipe."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from holmes.core.errors import UsageError
from holmes.core.text import clean

SILENCE = 2.0  # seconds that a pipe may stay silent when a prompt is given as well
LIMIT = 256_000_000  # bytes that are read of a pipe or a file at most
DEFAULT_QUESTION = "What is wrong here, and what shows it?"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Inputs:
    """The question and the texts that come along with it."""

    question: str
    files: tuple[tuple[str, bytes], ...] = ()
    piped: bool = False


def gather(
    prompt: str | None,
    prompt_file: Path | None,
    files: Sequence[Path],
    say: Callable[[str], None],
    silence: float = SILENCE,
) -> Inputs:
    """Read everything; UsageError names what cannot be used. ``say`` gets remarks for stderr."""
    if prompt is not None and prompt_file is not None:
        raise UsageError("give a prompt or --prompt-file, not both")
    written = read_file(prompt_file).decode("utf-8-sig", "replace") if prompt_file else prompt
    question = clean(written or "").strip()
    attached = [(str(path), read_file(path)) for path in files]
    piped = _stdin(bool(question), say, silence)
    if piped:
        attached.append(("standard input", piped))
    if written is None and piped:
        question = DEFAULT_QUESTION
    return Inputs(question, tuple(attached), bool(piped))


def read_file(path: Path) -> bytes:
    """A file's content, bounded; UsageError says why it cannot be read."""
    try:
        with path.open("rb") as file:
            content = file.read(LIMIT + 1)
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(path)) from error
    if len(content) > LIMIT:
        raise UsageError(f"is larger than {LIMIT // 1_000_000} MB", where=str(path), remedy="cut it first (grep, tail)")
    return content


def _stdin(have_prompt: bool, say: Callable[[str], None], silence: float) -> bytes:
    """What was piped in; a terminal and a closed stdin give nothing."""
    if sys.stdin is None or sys.stdin.isatty():
        return b""
    descriptor = sys.stdin.fileno()
    if not _ready(descriptor, silence):
        if have_prompt:
            say(f"standard input stayed silent for {silence:g} s and is ignored")
            return b""
        say("waiting for standard input")
    return _read_all(descriptor, say, silence)


def _read_all(descriptor: int, say: Callable[[str], None], silence: float) -> bytes:
    chunks: list[bytes] = []
    size, told = 0, False
    while size <= LIMIT:
        if chunks and not told and not _ready(descriptor, silence):
            say("reading standard input until it ends")
            told = True
        try:
            chunk = os.read(descriptor, _CHUNK)
        except OSError as error:
            raise UsageError(f"cannot be read: {error.strerror}", where="standard input") from error
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)
        size += len(chunk)
    say(f"standard input is cut at {LIMIT // 1_000_000} MB")
    return b"".join(chunks)


def _ready(descriptor: int, seconds: float) -> bool:
    return bool(select.select([descriptor], [], [], seconds)[0])
