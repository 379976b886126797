"""What a Deployment's newest revision changed against the one that worked: often the reason for a fault that is new."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from holmes.analyzers.base import Facts, ref, spec_of, status_of
from holmes.analyzers.words import cut
from holmes.core.findings import Finding, ObjectRef
from holmes.kube.cluster import Object
from holmes.kube.related import age, name_of

_REVISION = "deployment.kubernetes.io/revision"
_FIELDS = (
    "image",
    "command",
    "args",
    "resources",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "ports",
    "envFrom",
)
_POD_FIELDS = ("nodeSelector", "serviceAccountName", "volumes", "affinity", "tolerations", "securityContext")
_SHOWN = 3


def with_changes(facts: Facts, finding: Finding) -> Finding:
    """The finding with a line of what its Deployment's newest revision changed, when its pods are of that revision."""
    if finding.object.kind != "Deployment" or finding.severity == "info":
        return finding
    revisions = _revisions(facts, finding.object)
    if len(revisions) < 2:
        return finding
    number, newest = revisions[-1]
    named = {item.name for item in finding.related if item.kind == "Pod"}
    about = finding.object
    if named and not named & {name_of(pod) for pod in facts.children("Pod", ref(newest))}:
        return finding
    serving = [pair for pair in revisions[:-1] if status_of(pair[1]).get("readyReplicas")]
    good, before = (serving or revisions[:-1])[-1]
    changes = list(differences(_template(before), _template(newest)))
    if not changes:
        return finding
    more = f" and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
    made = age((newest.get("metadata") or {}).get("creationTimestamp"), facts.now)
    against = f"revision {good}{', which still serves' if serving else ''}"
    line = f"revision {number} ({made} ago) differs from {against}: {'; '.join(changes[:_SHOWN])}{more}"
    undo = f"`kubectl rollout undo deployment/{about.name} --to-revision={good} -n {about.namespace}`"
    remedy = f"{finding.remedy} To go back to {against}: {undo}."
    return replace(finding, evidence=(*finding.evidence, cut(line)), remedy=remedy)


def _revisions(facts: Facts, deployment: ObjectRef) -> list[tuple[int, Object]]:
    found = []
    for item in facts.children("ReplicaSet", deployment):
        number = str(((item.get("metadata") or {}).get("annotations") or {}).get(_REVISION) or "")
        if number.isdigit():
            found.append((int(number), item))
    return sorted(found, key=lambda pair: pair[0])


def _template(replica_set: Object) -> Mapping[str, Any]:
    template: Mapping[str, Any] = (spec_of(replica_set).get("template") or {}).get("spec") or {}
    return template


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """``container app: image a:1 → a:2`` for each difference of two pod specs."""
    for field in ("initContainers", "containers"):
        old = {item.get("name"): item for item in before.get(field) or []}
        new = {item.get("name"): item for item in after.get(field) or []}
        for name in new.keys() - old.keys():
            yield f"container {name} added"
        for name in old.keys() - new.keys():
            yield f"container {name} removed"
        for name in [name for name in new if name in old]:
            yield from _of_container(f"container {name}", old[name], new[name])
    for field in _POD_FIELDS:
        if before.get(field) != after.get(field):
            yield f"{field} {_short(before.get(field))} → {_short(after.get(field))}"


def _of_container(where: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for field in _FIELDS:
        if before.get(field) != after.get(field):
            yield f"{where}: {field} {_short(before.get(field))} → {_short(after.get(field))}"
    old = {item.get("name"): item for item in before.get("env") or []}
    new = {item.get("name"): item for item in after.get("env") or []}
    for name in dict.fromkeys([*old, *new]):
        if old.get(name) != new.get(name):
            yield f"{where}: variable {name} {_value(old.get(name))} → {_value(new.get(name))}"


def _value(variable: Mapping[str, Any] | None) -> str:
    if variable is None:
        return "not set"
    return _short(variable.get("value", variable.get("valueFrom")))


def _short(value: object) -> str:
    return "none" if value in (None, "", [], {}) else cut(str(value), 80)
