"""A scan as a tool's result: text for models, the same as data for programs."""

from __future__ import annotations

from holmes.analyzers.render import to_text
from holmes.analyzers.run import ScanResult
from holmes.core.results import StructuredToolResult


def told(result: ScanResult, invocation: str, tokens: int) -> StructuredToolResult:
    """The result with at most that many tokens of text; a scan that saw nothing is a failure."""
    text, data = to_text(result, tokens), result.as_data()
    gaps = tuple(str(gap) for gap in result.gaps)
    if result.blind:
        return StructuredToolResult.failure(text, data=data, invocation=invocation, gaps=gaps)
    return StructuredToolResult.success(text, data=data, invocation=invocation, gaps=gaps)
