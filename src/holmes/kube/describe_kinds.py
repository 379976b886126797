"""What a digest says of the kinds that have something of their own to say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from holmes.kube.cluster import Gap, Object
from holmes.kube.describe_network import ingress_lines, service_lines
from holmes.kube.describe_pod import is_fine, pod_lines, pods_lines, template_lines
from holmes.kube.layout import indented, joined, pairs, short, some
from holmes.kube.neighbours import Related
from holmes.kube.quantities import bytes_text, cpu_text, quantity
from holmes.kube.related import age, condition, duration, name_of, parse_time, selector_text

Section = Callable[[Object, Related, datetime], list[str]]
_REVISION = "deployment.kubernetes.io/revision"


def section_of(kind: str) -> Section | None:
    """The section writer of a kind, None for kinds without one."""
    return _SECTIONS.get(kind)


def related_list(related: Related, name: str) -> tuple[list[Object], list[str]]:
    """Related objects, and a line instead of them when they could not be looked at."""
    found = related.get(name, ())
    return ([], [f"{name}: not known: {found.message}"]) if isinstance(found, Gap) else (list(found), [])


def _pod(obj: Object, related: Related, now: datetime) -> list[str]:
    return pod_lines(obj, now)


def _workload(obj: Object, related: Related, now: datetime) -> list[str]:
    """Deployment, ReplicaSet, StatefulSet, DaemonSet."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    lines = [_replicas(obj)]
    metadata = obj.get("metadata") or {}
    observed = status.get("observedGeneration")
    if observed is not None and metadata.get("generation") and observed < metadata["generation"]:
        lines.append(f"the controller has seen generation {observed} of {metadata['generation']}: not the last change")
    if spec.get("paused"):
        lines.append("paused: changes of the template are not rolled out")
    strategy = spec.get("strategy") or spec.get("updateStrategy") or {}
    if strategy:
        lines.append(f"strategy: {strategy.get('type')} {pairs(strategy.get('rollingUpdate'))}".rstrip())
    lines.append(f"selector: {selector_text(spec.get('selector'))}")
    sets, unknown = related_list(related, "replicasets")
    lines += unknown + _revisions(sets, now)
    return [*lines, *_pods(related, now), *_template(spec, now)]


def _replicas(obj: Object) -> str:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    if obj.get("kind") == "DaemonSet":
        wanted, current = status.get("desiredNumberScheduled", 0), status.get("currentNumberScheduled", 0)
        return joined(
            f"nodes: wanted {wanted}, running {current}, ready {status.get('numberReady', 0)}",
            f"updated {status.get('updatedNumberScheduled', 0)}, available {status.get('numberAvailable', 0)}",
            f"misscheduled {status['numberMisscheduled']}" if status.get("numberMisscheduled") else "",
        )
    updated = "updatedReplicas" in status or obj.get("kind") in ("Deployment", "StatefulSet")
    return joined(
        f"replicas: wanted {spec.get('replicas', 1)}, existing {status.get('replicas', 0)}",
        f"updated {status.get('updatedReplicas', 0)}" if updated else "",
        f"ready {status.get('readyReplicas', 0)}, available {status.get('availableReplicas', 0)}",
    )


def _revisions(sets: Sequence[Object], now: datetime) -> list[str]:
    """ReplicaSets with pods, and the newest one, newest first."""

    def revision(item: Object) -> int:
        text = str(((item.get("metadata") or {}).get("annotations") or {}).get(_REVISION) or 0)
        return int(text) if text.isdigit() else 0

    ordered = sorted(sets, key=revision, reverse=True)
    lines = []
    for index, item in enumerate(ordered):
        spec, status = item.get("spec") or {}, item.get("status") or {}
        if index and not spec.get("replicas") and not status.get("replicas"):
            continue
        template = (spec.get("template") or {}).get("spec") or {}
        images = [str(container.get("image")) for container in template.get("containers") or []]
        created = age((item.get("metadata") or {}).get("creationTimestamp"), now)
        lines.append(
            f"{name_of(item)} (revision {revision(item)}, {created} old): wanted {spec.get('replicas', 0)}, "
            f"ready {status.get('readyReplicas', 0)}, image {', '.join(images)}"
        )
        failed = condition(item, "ReplicaFailure")
        if failed and failed.get("status") == "True":
            lines.append(f"  cannot make pods: {short(failed.get('message'), 400)}")
    return ["replica sets:", *indented(lines)] if lines else []


def _pods(related: Related, now: datetime) -> list[str]:
    if "pods" not in related:
        return []
    pods, unknown = related_list(related, "pods")
    return unknown or pods_lines(pods, now)


def _template(spec: Mapping[str, Any], now: datetime) -> list[str]:
    template = (spec.get("template") or {}).get("spec") or {}
    return ["template:", *indented(template_lines(template, {}, now))] if template else []


def _job(obj: Object, related: Related, now: datetime) -> list[str]:
    spec = obj.get("spec") or {}
    return [_job_line(obj, now), _job_limits(spec), *_pods(related, now), *_template(spec, now)]


