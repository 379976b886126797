"""Results as compact text for a model, and as data for programs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

MOST_BYTES = 1_000_000  # of one result
LONGEST_CELL = 4_000  # characters
_BYTES_SHOWN = 24


@dataclass(frozen=True, slots=True)
class Rows:
    """What was read: whole rows, JSON types only. ``more`` says that there were more than were wanted."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    more: bool = False
    cut: int = 0  # cells that were shortened
    full: bool = False  # stopped at the limit of bytes, not of rows

    def text(self) -> str:
        """A line of column names, then a line for each row; cells are parted by `` | ``."""
        lines = [" | ".join(map(_escaped, self.columns))]
        lines += [" | ".join(shown(cell) for cell in row) for row in self.rows]
        return "\n".join(lines)

    def data(self) -> dict[str, Any]:
        """The same for programs."""
        return {"columns": list(self.columns), "rows": [list(row) for row in self.rows], "more": self.more}


def read(columns: Sequence[str], stream: Iterator[Sequence[Any]], limit: int) -> Rows:
    """At most ``limit`` rows and MOST_BYTES of them; what comes after is left unread."""
    found: list[Sequence[Any]] = []
    size = cut = 0
    for raw in stream:
        if len(found) == limit or size > MOST_BYTES:
            return Rows(columns, found, True, cut, full=size > MOST_BYTES)
        row = [_plain(cell) for cell in raw]
        cut += sum(_too_long(cell) for cell in raw)
        size += sum(len(cell) if isinstance(cell, str) else 8 for cell in row)
        found.append(row)
    return Rows(columns, found, cut=cut)


def shown(cell: Any) -> str:
    """One cell as text: NULL is a bare word, and texts that look like it or like nothing are quoted."""
    if cell is None:
        return "NULL"
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if not isinstance(cell, str):
        return str(cell)
    return _escaped(cell) if cell.strip() and cell != "NULL" else f"'{_escaped(cell)}'"


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Text of the same form, of rows made here."""
    return Rows(columns, list(rows)).text()


def _escaped(text: str) -> str:
    return text.replace("\r\n", "\\n").replace("\n", "\\n").replace("\r", "\\n").replace("\t", "\\t")


def _too_long(cell: Any) -> bool:
    return isinstance(cell, str) and len(cell) > LONGEST_CELL


def _plain(cell: Any) -> Any:
    """A JSON type of it; bytes are their first ones in hex, and how many there are."""
    if cell is None or isinstance(cell, bool | int):
        return cell
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else str(cell)
    if isinstance(cell, bytes | bytearray | memoryview):
        raw = bytes(cell)
        rest = f"… ({len(raw):,} bytes)" if len(raw) > _BYTES_SHOWN else ""
        return f"0x{raw[:_BYTES_SHOWN].hex()}{rest}"
    text = str(cell)
    return text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]}… ({len(text):,} characters)"
