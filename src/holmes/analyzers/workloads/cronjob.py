"""A CronJob fails, is not started, or rests.

Finds:
    cronjob-failing: the latest run of the CronJob failed.
    cronjob-not-started: the controller cannot start its runs (schedule cannot be read, too many were missed).
    cronjob-suspended: it is suspended, so it does not run (info).
From: Jobs of the CronJob, their conditions, failed pods and the ends of their logs, warning events.
Look-alikes: an earlier failed run before one that succeeded; a run that is still going on.
Remedy: mend what the log of the last run names; the next run starts by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from holmes.analyzers.base import Facts, ref, spec_of, status_of
from holmes.analyzers.failed_pods import last_failure
from holmes.analyzers.troubles import is_complete, latest_job
from holmes.analyzers.words import count, cut, event_line, quoted
from holmes.core.findings import Finding
from holmes.kube.cluster import Object
from holmes.kube.related import age, condition, name_of

KINDS = ("Pod", "Job", "CronJob", "Event")
LOGS = True

_NOT_STARTED = (
    "UnparseableSchedule",
    "UnknownTimeZone",
    "TooManyMissedTimes",
    "MissSchedule",
    "FailedCreate",
    "FailedNeedsStart",
)
_RECENT = 3600.0  # seconds


def cronjob(facts: Facts) -> Iterator[Finding]:
    """CronJobs that do not do their work."""
    for item in facts.all("CronJob"):
        about = ref(item)
        if spec_of(item).get("suspend"):
            yield _suspended(facts, item)
        job = latest_job(facts, about)
        if job is not None and not is_complete(job):
            yield _failing(facts, item, job)
        for event in facts.events(about, *_NOT_STARTED)[:1]:
            ago = (facts.now - event.last).total_seconds() if event.last else 0.0
            if event.warning and ago < _RECENT:
                yield Finding(
                    cause="cronjob-not-started",
                    object=about,
                    severity="critical",
                    explanation=f"{about} is not started: {cut(event.message, 200)}.",
                    evidence=(event_line(event, facts.now), f"spec: schedule {spec_of(item).get('schedule')}"),
                    remedy="Correct the schedule or time zone; after many missed runs set startingDeadlineSeconds.",
                    commands=(f"kubectl describe cronjob {about.name} -n {about.namespace}",),
                )


def _suspended(facts: Facts, item: Object) -> Finding:
    about, last = ref(item), status_of(item).get("lastScheduleTime")
    ran = f"; its last run was {age(last, facts.now)} ago" if last else "; it has never run"
    return Finding(
        cause="cronjob-suspended",
        object=about,
        severity="info",
        explanation=f"{about} is suspended, so it does not run{ran}.",
        evidence=("spec: suspend true",),
        remedy="Nothing, if that is meant; otherwise "
        f'`kubectl patch cronjob {about.name} -n {about.namespace} -p \'{{"spec":{{"suspend":false}}}}\'`.',
        confidence=0.95,
    )


def _failing(facts: Facts, item: Object, job: Object) -> Finding:
    about = ref(item)
    jobs = facts.children("Job", about)
    bad = sum(1 for other in jobs if (condition(other, "Failed") or {}).get("status") == "True")
    failed = condition(job, "Failed") or {}
    failure = last_failure(facts, job)
    said = f'; its log says "{cut(failure.line, 200)}"' if failure.line else ""
    how = f"; {failure.how}" if failure.how else ""
    reason = f"{failed.get('reason')}: {failed.get('message')}" if failed else ""
    last_good = status_of(item).get("lastSuccessfulTime")
    good = f"last success {age(last_good, facts.now)} ago" if last_good else "no success is known"
    return Finding(
        cause="cronjob-failing",
        object=about,
        severity="critical",
        explanation=f"The latest run of {about} failed{how}{said}; {good}.",
        evidence=tuple(
            line
            for line in (
                quoted(f"Job {name_of(job)}: condition Failed", reason),
                *failure.evidence,
                f"{count(bad, 'failed Job')} of the {len(jobs)} that are kept" if len(jobs) > 1 else "",
            )
            if line
        ),
        remedy="Mend what the log names; the next run starts by itself "
        f"(`kubectl create job --from=cronjob/{about.name} NAME -n {about.namespace}` starts one now).",
        confidence=0.9,
        commands=(f"kubectl logs job/{name_of(job)} -n {about.namespace}",),
        related=(ref(job), *failure.related),
    )
