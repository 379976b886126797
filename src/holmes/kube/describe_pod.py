"""The parts of a digest that concern pods: their state, their containers, what they mount, pods in a line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from holmes.kube.cluster import Object
from holmes.kube.layout import indented, joined, pairs, short, some
from holmes.kube.related import age, duration, is_ready, name_of, namespace_of, parse_time, pod_status, restarts

_MAX_PODS = 12
_MAX_ENV = 40
_PROBES = (("liveness", "livenessProbe"), ("readiness", "readinessProbe"), ("startup", "startupProbe"))


def pod_lines(pod: Object, now: datetime) -> list[str]:
    """State of a pod and everything about its containers."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    policy = spec.get("restartPolicy", "Always")
    line = joined(
        f"status: {pod_status(pod)}",
        f"{_ready_count(pod)} ready",
        f"{restarts(pod)} restarts",
        f"node {spec.get('nodeName') or 'none (not scheduled)'}",
        f"ip {status['podIP']}" if status.get("podIP") else "",
        f"QoS {status['qosClass']}" if status.get("qosClass") else "",
        f"restartPolicy {policy}" if policy != "Always" else "",
    )
    message = [f"message: {short(status['message'], 400)}"] if status.get("message") else []
    return [line, *message, *template_lines(spec, status, now)]


def template_lines(spec: Mapping[str, Any], status: Mapping[str, Any], now: datetime) -> list[str]:
    """Containers, volumes and placement of a pod, or of a pod template (which has no status)."""
    lines: list[str] = []
    for word, group in (("init container", "initContainers"), ("container", "containers")):
        states = {state.get("name"): state for state in status.get(f"{group.removesuffix('s')}Statuses") or []}
        for container in spec.get(group) or []:
            lines.append(f"{word} {container.get('name')}: image {container.get('image')}")
            lines += indented(_container_lines(container, states.get(container.get("name")), now))
    volumes = [_volume(item) for item in spec.get("volumes") or [] if not _is_token(item.get("name"))]
    if volumes:
        lines += ["volumes:", *indented(volumes)]
    return lines + _placement_lines(spec)


def pods_lines(pods: Sequence[Object], now: datetime, title: str = "pods", placed: bool = False) -> list[str]:
    """A line for each pod, those with a problem first; ``placed`` puts their namespace in front."""
    if not pods:
        return [f"{title}: none"]
    ordered = sorted(pods, key=lambda pod: (is_fine(pod), name_of(pod)))
    lines = some([(f"{namespace_of(pod)}/" if placed else "") + pod_line(pod, now) for pod in ordered], _MAX_PODS)
    return [f"{title}: {len(pods)}, {sum(map(is_ready, pods))} ready", *indented(lines)]


def pod_line(pod: Object, now: datetime) -> str:
    """``web-1: CrashLoopBackOff, 0/1 ready, 5 restarts, app ended 40s ago: exit 1 (Error), 12m old``."""
    ends = [
        f"{state.get('name')} ended {_ended(ended, now)}"
        for state in _states(pod)
        if (ended := _last_end(state)) and (ended.get("reason") != "Completed" or state.get("restartCount"))
    ]
    return joined(
        f"{name_of(pod)}: {pod_status(pod)}",
        f"{_ready_count(pod)} ready",
        f"{restarts(pod)} restarts" if restarts(pod) else "",
        *ends,
        f"{age((pod.get('metadata') or {}).get('creationTimestamp'), now)} old",
    )


def is_fine(pod: Object) -> bool:
    """Whether a pod takes traffic or has ended well."""
    return is_ready(pod) or pod_status(pod) in ("Completed", "Succeeded")


def _states(pod: Object) -> list[Mapping[str, Any]]:
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]


def _ready_count(pod: Object) -> str:
    states = (pod.get("status") or {}).get("containerStatuses") or []
    total = len((pod.get("spec") or {}).get("containers") or []) or len(states)
    return f"{sum(bool(state.get('ready')) for state in states)}/{total}"


