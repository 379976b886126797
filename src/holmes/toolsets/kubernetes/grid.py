"""Tables as text and as data: aligned columns, a bounded number of rows, the rare ones first when some are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from holmes.kube.cluster import Table

MAX_ROWS = 200
_MAX_CELL = 160  # characters
_EMPTY = frozenset(["", "<none>", "<unset>"])


@dataclass(frozen=True, slots=True)
class Row:
    """One object's line."""

    namespace: str
    name: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """Columns and rows of one kind."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    priorities: tuple[int, ...] = ()  # > 0: columns of ``-o wide``

    @classmethod
    def of(cls, table: Table) -> Grid:
        """The server's table."""
        rows = (Row(*name, cells) for name, cells in zip(table.names, table.rows, strict=True))
        return cls(table.columns, tuple(rows), table.priorities)

    def keep(self, rows: Sequence[Row]) -> Grid:
        """The same columns with other rows."""
        return Grid(self.columns, tuple(rows), self.priorities)

    def text(self, *, namespaces: bool, wide: bool = False) -> str:
        """Aligned lines under a head; says how many rows were left out and counts them by status."""
        rows = self._rare_first() if len(self.rows) > MAX_ROWS else self.rows
        shown = rows[:MAX_ROWS]
        columns = self._shown_columns(shown, wide)
        lines = [
            [self.columns[at].upper() for at in columns],
            *([_cut(row.cells[at]) for at in columns] for row in shown),
        ]
        if namespaces:
            for line, namespace in zip(lines, ["NAMESPACE", *(row.namespace for row in shown)], strict=True):
                line.insert(0, namespace)
        text = aligned(lines)
        if len(shown) < len(rows):
            text += f"\n… {len(rows) - len(shown):,} more rows; {self._statuses()}narrow with name, namespace, "
            text += "label_selector, field_selector or filter_pattern"
        return text

    def items(self, kind: str) -> list[dict[str, Any]]:
        """The rows for programs."""
        return [
            {
                "kind": kind,
                "namespace": row.namespace,
                "name": row.name,
                "cells": dict(zip(self.columns, row.cells, strict=True)),
            }
            for row in (self._rare_first() if len(self.rows) > MAX_ROWS else self.rows)[:MAX_ROWS]
        ]

    def _shown_columns(self, rows: Sequence[Row], wide: bool) -> list[int]:
        """Columns to print: wide ones only when asked for and only when they say something."""
        return [
            at
            for at in range(len(self.columns))
            if not self.priorities
            or self.priorities[at] == 0
            or (wide and any(row.cells[at] not in _EMPTY for row in rows))
        ]

    def _status_column(self) -> int | None:
        return next((at for at, name in enumerate(self.columns) if name.lower() == "status"), None)

    def _rare_first(self) -> Sequence[Row]:
        """Rows with the rarest status first: in a long list the odd ones matter."""
        at = self._status_column()
        if at is None:
            return self.rows
        counts = Counter(row.cells[at] for row in self.rows)
        return sorted(self.rows, key=lambda row: counts[row.cells[at]])

    def _statuses(self) -> str:
        at = self._status_column()
        if at is None:
            return ""
        counts = Counter(row.cells[at] for row in self.rows).most_common(8)
        return f"by status: {', '.join(f'{status} {count:,}' for status, count in counts)}; "


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Cells in columns, two spaces apart."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _cut(cell: str) -> str:
    cell = " ".join(cell.split()) if "\n" in cell else cell
    return cell if len(cell) <= _MAX_CELL else f"{cell[:_MAX_CELL]}…"
