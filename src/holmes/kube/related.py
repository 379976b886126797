"""How objects belong together, and how pods and ages are named: pure functions on plain objects.

``pod_status`` and ``age`` print what kubectl prints (STATUS and AGE of ``kubectl get pods``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from holmes.kube.cluster import Object

_LABEL_SELECTOR = ("matchLabels", "matchExpressions")
_OVER_REPLICASETS = ("Deployment", "Rollout")


def name_of(obj: Object) -> str:
    """``metadata.name``, or ""."""
    return str((obj.get("metadata") or {}).get("name") or "")


def namespace_of(obj: Object) -> str:
    """``metadata.namespace``, or "" for cluster-wide objects."""
    return str((obj.get("metadata") or {}).get("namespace") or "")


def labels_of(obj: Object) -> dict[str, str]:
    """``metadata.labels``."""
    return dict((obj.get("metadata") or {}).get("labels") or {})


def selector_matches(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Whether labels satisfy a LabelSelector (matchLabels, matchExpressions) or a plain map of labels.

    As in the API an empty selector matches everything and a missing one (None) nothing. For a Service, whose empty
    selector means "none", use ``service_pods``.
    """
    if selector is None:
        return False
    if _is_plain(selector):
        return all(labels.get(key) == value for key, value in selector.items())
    wanted: Mapping[str, str] = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _expression_matches(expression, labels) for expression in selector.get("matchExpressions") or []
    )


def _is_plain(selector: Mapping[str, Any]) -> bool:
    """A map of labels (values are text), not a LabelSelector."""
    return not any(isinstance(selector[key], (Mapping, list)) for key in _LABEL_SELECTOR if key in selector)


