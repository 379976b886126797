"""A pod names a ConfigMap, Secret or key that does not exist, or a user that it may not be.

Finds:
    missing-configmap: a ConfigMap that a variable, envFrom or volume names does not exist.
    missing-secret: a Secret that a variable, envFrom or volume names does not exist.
    missing-key: the ConfigMap or Secret exists, but not the key that is asked for.
    run-as-root-refused: the pod asks for runAsNonRoot, but the image runs as root.
    container-config-error: another error of the container's configuration.
From: waiting state CreateContainerConfigError and its message, events Failed and FailedMount, the pod's references,
    names and keys of existing ConfigMaps and Secrets.
Look-alikes: references marked optional; objects that were deleted after the pod had started.
Remedy: make the object or the key, or correct the name in the workload's template.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from holmes.analyzers.base import WORKLOADS, Facts
from holmes.analyzers.references import Reference, keys_of, near_names, references
from holmes.analyzers.stalled import Stalled, stalled
from holmes.analyzers.troubles import Trouble, troubles
from holmes.analyzers.words import cut, listed, quoted
from holmes.core.findings import Finding, ObjectRef
from holmes.kube.cluster import Object

KINDS = ("Pod", *WORKLOADS, "Event", "ConfigMap", "Secret")
LOGS = False

_MISSING = re.compile(r'(configmap|secret) "(?P<name>[^"]+)" not found', re.IGNORECASE)
_KEY = re.compile(r"couldn't find key (?P<key>\S+) in (?P<kind>ConfigMap|Secret) [^/\s]+/(?P<name>\S+)")
_VOLUME_KEY = re.compile(r'volume "(?P<volume>[^"]+)".*non-existent (?P<kind>config|secret) key: (?P<key>\S+)')
_KINDS = {"configmap": "ConfigMap", "secret": "Secret", "config": "ConfigMap"}


def config_reference(facts: Facts) -> Iterator[Finding]:
    """References to what does not exist."""
    for trouble in troubles(facts, "config"):
        yield _of_trouble(facts, trouble)
    for item in stalled(facts, "reference"):
        found = _explain(facts, item.pod, item.message, item.who, item.owner)
        if found:
            cause, explanation, evidence, remedy, about = found
            yield item.finding(cause, explanation, evidence, remedy, 0.95, [about])
    for item in stalled(facts, "unknown"):
        yield from _silent(facts, item)


def _of_trouble(facts: Facts, trouble: Trouble) -> Finding:
    message = str(trouble.case.waiting.get("message") or "") or trouble.event("Failed")
    first = [trouble.state(), quoted("message", message)]
    commands = ["describe pod {pod}"]
    if found := _explain(facts, trouble.pod, message, trouble.who, trouble.owner):
        cause, explanation, evidence, remedy, about = found
        return trouble.finding(
            cause, explanation, [*first, *evidence], remedy, confidence=0.96, commands=commands, related=[about]
        )
    if "runAsNonRoot" in message or "run as root" in message:
        return trouble.finding(
            "run-as-root-refused",
            f"{trouble.who} cannot start: the pod asks for runAsNonRoot, but image "
            f"{trouble.case.spec.get('image')} runs as root or as a user that is no number.",
            first,
            "Set securityContext.runAsUser to a number other than 0, or build the image with a numeric USER.",
            confidence=0.96,
            commands=commands,
        )
    return trouble.finding(
        "container-config-error",
        f"{trouble.who} cannot start because of its configuration: {cut(message, 200) or 'no reason is given'}.",
        first,
        "Mend what the message names in the workload's template.",
        confidence=0.8 if message else 0.6,
        commands=commands,
    )


def _silent(facts: Facts, item: Stalled) -> Iterator[Finding]:
    """Without events: a reference to what certainly does not exist explains the wait."""
    for used in references(item.pod):
        about = used.object
        if about.kind in ("ConfigMap", "Secret") and not used.optional and facts.is_missing(*_place(about)):
            explanation = f"{item.who} cannot start: {about} does not exist ({used.where} needs it)."
            yield item.finding(
                f"missing-{about.kind.lower()}",
                explanation,
                [f"spec: {used.where} names {about}"],
                _make(facts, about),
                0.85,
                [about],
            )
            return


def _place(about: ObjectRef) -> tuple[str, str, str]:
    return about.kind, about.namespace, about.name


def _explain(
    facts: Facts, pod: Object, message: str, who: str, owner: ObjectRef
) -> tuple[str, str, list[str], str, ObjectRef] | None:
    """Cause, explanation, evidence, remedy and the object in question; None when the message says something else."""
    all_used = list(references(pod))
    if found := _MISSING.search(message):
        about = ObjectRef(_KINDS[found[1].lower()], found["name"], owner.namespace)
        places = listed(
            [used.where for used in all_used if (used.object == about and not used.key) or used.object == about]
        )
        explanation = f"{who} cannot start: {about} does not exist" + (f" ({places} needs it)." if places else ".")
        evidence = [f"spec: {places} names {about}"] if places else []
        return f"missing-{about.kind.lower()}", explanation, evidence, _make(facts, about), about
    used, key = _missing_key(all_used, message, owner.namespace)
    if used is None:
        return None
    about, keys = used.object, keys_of(facts, used.object)
    evidence = [f"{about} has the keys {listed(keys, 8)}"] if keys else []
    explanation = f"{who} cannot start: {about} has no key {key} ({used.where} needs it)."
    remedy = f"Add the key {key} to {about}, or correct the key in the template of {owner}."
    return "missing-key", explanation, evidence, remedy, about


def _missing_key(all_used: list[Reference], message: str, namespace: str) -> tuple[Reference | None, str]:
    if found := _KEY.search(message):
        about = ObjectRef(found["kind"], found["name"], namespace)
        named = [used for used in all_used if used.object == about and used.key == found["key"]]
        return next(iter(named), Reference(about, "a variable", found["key"])), found["key"]
    if found := _VOLUME_KEY.search(message):
        kind, volume = _KINDS[found["kind"]], found["volume"]
        named = [used for used in all_used if used.volume == volume and used.object.kind == kind]
        exact = [used for used in named if used.key == found["key"]]
        return next(iter(exact or named), None), found["key"]
    return None, ""


def _make(facts: Facts, about: ObjectRef) -> str:
    near = near_names(facts, about)
    hint = f" There is {listed(near)}: perhaps the name is misspelt." if near else ""
    return f"Make {about}, or correct the name in the workload's template.{hint}"
