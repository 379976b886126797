"""What is wrong with the containers of pods: each unhealthy container gets exactly one name of trouble.

The analyzers of pods each report one kind of trouble, so that no fault is told twice. Containers of one workload with
the same trouble are one ``Trouble``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from holmes.analyzers.base import Facts, KubeEvent, is_going, live_pods, ready_count, ref, spec_of, status_of
from holmes.analyzers.log_reading import StackTrace, stack_trace
from holmes.analyzers.upstreams import named_services
from holmes.analyzers.words import count, event_line, log_line, state_line
from holmes.core.findings import Finding, ObjectRef, Severity
from holmes.kube.cluster import Object
from holmes.kube.related import condition, name_of, namespace_of, owner, parse_time

Kind = Literal["image", "config", "start", "oom", "liveness", "startup", "panic", "exit", "init", "unready"]

IMAGE = frozenset(
    "ErrImagePull ImagePullBackOff InvalidImageName ErrImageNeverPull RegistryUnavailable ImageInspectError "
    "SignatureValidationFailed".split()
)
START = frozenset(["RunContainerError", "CreateContainerError", "StartError", "ContainerCannotRun"])
RECENT = 600.0  # seconds: the kubelet forgets a crash loop after ten minutes of running
RECENT_OFTEN = 3600.0  # seconds, for containers that ended three times or more
STARTING = 30.0  # seconds that any program gets to start
STALE = 900.0  # seconds: the kubelet stops repeating events of a pod that has many (25, then one in five minutes)
PROBES: tuple[Literal["liveness", "startup"], ...] = ("liveness", "startup")
_RELATED = 6  # pods named in a finding


@dataclass(frozen=True, slots=True)
class Container:
    """One container of one pod: spec and status together."""

    pod: Object
    name: str
    spec: Mapping[str, Any]
    status: Mapping[str, Any]
    init: bool = False

    @property
    def waiting(self) -> Mapping[str, Any]:
        """The waiting state, empty when it does not wait."""
        return (self.status.get("state") or {}).get("waiting") or {}

    @property
    def running(self) -> Mapping[str, Any]:
        """The running state, empty when it does not run."""
        return (self.status.get("state") or {}).get("running") or {}

    @property
    def ended(self) -> Mapping[str, Any]:
        """How it ended: now, or the last time before it was started again."""
        now = (self.status.get("state") or {}).get("terminated")
        return now or (self.status.get("lastState") or {}).get("terminated") or {}

    @property
    def ended_now(self) -> bool:
        """Whether it has ended and was not started again yet."""
        return bool((self.status.get("state") or {}).get("terminated"))

    @property
    def restarts(self) -> int:
        """How often it was started again."""
        return int(self.status.get("restartCount") or 0)

    @property
    def sidecar(self) -> bool:
        """An init container that goes on running."""
        return self.init and self.spec.get("restartPolicy") == "Always"


def containers_of(pod: Object) -> Iterator[Container]:
    """Init containers first, in the order of the spec; containers without a status are left out."""
    spec, status = spec_of(pod), status_of(pod)
    for field_name, init in (("initContainer", True), ("container", False)):
        statuses = status.get(f"{field_name}Statuses")
        if not statuses:
            continue
        specs = {item.get("name"): item for item in spec.get(f"{field_name}s") or []}
        for item in statuses:
            yield Container(pod, str(item.get("name")), specs.get(item.get("name")) or {}, item, init)


@dataclass(slots=True)
class Trouble:
    """The same trouble in the containers of one workload; ``cases`` has one container of each pod, the worst first."""

    facts: Facts = field(repr=False)
    kind: Kind
    owner: ObjectRef
    name: str  # of the container
    init: bool
    cases: list[Container]
    pods: int  # of the workload that are meant to run
    ready: int  # of these

    @property
    def case(self) -> Container:
        """The container to take evidence from."""
        return self.cases[0]

    @property
    def pod(self) -> Object:
        """The pod of ``case``."""
        return self.case.pod

    @property
    def severity(self) -> Severity:
        """Critical when no pod of the workload takes traffic."""
        return "warning" if self.ready else "critical"

    @property
    def who(self) -> str:
        """``Container app of Deployment shop/catalog (2 of 3 pods)``."""
        what = "Init container" if self.init else "Container"
        several = f" ({len(self.cases)} of {count(self.pods, 'pod')})" if self.pods > 1 else ""
        return f"{what} {self.name} of {self.owner}{several}"

    def state(self) -> str:
        """The evidence line of the container's state."""
        return state_line(self.pod, self.case.status, self.facts.now)

    def event(self, *reasons: str, having: str = "") -> str:
        """The evidence line of the latest event of these reasons about this container, "" without one."""
        needle = having.lower()
        for case in self.cases:
            for event in self.facts.events(ref(case.pod), *reasons):
                if event.container in ("", self.name) and needle in event.message.lower():
                    return event_line(event, self.facts.now)
        return ""

    def log(self) -> tuple[Sequence[str], bool]:
        """The log of the run in question, and whether that is the previous one."""
        if self.kind == "unready":
            return self.facts.log(self.owner.namespace, name_of(self.pod), self.name), False
        return ended_log(self.facts, self.case)

    def log_evidence(self, line: str) -> str:
        """A log line as evidence, "" for an empty line."""
        return log_line(self.name, line, self.log()[1]) if line.strip() else ""

    def command(self, what: str) -> str:
        """``kubectl WHAT -n namespace`` with ``{pod}`` filled in."""
        return f"kubectl {what.format(pod=name_of(self.pod))} -n {self.owner.namespace}"

    def finding(
        self,
        cause: str,
        explanation: str,
        evidence: Sequence[str],
        remedy: str,
        *,
        confidence: float = 0.9,
        commands: Sequence[str] = (),
        severity: Severity | None = None,
        related: Sequence[ObjectRef] = (),
        said: str = "",
    ) -> Finding:
        """A finding about the workload, its pods being related, and the Services that the log line ``said`` names.

        Empty evidence lines are left out.
        """
        pods = [ref(case.pod) for case in self.cases[:_RELATED]]
        related = [*related, *named_services(self.facts, self.owner.namespace, said)]
        named = [other for other in (*pods, *related) if other != self.owner]
        return Finding(
            cause=cause,
            object=self.owner,
            severity=severity or self.severity,
            explanation=explanation,
            evidence=tuple(dict.fromkeys(line for line in evidence if line)),
            remedy=remedy,
            confidence=confidence,
            commands=tuple(self.command(command) for command in commands),
            related=tuple(dict.fromkeys(named)),
        )


