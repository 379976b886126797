"""A pod has a node, but its volumes or its sandbox are not made.

Finds:
    mount-failed: a volume cannot be mounted (path, server, driver, permissions).
    attach-failed: a volume cannot be attached to the node, often because another node still has it.
    sandbox-failed: the pod's sandbox (network, runtime) cannot be made.
    creating-stuck: the containers are not made for minutes, and no event says why.
From: events FailedMount, FailedAttachVolume, FailedCreatePodSandBox; the pod's volumes; how long it waits.
Look-alikes: a pod that was just scheduled; missing ConfigMaps and Secrets (see config_reference).
Remedy: mend what the message names: path, storage server, driver, the node that still holds the volume, or the network
    plugin.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from holmes.analyzers.base import WORKLOADS, Facts, spec_of
from holmes.analyzers.references import references
from holmes.analyzers.stalled import Stalled, stalled
from holmes.analyzers.words import cut, without_uids
from holmes.core.findings import Finding, ObjectRef
from holmes.kube.related import name_of

KINDS = ("Pod", *WORKLOADS, "Event")
LOGS = False

_VOLUME = re.compile(r'volume "([^"]+)"')


def failed_mount(facts: Facts) -> Iterator[Finding]:
    """Pods that wait for volumes or a sandbox."""
    for item in stalled(facts, "mount", "attach"):
        yield _volume(item)
    for item in stalled(facts, "sandbox"):
        yield item.finding(
            "sandbox-failed",
            f"{item.who} cannot start: its sandbox is not made on node {spec_of(item.pod).get('nodeName')}: "
            f"{cut(without_uids(item.message).removeprefix('Failed to create pod sandbox: ').rstrip('.'), 200)}.",
            [],
            "Look at the network plugin and the container runtime of that node (pods of the plugin, free addresses).",
        )
    for item in stalled(facts, "unknown"):
        if not any(_certainly_missing(facts, item, used.object, used.optional) for used in references(item.pod)):
            yield item.finding(
                "creating-stuck",
                f"{item.who} waits for its containers to be made, and no event says why.",
                [],
                f"Look at the kubelet and the container runtime of node {spec_of(item.pod).get('nodeName')}.",
                0.5,
            )


def _volume(item: Stalled) -> Finding:
    found = _VOLUME.search(item.message)
    name = found[1] if found else ""
    spec = next((dict(volume) for volume in spec_of(item.pod).get("volumes") or [] if volume.get("name") == name), {})
    claims = [used.object for used in references(item.pod) if used.volume == name and "Claim" in used.object.kind]
    attach = item.kind == "attach"
    what = f"volume {name}" if name else "a volume"
    reason = cut(without_uids(item.message.partition(" : ")[2] or item.message).rstrip("."), 200)
    return item.finding(
        "attach-failed" if attach else "mount-failed",
        f"{item.who} cannot start: {what} cannot be {'attached' if attach else 'mounted'} on node "
        f"{spec_of(item.pod).get('nodeName')}: {reason}.",
        [cut(f"spec: volume {spec}")] if spec else [],
        _attach_remedy(item)
        if attach
        else "Mend what the message names (path, storage server, driver, permissions); "
        "the kubelet tries again by itself.",
        related=claims,
    )


def _attach_remedy(item: Stalled) -> str:
    if "Multi-Attach" in item.message:
        return (
            f"Another node still has the volume: see where the old pod of {item.owner} runs and whether that node is "
            f"well; it is let go when pod {name_of(item.pod)}'s predecessor is really gone."
        )
    return "Look at the storage driver's controller and at the volume attachments of the node."


def _certainly_missing(facts: Facts, item: Stalled, about: ObjectRef, optional: bool) -> bool:
    known = about.kind in ("ConfigMap", "Secret") and not optional
    return known and facts.is_missing(about.kind, about.namespace, about.name)