def _expression_matches(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """One matchExpression. An operator that the API does not know matches nothing."""
    key = str(expression.get("key"))
    values = expression.get("values") or []
    match expression.get("operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return False


def selector_text(selector: Mapping[str, Any] | None) -> str:
    """A selector as ``kubectl -l`` takes it: ``app=web,tier in (a,b),!canary``."""
    if not selector:
        return ""
    if _is_plain(selector):
        return ",".join(f"{key}={value}" for key, value in selector.items())
    parts = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or []:
        key, values = expression.get("key"), ",".join(expression.get("values") or [])
        match expression.get("operator"):
            case "In":
                parts.append(f"{key} in ({values})")
            case "NotIn":
                parts.append(f"{key} notin ({values})")
            case "Exists":
                parts.append(f"{key}")
            case "DoesNotExist":
                parts.append(f"!{key}")
    return ",".join(parts)


def owner(obj: Object) -> tuple[str, str] | None:
    """Kind and name of the controller that owns an object (else of its first owner), None without one."""
    reference = _owner_reference(obj)
    return (str(reference.get("kind")), str(reference.get("name"))) if reference else None


def _owner_reference(obj: Object) -> Mapping[str, Any] | None:
    references = (obj.get("metadata") or {}).get("ownerReferences") or []
    return next((reference for reference in references if reference.get("controller")), next(iter(references), None))


def owner_chain(obj: Object, candidates: Iterable[Object]) -> list[tuple[str, str]]:
    """Owners from the nearest to the topmost, followed as far as ``candidates`` hold them."""
    by_name = {(item.get("kind"), namespace_of(item), name_of(item)): item for item in candidates}
    chain: list[tuple[str, str]] = []
    current: Object | None = obj
    while current is not None and (above := owner(current)) and above not in chain:
        chain.append(above)
        kind, name = above
        current = by_name.get((kind, namespace_of(obj), name)) or by_name.get((kind, "", name))
    return chain


def owned_by(child: Object, parent: Object) -> bool:
    """Whether ``parent`` owns ``child``: by uid, or by kind and name where the source has no uids."""
    reference = _owner_reference(child)
    if reference is None:
        return False
    uid, wanted = reference.get("uid"), (parent.get("metadata") or {}).get("uid")
    if uid and wanted:
        return bool(uid == wanted)
    kind = parent.get("kind")
    same_kind = kind is None or reference.get("kind") == kind
    return same_kind and reference.get("name") == name_of(parent) and namespace_of(child) == namespace_of(parent)


def pods_of(workload: Object, pods: Iterable[Object]) -> list[Object]:
    """The pods of a Deployment, ReplicaSet, StatefulSet, DaemonSet, Job or CronJob among ``pods``.

    Pods that another controller owns are left out even when the labels match. A Pod is its own pod.
    """
    here = [pod for pod in pods if namespace_of(pod) == namespace_of(workload)]
    kind, name = workload.get("kind"), name_of(workload)
    if kind == "Pod":
        return [pod for pod in here if name_of(pod) == name]
    if kind == "CronJob":  # its jobs are called <cronjob>-<minutes since 1970>
        return [pod for pod in here if _job_number(owner(pod), name).isdigit()]
    selector = (workload.get("spec") or {}).get("selector")
    if kind in _OVER_REPLICASETS:
        return [pod for pod in here if selector_matches(selector, labels_of(pod)) and _of_replicaset(owner(pod), name)]
    owned = [pod for pod in here if owned_by(pod, workload)]
    return owned or [
        pod for pod in here if owner(pod) is None and selector and selector_matches(selector, labels_of(pod))
    ]


def _job_number(above: tuple[str, str] | None, cron_job: str) -> str:
    return above[1].removeprefix(f"{cron_job}-") if above and above[0] == "Job" else ""


def _of_replicaset(above: tuple[str, str] | None, deployment: str) -> bool:
    return above is None or (above[0] == "ReplicaSet" and above[1].rpartition("-")[0] == deployment)


def service_pods(service: Object, pods: Iterable[Object]) -> list[Object]:
    """The pods that a Service selects, ready or not; none when it has no selector."""
    selector = (service.get("spec") or {}).get("selector")
    if not selector:
        return []
    return [
        pod for pod in pods if namespace_of(pod) == namespace_of(service) and selector_matches(selector, labels_of(pod))
    ]


def service_endpoints(service: Object, slices: Iterable[Object]) -> tuple[list[str], list[str]]:
    """Ready and not ready addresses of a Service in its EndpointSlices. A missing ``ready`` counts as ready (API)."""
    ready: dict[str, None] = {}
    other: dict[str, None] = {}
    for item in slices:
        of_service = labels_of(item).get("kubernetes.io/service-name") == name_of(service)
        if not of_service or namespace_of(item) != namespace_of(service):
            continue
        for endpoint in item.get("endpoints") or []:
            is_up = (endpoint.get("conditions") or {}).get("ready") is not False
            (ready if is_up else other).update(dict.fromkeys(endpoint.get("addresses") or []))
    return list(ready), [address for address in other if address not in ready]


def condition(obj: Object, name: str) -> Mapping[str, Any] | None:
    """The status condition of that type, None when there is none."""
    conditions: list[Mapping[str, Any]] = (obj.get("status") or {}).get("conditions") or []
    return next((item for item in conditions if item.get("type") == name), None)


def is_ready(pod: Object) -> bool:
    """Whether a pod takes traffic: its Ready condition is True and it is not being deleted."""
    ready = condition(pod, "Ready")
    return bool(ready and ready.get("status") == "True") and not pod.get("metadata", {}).get("deletionTimestamp")


def restarts(pod: Object) -> int:
    """Restarts of all containers of a pod, those of init containers included."""
    status = pod.get("status") or {}
    states = [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
    return sum(int(state.get("restartCount") or 0) for state in states)


def pod_status(pod: Object) -> str:
    """The STATUS column of ``kubectl get pods``: Running, CrashLoopBackOff, Init:1/2, Terminating, ...

    Follows the order of the API server's own printer (pkg/printers/internalversion, printPod).
    """
    status = pod.get("status") or {}
    reason = str(status.get("reason") or status.get("phase") or "Unknown")
    scheduled = condition(pod, "PodScheduled")
    if scheduled and scheduled.get("reason") == "SchedulingGated":
        reason = "SchedulingGated"
    initializing = _init_status(pod)
    initialized = condition(pod, "Initialized")
    if not initializing or (initialized and initialized.get("status") == "True"):
        reason = _containers_status(pod, initializing or reason)
    else:
        reason = initializing
    if (pod.get("metadata") or {}).get("deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            return "Unknown"
        if status.get("phase") not in ("Succeeded", "Failed"):
            return "Terminating"
    return reason


def _init_status(pod: Object) -> str:
    """``Init:...`` while an init container has not done its part, else ""."""
    specs = (pod.get("spec") or {}).get("initContainers") or []
    sidecars = {spec.get("name") for spec in specs if spec.get("restartPolicy") == "Always"}
    for index, container in enumerate((pod.get("status") or {}).get("initContainerStatuses") or []):
        state = container.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        if ended and not ended.get("exitCode"):
            continue
        if container.get("name") in sidecars and container.get("started"):
            continue
        if ended:
            return f"Init:{_ended(ended)}"
        if waiting.get("reason") and waiting["reason"] != "PodInitializing":
            return f"Init:{waiting['reason']}"
        return f"Init:{index}/{len(specs)}"
    return ""


def _containers_status(pod: Object, reason: str) -> str:
    running = False
    for container in reversed((pod.get("status") or {}).get("containerStatuses") or []):
        state = container.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        if waiting.get("reason"):
            reason = str(waiting["reason"])
        elif ended:
            reason = _ended(ended)
        elif container.get("ready") and "running" in state:
            running = True
    if reason == "Completed" and running:
        ready = condition(pod, "Ready")
        return "Running" if ready and ready.get("status") == "True" else "NotReady"
    return reason


def _ended(ended: Mapping[str, Any]) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def parse_time(timestamp: object) -> datetime | None:
    """An RFC 3339 time of the API (or YAML's datetime) in UTC; None when there is none or it cannot be read."""
    if isinstance(timestamp, datetime):
        return timestamp if timestamp.tzinfo else timestamp.replace(tzinfo=UTC)
    try:
        parsed = datetime.fromisoformat(str(timestamp)) if timestamp else None
    except ValueError:
        return None
    if parsed is None:
        return None
    return parsed.astimezone(UTC) if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def age(timestamp: object, now: datetime) -> str:
    """How long ago, as kubectl prints it: ``45s``, ``5m12s``, ``3h``, ``9d``; "" when the time is not known."""
    then = parse_time(timestamp)
    return duration((now - then).total_seconds()) if then else ""


def duration(seconds: float) -> str:
    """Seconds as kubectl prints them: two units while they matter (``5m12s``, ``7h30m``, ``3d4h``), then one."""
    total = max(0, int(seconds))
    minutes, hours, days = total // 60, total // 3600, total // 86400
    if total < 120:
        return f"{total}s"
    if minutes < 10:
        return f"{minutes}m" + (f"{total % 60}s" if total % 60 else "")
    if hours < 3:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h" + (f"{minutes % 60}m" if minutes % 60 else "")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return f"{days}d" + (f"{hours % 24}h" if hours % 24 else "")
    if days < 730:
        return f"{days}d"
    years = days // 365
    return f"{years}y" + (f"{days % 365}d" if years < 8 and days % 365 else "")