def _job_line(job: Object, now: datetime) -> str:
    """State, counts and times of a Job."""
    spec, status = job.get("spec") or {}, job.get("status") or {}
    ended = [item for item in status.get("conditions") or [] if item.get("status") == "True"]
    state = next((str(item["type"]) for item in ended if item.get("type") in ("Complete", "Failed")), "running")
    reasons = [f" ({item.get('reason')}: {item.get('message')})" for item in ended if item.get("type") == "Failed"]
    start, end = parse_time(status.get("startTime")), parse_time(status.get("completionTime"))
    return joined(
        f"state: {'suspended' if spec.get('suspend') else state}{''.join(reasons)}",
        f"succeeded {status.get('succeeded', 0)} of {spec.get('completions', 1)}, failed {status.get('failed', 0)}",
        f"active {status.get('active', 0)}",
        f"started {age(start, now)} ago" if start else "not started",
        f"took {duration((end - start).total_seconds())}" if start and end else "",
    )


def _job_limits(spec: Mapping[str, Any]) -> str:
    wanted = ("backoffLimit", "parallelism", "completions", "activeDeadlineSeconds", "ttlSecondsAfterFinished")
    return f"limits: {pairs({key: spec[key] for key in wanted if spec.get(key) is not None})}"


def _cron_job(obj: Object, related: Related, now: datetime) -> list[str]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    last, success = age(status.get("lastScheduleTime"), now), age(status.get("lastSuccessfulTime"), now)
    head = joined(
        f"schedule: {spec.get('schedule')}",
        f"time zone {spec['timeZone']}" if spec.get("timeZone") else "",
        "SUSPENDED" if spec.get("suspend") else "",
        f"concurrency {spec.get('concurrencyPolicy')}",
        f"last run {last} ago" if last else "never run",
        f"last success {success} ago" if success else "no success yet",
        f"{len(status.get('active') or [])} active",
    )
    jobs, unknown = related_list(related, "jobs")
    jobs.sort(key=lambda job: str((job.get("metadata") or {}).get("creationTimestamp")), reverse=True)
    runs = some([f"{name_of(job)}: {_job_line(job, now)}" for job in jobs], 5) or ["none"]
    job_spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    lines = [head, *(unknown or ["jobs:", *indented(runs)]), _job_limits(job_spec)]
    return [*lines, *_pods(related, now), *_template(job_spec, now)]


def _node(obj: Object, related: Related, now: datetime) -> list[str]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    info = status.get("nodeInfo") or {}
    ready = condition(obj, "Ready") or {}
    heartbeat = age(ready.get("lastHeartbeatTime"), now)
    addresses = [f"{item.get('type')} {item.get('address')}" for item in status.get("addresses") or []]
    taints = [f"{item.get('key')}={item.get('value', '')}:{item.get('effect')}" for item in spec.get("taints") or []]
    state = joined(
        f"status: {node_state(obj)}",
        "unschedulable (cordoned)" if spec.get("unschedulable") else "",
        f"heartbeat {heartbeat} ago" if heartbeat else "",
    )
    versions = (info.get("kubeletVersion"), info.get("containerRuntimeVersion"), info.get("kernelVersion"))
    lines = [
        state,
        f"kubelet {versions[0]}, runtime {versions[1]}, kernel {versions[2]}",
        f"addresses: {', '.join(addresses)}",
        f"taints: {', '.join(taints) or 'none'}",
    ]
    pods, unknown = related_list(related, "pods")
    troubled = [pod for pod in pods if not is_fine(pod)]
    lines += unknown or _room(status, pods)
    return lines + (pods_lines(troubled, now, "pods with problems", placed=True) if troubled else [])


def node_state(node: Object) -> str:
    """Ready, NotReady or Unknown, as the Ready condition says."""
    ready = condition(node, "Ready") or {}
    return {"True": "Ready", "False": "NotReady"}.get(str(ready.get("status")), "Unknown (the kubelet is silent)")


