"""A small cluster in objects: two namespaces, healthy and sick workloads, events, logs, metrics, a custom resource."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from holmes.kube.cluster import Gap, Object
from holmes.kube.snapshot import SnapshotCluster

NOW = datetime(2025, 6, 1, 12, 0, 0, tzinfo=UTC)


def ago(**delta: float) -> str:
    return (NOW - timedelta(**delta)).strftime("%Y-%m-%dT%H:%M:%SZ")


def obj(kind: str, name: str, namespace: str = "", api: str = "v1", **rest: Any) -> Object:
    metadata: dict[str, Any] = {"name": name, "creationTimestamp": ago(days=2), "uid": f"{kind}-{namespace}-{name}"}
    metadata |= {"namespace": namespace} if namespace else {}
    metadata |= rest.pop("metadata", {})
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **rest}


def owned(kind: str, name: str, namespace: str) -> list[dict[str, Any]]:
    return [{"kind": kind, "name": name, "uid": f"{kind}-{namespace}-{name}", "controller": True}]


def deployment(name: str, namespace: str, replicas: int = 1, ready: int = 1) -> Object:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "app", "image": f"{name}:1.0"}]},
    }
    return obj(
        "Deployment",
        name,
        namespace,
        "apps/v1",
        metadata={"labels": {"app": name}},
        spec={"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template},
        status={"replicas": replicas, "readyReplicas": ready, "updatedReplicas": replicas, "availableReplicas": ready},
    )


def replica_set(name: str, of: str, namespace: str) -> Object:
    return obj(
        "ReplicaSet",
        name,
        namespace,
        "apps/v1",
        metadata={"ownerReferences": owned("Deployment", of, namespace), "labels": {"app": of}},
        spec={"replicas": 1, "selector": {"matchLabels": {"app": of}}},
    )


def pod(name: str, namespace: str, app: str, owner: tuple[str, str] | None = None, **state: Any) -> Object:
    """A running pod with the container ``app``; ``state`` overrides parts of its container's status."""
    status = {
        "name": "app",
        "ready": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": ago(hours=1)}},
        **state,
    }
    ready = "True" if status["ready"] else "False"
    return obj(
        "Pod",
        name,
        namespace,
        metadata={
            "labels": {"app": app},
            "ownerReferences": owned(*owner, namespace) if owner else [],
            "managedFields": [{"manager": "kubelet"}],
        },
        spec={
            "nodeName": "node-1",
            "containers": [
                {
                    "name": "app",
                    "image": f"{app}:1.0",
                    "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
                }
            ],
        },
        status={
            "phase": "Running",
            "podIP": "10.0.0.7",
            "conditions": [{"type": "Ready", "status": ready}, {"type": "PodScheduled", "status": "True"}],
            "containerStatuses": [status],
        },
    )


def event(name: str, namespace: str, about: tuple[str, str], reason: str, message: str, **rest: Any) -> Object:
    defaults = {"type": "Warning", "count": 1, "firstTimestamp": ago(minutes=30), "lastTimestamp": ago(minutes=5)}
    involved = {"kind": about[0], "name": about[1], "namespace": namespace}
    return obj("Event", name, namespace, involvedObject=involved, reason=reason, message=message, **(defaults | rest))


def usage(name: str, namespace: str, cpu: str, memory: str) -> Object:
    containers = [{"name": "app", "usage": {"cpu": cpu, "memory": memory}}]
    return obj("PodMetrics", name, namespace, "metrics.k8s.io/v1beta1", containers=containers)


ENDED = {"reason": "OOMKilled", "exitCode": 137, "finishedAt": ago(minutes=10)}
RESTARTED = {"ready": False, "restartCount": 4, "lastState": {"terminated": ENDED}}
WAITING = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image web:9"}}

CATALOG = "catalog-7f9d8c6b5-x2k4p"
CATALOG_2 = "catalog-7f9d8c6b5-q8w7z"


