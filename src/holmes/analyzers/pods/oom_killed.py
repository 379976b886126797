"""A container is killed because it needs more memory than its limit, or than the node has.

Finds:
    oom-killed: a container ended with the reason OOMKilled.
From: state and last state of containers, their memory limit and request.
Look-alikes: exit code 137 without the reason OOMKilled (a probe, a slow stop); an OOM kill some time ago of a container
    that runs now.
Remedy: raise the limit above what the program really needs, or find what takes the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holmes.analyzers.base import WORKLOADS, Facts
from holmes.analyzers.log_reading import decisive_line
from holmes.analyzers.troubles import Trouble, troubles
from holmes.analyzers.words import count
from holmes.core.findings import Finding
from holmes.kube.related import duration, parse_time

KINDS = ("Pod", *WORKLOADS, "Event")
LOGS = True


def oom_killed(facts: Facts) -> Iterator[Finding]:
    """Ends with the reason OOMKilled."""
    for trouble in troubles(facts, "oom"):
        resources: dict[str, Any] = trouble.case.spec.get("resources") or {}
        limit = (resources.get("limits") or {}).get("memory")
        request = (resources.get("requests") or {}).get("memory")
        lines = trouble.log()[0]
        yield trouble.finding(
            "oom-killed",
            f"{trouble.who} is killed for want of memory: {_needs(limit)}{_after(trouble)} "
            f"({count(trouble.case.restarts, 'restart')}).",
            [
                trouble.state(),
                f"spec: resources.limits.memory {limit or 'none'}, resources.requests.memory {request or 'none'}",
                trouble.log_evidence(decisive_line(lines)),
            ],
            _remedy(trouble, limit),
            confidence=0.97,
            commands=["describe pod {pod}", "top pod {pod} --containers"],
        )


def _needs(limit: object) -> str:
    return f"it needs more than its limit of {limit}" if limit else "it has no limit of its own, so the node ran short"


def _after(trouble: Trouble) -> str:
    """How long it ran: a leak takes its time, a limit below the need strikes at once."""
    ended = trouble.case.ended
    started, finished = parse_time(ended.get("startedAt")), parse_time(ended.get("finishedAt"))
    if started is None or finished is None:
        return ""
    return f"; the last run took {duration((finished - started).total_seconds())}"


def _remedy(trouble: Trouble, limit: object) -> str:
    if not limit:
        return "Set a memory request and limit that fit the program, and find what takes the node's memory."
    return (
        f"Raise resources.limits.memory of container {trouble.name} above {limit} to what the program really needs; "
        "if its use only grows, find the leak first."
    )
