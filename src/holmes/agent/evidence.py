"""Checks an answer against the stored results: references, quotes and numbers.

Only a quote that no result contains, or a cited reference that does not exist, is worth asking the model again; all
else is marked in the report. What is quoted without a citation, as a command, in a code block or among the next steps
is the model's own and not checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from holmes.agent.sections import is_command, read_lines
from holmes.core.result_store import RunResults
from holmes.core.results import StructuredToolResult

_REFERENCE = re.compile(r"\bE\d+\b", re.A)
_CITATION = re.compile(r"[\[【［(（]\s*(E\d+(?:(?:\s|[,，、;；&/–—-]|and|und|和|及|与)+E\d+)*)\s*[\]】］)）]", re.I)
_QUOTE = re.compile(
    r"(?<!`)(?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|\"(?P<straight>[^\"]{3,400})\"|“(?P<curly>[^”]{3,400})”|「(?P<corner>[^」]{3,400})」|『(?P<double>[^』]{3,400})』"
)
# Outside backticks a quoted word may be mere emphasis; these signs and two words side by side are the data's own.
_DATA = re.compile(r"[\d=_/:{}<>\\]|[A-Za-z]\s+[A-Za-z]")
_SHORTENED = re.compile(r"\s*\[?(?:…|\.{3})\]?\s*")
_PATH = re.compile(r"\.?[A-Za-z_][\w-]*(?:\[\d*\])?(?:[./][A-Za-z_][\w-]*(?:\[\d*\])?)+", re.A)
_ITEM = re.compile(r"\s*(?:[-*+•>]\s|\d+[.)]\s|\|)")
_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_NUMBER = re.compile(
    rf"(?<![\w.])(?<!\d[:,])(?<![A-Za-z]-)(?:(?P<time>{_TIME})"
    r"|v?(?P<digits>\d{1,20}(?:[.,:]\d{1,20}){0,7})(?P<unit>%|[A-Za-z]{1,3})?)(?!\w)",
    re.A,
)

_DERIVED_FROM = 20  # verified numbers of a passage

NumberMark = Literal["verified", "derived", "unknown"]


@dataclass(frozen=True, slots=True)
class Quote:
    """A quoted text of the answer and where it was found ("" = nowhere)."""

    text: str
    cited: tuple[str, ...]
    found: str = ""


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a passage with citations."""

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
        return tuple(dict.fromkeys(quote.text for quote in self.quotes if not quote.found))

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
    heard: dict[str, str] = field(default_factory=dict)  # where from: other text of strangers that the model was shown
    _before: int = 0  # results of earlier turns

    def begin_turn(self) -> None:
        """A new question: what was seen before can still be cited."""
        self._before = len(self.calls)

    def of_turn(self, cited: Sequence[str] = ()) -> dict[str, StructuredToolResult]:
        """The results of this turn, and the earlier ones that are cited."""
        return {
            reference: result
            for index, (reference, result) in enumerate(self.calls.items())
            if index >= self._before or reference in cited
        }

    def add(self, tool: str, result: StructuredToolResult) -> None:
        """Remember a result; those without a reference (repeated, unknown tool) cannot be cited."""
        if result.reference:
            self.calls[result.reference] = result
            self.tools[result.reference] = tool

    def hear(self, source: str, text: str) -> None:
        """Remember text of strangers that reaches the model beside results: an alert, the description of a tool."""
        self.heard[source] = text

    def check(self, answer: str, question: str = "") -> Check:
        """Check an answer. Words that the person used in the question may be quoted freely."""
        cited: dict[str, None] = {}
        quotes: list[Quote] = []
        numbers: list[Number] = []
        asked = _plain(question).casefold()
        for passage, checked in _passages(answer):
            references = self._references(passage)
            cited.update(dict.fromkeys(references))
            if references and checked:
                quotes += self._quotes(passage, references, asked)
                numbers += self._numbers(passage, references)
        cited.update(dict.fromkeys(ref for ref in _REFERENCE.findall(answer) if ref in self.calls))
        return Check(
            tuple(cited),
            tuple(reference for reference in cited if reference not in self.calls),
            tuple(reference for reference in cited if reference in self.calls and not self.calls[reference].ok),
            tuple(dict.fromkeys(quotes)),
            tuple(dict.fromkeys(numbers)),
        )

    def _references(self, passage: str) -> tuple[str, ...]:
        """What a passage cites: everything in brackets, and bare references that exist."""
        bracketed = {ref for group in _CITATION.findall(passage) for ref in _REFERENCE.findall(group.upper())}
        meant = bracketed.union(ref for ref in _REFERENCE.findall(passage) if ref in self.calls)
        return tuple(dict.fromkeys(ref for ref in _REFERENCE.findall(passage.upper()) if ref in meant))

    def _quotes(self, passage: str, references: Sequence[str], asked: str) -> Iterator[Quote]:
        others = [reference for reference in self.calls if reference not in references]
        for match in _QUOTE.finditer(passage):
            text = _plain(match[match.lastgroup or 0]).replace("\\|", "|")
            if len(text) < 3 or is_command(text) or text.casefold() in asked:
                continue
            found = next((ref for ref in (*references, *others) if self._has_quote(ref, text)), "")
            if found or match["code"] or _DATA.search(text):
                yield Quote(text, tuple(references), found)

    def _has_quote(self, reference: str, text: str) -> bool:
        """Whether a result has the text: as it is, without its last stop, shortened by dots, or as a path of names."""
        if self._contains(reference, text) or self._contains(reference, text.rstrip(".,;:!。，；：！")):
            return True
        parts = [part for part in _SHORTENED.split(text) if part]
        if parts == [text]:
            parts = re.findall(r"[A-Za-z_][\w-]*", text) if _PATH.fullmatch(text) else []
        return bool(parts) and all(len(part) >= 3 and self._contains(reference, part) for part in parts)

    def _contains(self, reference: str, text: str) -> bool:
        return bool(text) and (text in self._beside(reference) or self.results.contains(reference, text))

    def _beside(self, reference: str) -> str:
        """What the model read of a result beside its text."""
        result = self.calls.get(reference)
        if result is None:
            return ""
        parts = (self.tools[reference], result.invocation, result.error, *result.params.values())
        return _plain(" ".join(map(str, (*parts, *result.gaps, *result.notes))))

    def _numbers(self, passage: str, references: Sequence[str]) -> list[Number]:
        bare = _CITATION.sub(" ", _QUOTE.sub(" ", passage))
        matches = {match.group(): match for match in _NUMBER.finditer(bare)}
        known = [match for match in matches.values() if any(self._has_number(ref, match) for ref in references)]
        values = [_value(match) for match in known[:_DERIVED_FROM]]
        return [
            Number(
                text, "verified" if match in known else "derived" if _derivable(_value(match), values) else "unknown"
            )
            for text, match in matches.items()
        ]

    def _has_number(self, reference: str, number: re.Match[str]) -> bool:
        """Whether a result has the number by itself; in a text too long to be at hand, anywhere."""
        stored = self.results.stored(reference)
        written = _written(number)
        after = r"(?!\d)(?!\.\d)" if written[0].isdigit() else r"(?!\d)"
        if number["unit"]:
            after += rf"(?:(?![A-Za-z])|(?=\s?{re.escape(number['unit'][0])}))"
        alone = re.compile(rf"(?<![\d.])(?:{'|'.join(map(re.escape, written))}){after}")
        if alone.search(self._beside(reference)) or (stored and alone.search(f"{stored.head}\n{stored.tail}")):
            return True
        if stored is None or stored.whole:
            return False
        return any(self.results.contains(reference, text) for text in written)


