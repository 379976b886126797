"""The time that the kubelet puts before each log line (``kubectl logs --timestamps``)."""

from __future__ import annotations

from collections.abc import Sequence


def has_time(line: str) -> bool:
    """Whether a line begins with an RFC 3339 time in UTC."""
    return len(line) > 20 and line[10] == "T" and line[4] == "-" and line[19] in ".Z" and line[:4].isdigit()


def without_time(line: str) -> str:
    """What the program wrote."""
    return line.partition(" ")[2] if has_time(line) else line


def lines_after(lines: Sequence[str], since: str) -> list[str]:
    """Lines from ``since`` (``2025-01-31T10:00:00``) on; a line without a time goes with the one before it."""
    kept: list[str] = []
    inside = True
    for line in lines:
        if has_time(line):
            inside = line[:19] >= since
        if inside:
            kept.append(line)
    return kept
