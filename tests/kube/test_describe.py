"""Digests: what stands in them for each kind, and that what was not seen is never shown as none."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Any

import pytest

from holmes.kube.cluster import Gap
from holmes.kube.conditions import is_fine
from holmes.kube.describe import describe, digest
from holmes.kube.event_lines import event_lines
from holmes.kube.live import LiveCluster
from holmes.kube.quantities import bytes_text, cpu_text, quantity

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
FORBIDDEN = Gap("events", "forbidden", "you may not")


def at(minutes: float) -> str:
    """That many minutes ago."""
    return datetime.fromtimestamp(NOW.timestamp() - 60 * minutes, UTC).isoformat()


def obj(kind: str, name: str = "web", spec: Any = None, status: Any = None, **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "prod", "creationTimestamp": at(30), **more.pop("metadata", {})}
    return {"kind": kind, "metadata": metadata, "spec": spec or {}, "status": status or {}, **more}


def text_of(thing: dict[str, Any], events: Any = (), owners: Any = (), **related: Any) -> str:
    return digest(thing, events, owners, related, NOW)


def has(text: str, *lines: str) -> None:
    missing = [line for line in lines if line not in text]
    assert not missing, f"{missing} not in:\n{text}"


def event(
    reason: str, message: str, minutes: float, count: int = 1, about: str = "web", kind: str = "Warning"
) -> dict[str, Any]:
    times = {"firstTimestamp": at(minutes + count), "lastTimestamp": at(minutes)}
    return {
        "type": kind,
        "reason": reason,
        "message": message,
        "count": count,
        "involvedObject": {"kind": "Pod", "name": about},
        **times,
    }


CONTAINER = {
    "name": "app",
    "image": "shop:1.2",
    "args": ["--port", "8080"],
    "ports": [{"containerPort": 8080, "name": "http"}],
    "resources": {"limits": {"memory": "32Mi"}},
    "livenessProbe": {"httpGet": {"port": "http", "path": "/healthz"}, "failureThreshold": 2},
    "env": [
        {"name": "MODE", "value": "fast"},
        {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "pw"}}},
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
    ],
    "envFrom": [{"configMapRef": {"name": "settings", "optional": True}}],
    "volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "kube-api-access-x", "mountPath": "/var/run"}],
}
VOLUMES = [
    {"name": "data", "persistentVolumeClaim": {"claimName": "data-web"}},
    {"name": "cfg", "configMap": {"name": "files", "items": [{"key": "a.conf"}]}},
    {"name": "kube-api-access-x", "projected": {}},
]


def crashing() -> dict[str, Any]:
    end = {"exitCode": 137, "reason": "OOMKilled", "startedAt": at(4), "finishedAt": at(3)}
    state = {
        "name": "app",
        "ready": False,
        "restartCount": 7,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}},
        "lastState": {"terminated": end},
    }
    conditions = [
        {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "lastTransitionTime": at(3)},
        {"type": "ContainersReady", "status": "False", "reason": "ContainersNotReady", "lastTransitionTime": at(3)},
        {"type": "PodScheduled", "status": "True"},
    ]
    status = {"phase": "Running", "containerStatuses": [state], "conditions": conditions}
    return obj("Pod", spec={"nodeName": "n-1", "containers": [CONTAINER], "volumes": VOLUMES}, status=status)


def test_a_crashing_pod() -> None:
    owners = [("ReplicaSet", "web-7f"), ("Deployment", "web")]
    events = [event("BackOff", "Back-off restarting", 2, 12), event("Pulled", "Image is there", 4, kind="Normal")]
    text = text_of(crashing(), events, owners)
    has(
        text,
        "Pod prod/web, 30m old, owned by ReplicaSet web-7f of Deployment web\n",
        "status: CrashLoopBackOff, 0/1 ready, 7 restarts, node n-1",
        "container app: image shop:1.2",
        "state: waiting, CrashLoopBackOff: back-off 5m0s",
        "last end: 3m ago: exit 137 (OOMKilled), after 60s",
        "resources: limits memory=32Mi",
        "liveness: http-get :http/healthz, delay 0s, every 10s, timeout 1s, fails after 2",
        "MODE=fast",
        "PASSWORD from secret db, key pw",
        "NODE from field spec.nodeName",
        "all keys of configmap settings (optional)",
        "mounts: /data from data\n",
        "data: claim data-web",
        "cfg: configmap files, keys a.conf",
        "not fine: Ready=False ContainersNotReady for 3m",
        "Warning BackOff, 12 times in 12m, last 2m ago: Back-off restarting",
    )
    assert "kube-api-access" not in text
    assert text.count("not fine") == 1
    assert text.index("Pulled") < text.index("Warning BackOff")


def test_what_was_not_seen_is_said() -> None:
    has(text_of(crashing(), FORBIDDEN), "events: not known: you may not")
    service = obj("Service", spec={"selector": {"a": "b"}})
    unseen = text_of(service, FORBIDDEN, pods=FORBIDDEN, endpointslices=FORBIDDEN)
    has(unseen, "pods: not known: you may not", "endpoints: not known: you may not")
    assert "none" not in unseen
    has(text_of(obj("Deployment"), pods=FORBIDDEN, replicasets=FORBIDDEN), "pods: not known", "replicasets: not known")
    has(text_of(obj("Node"), pods=FORBIDDEN), "pods: not known: you may not")
    backend = {"service": {"name": "a", "port": {"number": 1}}}
    ingress = obj("Ingress", spec={"rules": [{"http": {"paths": [{"path": "/", "backend": backend}]}}]})
    has(text_of(ingress, services=FORBIDDEN), "service a:1 (services not known: you may not)")


def test_an_object_that_is_being_deleted() -> None:
    thing = obj("ConfigMap", metadata={"deletionTimestamp": at(5), "finalizers": ["example.com/hold"]})
    has(text_of(thing), "being deleted since 5m, finalizers: example.com/hold")


def replica_set(name: str, revision: int, wanted: int, image: str, conditions: Any = ()) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "app", "image": image}]}}
    metadata = {"annotations": {"deployment.kubernetes.io/revision": str(revision)}}
    status = {"readyReplicas": 0, "conditions": list(conditions)}
    return obj("ReplicaSet", name, {"replicas": wanted, "template": template}, status, metadata=metadata)


def test_a_stuck_deployment() -> None:
    conditions = [
        {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "timed out"}
    ]
    spec = {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"spec": {"containers": [CONTAINER]}},
    }
    status = {
        "replicas": 3,
        "updatedReplicas": 1,
        "readyReplicas": 2,
        "observedGeneration": 3,
        "conditions": conditions,
    }
    failed = {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota: small"}
    sets = [
        replica_set("web-1", 9, 2, "shop:1"),
        replica_set("web-2", 10, 1, "shop:2", [failed]),
        replica_set("old", 1, 0, "x"),
    ]
    text = text_of(
        obj("Deployment", spec=spec, status=status, metadata={"generation": 4}),
        pods=[crashing()],
        replicasets=sets,
        warnings=[event("FailedCreate", 'pods "web-2-abcde" is forbidden: exceeded quota', 1, about="web-2")],
    )
    has(
        text,
        "replicas: wanted 3, existing 3, updated 1, ready 2, available 0",
        "the controller has seen generation 3 of 4",
        "web-2 (revision 10, 30m old): wanted 1, ready 0, image shop:2",
        "cannot make pods: exceeded quota: small",
        "web: CrashLoopBackOff, 0/1 ready, 7 restarts, app ended 3m ago: exit 137 (OOMKilled), after 60s, 30m old",
        "not fine: Progressing=False ProgressDeadlineExceeded (timed out)",
        "warnings about its parts:",
    )
    assert text.index("web-2 (revision 10") < text.index("web-1 (revision 9")
    assert "old (revision" not in text


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ("http", "port 80/TCP to http\n"),
        (8080, "port 80/TCP to 8080\n"),
        ("grpc", "port 80/TCP to grpc: NO container of the pods has a port of that name"),
        (9090, "port 80/TCP to 9090 (the containers declare 8080)"),
    ],
)
def test_a_service_and_its_target_port(target: Any, line: str) -> None:
    service = obj("Service", spec={"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": target}]})
    has(text_of(service, pods=[crashing()], endpointslices=[]), line, "endpoints: 0 ready, 0 not ready")


def test_a_service_without_pods() -> None:
    service = obj("Service", spec={"type": "LoadBalancer", "selector": {"app": "web"}})
    has(
        text_of(service, pods=[], endpointslices=[]),
        "type: LoadBalancer, load balancer pending",
        "selector: app=web",
        "pods: the selector matches no pod of the namespace",
    )
    has(text_of(obj("Service"), endpointslices=[]), "selector: none (its endpoints are made by hand")


def test_an_ingress_and_its_backends() -> None:
    def path(service: str, port: int) -> dict[str, Any]:
        return {"path": f"/{service}", "backend": {"service": {"name": service, "port": {"number": port}}}}

    paths = [path("web", 80), path("gone", 80), path("web", 81)]
    spec = {
        "rules": [{"host": "shop.test", "http": {"paths": paths}}],
        "tls": [{"hosts": ["shop.test"], "secretName": "crt"}],
    }
    services = [obj("Service", "web", {"ports": [{"port": 80}]})]
    labels = {"labels": {"kubernetes.io/service-name": "web"}}
    slices = [obj("EndpointSlice", "web-x", metadata=labels, endpoints=[{"addresses": ["10.0.0.1"]}])]
    has(
        text_of(obj("Ingress", spec=spec), services=services, endpointslices=slices),
        "shop.test/web to service web:80 (1 endpoints ready, 0 not)",
        "shop.test/gone to service gone:80: NO such service",
        "shop.test/web to service web:81: the service has NO such port, only 80",
        "tls: shop.test with secret crt",
    )


def test_a_node_under_pressure() -> None:
    conditions = [
        {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting"},
        {"type": "MemoryPressure", "status": "True", "reason": "KubeletHasInsufficientMemory"},
        {"type": "DiskPressure", "status": "False"},
    ]
    taints = [{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]
    status = {"conditions": conditions, "allocatable": {"cpu": "2", "memory": "4Gi", "pods": "110"}}
    node = obj("Node", "n-1", {"unschedulable": True, "taints": taints}, status)
    asking = {"name": "a", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}
    pods = [
        obj("Pod", "p", {"containers": [asking]}),
        obj("Pod", "done", {"containers": [asking]}, {"phase": "Succeeded"}),
    ]
    has(
        text_of(node, pods=pods),
        "status: Unknown (the kubelet is silent), unschedulable (cordoned)",
        "taints: node.kubernetes.io/unreachable=:NoSchedule",
        "cpu: 2 to give, requests 500m (25%), limits 0",
        "memory: 4Gi to give, requests 1Gi (25%)",
        "not fine: Ready=Unknown NodeStatusUnknown (Kubelet stopped posting)",
        "not fine: MemoryPressure=True",
        "pods with problems: 1",
        "prod/p: Unknown",
    )


def test_a_pending_claim() -> None:
    spec = {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = obj("PersistentVolumeClaim", "data", spec, {"phase": "Pending"})
    using = obj("Pod", "db-0", {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]})
    has(
        text_of(claim, storageclasses=[obj("StorageClass", "slow")], pods=[using]),
        "phase: Pending, class fast, asks for 1Gi, ReadWriteOnce",
        "the storage class fast does not exist; there are: slow",
        "used by pods: db-0",
    )


def test_jobs() -> None:
    conditions = [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "too often"}]
    job = obj("Job", "j-1", {"backoffLimit": 2}, {"failed": 3, "startTime": at(10), "conditions": conditions})
    has(
        text_of(job),
        "state: Failed (BackoffLimitExceeded: too often), succeeded 0 of 1, failed 3",
        "limits: backoffLimit=2",
    )
    cron_job = obj("CronJob", "j", {"schedule": "* * * * *", "suspend": True}, {"lastScheduleTime": at(10)})
    text = text_of(cron_job, jobs=[job], pods=[])
    has(text, "schedule: * * * * *, SUSPENDED", "last run 10m ago, no success yet", "j-1: state: Failed")


def test_an_autoscaler_without_metrics() -> None:
    target = {"type": "Utilization", "averageUtilization": 50}
    metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    spec = {
        "scaleTargetRef": {"kind": "Deployment", "name": "web"},
        "minReplicas": 1,
        "maxReplicas": 3,
        "metrics": metrics,
    }
    conditions = [{"type": "ScalingActive", "status": "False", "reason": "FailedGetResourceMetric"}]
    scaler = obj("HorizontalPodAutoscaler", spec=spec, status={"conditions": conditions})
    has(
        text_of(scaler, target=Gap("Deployment", "not_found", "gone")),
        "target: Deployment web (not seen: gone)",
        "metric cpu: now unknown, target 50% of requests",
        "not fine: ScalingActive=False",
    )


def test_maps_and_secrets_show_their_keys() -> None:
    has(text_of(obj("ConfigMap", data={"a.conf": "x: 1\ny: 2"})), "keys: 1", "a.conf (9 bytes): x: 1 y: 2")
    has(text_of(obj("Secret", data={"pw": "(hidden, 3 bytes)"}, type="Opaque")), "type: Opaque", "pw (hidden, 3 bytes)")


def test_other_kinds_are_yaml_with_what_is_not_fine() -> None:
    conditions = [{"type": "Ready", "status": "False", "reason": "Denied"}, {"type": "Issuing", "status": "True"}]
    text = text_of(obj("Certificate", spec={"dnsNames": ["shop.test"]}, status={"conditions": conditions}))
    has(text, "spec:\n  dnsNames:\n  - shop.test", "not fine: Ready=False Denied")
    assert "conditions" not in text
    long = obj("Thing", spec={f"key{number}": "x" * 500 for number in range(500)})
    assert len(text_of(long)) < 20_000


@pytest.mark.parametrize(
    ("kind", "status", "fine"),
    [
        ("Ready", "True", True),
        ("Ready", "Unknown", False),
        ("DiskPressure", "False", True),
        ("DiskPressure", "Unknown", False),
        ("ReplicaFailure", "True", False),
        ("Failed", "True", False),
        ("Established", "True", True),
        ("DisruptionTarget", "True", False),
        ("ScalingLimited", "False", True),
    ],
)
def test_which_conditions_are_fine(kind: str, status: str, fine: bool) -> None:
    assert is_fine({"type": kind, "status": status}) is fine


def test_the_ready_condition_of_a_pod_that_ended_well_is_fine() -> None:
    assert is_fine({"type": "Ready", "status": "False", "reason": "PodCompleted"})


def test_events_that_differ_in_generated_names_are_one_line() -> None:
    events = [
        event("FailedCreate", f'pods "web-{end}" is forbidden', minutes)
        for minutes, end in ((9, "x2x4b"), (1, "bcdfg"))
    ]
    lines = event_lines(events, NOW)
    assert lines == ["events:", '  Warning FailedCreate, 2 times in 9m, last 60s ago: pods "web-bcdfg" is forbidden']
    many = [event(f"R{number}", "m", 50 - number) for number in range(30)]
    lines = event_lines(many, NOW, named=True)
    assert lines[1] == "  (18 older ones left out)"
    assert lines[-1].startswith("  Warning R29 Pod web, 21m ago")


@pytest.mark.parametrize(
    ("text", "value"), [("250m", 0.25), ("2", 2), ("64Mi", 67108864), ("1.5G", 1.5e9), ("1e3", 1000), ("", 0), ("x", 0)]
)
def test_quantities(text: str, value: float) -> None:
    assert quantity(text) == pytest.approx(value)


def test_quantities_as_text() -> None:
    assert [cpu_text(value) for value in (0.25, 2, 12.5, 0)] == ["250m", "2", "12.5", "0"]
    assert [bytes_text(value) for value in (0, 1000, 67108864, 1.5 * 2**30)] == ["0", "1000", "64Mi", "1.5Gi"]


@pytest.mark.anyio
async def test_describe_fetches_what_belongs_to_an_object(
    api: Any, connect: Callable[..., AbstractAsyncContextManager[LiveCluster]]
) -> None:
    owner = {"ownerReferences": [{"kind": "ReplicaSet", "name": "web-7f", "controller": True}]}
    pod = crashing()
    pod["metadata"] |= owner
    api.on("/api/v1/namespaces/prod/pods/web", pod)
    above = {"metadata": {"ownerReferences": [{"kind": "Deployment", "name": "web", "controller": True}]}}
    api.on("/apis/apps/v1/namespaces/prod/replicasets/web-7f", {"kind": "ReplicaSet", **above})
    api.refuse("/api/v1/namespaces/prod/events", 403, "Forbidden", "events is forbidden")
    async with connect() as cluster:
        found = await describe(cluster, "pod", "web")
        missing = await describe(cluster, "pod", "gone")
    assert isinstance(found, str)
    has(found, "owned by ReplicaSet web-7f of Deployment web", "events: not known: events is forbidden")
    assert isinstance(missing, Gap)
    asked = next(asked for asked in api.asked if asked.path.endswith("/events"))
    assert asked.query["fieldSelector"] == "involvedObject.name=web,involvedObject.kind=Pod"


@pytest.mark.anyio
async def test_describe_of_a_deployment_leaves_out_pods_of_others(
    api: Any, connect: Callable[..., AbstractAsyncContextManager[LiveCluster]]
) -> None:
    selector = {"matchLabels": {"app": "web"}}
    api.on("/apis/apps/v1/namespaces/prod/deployments/web", obj("Deployment", spec={"selector": selector}))
    pods = []
    for name, set_name in (("mine", "web-7f"), ("theirs", "other-7f")):
        pod = crashing()
        references = [{"kind": "ReplicaSet", "name": set_name, "controller": True}]
        pod["metadata"] |= {"name": name, "labels": {"app": "web"}, "ownerReferences": references}
        pods.append(pod)
    api.on("/api/v1/namespaces/prod/pods", {"kind": "PodList", "items": pods})
    api.on("/apis/apps/v1/namespaces/prod/replicasets", {"kind": "ReplicaSetList", "items": []})
    warnings = [event("BackOff", "m", 1, about="mine"), event("Other", "m", 1, about="theirs")]
    api.on("/api/v1/namespaces/prod/events", {"kind": "EventList", "items": warnings})
    async with connect() as cluster:
        found = await describe(cluster, "deploy", "web")
    assert isinstance(found, str)
    has(found, "pods: 1, 0 ready", "mine: CrashLoopBackOff", "Warning BackOff Pod mine")
    assert "theirs: " not in found and "Pod theirs" not in found
