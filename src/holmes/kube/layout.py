"""Small helpers for text that is read by people and models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def indented(lines: Iterable[str]) -> list[str]:
    """Each line two columns to the right."""
    return [f"  {line}" for line in lines]


def short(value: object, limit: int = 80) -> str:
    """A value on one line, cut in the middle of its tail: the start says most."""
    text = " ".join(str(value).split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def joined(*facts: str, separator: str = ", ") -> str:
    """The facts that are not empty."""
    return separator.join(fact for fact in facts if fact)


def pairs(mapping: Mapping[str, object] | None, limit: int = 80) -> str:
    """``a=1, b=2``."""
    return ", ".join(f"{key}={short(value, limit)}" for key, value in (mapping or {}).items())


def some(items: list[str], limit: int) -> list[str]:
    """The first ``limit`` lines and how many more there are."""
    left = len(items) - limit
    return items if left <= 0 else [*items[:limit], f"and {left} more"]
