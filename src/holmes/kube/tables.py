"""Tables like the API server's, made from objects, for sources that saved none.

Only the kinds that people look at most have columns of their own; the others have name, status and age.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from holmes.kube.cluster import Object, Table
from holmes.kube.related import age, condition, name_of, namespace_of, pod_status, restarts, selector_text

NONE = "<none>"


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    cell: Callable[[Object, datetime], Any]
    wide: bool = False


def make_table(kind: str, objects: Sequence[Object], now: datetime) -> Table:
    """The table of objects of one kind (``Pod``), in their order."""
    columns = [_NAME, *_COLUMNS.get(kind, _OTHER), *([] if kind == "Event" else [_AGE]), *_WIDE.get(kind, [])]
    return Table(
        columns=tuple(column.name for column in columns),
        priorities=tuple(int(column.wide) for column in columns),
        rows=tuple(tuple(_text(column.cell(obj, now)) for column in columns) for obj in objects),
        names=tuple((namespace_of(obj), name_of(obj)) for obj in objects),
    )


def _text(value: Any) -> str:
    return NONE if value is None or value == "" else str(value)


def _at(path: str, default: Any = None) -> Callable[[Object, datetime], Any]:
    keys = path.split(".")

    def cell(obj: Object, now: datetime) -> Any:
        value: Any = obj
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return default if value is None else value

    return cell


def _ago(*paths: str) -> Callable[[Object, datetime], str]:
    cells = [_at(path) for path in paths]
    return lambda obj, now: next((age(cell(obj, now), now) for cell in cells if cell(obj, now)), "<unknown>")


def _of_total(ready: str, total: str) -> Callable[[Object, datetime], str]:
    return lambda obj, now: f"{_at(ready, 0)(obj, now)}/{_at(total, 1)(obj, now)}"


def _containers(field: str, path: str = "spec.template.spec") -> Callable[[Object, datetime], str]:
    spec = _at(f"{path}.containers", [])
    return lambda obj, now: ",".join(str(container.get(field)) for container in spec(obj, now))


def _pod_ready(pod: Object, now: datetime) -> str:
    states = (pod.get("status") or {}).get("containerStatuses") or []
    total = len((pod.get("spec") or {}).get("containers") or [])
    return f"{sum(bool(state.get('ready')) for state in states)}/{total}"


def _node_status(node: Object, now: datetime) -> str:
    ready = condition(node, "Ready")
    words = [{"True": "Ready", "False": "NotReady"}.get(str((ready or {}).get("status")), "Unknown")]
    if (node.get("spec") or {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _job_status(job: Object, now: datetime) -> str:
    for name, word in (("Complete", "Complete"), ("Failed", "Failed"), ("Suspended", "Suspended")):
        found = condition(job, name)
        if found and found.get("status") == "True":
            return word
    return "Running"


def _ports(service: Object, now: datetime) -> str:
    ports = (service.get("spec") or {}).get("ports") or []
    return ",".join(f"{port.get('port')}/{port.get('protocol', 'TCP')}" for port in ports)


def _involved(event: Object, now: datetime) -> str:
    involved = event.get("involvedObject") or {}
    return f"{str(involved.get('kind')).lower()}/{involved.get('name')}"


def _status(obj: Object, now: datetime) -> Any:
    status = obj.get("status") or {}
    ready = condition(obj, "Ready")
    return status.get("phase") or (ready and f"Ready={ready.get('status')}")


_NAME = _Column("Name", lambda obj, now: name_of(obj))
_AGE = _Column("Age", _ago("metadata.creationTimestamp"))
_SELECTOR = _Column("Selector", lambda obj, now: selector_text((obj.get("spec") or {}).get("selector")), wide=True)
_OTHER = [_Column("Status", _status)]
_TEMPLATE = [_Column("Containers", _containers("name"), True), _Column("Images", _containers("image"), True)]

_COLUMNS: dict[str, list[_Column]] = {
    "Pod": [
        _Column("Ready", _pod_ready),
        _Column("Status", lambda pod, now: pod_status(pod)),
        _Column("Restarts", lambda pod, now: restarts(pod)),
    ],
    "Deployment": [
        _Column("Ready", _of_total("status.readyReplicas", "spec.replicas")),
        _Column("Up-to-date", _at("status.updatedReplicas", 0)),
        _Column("Available", _at("status.availableReplicas", 0)),
    ],
    "ReplicaSet": [
        _Column("Desired", _at("spec.replicas", 0)),
        _Column("Current", _at("status.replicas", 0)),
        _Column("Ready", _at("status.readyReplicas", 0)),
    ],
    "StatefulSet": [_Column("Ready", _of_total("status.readyReplicas", "spec.replicas"))],
    "DaemonSet": [
        _Column("Desired", _at("status.desiredNumberScheduled", 0)),
        _Column("Ready", _at("status.numberReady", 0)),
        _Column("Available", _at("status.numberAvailable", 0)),
    ],
    "Job": [
        _Column("Status", _job_status),
        _Column("Completions", _of_total("status.succeeded", "spec.completions")),
    ],
    "CronJob": [
        _Column("Schedule", _at("spec.schedule")),
        _Column("Suspend", _at("spec.suspend", False)),
        _Column("Last Schedule", _ago("status.lastScheduleTime")),
    ],
    "Service": [
        _Column("Type", _at("spec.type")),
        _Column("Cluster-IP", _at("spec.clusterIP")),
        _Column("Port(s)", _ports),
    ],
    "Node": [_Column("Status", _node_status), _Column("Version", _at("status.nodeInfo.kubeletVersion"))],
    "PersistentVolumeClaim": [
        _Column("Status", _at("status.phase")),
        _Column("Volume", _at("spec.volumeName")),
        _Column("Capacity", _at("status.capacity.storage")),
        _Column("StorageClass", _at("spec.storageClassName")),
    ],
    "ConfigMap": [_Column("Data", lambda obj, now: len(obj.get("data") or {}))],
    "Event": [
        _Column("Last Seen", _ago("lastTimestamp", "series.lastObservedTime", "eventTime", "firstTimestamp")),
        _Column("Type", _at("type")),
        _Column("Reason", _at("reason")),
        _Column("Object", _involved),
        _Column("Message", _at("message")),
    ],
}

_WIDE: dict[str, list[_Column]] = {
    "Pod": [_Column("IP", _at("status.podIP"), True), _Column("Node", _at("spec.nodeName"), True)],
    "Deployment": [*_TEMPLATE, _SELECTOR],
    "ReplicaSet": [*_TEMPLATE, _SELECTOR],
    "StatefulSet": _TEMPLATE,
    "DaemonSet": [*_TEMPLATE, _SELECTOR],
    "Job": _TEMPLATE,
    "Service": [_SELECTOR],
}