def _last_end(state: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """How the container ended the last time: now, or before its last restart."""
    ended: Mapping[str, Any] | None = (state.get("state") or {}).get("terminated")
    return ended or (state.get("lastState") or {}).get("terminated")


def _ended(ended: Mapping[str, Any], now: datetime) -> str:
    """``2m ago: exit 137 (OOMKilled), after 4s, message: ...``."""
    start, end = parse_time(ended.get("startedAt")), parse_time(ended.get("finishedAt"))
    signal = f", signal {ended['signal']}" if ended.get("signal") else ""
    return joined(
        f"{age(end, now)} ago: exit {ended.get('exitCode')} ({ended.get('reason') or 'no reason'}{signal})",
        # What never started has 1970 as its start.
        f"after {duration((end - start).total_seconds())}" if start and end and start.year > 1970 else "",
        f"message: {short(ended['message'], 300)}" if ended.get("message") else "",
    )


def _container_lines(container: Mapping[str, Any], state: Mapping[str, Any] | None, now: datetime) -> list[str]:
    lines = _state_lines(state, now) if state else []
    for key in ("command", "args"):
        if container.get(key):
            lines.append(f"{key}: {short(' '.join(map(str, container[key])), 300)}")
    ports = [f"{port.get('containerPort')} {port.get('name') or ''}".rstrip() for port in container.get("ports") or []]
    if ports:
        lines.append(f"ports: {', '.join(ports)}")
    resources = container.get("resources") or {}
    amounts = [f"{part} {pairs(resources[part])}" for part in ("requests", "limits") if resources.get(part)]
    lines.append(f"resources: {'; '.join(amounts) if amounts else 'no requests, no limits'}")
    lines += [f"{word}: {_probe(container[key])}" for word, key in _PROBES if container.get(key)]
    env = [_variable(item) for item in container.get("env") or []]
    env += [_variables_from(item) for item in container.get("envFrom") or []]
    if env:
        lines += ["env:", *indented(some(env, _MAX_ENV))]
    mounts = [_mount(item) for item in container.get("volumeMounts") or [] if not _is_token(item.get("name"))]
    if mounts:
        lines.append(f"mounts: {', '.join(mounts)}")
    return lines


def _state_lines(state: Mapping[str, Any], now: datetime) -> list[str]:
    current = state.get("state") or {}
    lines = []
    if waiting := current.get("waiting"):
        why = joined(
            str(waiting.get("reason") or "no reason"), short(waiting.get("message") or "", 400), separator=": "
        )
        lines.append(f"state: waiting, {why}")
    elif running := current.get("running"):
        ready = "ready" if state.get("ready") else "not ready"
        lines.append(f"state: running for {age(running.get('startedAt'), now)}, {ready}")
    elif ended := current.get("terminated"):
        lines.append(f"state: ended {_ended(ended, now)}")
    if state.get("restartCount"):
        lines.append(f"restarts: {state['restartCount']}")
    if ended := (state.get("lastState") or {}).get("terminated"):
        lines.append(f"last end: {_ended(ended, now)}")
    return lines


def _probe(probe: Mapping[str, Any]) -> str:
    """``http-get :8080/healthz, delay 0s, every 10s, timeout 1s, fails after 3``: defaults are the API's."""
    if http := probe.get("httpGet"):
        scheme = str(http.get("scheme") or "http").lower()
        what = f"{scheme}-get {http.get('host') or ''}:{http.get('port')}{http.get('path') or '/'}"
    elif tcp := probe.get("tcpSocket"):
        what = f"tcp :{tcp.get('port')}"
    elif grpc := probe.get("grpc"):
        what = f"grpc :{grpc.get('port')} {grpc.get('service') or ''}".rstrip()
    else:
        what = f"exec {short(' '.join(map(str, (probe.get('exec') or {}).get('command') or [])), 200)}"
    return (
        f"{what}, delay {probe.get('initialDelaySeconds', 0)}s, every {probe.get('periodSeconds', 10)}s, "
        f"timeout {probe.get('timeoutSeconds', 1)}s, fails after {probe.get('failureThreshold', 3)}"
    )


def _variable(item: Mapping[str, Any]) -> str:
    name, source = item.get("name"), item.get("valueFrom")
    if not source:
        return f"{name}={short(item.get('value') or '', 100)}"
    for kind, key in (("secret", "secretKeyRef"), ("configmap", "configMapKeyRef")):
        if found := source.get(key):
            optional = " (optional)" if found.get("optional") else ""
            return f"{name} from {kind} {found.get('name')}, key {found.get('key')}{optional}"
    field = source.get("fieldRef") or source.get("resourceFieldRef") or {}
    return f"{name} from field {field.get('fieldPath') or field.get('resource')}"


def _variables_from(item: Mapping[str, Any]) -> str:
    for kind, key in (("secret", "secretRef"), ("configmap", "configMapRef")):
        if found := item.get(key):
            prefix = f" as {item['prefix']}*" if item.get("prefix") else ""
            optional = " (optional)" if found.get("optional") else ""
            return f"all keys of {kind} {found.get('name')}{prefix}{optional}"
    return "envFrom of an unknown kind"


def _mount(item: Mapping[str, Any]) -> str:
    part = f"/{item['subPath']}" if item.get("subPath") else ""
    mode = " (read-only)" if item.get("readOnly") else ""
    return f"{item.get('mountPath')} from {item.get('name')}{part}{mode}"


def _is_token(volume: object) -> bool:
    """The service account's token that every pod mounts; it explains nothing."""
    return str(volume).startswith("kube-api-access-")


def _volume(item: Mapping[str, Any]) -> str:
    """``data: claim data-web-0``, ``cfg: configmap web-config (optional)``, or its source as it stands."""
    source: Mapping[str, Any]
    for kind, source_key, name_key in (
        ("claim", "persistentVolumeClaim", "claimName"),
        ("configmap", "configMap", "name"),
        ("secret", "secret", "secretName"),
        ("host path", "hostPath", "path"),
    ):
        if source_key in item:
            source = item[source_key] or {}
            keys = [str(entry.get("key")) for entry in source.get("items") or []]
            wanted = f", keys {', '.join(keys)}" if keys else ""
            optional = " (optional)" if source.get("optional") else ""
            return f"{item.get('name')}: {kind} {source.get(name_key)}{wanted}{optional}"
    rest = {key: value for key, value in item.items() if key != "name"}
    return f"{item.get('name')}: {short(pairs(rest, 150), 200) or 'emptyDir'}"


def _placement_lines(spec: Mapping[str, Any]) -> list[str]:
    """What narrows the choice of nodes, and other settings that make pods fail."""
    lines = []
    if spec.get("nodeSelector"):
        lines.append(f"node selector: {pairs(spec['nodeSelector'])}")
    for key in ("affinity", "topologySpreadConstraints", "securityContext"):
        if spec.get(key):
            lines.append(f"{key}: {short(spec[key], 300)}")
    tolerations = [
        joined(str(item.get("key") or "any"), str(item.get("effect") or ""), separator=":")
        for item in spec.get("tolerations") or []
        # Every pod tolerates these two for five minutes.
        if item.get("key") not in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    ]
    if tolerations:
        lines.append(f"tolerates: {', '.join(tolerations)}")
    for key in ("serviceAccountName", "priorityClassName", "runtimeClassName", "schedulerName"):
        if spec.get(key) not in (None, "default", "default-scheduler"):
            lines.append(f"{key}: {spec[key]}")
    gates = [str(gate.get("name")) for gate in spec.get("schedulingGates") or []]
    if gates:
        lines.append(f"scheduling gates: {', '.join(gates)}")
    return lines
