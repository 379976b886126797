"""The image of a container cannot be pulled.

Finds:
    image-not-found: the registry has no such repository or tag.
    image-pull-denied: the registry refuses: no or wrong pull secret, or a private image.
    registry-unreachable: the registry does not answer (name, network, proxy, certificate).
    image-rate-limited: the registry takes no more pulls for now.
    image-name-invalid: the image name cannot be read.
    image-not-present: the pull policy is Never and the node does not have the image.
    image-pull-failed: another error of the pull.
From: waiting state (ErrImagePull, ImagePullBackOff, InvalidImageName, ErrImageNeverPull), event Failed, pull secrets.
Look-alikes: a first pull that is still under way (ContainerCreating, event Pulling).
Remedy: correct the name or tag, give the pod a pull secret, or mend the way to the registry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from holmes.analyzers.base import WORKLOADS, Facts, ref, spec_of
from holmes.analyzers.troubles import Trouble, containers_of, troubles
from holmes.analyzers.words import cut, quoted
from holmes.core.findings import Finding
from holmes.kube.related import namespace_of

KINDS = ("Pod", *WORKLOADS, "Event")
LOGS = False

_NAME = re.compile(r"(?:(?P<registry>[^/]+[.:][^/]*|localhost)/)?(?P<repository>[^:@]+)(?::(?P<tag>[^@]+))?(@.+)?")

# In this order: a message of a refused pull often says "may not exist or may require authorization" as well.
_CAUSES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("image-rate-limited", ("toomanyrequests", "rate limit", "429 too many")),
    (
        "registry-unreachable",
        (
            "connection refused",
            "no such host",
            "i/o timeout",
            "no route to host",
            "network is unreachable",
            "connection reset",
            "context deadline exceeded",
            "tls handshake",
            "x509",
            "server gave http response",
            "service unavailable",
            "bad gateway",
            "server misbehaving",
            "proxyconnect",
        ),
    ),
    (
        "image-pull-denied",
        (
            "unauthorized",
            "authorization failed",
            "authentication required",
            "access denied",
            "pull access denied",
            "insufficient_scope",
            "403 forbidden",
            "401 unauthorized",
            "no basic auth",
            "denied:",
        ),
    ),
    ("image-not-found", ("not found", "manifest unknown", "does not exist", "name unknown", "no match for platform")),
)


def image_pull(facts: Facts) -> Iterator[Finding]:
    """Images that cannot be pulled."""
    for trouble in troubles(facts, "image"):
        image = str(trouble.case.spec.get("image") or "")
        message = _message(trouble)
        cause = _cause(trouble, message)
        explanation, remedy = _texts(trouble, cause, image, message)
        secrets = [str(item.get("name")) for item in spec_of(trouble.pod).get("imagePullSecrets") or []]
        evidence = [trouble.state(), quoted("message", message.rpartition("ErrImagePull: ")[2])]
        if cause in ("image-pull-denied", "image-rate-limited"):
            evidence.append(f"spec: imagePullSecrets {', '.join(secrets) or 'none'}")
        others = _other_tags(facts, trouble, image)
        if cause == "image-not-found" and others:
            evidence.append(f"other pods use {', '.join(others)}")
        yield trouble.finding(
            cause,
            f"{trouble.who} cannot start: {explanation}.",
            evidence,
            remedy,
            confidence=0.95 if message else 0.7,
            commands=["describe pod {pod}"],
        )


def _message(trouble: Trouble) -> str:
    """The registry's answer: of an event, or of the state where that does not only say "back-off"."""
    waiting = str(trouble.case.waiting.get("message") or "")
    if (waiting and not waiting.startswith("Back-off pulling image")) or "ErrImagePull:" in waiting:
        return waiting
    for event in trouble.facts.events(ref(trouble.pod), "Failed", "InspectFailed", "ErrImageNeverPull"):
        if event.container in ("", trouble.name) and "pull" in event.message.lower() and ":" in event.message:
            return event.message
    return waiting


def _cause(trouble: Trouble, message: str) -> str:
    reason = trouble.case.waiting.get("reason")
    if reason == "InvalidImageName":
        return "image-name-invalid"
    if reason == "ErrImageNeverPull":
        return "image-not-present"
    text = message.lower()
    for cause, words in _CAUSES:
        if any(word in text for word in words):
            return cause
    return "image-pull-failed"


def _texts(trouble: Trouble, cause: str, image: str, message: str) -> tuple[str, str]:
    """What it is, and what to do."""
    found = _NAME.fullmatch(image)
    registry = (found and found["registry"]) or "docker.io"
    owner = trouble.owner
    change = f"Correct the image of container {trouble.name}"
    set_image = f"`kubectl set image {owner.kind.lower()}/{owner.name} {trouble.name}=IMAGE:TAG -n {owner.namespace}`"
    if owner.kind not in ("Deployment", "StatefulSet", "DaemonSet", "Pod"):
        set_image = f"the template of {owner}"
    texts = {
        "image-not-found": (
            f"registry {registry} has no image {image}",
            f"{change}: look for a misspelt name or a tag that was never pushed, then change it ({set_image}).",
        ),
        "image-pull-denied": (
            f"registry {registry} refuses the pull of {image}",
            f"Give the pod (or its service account) an imagePullSecret that may pull {image}, or renew the expired "
            "one; if the name is misspelt, registries often answer the same.",
        ),
        "registry-unreachable": (
            f"registry {registry} cannot be reached for {image}",
            f"Check from a node that {registry} resolves and answers (DNS, firewall, proxy, certificate, registry "
            "down); the pull is tried again by itself.",
        ),
        "image-rate-limited": (
            f"registry {registry} limits the number of pulls and refuses {image} for now",
            "Pull with an account (imagePullSecret) or through a mirror; it is tried again by itself.",
        ),
        "image-name-invalid": (
            f'the image name "{image}" is not valid',
            f"{change}: repository names are lower case, without blanks or a scheme ({set_image}).",
        ),
        "image-not-present": (
            f"imagePullPolicy is Never and the node does not have {image}",
            "Load the image onto the node, or set imagePullPolicy to IfNotPresent.",
        ),
    }
    last = cut(message.rpartition(": ")[2], 120)
    other = (
        f"image {image} cannot be pulled{f' ({last})' if last else ''}",
        "Mend what the message of the pull names.",
    )
    return texts.get(cause, other)


def _other_tags(facts: Facts, trouble: Trouble, image: str) -> list[str]:
    """Images of the same repository that run in the namespace: the likely right tag."""
    repository = image.rpartition(":")[0]
    if not repository:
        return []
    seen = {
        str(container.spec.get("image"))
        for pod in facts.all("Pod")
        if namespace_of(pod) == trouble.owner.namespace
        for container in containers_of(pod)
        if container.running
    }
    return sorted(other for other in seen if other.rpartition(":")[0] == repository and other != image)[:3]
