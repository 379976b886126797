"""Where tool results live: outside the model's window, searchable, under their reference (E1, E2, ...)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Stored:
    """A finished result. ``head`` and ``tail`` are parts of it; for small results ``head`` is all of it."""

    reference: str
    size: int  # characters
    lines: int
    head: str
    tail: str = ""
    masked: tuple[str, ...] = ()  # kinds of secrets that were masked in it

    @property
    def whole(self) -> bool:
        """True when ``head`` is the whole text."""
        return len(self.head) == self.size


class ResultSink(Protocol):
    """Takes one result while it arrives: bytes are decoded, cleaned of control characters, masked and stored.

    Memory stays bounded whatever comes in. May be written to from one thread at a time.
    """

    @property
    def size(self) -> int:
        """Bytes taken so far (of the source, before decoding)."""
        ...

    def write(self, chunk: bytes | str) -> None:
        """Take the next piece; pieces may cut characters and secrets in two."""
        ...

    def finish(self) -> Stored:
        """End the result. Once."""
        ...


class RunResults(Protocol):
    """The results of one run; a reference resolves only here."""

    def next_reference(self) -> str:
        """The next free reference; they count on over the turns of the run."""
        ...

    def sink(self, reference: str) -> ResultSink:
        """Where the result of that reference is to be written."""
        ...

    def stored(self, reference: str) -> Stored | None:
        """What is known of a finished result, None when there is none of that reference."""
        ...

    @property
    def problem(self) -> str:
        """Why results are not kept whole (a full disk, no right to write); "" when all is well."""
        ...

    def path(self, reference: str) -> Path:
        """The file with the text of a finished result; StoreError when there is none of that reference."""
        ...

    def read(self, reference: str, max_bytes: int = 16_000_000) -> str:
        """The text from its beginning, at most ``max_bytes`` of UTF-8; "" when there is none of that reference."""
        ...

    def contains(self, reference: str, text: str) -> bool:
        """Whether the stored text has ``text``, white space runs taken as one space."""
        ...

    def close(self) -> None:
        """Close files; a store that keeps nothing removes them."""
        ...


class ResultStore(Protocol):
    """All results of an engine (local now, shared later)."""

    def run(self, run_id: str) -> RunResults:
        """The results of a run, old ones included when the run goes on."""
        ...
