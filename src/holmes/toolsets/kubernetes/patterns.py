"""Regular expressions that a model wrote: matched in linear time, taken literally when they are none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pattern:
    """A test for lines, ignoring case; ``literal`` when the text was no regular expression."""

    text: str
    matches: Callable[[str], bool]
    literal: bool = False


def compiled(text: str) -> Pattern:
    """A pattern of ``text``."""
    import re2

    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    try:
        search = re2.compile(text, options).search
    except re2.error:
        plain = text.lower()
        return Pattern(text, lambda line: plain in line.lower(), literal=True)
    return Pattern(text, lambda line: search(line) is not None)
