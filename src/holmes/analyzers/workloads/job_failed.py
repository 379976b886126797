"""A Job failed, or its pods fail again and again.

Finds:
    job-failed: the Job gave up (BackoffLimitExceeded, DeadlineExceeded, PodFailurePolicy).
    job-failing: pods of the Job failed, and it still tries.
From: conditions of the Job, its failed pods, their exit codes and the ends of their logs.
Look-alikes: a Job that succeeded after failed tries; a sidecar's exit code in a Job that is complete; Jobs of a CronJob
    (see cronjob).
Remedy: mend what the log of the failed pod names, then make the Job again (a failed Job does not start anew).
"""

from __future__ import annotations

from collections.abc import Iterator

from holmes.analyzers.base import Facts, is_going, ref, spec_of, status_of
from holmes.analyzers.failed_pods import last_failure
from holmes.analyzers.troubles import is_complete
from holmes.analyzers.words import count, cut, quoted
from holmes.core.findings import Finding
from holmes.kube.cluster import Object
from holmes.kube.related import condition, name_of, namespace_of, owner

KINDS = ("Pod", "Job", "CronJob", "Event")
LOGS = True

_WHY = {
    "BackoffLimitExceeded": "its pods failed more often than backoffLimit allows",
    "DeadlineExceeded": "it ran longer than activeDeadlineSeconds allows",
    "PodFailurePolicy": "its podFailurePolicy ended it",
}


def job_failed(facts: Facts) -> Iterator[Finding]:
    """Jobs of their own that failed or are failing."""
    for job in facts.all("Job"):
        if (owner(job) or ("",))[0] == "CronJob" or is_complete(job) or is_going(job):
            continue
        failed = condition(job, "Failed") or condition(job, "FailureTarget") or {}
        if failed.get("status") == "True" or int(status_of(job).get("failed") or 0):
            yield _finding(facts, job, str(failed.get("reason") or ""), str(failed.get("message") or ""))


def _finding(facts: Facts, job: Object, reason: str, message: str) -> Finding:
    about, spec = ref(job), spec_of(job)
    failure = last_failure(facts, job)
    times = count(int(status_of(job).get("failed") or 0), "failed pod")
    said = f'; the last log says "{cut(failure.line, 200)}"' if failure.line else ""
    how = f"; {failure.how}" if failure.how else ""
    if reason:
        limits = f"backoffLimit {spec.get('backoffLimit', 6)}"
        if reason == "DeadlineExceeded":
            limits = f"activeDeadlineSeconds {spec.get('activeDeadlineSeconds')}"
        why = _WHY.get(reason, reason)
        explanation = f"{about} failed: {why} ({limits}, {times}){how}{said}."
        evidence = [quoted("condition Failed", f"{reason}: {message}"), f"spec: {limits}"]
    else:
        explanation = f"{about} is failing ({times}) and still tries{how}{said}."
        evidence = [
            f"Job {name_of(job)}: failed {status_of(job).get('failed')}, backoffLimit {spec.get('backoffLimit', 6)}"
        ]
    remedy = "Mend what the log names; the Job still tries until its backoffLimit."
    if reason:
        remedy = "Mend what the log names, then make the Job again: a failed Job does not start anew."
    if reason == "DeadlineExceeded":
        remedy = (
            "Find what it waits for or why it is slow; if the work really takes longer, raise activeDeadlineSeconds."
        )
    return Finding(
        cause="job-failed" if reason else "job-failing",
        object=about,
        severity="critical" if reason else "warning",
        explanation=explanation,
        evidence=tuple(line for line in [*evidence, *failure.evidence] if line),
        remedy=remedy,
        confidence=0.9,
        commands=(
            f"kubectl logs job/{name_of(job)} -n {namespace_of(job)}",
            f"kubectl describe job {name_of(job)} -n {namespace_of(job)}",
        ),
        related=failure.related,
    )