def _passages(answer: str) -> Iterator[tuple[str, bool]]:
    """List items, table rows and paragraphs outside code, on one line each, and whether they are to be checked."""
    lines: list[str] = []
    checked = True
    for line in read_lines(answer):
        wanted = line.section != "remediation"
        if lines and (line.code or not line.text.strip() or _ITEM.match(line.text) or wanted != checked):
            yield _plain(" ".join(lines)), checked
            lines = []
        if not line.code and line.text.strip():
            item = None if lines else _ITEM.match(line.text)
            lines.append(line.text[item.end() :] if item else line.text)
            checked = wanted
    if lines:
        yield _plain(" ".join(lines)), checked


def _plain(text: str) -> str:
    return " ".join(text.split())


def _written(number: re.Match[str]) -> list[str]:
    """The ways to write a number or a time."""
    if time := number["time"]:
        unzoned = re.sub(r"(?:Z|[+-]\d\d:?\d\d)$", "", time)
        return [each for text in (time, unzoned) for each in (text, text.replace(" ", "T"), text.replace("T", " "))]
    digits = number["digits"]
    ways = [digits, digits.replace(",", ""), digits.replace(",", ".")]
    return [*ways, f"{int(digits):,}"] if digits.isdigit() else ways


def _value(number: re.Match[str]) -> float:
    digits = number["digits"] or ""
    grouped = re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", digits)
    try:
        return float(digits.replace(",", "" if grouped else "."))
    except ValueError:  # a version or a time is not a number
        return float("nan")


def _derivable(value: float, known: Iterable[float]) -> bool:
    """Whether a value is a sum, difference, product, quotient or percentage of known ones, within one percent."""
    pairs = [(a, b) for a in known for b in known]
    results = (r for a, b in pairs for r in (a + b, a - b, a * b, *((a / b, 100 * a / b) if b else ())))
    return any(abs(value - result) <= 0.01 * max(1.0, abs(result)) for result in results)
