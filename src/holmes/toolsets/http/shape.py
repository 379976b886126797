"""Deep JSON cut to the levels that a model asked for."""

from __future__ import annotations

from typing import Any


def cut(value: Any, levels: int) -> Any:
    """The value with what lies deeper than ``levels`` replaced by its size."""
    if isinstance(value, dict):
        if levels <= 0:
            return f"{{... {len(value)} keys}}" if value else value
        return {key: cut(item, levels - 1) for key, item in value.items()}
    if isinstance(value, list):
        if levels <= 0:
            return f"[... {len(value)} items]" if value else value
        return [cut(item, levels - 1) for item in value]
    return value