def troubles(facts: Facts, *kinds: Kind) -> list[Trouble]:
    """The troubles of these kinds."""
    return [trouble for trouble in facts.once(find_troubles) if trouble.kind in kinds]


def find_troubles(facts: Facts) -> list[Trouble]:
    """All of them; use through ``facts.once``."""
    found: dict[tuple[Kind, ObjectRef, str], Trouble] = {}
    for pod in facts.all("Pod"):
        if status_of(pod).get("phase") == "Succeeded" or is_going(pod) or is_settled(facts, pod):
            continue
        for container in containers_of(pod):
            kind = _trouble_of(facts, container)
            if kind is None:
                continue
            top = facts.top_owner(pod)
            key = (kind, top, container.name)
            trouble = found.get(key)
            if trouble is None:
                pods = live_pods(facts.pods_of(top)) or [pod]
                trouble = found[key] = Trouble(
                    facts, kind, top, container.name, container.init, [], len(pods), ready_count(pods)
                )
            trouble.cases.append(container)
            if container.init and not container.sidecar:
                break  # the others wait for it
    for trouble in found.values():
        trouble.cases.sort(key=lambda case: -case.restarts)
        trouble.pods = max(trouble.pods, len(trouble.cases))
    return list(found.values())


def is_settled(facts: Facts, pod: Object) -> bool:
    """Whether a failed pod no longer matters: its Job or a later one of the CronJob succeeded, or it was replaced."""
    above = owner(pod)
    if above is None:
        return False
    if above[0] != "Job":
        return status_of(pod).get("phase") == "Failed"
    job = facts.get("Job", namespace_of(pod), above[1])
    if job is None:
        return False
    if is_complete(job):
        return True
    top = facts.top_owner(job)
    return top.kind == "CronJob" and latest_job(facts, top) is not job


def is_complete(job: Object) -> bool:
    """Whether a Job reached its goal, after however many tries."""
    done = condition(job, "Complete") or condition(job, "SuccessCriteriaMet") or {}
    return done.get("status") == "True"


def latest_job(facts: Facts, cron_job: ObjectRef) -> Object | None:
    """The newest Job of a CronJob that has ended, or has a failed pod."""
    jobs = [job for job in facts.children("Job", cron_job) if is_complete(job) or status_of(job).get("failed")]
    return max(jobs, key=lambda job: str((job.get("metadata") or {}).get("creationTimestamp") or ""), default=None)


