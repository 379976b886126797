"""A probe fails: containers are killed, never count as started, or take no traffic.

Finds:
    liveness-failing: the liveness probe fails and the kubelet restarts the container again and again.
    startup-failing: the startup probe does not succeed in its time and the kubelet restarts the container.
    readiness-failing: the readiness probe fails, so the pod runs but gets no traffic.
    readiness-gate: the containers are ready, but a readiness gate of the pod is not.
From: container states, Ready condition, probe settings, events Unhealthy and Killing, the end of the log.
Look-alikes: a container that is still within the time its probes allow for a start; one failed probe in between;
    custom conditions that are no readiness gates.
Remedy: see whether the endpoint really answers; correct path, port, timeout or the time given, or the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from holmes.analyzers.base import WORKLOADS, Facts, is_going, ref, spec_of
from holmes.analyzers.log_reading import decisive_line, is_error
from holmes.analyzers.troubles import STARTING, Trouble, probe_budget, troubles
from holmes.analyzers.words import count, quoted
from holmes.core.findings import Finding
from holmes.kube.cluster import Object
from holmes.kube.related import condition, duration, name_of

KINDS = ("Pod", *WORKLOADS, "Event")
LOGS = True


def probes(facts: Facts) -> Iterator[Finding]:
    """Failing probes and readiness gates."""
    for trouble in troubles(facts, "liveness", "startup"):
        yield _killed(trouble)
    for trouble in troubles(facts, "unready"):
        yield _unready(trouble)
    for pod in facts.all("Pod"):
        if spec_of(pod).get("readinessGates") and not is_going(pod):
            yield from _gates(facts, pod)


def _killed(trouble: Trouble) -> Finding:
    name = trouble.kind
    probe: Mapping[str, Any] = trouble.case.spec.get(f"{name}Probe") or {}
    failed = trouble.event("Unhealthy", having=f"{name} probe")
    evidence = [
        trouble.state(),
        failed,
        trouble.event("Killing", having=name),
        _probe_line(name, probe),
        _error_line(trouble),
    ]
    times = count(trouble.case.restarts, "restart")
    if name == "startup":
        return trouble.finding(
            "startup-failing",
            f"{trouble.who} is killed before it has started: its startup probe ({_target(probe)}) does not succeed "
            f"within {duration(probe_budget(probe))} ({times}).",
            evidence,
            "If the program only needs longer, raise failureThreshold or periodSeconds of the startupProbe; otherwise "
            "correct its path and port, or mend the start.",
            commands=["describe pod {pod}", f"logs {{pod}} -c {trouble.name} --previous"],
        )
    return trouble.finding(
        "liveness-failing",
        f"{trouble.who} is killed by its liveness probe ({_target(probe)}) again and again ({times}).",
        evidence,
        "Find why the endpoint stops answering (log of the previous run); if the program is well, the probe is too "
        "strict: correct path and port, or raise timeoutSeconds and failureThreshold.",
        commands=["describe pod {pod}", f"logs {{pod}} -c {trouble.name} --previous"],
    )


def _unready(trouble: Trouble) -> Finding:
    probe: Mapping[str, Any] = trouble.case.spec.get("readinessProbe") or {}
    since = trouble.facts.seconds_since((condition(trouble.pod, "Ready") or {}).get("lastTransitionTime"))
    failed = trouble.event("Unhealthy", having="readiness probe")
    how_long = f" for {duration(since)}" if since else ""
    return trouble.finding(
        "readiness-failing",
        f"{trouble.who} runs but is not ready{how_long}: its readiness probe ({_target(probe)}) fails, so it gets no "
        "traffic.",
        [trouble.state(), failed, _probe_line("readiness", probe), _error_line(trouble)],
        "Ask the probe's endpoint and read the log: what it waits for (database, cache, another service) is missing, "
        "or path, port or timeout of the probe are wrong.",
        confidence=0.9 if failed else 0.75,
        said=decisive_line(trouble.log()[0]),
        commands=["describe pod {pod}", f"logs {{pod}} -c {trouble.name}"],
    )


def _gates(facts: Facts, pod: Object) -> Iterator[Finding]:
    ready: Mapping[str, Any] = condition(pod, "Ready") or {}
    since = facts.seconds_since(ready.get("lastTransitionTime"))
    if ready.get("reason") != "ReadinessGatesNotReady" or (since is not None and since < STARTING):
        return
    gates = [str(gate.get("conditionType")) for gate in spec_of(pod)["readinessGates"]]
    closed = [gate for gate in gates if (condition(pod, gate) or {}).get("status") != "True"]
    owner = facts.top_owner(pod)
    yield Finding(
        cause="readiness-gate",
        object=owner,
        severity="warning",
        explanation=f"{ref(pod)} runs but gets no traffic: readiness gate {', '.join(closed)} is not True.",
        evidence=(quoted("condition Ready", f"{ready.get('reason')}: {ready.get('message')}"),),
        remedy="Look at the controller that sets this condition (often a load balancer's): it has not taken the pod.",
        confidence=0.85,
        commands=(f"kubectl describe pod {name_of(pod)} -n {owner.namespace}",),
        related=(ref(pod),),
    )


def _target(probe: Mapping[str, Any]) -> str:
    """What a probe asks: ``GET /healthz on port http``."""
    if http := probe.get("httpGet"):
        return f"GET {http.get('path') or '/'} on port {http.get('port')}"
    if tcp := probe.get("tcpSocket"):
        return f"TCP port {tcp.get('port')}"
    if grpc := probe.get("grpc"):
        return f"gRPC port {grpc.get('port')}"
    command = (probe.get("exec") or {}).get("command") or []
    return f"command {' '.join(map(str, command))}" if command else "not known"


def _probe_line(name: str, probe: Mapping[str, Any]) -> str:
    numbers = [
        f"{field} {probe[field]}"
        for field in ("initialDelaySeconds", "periodSeconds", "timeoutSeconds", "failureThreshold")
        if field in probe
    ]
    return f"spec: {name}Probe {_target(probe)}{', ' if numbers else ''}{', '.join(numbers)}"


def _error_line(trouble: Trouble) -> str:
    """The log's last error, when it has one: a healthy program that is probed wrongly logs none."""
    line = decisive_line(trouble.log()[0])
    return trouble.log_evidence(line) if is_error(line) else ""
