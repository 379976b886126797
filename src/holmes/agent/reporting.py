"""From a turn's end to its report: what the answer says, and what the program has to add."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from holmes.agent.approval import Refusal
from holmes.agent.evidence import Check, Evidence
from holmes.agent.loop import Answer
from holmes.agent.sections import Name, code_span, is_command, read_lines
from holmes.agent.suspicious import suspicious, without_pictures
from holmes.core.language import Language, language_of, phrase
from holmes.core.report import Confidence, EvidenceItem, NumberCheck, QuoteCheck, RefusedCall, Report
from holmes.core.text import one_line

if TYPE_CHECKING:
    from holmes.agent.history import Facts

_CONFIDENCE = re.compile(
    r"[(*_]{0,4}(?:confidence|置信度|可信度|信心)(?: level| is)?[^\w\n]{0,8}[为是]?[较很]?"
    r"(?P<after>high|medium|low|高|中|低)等?[)*_.。]*|[(*_]{0,4}\b(?P<before>high|medium|low) confidence[)*_.]*",
    re.I,
)
_LEVELS: dict[str, Confidence] = {
    "high": "high", "medium": "medium", "low": "low", "高": "high", "中": "medium", "低": "low",
}  # fmt: skip
_BULLET = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+")
_FENCED = re.compile(r"^[ \t]*```[ \t]*(\w*)[^\n]*\n(.*?)^[ \t]*```", re.S | re.M)
_SHELLS = frozenset(("", "bash", "sh", "shell", "console", "zsh"))
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_MOST_SUSPICIOUS = 20  # quotes in one report
_SHOWN = 400  # characters of each result in a report that has no words of the model


def build_report(
    question: str,
    answer: Answer,
    evidence: Evidence,
    refusals: Sequence[Refusal],
    facts: Facts,
    started: datetime,
    finished: datetime,
) -> Report:
    """The report of a turn; the program's own words are in the language of the question."""
    language = language_of(question)
    answer = replace(answer, text=without_pictures(answer.text))
    text = answer.text.strip() or _found_so_far(answer, evidence, language)
    sections = split_sections(answer.text)
    cause = sections.get("root_cause", "")
    return Report(
        question=question,
        status=answer.status,
        answer=text,
        run_id=facts.run_id,
        model=facts.model,
        started=started,
        finished=finished,
        cut_short_by=answer.why,
        root_cause=_CONFIDENCE.sub("", cause).strip(),
        confidence=_confidence(cause) or _confidence(answer.text),
        evidence=tuple(_item(reference, evidence, answer.check) for reference in evidence.of_turn(answer.check.cited)),
        missing_references=answer.check.missing,
        number_checks=tuple(NumberCheck(number.text, number.mark) for number in answer.check.numbers),
        ruled_out=tuple(_bullets(sections.get("ruled_out", ""))),
        gaps=tuple(_gaps(evidence)),
        remediation=tuple(_commands(sections.get("remediation", ""))),
        notes=(
            *_notes(answer, language, have_results=bool(evidence.of_turn())),
            *_suspicious(evidence, language),
        ),
        refused=tuple(RefusedCall(each.show, each.reason, each.verdict, each.tool_name) for each in refusals),
        usage=facts.usage,
        steps=answer.steps,
        cluster=facts.cluster,
        metadata=facts.metadata,
    )


def split_sections(answer: str) -> dict[Name, str]:
    """The parts of an answer by what their headings mean."""
    sections: dict[Name, list[str]] = {}
    for line in read_lines(answer):
        sections.setdefault(line.section, []).append(line.text)
    return {name: "\n".join(lines).strip() for name, lines in sections.items()}


def _confidence(text: str) -> Confidence:
    match = _CONFIDENCE.search(text)
    return _LEVELS[(match["after"] or match["before"]).lower()] if match else ""


