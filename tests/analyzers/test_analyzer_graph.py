"""From symptom to cause, what changed, and what is said of whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from holmes.analyzers.base import Facts
from holmes.analyzers.changes import differences
from holmes.analyzers.graph import Cause, causes_of
from holmes.analyzers.pods.unschedulable import main_cause
from holmes.core.findings import Finding, ObjectRef

WEB, API = ObjectRef("Deployment", "web", "shop"), ObjectRef("Deployment", "api", "shop")
WEB_SERVICE, API_SERVICE = ObjectRef("Service", "web", "shop"), ObjectRef("Service", "api", "shop")
TWO_SERVICES = """
- {kind: Service, metadata: {name: web, namespace: shop}, spec: {selector: {app: web}}}
- {kind: Service, metadata: {name: api, namespace: shop}, spec: {selector: {app: api}}}
- {kind: Deployment, metadata: {name: web, namespace: shop}, spec: {template: {metadata: {labels: {app: web}}}}}
- {kind: Deployment, metadata: {name: api, namespace: shop}, spec: {template: {metadata: {labels: {app: api}}}}}
"""


def finding(cause: str, about: ObjectRef, *related: ObjectRef, **more: Any) -> Finding:
    severity = more.pop("severity", "critical")
    return Finding(cause, about, severity, f"{about} is ill.", ("a line",), "Mend it.", related=related, **more)


def test_a_chain_of_services_leads_to_its_end(facts_of: Callable[..., Facts]) -> None:
    found = causes_of(
        facts_of(TWO_SERVICES),
        [
            finding("upstream-unreachable", WEB, API_SERVICE, severity="warning"),
            finding("service-no-ready-endpoints", API_SERVICE, API),
            finding("rollout-stuck", API),
            finding("oom-killed", API),
        ],
    )
    assert [cause.finding.cause for cause in found] == ["oom-killed"]
    assert len(found[0].symptoms) == 3


def test_two_that_blame_each_other_both_stay(facts_of: Callable[..., Facts]) -> None:
    found = causes_of(
        facts_of(TWO_SERVICES),
        [finding("upstream-errors", WEB, API_SERVICE), finding("upstream-errors", API, WEB_SERVICE)],
    )
    assert sum(1 + len(cause.symptoms) for cause in found) == 2
    assert len(found) >= 1


def test_failed_calls_explain_a_crash_only_when_its_last_line_says_so(facts_of: Callable[..., Facts]) -> None:
    calls = finding("upstream-external", WEB, severity="warning")
    crash = Finding("crash-loop", WEB, "critical", "x.", ("log of app: FATAL bad config",), "y.")
    assert len(causes_of(facts_of(TWO_SERVICES), [calls, crash])) == 2
    same = Finding("crash-loop", WEB, "critical", "x.", ("a line",), "y.")
    assert [cause.finding.cause for cause in causes_of(facts_of(TWO_SERVICES), [calls, same])] == ["upstream-external"]


def test_an_unrelated_fault_explains_nothing(facts_of: Callable[..., Facts]) -> None:
    found = causes_of(
        facts_of(TWO_SERVICES), [finding("service-no-ready-endpoints", WEB_SERVICE, WEB), finding("crash-loop", API)]
    )
    assert len(found) == 2


def test_a_workload_scaled_to_zero_explains_who_cannot_reach_it(facts_of: Callable[..., Facts]) -> None:
    (cause,) = causes_of(
        facts_of(TWO_SERVICES),
        [
            finding("scaled-to-zero", API, API_SERVICE, severity="info"),
            finding("upstream-unreachable", WEB, API_SERVICE, severity="warning"),
        ],
    )
    assert (cause.finding.cause, cause.severity) == ("scaled-to-zero", "warning")


def test_the_worst_comes_first_then_what_explains_most(facts_of: Callable[..., Facts]) -> None:
    found = causes_of(
        facts_of(TWO_SERVICES),
        [
            finding("pdb-blocks", ObjectRef("PodDisruptionBudget", "x", "shop"), severity="info"),
            finding("cpu-at-limit", API, severity="warning"),
            finding("image-not-found", WEB, confidence=0.99),
            finding("oom-killed", API, confidence=0.9),
            finding("rollout-stuck", API),
        ],
    )
    assert [cause.finding.cause for cause in found] == ["oom-killed", "image-not-found", "cpu-at-limit", "pdb-blocks"]


def test_a_loud_fault_beside_a_quiet_one(
    incident: Callable[[str], Any], causes: Callable[[Any], list[Cause]], facts_of: Callable[..., Facts]
) -> None:
    """Both are told, neither as the other's cause."""
    loud, quiet = incident("crash-loop"), incident("service-selector-mismatch")
    facts = facts_of([*loud.objects, *quiet.objects], quiet.logs)
    found = {cause.finding.cause: [item.object.name for item in cause.symptoms] for cause in causes(facts)}
    assert found == {"crash-loop": [], "service-selects-nothing": ["frontend"]}


def test_without_logs_and_events_the_state_still_tells(
    incident: Callable[[str], Any], causes: Callable[[Any], list[Cause]], facts_of: Callable[..., Facts]
) -> None:
    source = incident("crash-loop")
    (cause,) = causes(facts_of([obj for obj in source.objects if obj["kind"] != "Event"]))
    assert cause.finding.cause == "crash-loop"
    assert cause.finding.confidence < 0.8
    assert "exit code 1" in cause.finding.explanation


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("0/3 nodes are available: 1 Insufficient cpu, 2 Insufficient memory.", "insufficient-memory"),
        (
            "0/6 nodes are available: 3 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }, "
            "1 Insufficient cpu, 2 node(s) didn't match Pod's node affinity/selector. preemption: 0/6 nodes",
            "node-selector-mismatch",
        ),
        ("0/2 nodes are available: 2 node(s) had untolerated taint {dedicated: gpu}.", "taint-not-tolerated"),
        ("0/1 nodes are available: 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }.",
         "taint-not-tolerated"),
        ("0/3 nodes are available: 3 node(s) didn't match pod topology spread rules.", "pod-affinity-unsatisfied"),
        ("0/9 nodes are available: pod has unbound immediate PersistentVolumeClaims, 9 Insufficient cpu.",
         "pvc-not-bound"),
        ("something new", "unschedulable"),
    ],
)  # fmt: skip
def test_the_scheduler_s_main_reason(message: str, cause: str) -> None:
    assert main_cause(message) == cause


def test_differences_of_two_templates() -> None:
    before = {"containers": [{"name": "app", "image": "a:1", "env": [{"name": "A", "value": "1"}]}], "volumes": []}
    after = {
        "containers": [
            {
                "name": "app",
                "image": "a:2",
                "env": [{"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
            },
            {"name": "proxy", "image": "p:1"},
        ],
        "volumes": [],
        "nodeSelector": {"disk": "ssd"},
    }
    assert list(differences(before, after)) == [
        "container proxy added",
        "container app: image a:1 → a:2",
        "container app: variable A 1 → not set",
        "container app: variable B not set → {'secretKeyRef': {'name': 's', 'key': 'k'}}",
        "nodeSelector none → {'disk': 'ssd'}",
    ]
