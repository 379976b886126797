"""Pods that have a node but whose containers are not made: volumes, references, sandbox."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from holmes.analyzers.base import Facts, KubeEvent, is_going, live_pods, ready_count, ref, spec_of, status_of
from holmes.analyzers.troubles import containers_of
from holmes.analyzers.words import count, event_line
from holmes.core.findings import Finding, ObjectRef, Severity
from holmes.kube.cluster import Object
from holmes.kube.related import condition, name_of

Kind = Literal["reference", "mount", "attach", "sandbox", "unknown"]

SILENT = 180.0  # seconds of ContainerCreating without any event that are no longer usual
_REFERENCE = re.compile(r"""(configmap|secret) "[^"]+" not found|non-existent (config|secret) key""", re.IGNORECASE)
_SUMMARY = re.compile(r"^Unable to attach or mount volumes|timed out waiting for the condition")
_REASONS = (
    "FailedMount",
    "FailedAttachVolume",
    "FailedMapVolume",
    "FailedCreatePodSandBox",
    "FailedCreatePodContainer",
)


@dataclass(slots=True)
class Stalled:
    """Pods of one workload that wait for the same thing."""

    facts: Facts = field(repr=False)
    kind: Kind
    owner: ObjectRef
    event: KubeEvent | None
    pods: list[Object]
    of: int  # pods of the workload that are meant to run
    ready: int

    @property
    def pod(self) -> Object:
        """The pod to take evidence from."""
        return self.pods[0]

    @property
    def who(self) -> str:
        """``Pod x`` or ``Deployment shop/catalog (2 of 3 pods)``."""
        several = f" ({len(self.pods)} of {count(self.of, 'pod')})" if self.of > 1 else ""
        return f"{self.owner}{several}"

    @property
    def message(self) -> str:
        """The kubelet's words, "" without an event."""
        return self.event.message if self.event else ""

    def finding(
        self,
        cause: str,
        explanation: str,
        evidence: Iterable[str],
        remedy: str,
        confidence: float = 0.9,
        related: Iterable[ObjectRef] = (),
    ) -> Finding:
        """A finding about the workload, with the state and the event as first evidence."""
        waiting = status_of(self.pod).get("phase")
        since = self.facts.seconds_since((condition(self.pod, "PodScheduled") or {}).get("lastTransitionTime"))
        state = f"pod {name_of(self.pod)}: {waiting}, ContainerCreating" + (f" for {since:.0f}s" if since else "")
        severity: Severity = "warning" if self.ready else "critical"
        lines = [state, event_line(self.event, self.facts.now) if self.event else "", *evidence]
        named = [other for other in (*map(ref, self.pods[:6]), *related) if other != self.owner]
        return Finding(
            cause=cause,
            object=self.owner,
            severity=severity,
            explanation=explanation,
            evidence=tuple(line for line in lines if line),
            remedy=remedy,
            confidence=confidence,
            commands=(f"kubectl describe pod {name_of(self.pod)} -n {self.owner.namespace}",),
            related=tuple(dict.fromkeys(named)),
        )


def stalled(facts: Facts, *kinds: Kind) -> list[Stalled]:
    """The stalled pods that wait for these kinds of things."""
    return [item for item in facts.once(find_stalled) if item.kind in kinds]


def find_stalled(facts: Facts) -> list[Stalled]:
    """All of them; use through ``facts.once``."""
    found: dict[tuple[Kind, ObjectRef], Stalled] = {}
    for pod in facts.all("Pod"):
        if status_of(pod).get("phase") != "Pending" or is_going(pod) or not _is_creating(pod):
            continue
        kind, event = _reason(facts, pod)
        if kind is None:
            continue
        owner = facts.top_owner(pod)
        if (kind, owner) not in found:
            pods = live_pods(facts.pods_of(owner)) or [pod]
            found[(kind, owner)] = Stalled(facts, kind, owner, event, [], len(pods), ready_count(pods))
        found[(kind, owner)].pods.append(pod)
    return list(found.values())


def _is_creating(pod: Object) -> bool:
    if not spec_of(pod).get("nodeName") or (condition(pod, "PodScheduled") or {}).get("status") == "False":
        return False
    containers = list(containers_of(pod))
    waiting = {str(item.waiting.get("reason") or "") for item in containers}
    return not waiting - {"ContainerCreating", "PodInitializing", ""} and not any(item.running for item in containers)


def _reason(facts: Facts, pod: Object) -> tuple[Kind | None, KubeEvent | None]:
    events = facts.events(ref(pod), *_REASONS)
    event = next((event for event in events if _REFERENCE.search(event.message)), None)
    event = event or next((event for event in events if not _SUMMARY.search(event.message)), None)
    event = event or next(iter(events), None)  # only the summary that the kubelet gives after its time is over
    if event is None:
        since = facts.seconds_since((condition(pod, "PodScheduled") or {}).get("lastTransitionTime"))
        return ("unknown" if since is not None and since > SILENT else None), None
    if _REFERENCE.search(event.message):
        return "reference", event
    if event.reason == "FailedAttachVolume" or "Multi-Attach" in event.message:
        return "attach", event
    return ("sandbox" if "Sandbox" in event.reason or "SandBox" in event.reason else "mount"), event