def _room(status: Mapping[str, Any], pods: Sequence[Object]) -> list[str]:
    """What the node has to give, and how much of it pods that have not ended ask for."""
    allocatable = status.get("allocatable") or {}
    live = [pod for pod in pods if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")]
    lines = [f"pods: {len(live)} of {allocatable.get('pods', 'an unknown number')}"]
    for resource, shown in (("cpu", cpu_text), ("memory", bytes_text)):
        total = quantity(allocatable.get(resource))
        asked, limit = _sum(live, "requests", resource), _sum(live, "limits", resource)
        share = f" ({asked / total:.0%})" if total else ""
        lines.append(f"{resource}: {shown(total)} to give, requests {shown(asked)}{share}, limits {shown(limit)}")
    return lines


def _sum(pods: Sequence[Object], part: str, resource: str) -> float:
    return sum(
        quantity(((container.get("resources") or {}).get(part) or {}).get(resource))
        for pod in pods
        for container in (pod.get("spec") or {}).get("containers") or []
    )


def _claim(obj: Object, related: Related, now: datetime) -> list[str]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    asked = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    lines = [
        joined(
            f"phase: {status.get('phase')}",
            f"class {spec.get('storageClassName') or '(none named)'}",
            f"asks for {asked}, {'/'.join(spec.get('accessModes') or [])}",
            f"has {(status.get('capacity') or {})['storage']}" if status.get("capacity") else "",
            f"volume {spec['volumeName']}" if spec.get("volumeName") else "",
        )
    ]
    classes, unknown = related_list(related, "storageclasses")
    lines += unknown or [_classes(spec.get("storageClassName"), classes)]
    pods, unknown = related_list(related, "pods")
    lines += unknown or [f"used by pods: {', '.join(map(name_of, pods)) or 'none'}"]
    volumes, unknown = related_list(related, "persistentvolumes")
    return lines + unknown + (["volumes:", *indented(some([_volume(item) for item in volumes], 10))] if volumes else [])


def _classes(wanted: object, classes: Sequence[Object]) -> str:
    names = [f"{name_of(item)} ({item.get('provisioner')}, {item.get('volumeBindingMode')})" for item in classes]
    known = ", ".join(names)
    if wanted and wanted not in [name_of(item) for item in classes]:
        return f"the storage class {wanted} does not exist; there are: {known or 'none'}"
    return f"storage classes: {known or 'none'}"


def _volume(volume: Object) -> str:
    spec, status = volume.get("spec") or {}, volume.get("status") or {}
    claim = spec.get("claimRef") or {}
    return joined(
        f"{name_of(volume)}: {status.get('phase')}",
        f"{(spec.get('capacity') or {}).get('storage')}, {'/'.join(spec.get('accessModes') or [])}",
        f"class {spec.get('storageClassName') or '(none)'}",
        f"claim {claim.get('namespace')}/{claim.get('name')}" if claim else "",
        f"node affinity {short(spec['nodeAffinity'], 200)}" if spec.get("nodeAffinity") else "",
    )


def _autoscaler(obj: Object, related: Related, now: datetime) -> list[str]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    target = spec.get("scaleTargetRef") or {}
    current = {_metric_name(item): _metric_value(item, "current") for item in status.get("currentMetrics") or []}
    lines = [
        f"replicas: now {status.get('currentReplicas', 0)}, wanted {status.get('desiredReplicas', 0)}, "
        f"between {spec.get('minReplicas', 1)} and {spec.get('maxReplicas')}",
        f"target: {target.get('kind')} {target.get('name')}",
    ]
    found = related.get("target", ())
    if isinstance(found, Gap):
        lines[-1] += f" (not seen: {found.message})"
    for item in spec.get("metrics") or []:
        name = _metric_name(item)
        lines.append(f"metric {name}: now {current.get(name) or 'unknown'}, target {_metric_value(item, 'target')}")
    return lines


def _metric(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a metric that its type names: ``Resource`` -> ``resource``."""
    kind = str(item.get("type") or "")
    return item.get(kind[:1].lower() + kind[1:]) or {}


def _metric_name(item: Mapping[str, Any]) -> str:
    part = _metric(item)
    name = part.get("name") or (part.get("metric") or {}).get("name")
    return joined(str(part.get("container") or ""), str(name), separator=" ")


def _metric_value(item: Mapping[str, Any], key: str) -> str:
    value = _metric(item).get(key) or {}
    if value.get("averageUtilization") is not None:
        return f"{value['averageUtilization']}% of requests"
    return str(value.get("averageValue") or value.get("value") or "")


def _config_map(obj: Object, related: Related, now: datetime) -> list[str]:
    data = obj.get("data") or {}
    lines = [f"{key} ({len(str(value).encode())} bytes): {short(value, 200)}" for key, value in data.items()]
    lines += [f"{key} (binary)" for key in obj.get("binaryData") or {}]
    fixed = ["immutable"] if obj.get("immutable") else []
    return [*fixed, f"keys: {len(lines)}", *indented(some(lines, 40))]


def _secret(obj: Object, related: Related, now: datetime) -> list[str]:
    data = {**(obj.get("data") or {}), **(obj.get("stringData") or {})}
    keys = [f"{key} {value}" for key, value in data.items()]
    return [f"type: {obj.get('type')}", f"keys: {len(keys)}", *indented(some(keys, 40))]


_SECTIONS: dict[str, Section] = {
    "Pod": _pod,
    "Deployment": _workload,
    "ReplicaSet": _workload,
    "StatefulSet": _workload,
    "DaemonSet": _workload,
    "Job": _job,
    "CronJob": _cron_job,
    "Service": service_lines,
    "Ingress": ingress_lines,
    "Node": _node,
    "PersistentVolumeClaim": _claim,
    "HorizontalPodAutoscaler": _autoscaler,
    "ConfigMap": _config_map,
    "Secret": _secret,
}
