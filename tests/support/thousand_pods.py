"""A cluster of the size that teams have: 1,000 pods of 250 workloads in 25 namespaces, with what a real API adds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holmes.kube.cluster import Object
from support.shop import NOW, ago, event, obj, owned

NAMESPACES = 25
WORKLOADS = 10  # of a namespace
PODS = 4  # of a workload
SICK = "team-07"  # the namespace with the one fault


def objects() -> Iterator[Object]:
    """Everything. One workload crashes; all others are well."""
    yield from (node(f"node-{n}") for n in range(50))
    for n in range(NAMESPACES):
        namespace = f"team-{n:02}"
        yield obj("Namespace", namespace, status={"phase": "Active"})
        yield obj("ConfigMap", "settings", namespace, data={f"key-{i}": "value " * 10 for i in range(20)})
        for w in range(WORKLOADS):
            yield from workload(f"service-{w}", namespace, crashing=namespace == SICK and w == 3)


def workload(name: str, namespace: str, *, crashing: bool) -> Iterator[Object]:
    """A Deployment with its ReplicaSet, pods, Service, EndpointSlice and the events of its last rollout."""
    labels = {"app": name, "pod-template-hash": "5d4f9c8b76"}
    ready = 0 if crashing else PODS
    spec = pod_spec(name)
    yield obj(
        "Deployment",
        name,
        namespace,
        "apps/v1",
        spec={
            "replicas": PODS,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": spec},
        },
        status={"replicas": PODS, "readyReplicas": ready, "updatedReplicas": PODS, "availableReplicas": ready},
    )
    yield obj(
        "ReplicaSet",
        f"{name}-5d4f9c8b76",
        namespace,
        "apps/v1",
        metadata={"labels": labels, "ownerReferences": owned("Deployment", name, namespace)},
        spec={
            "replicas": PODS,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
        status={"replicas": PODS, "readyReplicas": ready},
    )
    names = [f"{name}-5d4f9c8b76-{letter * 5}" for letter in "bcdf"]
    for number, pod_name in enumerate(names):
        yield pod(
            pod_name,
            namespace,
            name,
            labels,
            spec,
            node=f"node-{(sum(map(ord, namespace + name)) + number * 13) % 50}",
            crashing=crashing,
        )
        about = ("Pod", pod_name)
        for reason in ("Scheduled", "Pulled", "Created", "Started"):
            yield event(f"{pod_name}.{reason}", namespace, about, reason, f"{reason} container app", type="Normal")
        if crashing:
            yield event(f"{pod_name}.b", namespace, about, "BackOff", "Back-off restarting failed container", count=9)
    yield obj("Service", name, namespace, spec={"selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8080}]})
    yield obj(
        "EndpointSlice",
        f"{name}-x7k2p",
        namespace,
        "discovery.k8s.io/v1",
        metadata={"labels": {"kubernetes.io/service-name": name}},
        endpoints=[
            {"addresses": [f"10.1.{number}.2"], "conditions": {"ready": not crashing}} for number in range(PODS)
        ],
        ports=[{"port": 8080}],
    )


def pod_spec(name: str) -> dict[str, Any]:
    """A spec with what admission adds to it."""
    probe = {"httpGet": {"path": "/ready", "port": "http", "scheme": "HTTP"}, "periodSeconds": 10, "timeoutSeconds": 1}
    container = {
        "name": "app",
        "image": f"registry.example.com/shop/{name}:1.4.2",
        "env": [{"name": f"SETTING_{n}", "value": f"value-{n}-of-the-service"} for n in range(15)],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "readinessProbe": probe,
        "livenessProbe": {**probe, "failureThreshold": 3},
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "volumeMounts": [
            {"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": "kube-api-access", "readOnly": True}
        ],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    return {
        "containers": [container],
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "serviceAccountName": "default",
        "tolerations": [
            {"effect": "NoExecute", "key": f"node.kubernetes.io/{key}", "operator": "Exists", "tolerationSeconds": 300}
            for key in ("not-ready", "unreachable")
        ],
        "volumes": [
            {"name": "kube-api-access", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
        ],
    }


def pod(
    name: str, namespace: str, app: str, labels: dict[str, str], spec: dict[str, Any], *, node: str, crashing: bool
) -> Object:
    """A pod that runs, or one in CrashLoopBackOff."""
    ended = {"reason": "Error", "exitCode": 1, "startedAt": ago(minutes=4), "finishedAt": ago(minutes=3)}
    state: dict[str, Any] = {"running": {"startedAt": ago(hours=20)}}
    if crashing:
        state = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}}
    status = {
        "name": "app",
        "image": f"registry.example.com/shop/{app}:1.4.2",
        "imageID": f"registry.example.com/shop/{app}@sha256:{'0123456789abcdef' * 4}",
        "ready": not crashing,
        "restartCount": 9 if crashing else 0,
        "state": state,
        "lastState": {"terminated": ended} if crashing else {},
    }
    ready = "False" if crashing else "True"
    kinds = {"Initialized": "True", "Ready": ready, "ContainersReady": ready, "PodScheduled": "True"}
    conditions = [{"type": kind, "status": value, "lastTransitionTime": NOW_TEXT} for kind, value in kinds.items()]
    return obj(
        "Pod",
        name,
        namespace,
        metadata={"labels": labels, "ownerReferences": owned("ReplicaSet", f"{app}-5d4f9c8b76", namespace)},
        spec={**spec, "nodeName": node},
        status={
            "phase": "Running",
            "podIP": "10.1.2.3",
            "hostIP": "10.0.0.4",
            "qosClass": "Burstable",
            "startTime": ago(hours=20),
            "conditions": conditions,
            "containerStatuses": [status],
        },
    )


def node(name: str) -> Object:
    """A node that is well."""
    conditions = [{"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": NOW_TEXT}]
    allocatable = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    return obj("Node", name, status={"conditions": conditions, "allocatable": allocatable})


def logs() -> dict[str, str]:
    """What the crashing pods said last."""
    line = "FATAL config error: required environment variable DATABASE_URL is not set\n"
    pods = [f"{SICK}/service-3-5d4f9c8b76-{letter * 5}" for letter in "bcdf"]
    return {f"{each}/{container}": f"{ago(minutes=3)} {line}" for each in pods for container in ("app", "app.previous")}


NOW_TEXT = f"{NOW:%Y-%m-%dT%H:%M:%SZ}"