def _trouble_of(facts: Facts, container: Container) -> Kind | None:
    reason = str(container.waiting.get("reason") or "")
    ended = container.ended
    if reason in IMAGE:
        return "image"
    if reason == "CreateContainerConfigError":
        return "config"
    if reason in START or (ended.get("reason") in START and not _is_well(facts, container)):
        return "start"
    if ended and not _is_well(facts, container):
        kind = _ending(facts, container)
        return "init" if container.init and not container.sidecar and kind in ("panic", "exit") else kind
    if is_unready(facts, container):
        return "unready"
    return None


def _is_well(facts: Facts, container: Container) -> bool:
    """Whether a container that ended some time is no trouble now."""
    ended, reason = container.ended, container.waiting.get("reason")
    policy = "Always" if container.sidecar else spec_of(container.pod).get("restartPolicy") or "Always"
    if container.ended_now:
        failed = bool(ended.get("exitCode")) or ended.get("reason") == "OOMKilled"
        if container.init and not container.sidecar:
            return not failed
        return not failed and (policy != "Always" or container.restarts == 0)
    if reason == "CrashLoopBackOff":
        return False
    if container.init and not container.sidecar and container.running:
        return False  # tried again, and its end is open: the last try failed
    ago = facts.seconds_since(ended.get("finishedAt"))
    limit = RECENT_OFTEN if container.restarts >= 3 else RECENT
    return ago is not None and ago > limit


def _ending(facts: Facts, container: Container) -> Kind:
    """Why a container ended."""
    if container.ended.get("reason") == "OOMKilled":
        return "oom"
    if killer := probe_that_killed(facts, container):
        return killer
    if container.ended.get("exitCode") and ended_trace(facts, container):
        return "panic"
    return "exit"


def probe_that_killed(facts: Facts, container: Container) -> Literal["liveness", "startup"] | None:
    """Which probe made the kubelet stop the container, as far as events tell.

    The kubelet says so in a Killing event. Failed probes alone prove it only when the exit code is that of a signal:
    a program that ends by itself also fails its probes.
    """
    signalled = container.ended.get("exitCode") in (137, 143)
    for event in facts.events(ref(container.pod), "Killing", "Unhealthy"):
        if event.container not in ("", container.name) or not _near_end(container, event):
            continue
        message = event.message.lower()
        for probe in PROBES:
            killed = event.reason == "Killing" and f"failed {probe} probe" in message
            failed = event.reason == "Unhealthy" and message.startswith(f"{probe} probe") and signalled
            if container.spec.get(f"{probe}Probe") and (killed or failed):
                return probe
    return None


def _near_end(container: Container, event: KubeEvent) -> bool:
    """Whether an event can have to do with the last end of the container."""
    finished = parse_time(container.ended.get("finishedAt"))
    return finished is None or event.last is None or (finished - event.last).total_seconds() < STALE


def ended_log(facts: Facts, container: Container) -> tuple[Sequence[str], bool]:
    """The log of the run that ended, and whether that is the previous one."""
    place = (namespace_of(container.pod), name_of(container.pod), container.name)
    if container.ended_now:
        return facts.log(*place), False
    previous = facts.log(*place, previous=True)
    if previous or container.running:
        return previous, True
    return facts.log(*place), False  # waiting: the current log is that of the run before


def ended_trace(facts: Facts, container: Container) -> StackTrace | None:
    """The stack trace at the end of the run that ended."""
    return stack_trace(ended_log(facts, container)[0])


def probe_budget(probe: Mapping[str, Any]) -> float:
    """Seconds after which a probe counts as failed (defaults of the API: every 10 s, 3 times)."""
    failures = int(probe.get("failureThreshold") or 3)
    return float(probe.get("initialDelaySeconds") or 0) + float(probe.get("periodSeconds") or 10) * failures


def is_unready(facts: Facts, container: Container) -> bool:
    """Whether a running container fails its readiness probe for longer than a start takes."""
    probe = container.spec.get("readinessProbe")
    if not probe or container.status.get("ready") or not container.running or container.status.get("started") is False:
        return False
    since_start = facts.seconds_since(container.running.get("startedAt"))
    ready = condition(container.pod, "Ready") or {}
    since_change = facts.seconds_since(ready.get("lastTransitionTime"))
    if since_start is None:
        return True
    was_ready = since_change is not None and since_start - since_change > 2
    return was_ready or since_start > max(STARTING, probe_budget(probe))
