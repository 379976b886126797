"""A report as Markdown: the answer, then what the program has to add. Also what a pipe gets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holmes.core.language import language_of, phrase
from holmes.core.report import Report


def to_markdown(report: Report) -> str:
    """The whole report; the program's headings are in the language of the question."""
    return "\n".join([report.answer.strip(), *_additions(report)])


def _additions(report: Report) -> Iterator[str]:
    language = language_of(report.question)
    yield from _section(phrase("gaps", language), report.gaps)
    yield from _section(
        phrase("refused", language), [f"`{each.command or each.tool}`: {each.reason}" for each in report.refused]
    )
    yield from _section(phrase("notes", language), report.notes)


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"\n## {title}"
        yield from (f"- {line}" for line in lines)
