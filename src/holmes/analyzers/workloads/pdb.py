"""A PodDisruptionBudget allows no eviction.

Finds:
    pdb-blocks: no pod may be evicted now, so a drain of its node waits (info).
From: status of the budget (disruptionsAllowed, currentHealthy, desiredHealthy), its rule.
Look-alikes: a budget that selects no pods.
Remedy: run one more replica, or loosen the budget before the maintenance.
"""

from __future__ import annotations

from collections.abc import Iterator

from holmes.analyzers.base import Facts, ref, spec_of, status_of
from holmes.core.findings import Finding

KINDS = ("PodDisruptionBudget", "Pod")
LOGS = False


def pdb(facts: Facts) -> Iterator[Finding]:
    """Budgets that are used up."""
    for item in facts.all("PodDisruptionBudget"):
        status, spec, about = status_of(item), spec_of(item), ref(item)
        expected = int(status.get("expectedPods") or 0)
        if not expected or int(status.get("disruptionsAllowed") or 0):
            continue
        rule = next((f"{key} {spec[key]}" for key in ("minAvailable", "maxUnavailable") if key in spec), "its rule")
        healthy = (
            f"{status.get('currentHealthy', 0)} of {expected} pods are healthy, {status.get('desiredHealthy')} must be"
        )
        yield Finding(
            cause="pdb-blocks",
            object=about,
            severity="info",
            explanation=f"{about} ({rule}) allows no eviction now: {healthy}; draining their nodes waits.",
            evidence=(f"status: disruptionsAllowed 0, {healthy}",),
            remedy="Run one more replica, or loosen the budget for the time of the maintenance.",
            confidence=0.9,
            commands=(f"kubectl describe pdb {about.name} -n {about.namespace}",),
            related=tuple(ref(pod) for pod in facts.pods_matching(about.namespace, spec.get("selector"))[:6]),
        )