def objects() -> list[Object]:
    return [
        *(obj("Namespace", name, status={"phase": "Active"}) for name in ("default", "shop", "prod", "empty")),
        obj("Node", "node-1", status={"allocatable": {"cpu": "2", "memory": "4Gi"}}),
        deployment("catalog", "shop", 2, 1),
        replica_set("catalog-7f9d8c6b5", "catalog", "shop"),
        pod(CATALOG, "shop", "catalog", ("ReplicaSet", "catalog-7f9d8c6b5"), **RESTARTED),
        pod(CATALOG_2, "shop", "catalog", ("ReplicaSet", "catalog-7f9d8c6b5")),
        deployment("web", "shop", 1, 0),
        replica_set("web-5c4d3b2a1", "web", "shop"),
        pod("web-5c4d3b2a1-aaaaa", "shop", "web", ("ReplicaSet", "web-5c4d3b2a1"), ready=False, state=WAITING),
        obj("Service", "catalog", "shop", spec={"type": "ClusterIP", "selector": {"app": "catalog"}}),
        obj("ConfigMap", "settings", "shop", data={"mode": "fast"}),
        obj("Secret", "password", "shop", type="Opaque", data={"password": "aHVudGVyMg=="}),
        deployment("web", "prod"),
        replica_set("web-6d5e4f3c2", "web", "prod"),
        pod("web-6d5e4f3c2-bbbbb", "prod", "web", ("ReplicaSet", "web-6d5e4f3c2")),
        obj(
            "StatefulSet", "ledger", "prod", "apps/v1", spec={"replicas": 0, "selector": {"matchLabels": {"app": "l"}}}
        ),
        obj("Widget", "gizmo", "prod", "example.com/v1", spec={"size": 3}),
        event("e1", "shop", ("Pod", CATALOG), "BackOff", f"Back-off restarting app in pod {CATALOG}", count=7),
        event("e2", "shop", ("Pod", CATALOG_2), "BackOff", f"Back-off restarting app in pod {CATALOG_2}", count=2),
        event("e3", "shop", ("Deployment", "catalog"), "ScalingReplicaSet", "Scaled up", type="Normal"),
        event("e4", "shop", ("Pod", "web-5c4d3b2a1-aaaaa"), "Failed", "no such image", lastTimestamp=ago(minutes=1)),
        usage(CATALOG, "shop", "150m", "120Mi"),
        usage(CATALOG_2, "shop", "20000000n", "32Mi"),
        obj("NodeMetrics", "node-1", "", "metrics.k8s.io/v1beta1", usage={"cpu": "500m", "memory": "3Gi"}),
    ]


def log_lines(count: int, text: str = "request {n} served", start: datetime = NOW - timedelta(minutes=20)) -> list[str]:
    """Lines with the kubelet's time, a second apart."""
    times = (start + timedelta(seconds=n) for n in range(count))
    return [f"{at:%Y-%m-%dT%H:%M:%S}.000000001Z {text.format(n=n)}" for n, at in enumerate(times)]


def logs() -> dict[str, list[str]]:
    early = log_lines(300)
    early[10] = early[10].replace("request 10 served", "ERROR: cache is full")
    return {
        f"shop/{CATALOG}/app": early,
        f"shop/{CATALOG}/app.previous": log_lines(3, "loading {n}", NOW - timedelta(minutes=11)),
        f"shop/{CATALOG_2}/app": log_lines(5, "ok {n}"),
    }


def shop(extra: list[Object] | None = None, gaps: dict[str, Gap] | None = None, **more: Any) -> SnapshotCluster:
    everything = [*objects(), *(extra or [])]
    return SnapshotCluster.from_objects(everything, now=NOW, logs=logs(), gaps=gaps, cluster="shop-test", **more)


FORBIDDEN = Gap("pods in all namespaces", "forbidden", 'User "jane" cannot list resource "pods" at the cluster scope')
