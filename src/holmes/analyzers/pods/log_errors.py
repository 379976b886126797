"""A running program reports errors in its log.

Finds:
    http-errors: it answers requests with HTTP 5xx, as its own request log says.
    errors-in-log: most of its last log lines are errors (info: only people know whether they matter).
From: the last log lines of running containers.
Look-alikes: single errors; errors of calls to others (see upstream_errors); errors that have stopped.
Remedy: read the repeated message: it names what fails.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holmes.analyzers.base import WORKLOADS, Facts, ref, status_of
from holmes.analyzers.log_reading import is_error
from holmes.analyzers.upstreams import failed_calls
from holmes.analyzers.words import cut, log_line
from holmes.core.findings import Finding, ObjectRef
from holmes.kube.cluster import Object
from holmes.kube.related import name_of, namespace_of

KINDS = ("Pod", *WORKLOADS, "Service")
LOGS = True

MANY = 5  # error lines
SHARE = 0.3  # of the lines read
_ANSWER = re.compile(
    r"\b(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) (?!https?://)/\S*.{0,40}?[ =:>\"](5\d\d)\b(?P<reason>.*)"
)
_VARIES = re.compile(r"[0-9a-f-]{8,}|\d+")


@dataclass(frozen=True, slots=True)
class _Case:
    pod: Object
    container: str
    errors: list[str]
    answers: int
    lines: int


def log_errors(facts: Facts) -> Iterator[Finding]:
    """Programs that log errors, one finding for a workload."""
    best: dict[ObjectRef, _Case] = {}
    for (namespace, name, container, previous), lines in facts.logs():
        pod = facts.get("Pod", namespace, name)
        if previous or pod is None or status_of(pod).get("phase") != "Running":
            continue
        case = _case(facts, pod, container, lines)
        owner = facts.top_owner(pod)
        if case and (owner not in best or len(case.errors) > len(best[owner].errors)):
            best[owner] = case
    for owner, case in best.items():
        yield _finding(owner, case)


def _case(facts: Facts, pod: Object, container: str, lines: Sequence[str]) -> _Case | None:
    written = [line for line in lines if line.strip()]
    errors = [line for line in written if is_error(line)]
    if len(errors) < MANY or len(errors) < SHARE * len(written):
        return None
    answers = sum(1 for line in errors if _ANSWER.search(line))
    calls = sum(item.total for item in failed_calls(facts, namespace_of(pod), errors))
    if answers < MANY and calls > len(errors) / 2:
        return None
    return _Case(pod, container, errors, answers, len(written))


def _finding(owner: ObjectRef, case: _Case) -> Finding:
    line = _commonest(case.errors)
    found = _ANSWER.search(line)
    is_http = case.answers >= MANY
    said = cut((found["reason"].strip(" :-\"'") if found else "") or line, 200)
    if is_http:
        explanation = f'{owner} answers requests with HTTP 5xx ({case.answers} of {case.lines} log lines): "{said}".'
        remedy = (
            f"Mend what the message names; {owner} runs and counts as ready, so restarting it seldom helps for long."
        )
    else:
        explanation = f'{owner} logs errors ({len(case.errors)} of {case.lines} lines), most often "{said}".'
        remedy = "Read the message: whether it matters, only people who know the program can say."
    return Finding(
        cause="http-errors" if is_http else "errors-in-log",
        object=owner,
        severity="warning" if is_http else "info",
        explanation=explanation,
        evidence=(log_line(case.container, line),),
        remedy=remedy,
        confidence=0.85 if is_http else 0.5,
        commands=(f"kubectl logs {name_of(case.pod)} -c {case.container} -n {owner.namespace} --tail=100",),
        related=tuple(item for item in [ref(case.pod)] if item != owner),
    )


def _commonest(lines: Sequence[str]) -> str:
    """The last line of the kind that is logged most often; numbers and ids do not make a kind."""
    kinds = Counter(_VARIES.sub("#", line) for line in lines)
    kind = kinds.most_common(1)[0][0]
    return next(line for line in reversed(lines) if _VARIES.sub("#", line) == kind)
