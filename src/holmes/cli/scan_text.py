"""The result of a scan for people: the cause first, then what shows it, what follows from it, and what to do."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence

from holmes.analyzers.graph import Cause
from holmes.analyzers.scan_result import ScanResult
from holmes.analyzers.words import count, listed
from holmes.cli.terminal import Terminal
from holmes.kube.cluster import Gap

Safe = Callable[[str], str]  # takes secrets and control characters out of a text of the cluster
_COLOUR = {"critical": "red", "warning": "yellow", "info": "cyan"}
_WIDEST = 120  # columns; longer lines are hard to read
_WHAT = 4  # things named of one gap


def print_scan(result: ScanResult, safe: Safe, terminal: Terminal) -> None:
    """Plain text, with colours and line breaks when a terminal shows it."""
    page = _Page(safe, terminal)
    page.line(_head(result), "", "bold", *([] if result.faults or result.blind else ["green"]))
    for number, cause in enumerate(result.faults, 1):
        page.fault(number, cause)
    notes = [cause.finding for cause in result.causes if cause.severity == "info"]
    if notes:
        page.line("")
        page.line("Worth knowing, and no fault:")
    for note in notes:
        page.line(note.explanation, "  · ")
    page.line("")
    if well := _well(result):
        page.line(well, "", "dim")
    if result.gaps:
        page.line("Not looked at:", "", "yellow")
    for line in gap_lines(result.gaps):
        page.line(line, "  · ")


class _Page:
    """Lines of text as they are shown."""

    def __init__(self, safe: Safe, terminal: Terminal) -> None:
        self._safe = safe
        self._terminal = terminal
        self._width = min(terminal.width, _WIDEST) if terminal.live else 0

    def line(self, text: str, indent: str = "", *styles: str) -> None:
        """Print a text, below its indent where it takes more than one line."""
        text = " ".join(self._safe(text).split())
        if not self._width:
            self._terminal.print(indent + text, *styles)
            return
        wrap = textwrap.TextWrapper(
            self._width, indent, " " * len(indent), break_long_words=False, break_on_hyphens=False
        )
        for each in wrap.wrap(text) or [""]:
            self._terminal.print(each, *styles)

    def fault(self, number: int, cause: Cause) -> None:
        """Print a cause with everything below it."""
        finding = cause.finding
        self.line("")
        self.line(f"{number}. {cause.severity}: {finding.cause}", "", "bold", _COLOUR[cause.severity])
        self.line(finding.explanation, "   ", "bold")
        for each in finding.evidence:
            self.line(each, "   · ")
        if cause.symptoms:
            self.line("follows from it:", "   ")
        for symptom in cause.symptoms:
            self.line(symptom.explanation, "   · ")
        if finding.remedy:
            self.line(finding.remedy, "   → ", "green")
        for command in finding.commands:  # never wrapped: they are there to be copied
            self._terminal.print(f"     {self._safe(command)}", "cyan")


def scan_markdown(result: ScanResult, safe: Safe) -> str:
    """Markdown for an issue or a message."""
    lines = [f"# {safe(_head(result))}"]
    for number, cause in enumerate(result.faults, 1):
        lines += ["", *_fault_markdown(number, cause, safe)]
    notes = [cause.finding.explanation for cause in result.causes if cause.severity == "info"]
    if notes:
        lines += ["", "## Worth knowing, and no fault", "", *(f"- {safe(note)}" for note in notes)]
    if well := _well(result):
        lines += ["", safe(well)]
    if result.gaps:
        lines += ["", "## Not looked at", "", *(f"- {safe(line)}" for line in gap_lines(result.gaps))]
    return "\n".join(lines)


def _fault_markdown(number: int, cause: Cause, safe: Safe) -> Iterator[str]:
    finding = cause.finding
    yield from (f"## {number}. {cause.severity}: {finding.cause}", "", safe(finding.explanation), "")
    yield from (f"- {_code(safe(line))}" for line in finding.evidence)
    if cause.symptoms:
        yield from ("", "Follows from it:", "")
        yield from (f"- {safe(symptom.explanation)}" for symptom in cause.symptoms)
    if finding.remedy:
        yield from ("", f"**Remedy:** {safe(finding.remedy)}")
    if finding.commands:
        yield from ("", "```sh", *map(safe, finding.commands), "```")


def _code(text: str) -> str:
    """A code span that may hold backticks itself."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest else f"{fence}{text}{fence}"


def _head(result: ScanResult) -> str:
    place = f"{result.scope} of cluster {result.cluster}" if result.cluster else result.scope
    if result.missing:
        return f"{place}: does not exist"
    if result.blind:
        return f"{place}: nothing could be looked at"
    if result.faults:
        return f"{place}: {count(len(result.faults), 'fault')} found"
    if not result.looked_at:
        return f"{place}: no fault found, for nothing runs there"
    return f"{place}: no fault found{' in what could be looked at' if result.gaps else ''}"


def _well(result: ScanResult) -> str:
    parts = [f"{result.healthy[kind]} of {_counted(seen, kind)}" for kind, seen in result.looked_at.items()]
    return f"Without a fault: {', '.join(parts)}" if parts else ""


def _counted(number: int, kind: str) -> str:
    """``1 Pod``, ``3 Ingresses``."""
    return count(number, kind) if number == 1 or not kind.endswith("s") else f"{number} {kind}es"


def gap_lines(gaps: Sequence[Gap]) -> list[str]:
    """What could not be looked at, each reason once; the messages name the next step."""
    by_message: dict[str, list[str]] = {}
    for gap in gaps:
        by_message.setdefault(gap.message, []).append(gap.what)
    return [f"{listed(list(dict.fromkeys(what)), _WHAT)}: {message}" for message, what in by_message.items()]
