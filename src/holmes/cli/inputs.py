"""What a person gives to ``holmes ask``: a prompt, files, a pipe."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from holmes.core.errors import UsageError

SILENCE = 2.0  # seconds that a pipe may stay silent when a prompt is given as well
PIPE_LIMIT = 256_000_000  # bytes that are read of a pipe or a file at most
DEFAULT_QUESTION = "What is wrong here, and what shows it?"


@dataclass(frozen=True, slots=True)
class Inputs:
    """The question and the texts that come along with it."""

    question: str
    files: tuple[tuple[str, bytes], ...] = ()
    piped: bool = False


def gather(prompt: str | None, prompt_file: Path | None, files: Sequence[Path], say: Callable[[str], None]) -> Inputs:
    """Read everything; UsageError names what cannot be used. ``say`` gets remarks for stderr."""
    if prompt is not None and prompt_file is not None:
        raise UsageError("give a prompt or --prompt-file, not both")
    question = read_file(prompt_file).decode("utf-8", "replace") if prompt_file else (prompt or "")
    attached = [(str(path), read_file(path)) for path in files]
    piped = _stdin(have_prompt=bool(question.strip()), say=say)
    if piped:
        attached.append(("standard input", piped))
    if not question.strip() and prompt is None and piped:
        question = DEFAULT_QUESTION
    return Inputs(question.strip(), tuple(attached), bool(piped))


def read_file(path: Path) -> bytes:
    """A file's content, bounded; UsageError says why it cannot be read."""
    try:
        with path.open("rb") as file:
            content = file.read(PIPE_LIMIT + 1)
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(path)) from error
    if len(content) > PIPE_LIMIT:
        raise UsageError(
            f"is larger than {PIPE_LIMIT // 1_000_000} MB", where=str(path), remedy="cut it first (grep, tail)"
        )
    return content


def _stdin(have_prompt: bool, say: Callable[[str], None]) -> bytes:
    """What was piped in; a terminal and a closed stdin give nothing."""
    try:
        if sys.stdin is None or sys.stdin.isatty():
            return b""
        descriptor = sys.stdin.fileno()
    except (OSError, ValueError):
        return b""
    if have_prompt and not _ready(descriptor):
        say(f"standard input stayed silent for {SILENCE:g} s and is ignored")
        return b""
    chunks: list[bytes] = []
    size = 0
    while size <= PIPE_LIMIT:
        try:
            chunk = os.read(descriptor, 1 << 20)
        except OSError:
            break
        if not chunk:
            break
        chunks.append(chunk)
        size += len(chunk)
    if size > PIPE_LIMIT:
        say(f"standard input is cut at {PIPE_LIMIT // 1_000_000} MB")
    return b"".join(chunks)


def _ready(descriptor: int) -> bool:
    try:
        return bool(select.select([descriptor], [], [], SILENCE)[0])
    except (OSError, ValueError):
        return False
