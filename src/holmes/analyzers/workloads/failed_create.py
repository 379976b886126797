"""A workload may not make its pods.

Finds:
    quota-exceeded: a ResourceQuota of the namespace is used up.
    quota-needs-resources: a ResourceQuota demands requests or limits that the pods do not set.
    limit-range-violated: the pods' resources are outside of what a LimitRange allows.
    pod-security-violated: Pod Security Admission refuses the pods.
    webhook-unreachable: an admission webhook cannot be reached, so nothing can be made.
    admission-denied: an admission webhook or policy refuses the pods.
    service-account-missing: the pods' service account does not exist.
    create-failed: another reason.
From: events FailedCreate of ReplicaSets, StatefulSets, DaemonSets and Jobs, condition ReplicaFailure, quotas.
Look-alikes: events of an earlier failure of a workload that has all its pods now.
Remedy: raise the quota or take less; set what the rule asks for; mend the webhook; make the service account.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from holmes.analyzers.base import WORKLOADS, Facts, KubeEvent, ref, spec_of, status_of
from holmes.analyzers.upstreams import named_services
from holmes.analyzers.words import cut, event_line, quoted
from holmes.core.findings import Finding, ObjectRef
from holmes.kube.cluster import Object
from holmes.kube.related import condition, name_of, namespace_of

KINDS = (*WORKLOADS, "Event", "ResourceQuota", "LimitRange")
LOGS = False

_QUOTA = re.compile(r"exceeded quota: ([^,]+), requested: (.+?), used: (.+?), limited: (.+)")
_NEEDS = re.compile(r"failed quota: ([^:]+): must specify (.+)")
_ACCOUNT = re.compile(r'service account (\S+): serviceaccount "([^"]+)" not found')
_WEBHOOK = re.compile(r'failed calling webhook "([^"]+)": (.+)')
_DENIED = re.compile(
    r'admission webhook "([^"]+)" denied the request:? ?(.*)|(ValidatingAdmissionPolicy \'[^\']+\'.*denied.*)'
)
_LIMIT = re.compile(r"((?:maximum|minimum) \S+ usage per .+|\S+ max limit to request ratio .+)")


def failed_create(facts: Facts) -> Iterator[Finding]:
    """Workloads that lack pods because these are refused."""
    for kind in ("ReplicaSet", "StatefulSet", "DaemonSet", "Job"):
        for workload in facts.all(kind):
            wanted, made = _numbers(workload)
            if made >= wanted:
                continue
            event = next(iter(facts.events(ref(workload), "FailedCreate")), None)
            failure = condition(workload, "ReplicaFailure") or {}
            message = event.message if event else str(failure.get("message") or "")
            if message and (event or failure.get("status") == "True"):
                yield _finding(facts, workload, message, event, made, wanted)


def _numbers(workload: Object) -> tuple[int, int]:
    """How many pods are wanted, and how many were made."""
    spec, status = spec_of(workload), status_of(workload)
    if workload.get("kind") == "DaemonSet":
        return int(status.get("desiredNumberScheduled") or 0), int(status.get("currentNumberScheduled") or 0)
    if workload.get("kind") == "Job":
        ended = int(status.get("succeeded") or 0) + int(status.get("failed") or 0)
        return int(spec.get("parallelism") or 1), int(status.get("active") or 0) + ended
    replicas = spec.get("replicas")
    return 1 if replicas is None else int(replicas), int(status.get("replicas") or 0)


def _finding(facts: Facts, workload: Object, message: str, event: KubeEvent | None, made: int, wanted: int) -> Finding:
    owner = facts.top_owner(workload)
    cause, why, remedy, related, confidence = _explain(facts, message, owner)
    lines = [event_line(event, facts.now) if event else quoted("condition ReplicaFailure", message)]
    for item in related:
        quota = facts.get(item.kind, item.namespace, item.name)
        if quota and item.kind == "ResourceQuota":
            status = status_of(quota)
            lines.append(f"{item}: hard {status.get('hard')}, used {status.get('used')}")
    lines.append(f"{workload.get('kind')} {name_of(workload)}: {made} of {wanted} pods made")
    return Finding(
        cause=cause,
        object=owner,
        severity="warning" if made else "critical",
        explanation=f"{owner} has only {made} of {wanted} pods: {why}.",
        evidence=tuple(lines),
        remedy=remedy,
        confidence=confidence,
        commands=(
            f"kubectl describe {str(workload.get('kind')).lower()} {name_of(workload)} -n {namespace_of(workload)}",
        ),
        related=tuple(item for item in (ref(workload), *related) if item != owner),
    )


_Reading = tuple[str, str, str, list[ObjectRef], float]  # cause, why, remedy, related, confidence


def _explain(facts: Facts, message: str, owner: ObjectRef) -> _Reading:
    """What the API server's refusal means."""
    namespace = owner.namespace
    if found := _QUOTA.search(message):
        quota = ObjectRef("ResourceQuota", found[1], namespace)
        why = f"{quota} is used up (requested {found[2]}; used {found[3]} of {found[4]})"
        remedy = f"Raise the limit of {quota}, or run fewer or smaller pods in namespace {namespace}."
        return "quota-exceeded", why, remedy, [quota], 0.97
    if found := _NEEDS.search(message):
        quota = ObjectRef("ResourceQuota", found[1], namespace)
        why = f"{quota} demands that they set {found[2]}"
        return (
            "quota-needs-resources",
            why,
            f"Set these in the template of {owner}, or defaults by a LimitRange.",
            [quota],
            0.97,
        )
    if found := _ACCOUNT.search(message):
        account = ObjectRef("ServiceAccount", found[2], namespace)
        remedy = f"Make {account}, or correct serviceAccountName in the template of {owner}."
        return "service-account-missing", f"their service account {found[2]} does not exist", remedy, [account], 0.97
    if found := _WEBHOOK.search(message):
        why = f"admission webhook {found[1]} cannot be called: {cut(found[2], 160)}"
        remedy = "Mend the webhook's service and pods; until then its failurePolicy (Fail) refuses every such object."
        return "webhook-unreachable", why, remedy, named_services(facts, namespace, found[2]), 0.95
    if "violates PodSecurity" in message:
        rule = message.partition("violates ")[2]
        remedy = (
            f"Set the securityContext that the level asks for in the template of {owner}, or use another namespace."
        )
        return "pod-security-violated", f"namespace {namespace} refuses them: {cut(rule, 200)}", remedy, [], 0.95
    if found := _DENIED.search(message):
        by = f"admission webhook {found[1]}" if found[1] else "an admission policy"
        return (
            "admission-denied",
            f"{by} refuses them: {cut(found[2] or found[3] or '', 200)}",
            f"Change the template of {owner} so that it meets the rule that the message names.",
            [],
            0.95,
        )
    if found := _LIMIT.search(message):
        remedy = f"Set resources of {owner} within the LimitRange of namespace {namespace}, or change the LimitRange."
        return "limit-range-violated", f"a LimitRange refuses them: {cut(found[1], 160)}", remedy, [], 0.95
    why = f"the API server refuses them: {cut(message.removeprefix('Error creating: '), 200)}"
    return "create-failed", why, f"Mend what the message names in the template of {owner}.", [], 0.8
