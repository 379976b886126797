"""A Service sends to a port that its pods do not have.

Finds:
    service-port-name-missing: targetPort is a name that no container of the pods has.
    service-port-undeclared: targetPort is a number that the pods do not declare, while they declare others.
From: ports of the Service, containerPorts of the pods that it selects.
Look-alikes: pods that declare no ports at all: a declaration is not needed to listen.
Remedy: set targetPort to the port (or its name) on which the program listens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from holmes.analyzers.base import WORKLOADS, Facts, is_going, live_pods, ref, spec_of
from holmes.analyzers.words import listed
from holmes.core.findings import Finding
from holmes.kube.cluster import Object
from holmes.kube.related import name_of, namespace_of

KINDS = ("Pod", *WORKLOADS, "Service")
LOGS = False


def service_port(facts: Facts) -> Iterator[Finding]:
    """Services whose targetPort leads nowhere."""
    for service in facts.all("Service"):
        spec = spec_of(service)
        if not spec.get("selector") or is_going(service):
            continue
        pods = live_pods(facts.pods_matching(namespace_of(service), spec["selector"]))
        if not pods:
            continue
        declared = _declared(pods)
        for port in spec.get("ports") or []:
            if cause := _problem(port, declared):
                yield _finding(facts, service, port, cause, declared, pods)


def _declared(pods: list[Object]) -> list[Mapping[str, Any]]:
    """The ports that the containers of the pods declare, each once."""
    found: dict[tuple[object, object], Mapping[str, Any]] = {}
    for pod in pods:
        spec = spec_of(pod)
        for container in [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]:
            for port in container.get("ports") or []:
                found[(port.get("name"), port.get("containerPort"))] = port
    return list(found.values())


def _problem(port: Mapping[str, Any], declared: list[Mapping[str, Any]]) -> str:
    target = port.get("targetPort", port.get("port"))
    if isinstance(target, str) and not target.isdigit():
        return "" if any(item.get("name") == target for item in declared) else "service-port-name-missing"
    numbers = {item.get("containerPort") for item in declared}
    return "service-port-undeclared" if numbers and int(target or 0) not in numbers else ""


def _finding(
    facts: Facts,
    service: Object,
    port: Mapping[str, Any],
    cause: str,
    declared: list[Mapping[str, Any]],
    pods: list[Object],
) -> Finding:
    about, owner = ref(service), facts.top_owner(pods[0])
    target = port.get("targetPort", port.get("port"))
    have = listed(
        [f"{item.get('containerPort')}{' (' + item['name'] + ')' if item.get('name') else ''}" for item in declared]
    )
    by_name = cause == "service-port-name-missing"
    what = f'the port named "{target}"' if by_name else f"port {target}"
    consequence = (
        "it has no endpoint for it" if by_name else "unless something listens there undeclared, calls are refused"
    )
    return Finding(
        cause=cause,
        object=about,
        severity="critical" if by_name else "warning",
        explanation=f"{about} sends port {port.get('port')} to {what}, but the pods of {owner} declare "
        f"{have or 'no port'}: {consequence}.",
        evidence=(
            f"spec: port {port.get('port')}, targetPort {target}",
            f"pod {name_of(pods[0])}: containerPorts {have or 'none'}",
        ),
        remedy=f"Set targetPort of {about} to a port on which {owner} listens{f' ({have})' if have else ''}.",
        confidence=0.95 if by_name else 0.75,
        commands=(f"kubectl describe service {about.name} -n {about.namespace}",),
        related=(owner,),
    )
