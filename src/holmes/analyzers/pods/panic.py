"""A program dies of an unhandled error and prints a stack trace.

Finds:
    panic: the log of the run that ended shows a panic or an unhandled exception (Go, Rust, Python, Java, JavaScript).
From: the end of the log of the run that ended, exit code, restart count.
Look-alikes: stack traces that a running program logs and survives.
Remedy: roll back to the release that worked; give the trace to the program's authors.
"""

from __future__ import annotations

from collections.abc import Iterator

from holmes.analyzers.base import WORKLOADS, Facts
from holmes.analyzers.troubles import ended_trace, troubles
from holmes.analyzers.words import count, cut
from holmes.core.findings import Finding

KINDS = ("Pod", *WORKLOADS, "Event")
LOGS = True


def panic(facts: Facts) -> Iterator[Finding]:
    """Ends with a stack trace."""
    for trouble in troubles(facts, "panic"):
        trace = ended_trace(facts, trouble.case)
        if trace is None:
            continue
        where = f" at {trace.frame}" if trace.frame else ""
        yield trouble.finding(
            "panic",
            f"{trouble.who} dies of an unhandled {trace.language} error ({count(trouble.case.restarts, 'restart')}): "
            f'"{cut(trace.head, 200)}"{where}.',
            [
                trouble.state(),
                trouble.log_evidence(trace.head),
                trouble.log_evidence(trace.line),
                f"spec: image {trouble.case.spec.get('image')}",
            ],
            f"Go back to the image before {trouble.case.spec.get('image')} if this began with a release; the trace "
            "names the line to mend.",
            confidence=0.95,
            said=trace.head,
            commands=[f"logs {{pod}} -c {trouble.name} --previous", "describe pod {pod}"],
        )
