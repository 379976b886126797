"""A container ends again and again, or ended with an error.

Finds:
    crash-loop: a container is restarted again and again because its program ends with an error.
    ends-at-once: a container that should keep running ends without an error and is restarted.
    container-failed: the container of a pod that is not restarted ended with an error.
From: state and last state of containers, exit code, restart count, the end of the log of the run that ended.
Look-alikes: restarts some time ago of a container that runs now; pods of Jobs (see job_failed); ends by a probe,
    for want of memory or with a stack trace (each has its own analyzer).
Remedy: what the last log lines name; the exit code says which kind of end it was.
"""

from __future__ import annotations

from collections.abc import Iterator

from holmes.analyzers.base import WORKLOADS, Facts, spec_of
from holmes.analyzers.log_reading import decisive_line
from holmes.analyzers.troubles import Trouble, troubles
from holmes.analyzers.words import count, cut, exit_text
from holmes.core.findings import Finding

KINDS = ("Pod", *WORKLOADS, "Event")
LOGS = True


def crash_loop(facts: Facts) -> Iterator[Finding]:
    """Ends without a better name."""
    for trouble in troubles(facts, "exit"):
        if trouble.owner.kind not in ("Job", "CronJob") or not _ended_for_good(trouble):
            yield _finding(trouble)


def _ended_for_good(trouble: Trouble) -> bool:
    return trouble.case.ended_now and spec_of(trouble.pod).get("restartPolicy") == "Never"


def _finding(trouble: Trouble) -> Finding:
    case, ended = trouble.case, trouble.case.ended
    line = decisive_line(trouble.log()[0])
    evidence = [trouble.state(), trouble.log_evidence(line), trouble.event("BackOff"), _command_line(trouble)]
    how = exit_text(ended)
    commands = ["logs {pod} -c " + case.name + ("" if case.ended_now else " --previous"), "describe pod {pod}"]
    if _ended_for_good(trouble):
        return trouble.finding(
            "container-failed",
            f"{trouble.who} ended, and its pod is not restarted: {how}{_said(line)}.",
            evidence,
            "Mend what the last log line names, then make the pod again: restartPolicy Never starts it only once.",
            commands=commands,
        )
    if not ended.get("exitCode"):
        return trouble.finding(
            "ends-at-once",
            f"{trouble.who} ends with exit code 0 and is restarted again and again: nothing keeps it running.",
            evidence,
            "Give it a command that stays in the foreground, or run it as a Job if it is meant to end.",
            confidence=0.85,
            commands=commands,
        )
    return trouble.finding(
        "crash-loop",
        f"{trouble.who} keeps ending ({count(case.restarts, 'restart')}): {how}{_said(line)}.",
        evidence,
        _remedy(int(ended.get("exitCode") or 0), line),
        confidence=0.9 if line else 0.75,
        said=line,
        commands=commands,
    )


def _said(line: str) -> str:
    return f'; its log ends with "{cut(line, 200)}"' if line else ""


def _command_line(trouble: Trouble) -> str:
    """The command as evidence, where the exit code speaks of the command."""
    spec = trouble.case.spec
    words = [*(spec.get("command") or []), *(spec.get("args") or [])]
    return f"spec: command {words}" if trouble.case.ended.get("exitCode") in (126, 127, 128) and words else ""


def _remedy(code: int, line: str) -> str:
    if code == 127:
        return "Correct the command: the shell did not find that program in the image."
    if code == 126:
        return "Make the file executable (chmod +x in the image), or call it through its interpreter."
    if code == 137:
        return (
            "Something killed it from outside: look for memory pressure on the node, a liveness probe, or a program "
            "that does not stop when asked to."
        )
    if code == 143:
        return "Something asked it to stop: look for failing probes, evictions and who deletes or scales the pod."
    if code in (134, 139):
        return "The program itself broke: look at its native libraries, a core dump, and the release that changed last."
    if line:
        return "Mend what the last log line names (setting, file, service, permission), then watch the next restart."
    return "Read the log of the previous run; if it is empty, run the image with a shell to see why the program ends."
