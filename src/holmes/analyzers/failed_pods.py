"""How the last failed pod of a Job ended."""

from __future__ import annotations

from dataclasses import dataclass

from holmes.analyzers.base import Facts, ref, status_of
from holmes.analyzers.log_reading import decisive_line
from holmes.analyzers.troubles import Container, containers_of, ended_log
from holmes.analyzers.upstreams import named_services
from holmes.analyzers.words import exit_text, log_line, state_line
from holmes.core.findings import ObjectRef
from holmes.kube.cluster import Object
from holmes.kube.related import namespace_of


@dataclass(frozen=True, slots=True)
class Failure:
    """``line`` is the decisive log line, ``how`` the exit code with its meaning; both may be ""."""

    line: str = ""
    how: str = ""
    evidence: tuple[str, ...] = ()
    related: tuple[ObjectRef, ...] = ()  # its pods, and Services that the line names


def last_failure(facts: Facts, job: Object) -> Failure:
    """Of the newest pod of the Job that has a container which ended with an error."""
    failed: list[Container] = []
    for pod in facts.children("Pod", ref(job)):
        bad = (case for case in containers_of(pod) if case.ended and (case.ended.get("exitCode") or case.waiting))
        failed += [case for case in bad if not case.sidecar]
    if not failed:
        return Failure()
    case = max(failed, key=lambda case: str(case.ended.get("finishedAt") or status_of(case.pod).get("startTime") or ""))
    lines, previous = ended_log(facts, case)
    line = decisive_line(lines)
    return Failure(
        line=line,
        how=exit_text(case.ended),
        evidence=(
            state_line(case.pod, case.status, facts.now),
            log_line(case.name, line, previous) if line else "",
        ),
        related=(
            *tuple(dict.fromkeys(ref(item.pod) for item in failed))[:6],
            *named_services(facts, namespace_of(job), line),
        ),
    )
