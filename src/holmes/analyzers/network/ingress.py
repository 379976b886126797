"""An Ingress leads to a Service, port or certificate that does not exist.

Finds:
    ingress-service-missing: the Service of a rule does not exist.
    ingress-port-missing: the Service exists, but not the port of the rule.
    ingress-tls-missing: the Secret with the certificate does not exist.
From: rules, default backend and TLS part of the Ingress; Services and their ports; names of Secrets.
Look-alikes: backends that are no Services (resource backends); Secrets that may not be read.
Remedy: correct the name or port in the rule, or make what it names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from holmes.analyzers.base import Facts, is_going, ref, spec_of
from holmes.analyzers.references import near_names
from holmes.analyzers.words import listed
from holmes.core.findings import Finding, ObjectRef
from holmes.kube.cluster import Object

KINDS = ("Ingress", "Service", "Secret")
LOGS = False


def ingress(facts: Facts) -> Iterator[Finding]:
    """Ingress rules that lead nowhere."""
    for item in facts.all("Ingress"):
        if is_going(item):
            continue
        for where, backend in _backends(item):
            service = ObjectRef("Service", str(backend.get("name")), ref(item).namespace)
            if facts.is_missing("Service", service.namespace, service.name):
                yield _no_service(facts, item, where, service)
            elif (obj := facts.get("Service", service.namespace, service.name)) and not _has_port(obj, backend):
                yield _no_port(item, where, service, obj, backend.get("port") or {})
        for tls in spec_of(item).get("tls") or []:
            name = str(tls.get("secretName") or "")
            if name and facts.is_missing("Secret", ref(item).namespace, name):
                yield _no_secret(item, name, tls)


def _backends(item: Object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Where each Service stands (``shop.example.com/api``), and the service backend itself; each pair once."""
    spec = spec_of(item)
    found: dict[tuple[str, str], tuple[str, Mapping[str, Any]]] = {}
    rules = [("default backend", spec.get("defaultBackend") or {})]
    for rule in spec.get("rules") or []:
        for path in (rule.get("http") or {}).get("paths") or []:
            rules.append((f"{rule.get('host') or '*'}{path.get('path') or '/'}", path.get("backend") or {}))
    for where, backend in rules:
        if service := backend.get("service"):
            found.setdefault((str(service.get("name")), str(service.get("port"))), (where, service))
    yield from found.values()


def _has_port(service: Object, backend: Mapping[str, Any]) -> bool:
    port = backend.get("port") or {}
    ports = spec_of(service).get("ports") or []
    if port.get("name"):
        return any(item.get("name") == port["name"] for item in ports)
    return not port.get("number") or any(item.get("port") == port["number"] for item in ports)


def _finding(
    item: Object, cause: str, explanation: str, evidence: list[str], remedy: str, related: ObjectRef
) -> Finding:
    about = ref(item)
    return Finding(
        cause=cause,
        object=about,
        severity="critical",
        explanation=explanation,
        evidence=tuple(evidence),
        remedy=remedy,
        confidence=0.95,
        commands=(f"kubectl describe ingress {about.name} -n {about.namespace}",),
        related=(related,),
    )


def _no_service(facts: Facts, item: Object, where: str, service: ObjectRef) -> Finding:
    near = near_names(facts, service)
    hint = f" There is {listed(near)}: perhaps the name is misspelt." if near else ""
    return _finding(
        item,
        "ingress-service-missing",
        f"{ref(item)} sends {where} to {service}, which does not exist.",
        [
            f"spec: {where} has the backend service {service.name}",
            "services in the namespace of that name: none",
        ],
        f"Correct the service name in {ref(item)}, or make {service}.{hint}",
        service,
    )


def _no_port(item: Object, where: str, service: ObjectRef, obj: Object, port: Mapping[str, Any]) -> Finding:
    have = listed(
        [f"{p.get('port')}{' (' + p['name'] + ')' if p.get('name') else ''}" for p in spec_of(obj).get("ports") or []]
    )
    wanted = port.get("name") or port.get("number")
    return _finding(
        item,
        "ingress-port-missing",
        f"{ref(item)} sends {where} to port {wanted} of {service}, which has only {have}.",
        [f"spec: {where} has the backend {service.name}, port {wanted}", f"{service}: ports {have}"],
        f"Correct the port in {ref(item)} to one of {have}.",
        service,
    )


def _no_secret(item: Object, name: str, tls: Mapping[str, Any]) -> Finding:
    hosts = listed([str(host) for host in tls.get("hosts") or []]) or "all hosts"
    secret = ObjectRef("Secret", name, ref(item).namespace)
    return _finding(
        item,
        "ingress-tls-missing",
        f"{ref(item)} takes the certificate of {hosts} from {secret}, which does not exist.",
        [f"spec: tls secretName {name}"],
        f"Make {secret} (see the certificate's issuer, such as cert-manager), or correct secretName.",
        secret,
    )
