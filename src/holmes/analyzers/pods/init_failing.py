"""An init container fails, so that the pod never starts.

Finds:
    init-failing: an init container ends with an error; the containers of the pod wait for it.
From: state and last state of init containers, exit code, restart count, the end of its log.
Look-alikes: an init container that still runs its first time, or failed and then succeeded.
Remedy: mend what its last log line names; the containers behind it are not at fault.
"""

from __future__ import annotations

from collections.abc import Iterator

from holmes.analyzers.base import WORKLOADS, Facts, spec_of
from holmes.analyzers.log_reading import decisive_line
from holmes.analyzers.troubles import troubles
from holmes.analyzers.words import count, cut, exit_text, listed
from holmes.core.findings import Finding

KINDS = ("Pod", *WORKLOADS, "Event")
LOGS = True


def init_failing(facts: Facts) -> Iterator[Finding]:
    """Init containers that end with an error."""
    for trouble in troubles(facts, "init"):
        line = decisive_line(trouble.log()[0])
        waiting = [str(spec.get("name")) for spec in spec_of(trouble.pod).get("containers") or []]
        said = f'; its log says "{cut(line, 200)}"' if line else ""
        yield trouble.finding(
            "init-failing",
            f"{trouble.who} keeps failing ({count(trouble.case.restarts, 'restart')}), and {listed(waiting)} cannot "
            f"start before it succeeds: {exit_text(trouble.case.ended)}{said}.",
            [trouble.state(), trouble.log_evidence(line), trouble.event("BackOff")],
            f"Mend what init container {trouble.name} names in its log, then watch the next try.",
            confidence=0.95 if line else 0.85,
            said=line,
            commands=[f"logs {{pod}} -c {trouble.name}", "describe pod {pod}"],
        )
