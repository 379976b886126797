"""Selectors, owners, pods of workloads and services, and the words that kubectl has for states and ages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holmes.kube import related

LABELS = {"app": "web", "tier": "front"}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ({"app": "web"}, True),
        ({"app": "web", "tier": "back"}, False),
        ({}, True),
        (None, False),
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "db"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "db"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, False),
        ({"matchExpressions": [{"key": "gone", "operator": "NotIn", "values": ["web"]}]}, True),
        ({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, False),
        ({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "gone", "operator": "Exists"}]}, False),
        ({"matchExpressions": [{"key": "app", "operator": "Gt", "values": ["1"]}]}, False),
    ],
)
def test_selector(selector: dict[str, Any] | None, matches: bool) -> None:
    assert related.selector_matches(selector, LABELS) is matches


def test_selector_as_kubectl_takes_it() -> None:
    expressions = [
        {"key": "tier", "operator": "In", "values": ["a", "b"]},
        {"key": "old", "operator": "DoesNotExist"},
        {"key": "zone", "operator": "NotIn", "values": ["x"]},
        {"key": "app", "operator": "Exists"},
    ]
    selector = {"matchLabels": {"app": "web"}, "matchExpressions": expressions}
    assert related.selector_text(selector) == "app=web,tier in (a,b),!old,zone notin (x),app"
    assert related.selector_text({"app": "web", "x": "y"}) == "app=web,x=y"


def obj(
    kind: str, name: str, namespace: str = "prod", owner: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "labels": more.pop("labels", {})}
    if owner:
        metadata["ownerReferences"] = [{"controller": True, **owner}]
    return {"kind": kind, "metadata": metadata, **more}


def test_pods_of_a_deployment_leave_out_those_of_others_with_the_same_labels() -> None:
    deployment = obj("Deployment", "web", spec={"selector": {"matchLabels": {"app": "web"}}})
    mine = obj("Pod", "web-7f-a", labels=LABELS, owner={"kind": "ReplicaSet", "name": "web-7f"})
    pods = [
        mine,
        obj("Pod", "web-2-7f-b", labels=LABELS, owner={"kind": "ReplicaSet", "name": "web-2-7f"}),
        obj("Pod", "web-0", labels=LABELS, owner={"kind": "StatefulSet", "name": "web"}),
        obj("Pod", "web-7f-c", "staging", labels=LABELS, owner={"kind": "ReplicaSet", "name": "web-7f"}),
        obj("Pod", "db", labels={"app": "db"}, owner={"kind": "ReplicaSet", "name": "web-7f"}),
    ]
    assert related.pods_of(deployment, pods) == [mine]


def test_pods_of_a_replica_set_by_uid_of_the_owner() -> None:
    replica_set = obj("ReplicaSet", "web-7f", spec={"selector": {"matchLabels": {"app": "web"}}})
    replica_set["metadata"]["uid"] = "1"
    mine = obj("Pod", "a", labels=LABELS, owner={"kind": "ReplicaSet", "name": "web-7f", "uid": "1"})
    old = obj("Pod", "b", labels=LABELS, owner={"kind": "ReplicaSet", "name": "web-7f", "uid": "0"})
    assert related.pods_of(replica_set, [mine, old]) == [mine]


def test_pods_of_a_cron_job_are_those_of_its_jobs() -> None:
    cron_job = obj("CronJob", "backup", spec={})
    mine = obj("Pod", "a", owner={"kind": "Job", "name": "backup-29935684"})
    other = obj("Pod", "b", owner={"kind": "Job", "name": "backup-all-29935684"})
    assert related.pods_of(cron_job, [mine, other]) == [mine]


def test_owner_is_the_controller_and_the_chain_goes_up() -> None:
    pod = obj("Pod", "web-7f-a", owner={"kind": "ReplicaSet", "name": "web-7f"})
    pod["metadata"]["ownerReferences"].insert(0, {"kind": "Other", "name": "x"})
    replica_set = obj("ReplicaSet", "web-7f", owner={"kind": "Deployment", "name": "web"})
    assert related.owner(pod) == ("ReplicaSet", "web-7f")
    assert related.owner(obj("Pod", "alone")) is None
    assert related.owner_chain(pod, [replica_set]) == [("ReplicaSet", "web-7f"), ("Deployment", "web")]


def test_service_pods_and_endpoints() -> None:
    service = obj("Service", "web", spec={"selector": {"app": "web"}})
    pod = obj("Pod", "a", labels=LABELS)
    assert related.service_pods(service, [pod, obj("Pod", "b")]) == [pod]
    assert related.service_pods(obj("Service", "by-hand", spec={}), [pod]) == []
    endpoints = [
        {"addresses": ["10.0.0.1"], "conditions": {"ready": True}},
        {"addresses": ["10.0.0.2"], "conditions": {"ready": False}},
        {"addresses": ["10.0.0.3"], "conditions": {}},
    ]
    mine = obj("EndpointSlice", "web-x", labels={"kubernetes.io/service-name": "web"}, endpoints=endpoints)
    other = obj("EndpointSlice", "db-x", labels={"kubernetes.io/service-name": "db"}, endpoints=endpoints)
    assert related.service_endpoints(service, [mine, other]) == (["10.0.0.1", "10.0.0.3"], ["10.0.0.2"])


def pod(phase: str = "Running", containers: list[Any] | None = None, init: list[Any] | None = None, **more: Any) -> Any:
    ready = more.pop("ready", "False")
    conditions = [{"type": "Ready", "status": ready}, *more.pop("conditions", [])]
    metadata = (
        {"name": "p", "deletionTimestamp": "2026-01-01T00:00:00Z"} if more.pop("deleted", False) else {"name": "p"}
    )
    spec = {"initContainers": [{"name": f"i{index}", **more.pop(f"i{index}", {})} for index in range(len(init or []))]}
    states = {
        "initContainerStatuses": [{"name": f"i{index}", **state} for index, state in enumerate(init or [])],
        "containerStatuses": [{"name": f"c{index}", **state} for index, state in enumerate(containers or [])],
    }
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase, "conditions": conditions, **states, **more}}


def waiting(reason: str) -> dict[str, Any]:
    return {"state": {"waiting": {"reason": reason}}}


def ended(code: int, reason: str = "", signal: int = 0) -> dict[str, Any]:
    return {"state": {"terminated": {"exitCode": code, "reason": reason, "signal": signal}}}


RUNNING = {"state": {"running": {}}, "ready": True}
INITIALIZED = [{"type": "Initialized", "status": "True"}]


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (pod("Pending"), "Pending"),
        (pod(containers=[RUNNING], ready="True"), "Running"),
        (pod(containers=[waiting("CrashLoopBackOff")]), "CrashLoopBackOff"),
        (pod(containers=[waiting("ImagePullBackOff"), RUNNING]), "ImagePullBackOff"),
        (pod(containers=[ended(1, "Error")]), "Error"),
        (pod(containers=[ended(137)]), "ExitCode:137"),
        (pod(containers=[ended(0, "", 9)]), "Signal:9"),
        (pod("Succeeded", [ended(0, "Completed")]), "Completed"),
        (pod(containers=[ended(0, "Completed"), RUNNING], ready="True"), "Running"),
        (pod(containers=[ended(0, "Completed"), RUNNING]), "NotReady"),
        (pod("Failed", reason="Evicted"), "Evicted"),
        (pod("Pending", init=[ended(0), {"state": {"waiting": {"reason": "PodInitializing"}}}]), "Init:1/2"),
        (pod("Pending", [waiting("PodInitializing")], init=[waiting("CrashLoopBackOff")]), "Init:CrashLoopBackOff"),
        (pod("Pending", init=[ended(3, "Error")]), "Init:Error"),
        (pod("Pending", init=[ended(3)]), "Init:ExitCode:3"),
        (
            pod(
                containers=[RUNNING], init=[{"started": True, "state": {"running": {}}}], i0={"restartPolicy": "Always"}
            ),
            "Running",
        ),
        (
            pod(containers=[waiting("CrashLoopBackOff")], init=[{"state": {"running": {}}}], conditions=INITIALIZED),
            "CrashLoopBackOff",
        ),
        (pod(containers=[RUNNING], deleted=True), "Terminating"),
        (pod("Succeeded", [ended(0, "Completed")], deleted=True), "Completed"),
        (pod(containers=[RUNNING], deleted=True, reason="NodeLost"), "Unknown"),
        (pod("Pending", conditions=[{"type": "PodScheduled", "reason": "SchedulingGated"}]), "SchedulingGated"),
        ({}, "Unknown"),
    ],
)
def test_pod_status_is_what_kubectl_prints(one: Any, expected: str) -> None:
    assert related.pod_status(one) == expected


def test_ready_means_that_a_pod_takes_traffic() -> None:
    assert related.is_ready(pod(containers=[RUNNING], ready="True"))
    assert not related.is_ready(pod(containers=[RUNNING], ready="True", deleted=True))
    assert not related.is_ready(pod())
    assert not related.is_ready({})


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (312, "5m12s"),
        (600, "10m"),
        (10799, "179m"),
        (3 * 3600, "3h"),
        (7 * 3600 + 1800, "7h30m"),
        (47 * 3600, "47h"),
        (3 * 86400 + 4 * 3600, "3d4h"),
        (9 * 86400, "9d"),
        (800 * 86400, "2y70d"),
        (3000 * 86400, "8y"),
        (-5, "0s"),
    ],
)
def test_age(seconds: int, text: str) -> None:
    now = datetime(2026, 6, 1, tzinfo=UTC)
    assert related.age((now - timedelta(seconds=seconds)).isoformat(), now) == text


def test_age_of_an_unknown_time_is_empty_and_zones_are_respected() -> None:
    now = datetime(2026, 6, 1, 12, tzinfo=UTC)
    assert related.age(None, now) == "" and related.age("soon", now) == ""
    assert related.age("2026-06-01T13:55:00+02:00", now) == "5m"