def _item(reference: str, evidence: Evidence, check: Check) -> EvidenceItem:
    result = evidence.calls[reference]
    quotes = tuple(QuoteCheck(quote.text, quote.found) for quote in check.quotes if reference in quote.cited)
    return EvidenceItem(
        reference,
        evidence.tools.get(reference, ""),
        result.invocation,
        result.status.value,
        reference in check.cited,
        quotes,
        result.error,
        result.url,
        result.size,
        result.truncated,
        result.elapsed_seconds,
    )


def _gaps(evidence: Evidence) -> list[str]:
    """What could not be looked at: failed calls and the gaps that results name themselves."""
    gaps: dict[str, None] = {}
    for reference, result in evidence.of_turn().items():
        if not result.ok:
            what = result.invocation or evidence.tools.get(reference, reference)
            gaps[f"{reference} {what}: {one_line(result.error, 200)}"] = None
        gaps.update(dict.fromkeys(result.gaps))
    return list(gaps)


def _notes(answer: Answer, language: Language, *, have_results: bool) -> list[str]:
    check = answer.check
    notes = [phrase("false_quote", language, quote=code_span(quote)) for quote in check.false_quotes]
    notes += [phrase("missing_reference", language, reference=reference) for reference in check.missing]
    notes += [phrase("failed_reference", language, reference=reference) for reference in check.failed]
    if answer.text and have_results and not check.cited:
        notes.append(phrase("uncited", language))
    if answer.status == "cut_short" and answer.text:
        notes.append(phrase("cut_short", language, why=answer.why))
    return notes


def _suspicious(evidence: Evidence, language: Language) -> Iterator[str]:
    """What in the data of this turn talks to the model: found by program, whatever the model made of it."""
    shown = {ref: "\n".join((each.error, each.text, *each.gaps)) for ref, each in evidence.of_turn().items()}
    quotes = [(source, quote) for source, text in (evidence.heard | shown).items() for quote in suspicious(text)]
    for source, quote in quotes[:_MOST_SUSPICIOUS]:
        yield phrase("suspicious", language, source=source, quote=code_span(quote))
    if len(quotes) > _MOST_SUSPICIOUS:
        yield phrase("more_suspicious", language, count=str(len(quotes) - _MOST_SUSPICIOUS))


def _found_so_far(answer: Answer, evidence: Evidence, language: Language) -> str:
    """The report without words of the model: the results themselves, shortened."""
    if answer.status == "no_answer":
        lead = phrase("no_answer", language) + (f" ({answer.why})" if answer.why else "")
    else:
        lead = phrase("cut_short", language, why=answer.why)
    if not evidence.of_turn():
        return lead
    lines = [lead, "", f"## {phrase('found_so_far', language)}"]
    for reference, result in evidence.of_turn().items():
        what = result.invocation or evidence.tools.get(reference, "")
        lines.append(f"- [{reference}] {code_span(what)}: {code_span(one_line(result.error or result.text, _SHOWN))}")
    return "\n".join(lines)


def _bullets(text: str) -> list[str]:
    """The items of a list; a line without a mark goes on with the item before it."""
    items: list[str] = []
    for line in filter(str.strip, text.splitlines()):
        mark = _BULLET.match(line)
        if mark or not items:
            items.append(line[mark.end() :].strip() if mark else line.strip())
        else:
            items[-1] += f" {line.strip()}"
    return items


def _commands(text: str) -> list[str]:
    """What can be copied into a shell: the lines of its code blocks, and commands in the text."""
    commands: list[str] = []
    for language, block in _FENCED.findall(text):
        lines = [line.strip().removeprefix("$ ") for line in block.replace("\\\n", " ").splitlines()]
        lines = [" ".join(line.split()) for line in lines if line and not line.startswith("#")]
        if language.lower() in _SHELLS and (language or any(map(is_command, lines))):
            commands += [block.strip()] if "<<" in block else lines
    inline = [code.strip().removeprefix("$ ") for code in _INLINE.findall(_FENCED.sub("", text))]
    return list(dict.fromkeys([*commands, *filter(is_command, inline)]))
