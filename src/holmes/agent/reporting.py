"""From a turn's end to its report: what the answer says, and what the program has to add."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from holmes.agent.approval import Refusal
from holmes.agent.evidence import Check, Evidence
from holmes.agent.loop import Answer
from holmes.core.language import Language, language_of, phrase
from holmes.core.report import Confidence, EvidenceItem, NumberCheck, QuoteCheck, RefusedCall, Report
from holmes.core.results import StructuredToolResult
from holmes.core.text import one_line

if TYPE_CHECKING:
    from holmes.agent.history import Facts

_HEADING = re.compile(r"^\s{0,3}(?:#{1,4}\s+(.+?)|\*\*([^*]+?)\*\*):?\s*:?\s*$")
_SECTIONS = {
    "root_cause": re.compile(r"root cause|cause|根因|根本原因|原因", re.I),
    "evidence": re.compile(r"evidence|证据", re.I),
    "ruled_out": re.compile(r"ruled out|excluded|排除", re.I),
    "remediation": re.compile(r"next steps|remediation|fix|recommend|下一步|后续|建议|处理|修复", re.I),
}
_CONFIDENCE = re.compile(r"(?:confidence|置信度|可信度|信心)\W{0,6}(high|medium|low|高|中|低)", re.I)
_LEVELS: dict[str, Confidence] = {"高": "high", "中": "medium", "低": "low"}
_FENCED = re.compile(r"```[a-z]*\n(.*?)```", re.S)
_INLINE_COMMAND = re.compile(r"`((?:kubectl|helm|oc|docker|systemctl|git|curl|psql|mysql|aws|gcloud|az) [^`\n]+)`")
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
    """The report of a turn. Headings are found in English and Chinese; the program's own words follow the question."""
    language = language_of(question)
    text = answer.text.strip() or _found_so_far(answer, evidence, language)
    sections = split_sections(answer.text)
    cause = sections.get("root_cause", "")
    level = _CONFIDENCE.search(cause) or _CONFIDENCE.search(answer.text)
    word = level.group(1).lower() if level else ""
    return Report(
        question=question,
        status=answer.status,
        answer=text,
        run_id=facts.run_id,
        model=facts.model,
        started=started,
        finished=finished,
        cut_short_by=answer.why,
        root_cause=cause,
        confidence=_LEVELS.get(word) or (word if word in ("high", "medium", "low") else ""),  # type: ignore[arg-type]
        evidence=tuple(_item(reference, evidence, answer.check) for reference in evidence.calls),
        missing_references=answer.check.missing,
        number_checks=tuple(NumberCheck(number.text, number.mark) for number in answer.check.numbers),
        ruled_out=tuple(_bullets(sections.get("ruled_out", ""))),
        gaps=tuple(_gaps(evidence)),
        remediation=tuple(_commands(sections.get("remediation", ""))),
        notes=tuple(_notes(answer, language, have_results=bool(evidence.calls))),
        refused=tuple(RefusedCall(each.show, each.reason, each.verdict, each.tool_name) for each in refusals),
        usage=facts.usage,
        steps=answer.steps,
        cluster=facts.cluster,
        metadata=facts.metadata,
    )


def split_sections(answer: str) -> dict[str, str]:
    """The parts of an answer by what their headings mean; unknown headings end a part."""
    sections: dict[str, list[str]] = {}
    current: list[str] = []
    for line in answer.splitlines():
        heading = _HEADING.match(line)
        if heading is None:
            current.append(line)
            continue
        title = heading.group(1) or heading.group(2)
        name = next((name for name, words in _SECTIONS.items() if words.search(title)), "")
        current = sections.setdefault(name, []) if name else []
    return {name: "\n".join(lines).strip() for name, lines in sections.items()}


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
    for reference, result in evidence.calls.items():
        if not result.ok:
            what = result.invocation or evidence.tools.get(reference, reference)
            gaps[f"{reference} {what}: {one_line(result.error, 200)}"] = None
        gaps.update(dict.fromkeys(result.gaps))
    return list(gaps)


def _notes(answer: Answer, language: Language, *, have_results: bool) -> list[str]:
    check = answer.check
    notes = [phrase("false_quote", language, quote=f"`{quote}`") for quote in check.false_quotes]
    notes += [phrase("missing_reference", language, reference=reference) for reference in check.missing]
    notes += [phrase("failed_reference", language, reference=reference) for reference in check.failed]
    if answer.text and have_results and not check.cited:
        notes.append(phrase("uncited", language))
    if answer.status == "cut_short" and answer.text:
        notes.append(phrase("cut_short", language, why=answer.why))
    return notes


def _found_so_far(answer: Answer, evidence: Evidence, language: Language) -> str:
    """The report without words of the model: the results themselves, shortened."""
    if answer.status == "no_answer":
        lead = phrase("no_answer", language)
    else:
        lead = phrase("cut_short", language, why=answer.why)
    if not evidence.calls:
        return lead
    lines = [lead, "", f"## {phrase('found_so_far', language)}"]
    for reference, result in evidence.calls.items():
        what = result.invocation or evidence.tools.get(reference, "")
        lines.append(f"- [{reference}] `{what}`: {_short(result)}")
    return "\n".join(lines)


def _short(result: StructuredToolResult) -> str:
    return one_line(result.error or result.text, _SHOWN)


def _bullets(text: str) -> list[str]:
    return [line.strip().lstrip("-*• ").strip() for line in text.splitlines() if line.strip().lstrip("-*• ").strip()]


def _commands(text: str) -> list[str]:
    fenced = [line.strip() for block in _FENCED.findall(text) for line in block.splitlines()]
    inline = _INLINE_COMMAND.findall(_FENCED.sub("", text))
    return [line.removeprefix("$ ") for line in (*fenced, *inline) if line and not line.startswith("#")]
