"""Log lines out of a byte stream of any length, in bounded memory."""

from __future__ import annotations

from collections import deque

_MAX_BYTES = 16 << 20
_LINE_COST = 50  # what Python needs for an empty line


class LineBuffer:
    """Keeps the newest lines: at most ``tail`` of them (None: any number), at most ``max_bytes``."""

    def __init__(self, tail: int | None = None, max_bytes: int = _MAX_BYTES) -> None:
        self.size = 0  # bytes taken
        self.dropped = False  # there were more lines than are kept
        self._tail = tail
        self._max_bytes = max_bytes
        self._lines: deque[bytes] = deque()
        self._kept = 0  # bytes in _lines
        self._rest = bytearray()  # of the line that has not ended yet
        self._cut = False  # that line is longer than max_bytes: only its start is kept

    def take(self, chunk: bytes) -> None:
        """The next piece; pieces may cut lines and characters in two."""
        self.size += len(chunk)
        first, newline, others = chunk.partition(b"\n")
        self._extend(first)
        if not newline:
            return
        self._end_line()
        *whole, last = others.split(b"\n")
        for line in whole:
            self._extend(line)
            self._end_line()
        self._extend(last)

    def finish(self) -> list[str]:
        """The lines, oldest first."""
        if self._rest:
            self._end_line()
        return [line.decode("utf-8", "replace") for line in self._lines]

    def _extend(self, part: bytes) -> None:
        room = self._max_bytes - len(self._rest)
        self._cut = self._cut or len(part) > room
        self._rest += part[:room]

    def _end_line(self) -> None:
        line = bytes(self._rest).removesuffix(b"\r")
        self.dropped = self.dropped or self._cut
        self._rest.clear()
        self._cut = False
        self._lines.append(line)
        self._kept += len(line) + _LINE_COST
        while self._too_many():
            self._kept -= len(self._lines.popleft()) + _LINE_COST
            self.dropped = True

    def _too_many(self) -> bool:
        if self._tail is not None and len(self._lines) > self._tail:
            return True
        return self._kept > self._max_bytes and len(self._lines) > 1
