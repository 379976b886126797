"""Reading JSON that may have any shape: what is not as expected counts as absent."""

from __future__ import annotations

from typing import Any


def mapping(value: Any) -> dict[str, Any]:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text(value: Any) -> str:
    """The text, or ""."""
    return value if isinstance(value, str) else ""


def count(value: Any) -> int:
    """A count that is not negative, or 0."""
    return max(0, value) if isinstance(value, int) else 0
