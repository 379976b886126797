"""A report as Markdown: the answer, then what the program has to add. Also what a pipe gets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holmes.agent.sections import code_span
from holmes.core.language import language_of, phrase
from holmes.core.report import RefusedCall, Report


def to_markdown(report: Report) -> str:
    """The whole report; the program's headings are in the language of the question."""
    return "\n".join([report.answer.strip(), *_additions(report)])


def _additions(report: Report) -> Iterator[str]:
    language = language_of(report.question)
    yield from _section(phrase("gaps", language), report.gaps)
    yield from _section(phrase("refused", language), [_refused(call) for call in report.refused])
    yield from _section(phrase("notes", language), report.notes)


def _refused(call: RefusedCall) -> str:
    """The reason and the command; one of several lines stands in a block, so that it can be copied."""
    if "\n" not in call.command.strip():
        return f"{code_span(call.command or call.tool)}: {call.reason}"
    fence = "~~~" if "```" in call.command else "```"
    block = "\n".join(f"  {line}" for line in (fence, *call.command.strip().splitlines(), fence))
    return f"{call.reason}:\n{block}"


def _section(title: str, items: Sequence[str]) -> Iterator[str]:
    if items:
        yield f"\n## {title}\n"
        yield from (f"- {item}" for item in items)
