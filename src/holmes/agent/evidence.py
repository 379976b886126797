"""Checks an answer against the stored results: references, quotes and numbers.

Only a quote that no result contains, or a cited reference that does not exist, is worth asking the model again; all
else is marked in the report.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from holmes.core.result_store import RunResults
from holmes.core.results import StructuredToolResult

_CITATION = re.compile(r"\[(E\d+(?:\s*(?:,|、|，|;|and|和)\s*E\d+)*)\]")
_REFERENCE = re.compile(r"\bE\d+\b")
_QUOTE = re.compile(r"`([^`\n]{3,400})`|\"([^\"\n]{3,400})\"|“([^”\n]{3,400})”|「([^」\n]{3,400})」")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?![\w])")
_FENCE = re.compile(r"^\s*(```|~~~)")

NumberMark = Literal["verified", "derived", "unknown"]


@dataclass(frozen=True, slots=True)
class Quote:
    """A quoted text of the answer and where it was found ("" = nowhere)."""

    text: str
    cited: tuple[str, ...]
    found: str = ""


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a line with citations."""

    text: str
    mark: NumberMark


@dataclass(frozen=True, slots=True)
class Check:
    """What the program found out about an answer."""

    cited: tuple[str, ...] = ()  # in order of appearance
    missing: tuple[str, ...] = ()  # cited, but there is no such result
    failed: tuple[str, ...] = ()  # cited, but the call failed
    quotes: tuple[Quote, ...] = ()
    numbers: tuple[Number, ...] = ()

    @property
    def false_quotes(self) -> tuple[str, ...]:
        """Quotes that no result contains."""
        return tuple(quote.text for quote in self.quotes if not quote.found)

    @property
    def false(self) -> bool:
        """True when the model should mend its answer."""
        return bool(self.missing or self.false_quotes)

    def as_data(self) -> dict[str, Any]:
        """JSON types for events and reports."""
        return {
            "cited": list(self.cited),
            "missing": list(self.missing),
            "failed": list(self.failed),
            "quotes": [{"text": q.text, "cited": list(q.cited), "found": q.found} for q in self.quotes],
            "numbers": [{"text": n.text, "mark": n.mark} for n in self.numbers],
        }


@dataclass(slots=True)
class Evidence:
    """The results of a run as far as an answer may cite them."""

    results: RunResults
    calls: dict[str, StructuredToolResult] = field(default_factory=dict)  # by reference
    tools: dict[str, str] = field(default_factory=dict)  # the tool's name by reference

    def add(self, tool: str, result: StructuredToolResult) -> None:
        """Remember a result; those without a reference (repeated, unknown tool) cannot be cited."""
        if result.reference:
            self.calls[result.reference] = result
            self.tools[result.reference] = tool

    def check(self, answer: str, question: str = "") -> Check:
        """Check an answer. Words that the person used in the question may be quoted freely."""
        cited: dict[str, None] = {}
        quotes: list[Quote] = []
        numbers: list[Number] = []
        for line, references in _cited_lines(answer):
            cited.update(dict.fromkeys(references))
            quotes += [self._quote(text, references) for text in _quotes(line) if text not in question]
            numbers += self._numbers(line, references)
        for reference in _REFERENCE.findall(answer):
            if reference in self.calls:
                cited.setdefault(reference)
        return Check(
            tuple(cited),
            tuple(reference for reference in cited if reference not in self.calls),
            tuple(reference for reference in cited if reference in self.calls and not self.calls[reference].ok),
            tuple(quotes),
            tuple(numbers),
        )

    def _quote(self, text: str, references: Sequence[str]) -> Quote:
        others = [reference for reference in self.calls if reference not in references]
        found = next((ref for ref in (*references, *others) if self._contains(ref, text)), "")
        return Quote(text, tuple(references), found)

    def _contains(self, reference: str, text: str) -> bool:
        result = self.calls.get(reference)
        if result is None:
            return False
        beside = " ".join((result.error, result.invocation, *map(str, result.params.values())))
        plain = " ".join(text.split())
        candidates = {plain, plain.rstrip(".,;:…"), plain.removesuffix("...").strip()}
        return any(part in beside or self.results.contains(reference, part) for part in candidates if part)

    def _numbers(self, line: str, references: Sequence[str]) -> list[Number]:
        bare = _CITATION.sub("", _QUOTE.sub("", line))
        texts = list(dict.fromkeys(_NUMBER.findall(bare)))
        marks: Mapping[str, NumberMark] = {
            text: "verified" if any(self._contains(reference, text) for reference in references) else "unknown"
            for text in texts
        }
        known = [_value(text) for text, mark in marks.items() if mark == "verified"]
        return [
            Number(text, "derived" if mark == "unknown" and _derivable(_value(text), known) else mark)
            for text, mark in marks.items()
        ]


def _cited_lines(answer: str) -> list[tuple[str, tuple[str, ...]]]:
    """Lines outside code fences that cite something, with their references."""
    lines: list[tuple[str, tuple[str, ...]]] = []
    fenced = False
    for line in answer.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            references = [ref for group in _CITATION.findall(line) for ref in _REFERENCE.findall(group)]
            if references:
                lines.append((line, tuple(dict.fromkeys(references))))
    return lines


def _quotes(line: str) -> list[str]:
    return [next(filter(None, match.groups())).strip() for match in _QUOTE.finditer(line)]


def _value(text: str) -> float:
    plain = text.replace(",", "") if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", text) else text.replace(",", ".")
    try:
        return float(plain)
    except ValueError:  # 1.2.3 is a version, not a number
        return float("nan")


def _derivable(value: float, known: Sequence[float]) -> bool:
    pairs = [(a, b) for a in known for b in known]
    results = (r for a, b in pairs for r in (a + b, a - b, a * b, *((a / b, 100 * a / b) if b else ())))
    return any(abs(value - result) <= 0.01 * max(1.0, abs(result)) for result in results)
