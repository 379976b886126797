"""log_dedupe: a log by its kinds of lines, each with its count, its first and its last time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holmes.core.result_stats import line_pattern, looks_like_error, times_in

if TYPE_CHECKING:
    from holmes.tools.tool import ToolContext

MIN_LINES = 20
MAX_TEMPLATES = 60
_DIGITS = b"0123456789"
_WIDTH = 500  # characters of a line that are shown


@dataclass(slots=True)
class _Template:
    pattern: str
    first: str
    last: str
    count: int = 1


async def log_dedupe(text: str, options: Mapping[str, Any], ctx: ToolContext) -> str:
    """Each kind of line once, in the order of appearance; a text of fewer than ``min_lines`` stays as it is.

    Of more than ``max_templates`` kinds those that look like errors are shown first, then the frequent ones.
    """
    return await asyncio.to_thread(
        folded, text, int(options.get("min_lines", MIN_LINES)), int(options.get("max_templates", MAX_TEMPLATES))
    )


def folded(text: str, min_lines: int = MIN_LINES, max_templates: int = MAX_TEMPLATES) -> str:
    """The same without a context."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < min_lines:
        return text
    templates = _templates(lines)
    shown = templates
    if len(templates) > max_templates:
        ranked = sorted(templates, key=lambda each: (not looks_like_error(each.first), -each.count))
        chosen = {id(each) for each in ranked[:max_templates]}
        shown = [each for each in templates if id(each) in chosen]
    head = f"{len(lines):,} lines of {len(templates):,} kinds{_span(lines[0], lines[-1])}."
    body = [line for each in shown for line in _show(each)]
    left = len(templates) - len(shown)
    if left:
        hidden = len(lines) - sum(each.count for each in shown)
        body.append(f"... and {left:,} more kinds ({hidden:,} lines)")
    return "\n".join([head, *body])


def _templates(lines: list[str]) -> list[_Template]:
    """The kinds in the order of appearance. Lines that differ in digits alone cost one regex together."""
    by_kind: dict[bytes, _Template] = {}
    by_pattern: dict[str, _Template] = {}
    for line in lines:
        kind = line.encode("utf-8", "replace").translate(None, _DIGITS)
        known = by_kind.get(kind)
        if known is None:
            pattern = line_pattern(line)
            known = by_pattern.get(pattern)
            if known is None:
                by_kind[kind] = by_pattern[pattern] = _Template(pattern, line, line)
                continue
            by_kind[kind] = known
        known.count += 1
        known.last = line
    return list(by_pattern.values())


def _show(template: _Template) -> list[str]:
    first = template.first[:_WIDTH]
    if template.count == 1:
        return [f"{1:>7,}x {first}"]
    constant = " ".join(template.pattern.replace("<time>", " ").split())
    span = _span(template.first, template.last)
    if "<" not in constant:
        return [f"{template.count:>7,}x{span}: {constant}"]
    return [f"{template.count:>7,}x{span}: {constant}", f"         first: {first}"]


def _span(first: str, last: str) -> str:
    start, end = times_in(first), times_in(last)
    if not start or not end:
        return ""
    return f" from {start[0]} to {end[-1]}" if start[0] != end[-1] else f" at {start[0]}"
