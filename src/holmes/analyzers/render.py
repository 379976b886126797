"""A scan's result as text for models and people, within a number of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holmes.analyzers.graph import Cause
from holmes.analyzers.scan_result import ScanResult
from holmes.analyzers.words import count, cut, listed
from holmes.core.findings import Finding
from holmes.kube.cluster import Gap

CHARACTERS = 3.5  # of a token, on the careful side for names and numbers
_SYMPTOMS = 4


def to_text(result: ScanResult, budget_tokens: int = 600) -> str:
    """The result in at most that many tokens: the first causes in full, later ones in one line, the rest counted."""
    room = int(budget_tokens * CHARACTERS)
    head = [_head(result), *(f"  {line}" for line in result.state)]
    tail = [line for line in (_healthy(result), _gaps(result.gaps)) if line]
    lines = list(head)
    left = room - _size([*head, *tail])
    infos = [cause for cause in result.causes if cause.severity == "info"]
    shown = list(result.faults)
    for index, cause in enumerate(shown, 1):
        share = 2 * left // (len(shown) - index + 1)
        block = next((block for block in _sizes(index, cause) if _size(block) <= min(left, share)), None)
        if block is None:
            lines.append(f"… and {count(len(shown) - index + 1, 'more fault')}: {_rest(shown[index - 1 :])}")
            break
        lines += block
        left -= _size(block)
    for cause in infos:
        line = f"note: {cut(cause.finding.explanation, 200)}"
        if len(line) + 1 > left:
            break
        lines.append(line)
        left -= len(line) + 1
    return "\n".join([*lines, *tail])


def to_data(result: ScanResult) -> dict[str, Any]:
    """The result as JSON types (``holmes.scan/v1``)."""
    return result.as_data()


def _size(lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _head(result: ScanResult) -> str:
    place = f"{result.scope} (cluster {result.cluster})" if result.cluster else result.scope
    if result.missing:
        return f"{place}: does not exist."
    if result.blind:
        return f"{place}: could not be looked at."
    if not result.looked_at and not result.causes and not result.state:
        return f"{place}: nothing is there to look at."
    if not result.faults:
        return f"{place}: no fault found."
    return f"{place}: {count(len(result.faults), 'fault')} found."


def _sizes(index: int, cause: Cause) -> list[list[str]]:
    """The cause in full, then shorter and shorter."""
    finding, title = cause.finding, f"{index}. {cause.severity} {cause.finding.cause}"
    symptoms = _symptoms(cause.symptoms)
    why = [f"{title} (confidence {finding.confidence:.2f}): {finding.explanation}"]
    evidence = [f"   - {line}" for line in finding.evidence]
    remedy = [f"   remedy: {finding.remedy}"] if finding.remedy else []
    commands = [f"   look: {'; '.join(finding.commands[:2])}"] if finding.commands else []
    return [
        [*why, *evidence, *_symptoms_in_full(cause.symptoms), *remedy, *commands],
        [*why, *(f"   - {cut(line, 180)}" for line in finding.evidence[:3]), *symptoms, *remedy],
        [*why, *(f"   - {cut(line, 140)}" for line in finding.evidence[:1])],
        [cut(why[0], 240)],
        [cut(f"{title}: {finding.explanation}", 150)],
        [f"{title}: {finding.object}"],
    ]


def _symptoms(symptoms: Sequence[Finding]) -> list[str]:
    """What follows, in one line."""
    named = [f"{item.object} ({item.cause})" for item in symptoms]
    return [f"   follows from it: {listed(named, _SYMPTOMS)}"] if named else []


def _symptoms_in_full(symptoms: Sequence[Finding]) -> list[str]:
    """What follows, each in its own words."""
    told = [f"   follows from it: {cut(item.explanation, 220)}" for item in symptoms[:_SYMPTOMS]]
    rest = [f"   and {count(len(symptoms) - _SYMPTOMS, 'more symptom')}"] if len(symptoms) > _SYMPTOMS else []
    return [*told, *rest]


def _rest(causes: Sequence[Cause]) -> str:
    return listed([f"{cause.finding.cause} of {cause.finding.object}" for cause in causes], 5)


def _healthy(result: ScanResult) -> str:
    parts = [f"{result.healthy[kind]} of {result.looked_at[kind]} {_plural(kind)}" for kind in result.looked_at]
    return f"without a fault: {', '.join(parts)}" if parts else ""


def _plural(kind: str) -> str:
    return f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}{'es' if kind.endswith('s') else 's'}"


def _gaps(gaps: Sequence[Gap]) -> str:
    """What was not looked at, by reason: it is not known to be well."""
    by_reason: dict[str, list[str]] = {}
    for gap in gaps:
        reason = cut(gap.message, 80) if gap.reason in ("error", "unsupported") else gap.reason.replace("_", " ")
        by_reason.setdefault(reason, []).append(gap.what)
    parts = [f"{listed(list(dict.fromkeys(what)), 5)} ({reason})" for reason, what in by_reason.items()]
    return f"not looked at: {'; '.join(parts)}" if parts else ""
