"""Failed calls in log lines: whom a program could not reach, and which Service that is."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from holmes.analyzers.base import Facts, spec_of, status_of
from holmes.analyzers.log_reading import level_of
from holmes.core.findings import ObjectRef
from holmes.kube.related import name_of, namespace_of

Failure = Literal["unknown-host", "refused", "timeout", "unreachable", "status"]

_FAILURES: tuple[tuple[Failure, re.Pattern[str]], ...] = (
    (
        "unknown-host",
        re.compile(
            r"no such host|name or service not known|nodename nor servname|ENOTFOUND|could not translate host name|"
            r"UnknownHost|name does not resolve|failure in name resolution|NXDOMAIN|could not resolve host|getaddrinfo|"
            r"bad address",
            re.IGNORECASE,
        ),
    ),
    ("refused", re.compile(r"connection refused|ECONNREFUSED|connect(ion)? .{0,60}refused", re.IGNORECASE)),
    (
        "unreachable",
        re.compile(r"no route to host|network is unreachable|EHOSTUNREACH|connection reset|ECONNRESET", re.IGNORECASE),
    ),
    ("timeout", re.compile(r"timed? ?out|ETIMEDOUT|deadline exceeded", re.IGNORECASE)),
    (
        "status",
        re.compile(
            r"(status|code|returned|responded|got|->|http/[\d.]+\"?)\W{0,3}(code\W{0,3})?5\d\d\b", re.IGNORECASE
        ),
    ),
)
_NAME = r"(?P<host>[0-9a-zA-Z](?:[0-9a-zA-Z.-]*[0-9a-zA-Z])?)"
_URL = re.compile(rf"\b[a-z][a-z0-9+.-]*://(?:[^/\s@\"']*@)?{_NAME}(?::(?P<port>\d+))?", re.IGNORECASE)
_PHRASES = (
    re.compile(rf"\blookup {_NAME}(?: on|:)"),
    re.compile(rf"\bhost=['\"]?{_NAME}['\"]?,? port=(?P<port>\d+)"),
    re.compile(rf"(?:ENOTFOUND|EAI_AGAIN|UnknownHostException:|resolve host:|bad address) ['\"]?{_NAME}"),
    re.compile(rf"host name \"{_NAME}\""),
    re.compile(rf"(?:dial (?:tcp|udp)|E[A-Z]{{6,12}}|connect(?:ion|ing)? to) {_NAME}:(?P<port>\d+)"),
)  # fmt: skip
_BARE = re.compile(rf"\b{_NAME}:(?P<port>\d{{2,5}})\b")
_LOCAL = ("localhost", "127.0.0.1", "0.0.0.0", "::1")
_QUICK = re.compile(
    r"host|refus|time|reset|unreach|resol|5\d\d|getaddrinfo|ENOT|bad address|exceeded|route", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Target:
    """Whom a line speaks of. ``object`` is the Service or Node that the name or address stands for, if any."""

    host: str
    port: str = ""
    object: ObjectRef | None = None

    @property
    def service(self) -> ObjectRef | None:
        """The Service, whether it exists or not; None when it is something else."""
        return self.object if self.object and self.object.kind == "Service" else None

    @property
    def key(self) -> str:
        """The same for all names of one target."""
        return str(self.object or self.host)


@dataclass(slots=True)
class Calls:
    """Failed calls of one log to one target."""

    target: Target
    failures: dict[Failure, int] = field(default_factory=dict)
    line: str = ""  # the last one
    last: int = 0  # its index

    @property
    def total(self) -> int:
        """All failures together."""
        return sum(self.failures.values())

    @property
    def main(self) -> Failure:
        """The most frequent failure."""
        return max(self.failures, key=lambda failure: self.failures[failure])


def failed_calls(facts: Facts, namespace: str, lines: Sequence[str]) -> list[Calls]:
    """Failed calls by target; calls of a program to itself are left out."""
    found: dict[str, Calls] = {}
    for index, line in enumerate(lines):
        if not _QUICK.search(line):
            continue
        failure = next((name for name, pattern in _FAILURES if pattern.search(line)), None)
        if failure and level_of(line) == "info":
            continue
        target = target_of(facts, namespace, line, urls_only=failure == "status") if failure else None
        if failure is None or target is None:
            continue
        calls = found.setdefault(target.key, Calls(target))
        calls.failures[failure] = calls.failures.get(failure, 0) + 1
        calls.line, calls.last = line, index
    return list(found.values())


def target_of(facts: Facts, namespace: str, line: str, *, urls_only: bool = False) -> Target | None:
    """The host that a line names, None for none or the program's own.

    A bare ``host:port`` counts only when it is an address or a known Service: ``errno:110`` looks the same.
    """
    for pattern in (_URL,) if urls_only else (_URL, *_PHRASES, _BARE):
        for found in pattern.finditer(line):
            host = found["host"].lower().rstrip(".")
            about = object_of(facts, namespace, host)
            known = about is not None and facts.get(about.kind, about.namespace, about.name) is not None
            if host in _LOCAL or host.isdigit() or (pattern is _BARE and not known and not _is_address(host)):
                continue
            return Target(host, found.groupdict().get("port") or "", about)
    return None


def named_services(facts: Facts, namespace: str, line: str) -> list[ObjectRef]:
    """Services of the cluster that a line names by URL or address."""
    target = target_of(facts, namespace, line)
    return [target.service] if target and target.service else []


def object_of(facts: Facts, namespace: str, host: str) -> ObjectRef | None:
    """The Service (whether it exists or not) or Node that a host name or address stands for in that namespace.

    DNS names: https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/
    """
    if _is_address(host):
        return facts.once(_by_address).get(host)
    parts = host.split(".")
    if len(parts) == 1:
        return ObjectRef("Service", host, namespace)
    is_full = host.endswith(".cluster.local") or (len(parts) > 2 and parts[2] == "svc")
    if is_full and len(parts) > 3 and parts[3] == "svc":  # pod.service.namespace.svc, of a StatefulSet
        parts = parts[1:]
    if is_full and len(parts) > 2 and parts[2] == "svc":
        return ObjectRef("Service", parts[0], parts[1])
    if len(parts) == 2 and (facts.get("Service", parts[1], parts[0]) or facts.get("Namespace", "", parts[1])):
        return ObjectRef("Service", parts[0], parts[1])
    return None


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _by_address(facts: Facts) -> dict[str, ObjectRef]:
    """Services by cluster IP; pods by their IP stand for the Service that selects them; nodes by their addresses."""
    found: dict[str, ObjectRef] = {}
    for node in facts.all("Node"):
        for item in status_of(node).get("addresses") or []:
            found[str(item.get("address"))] = ObjectRef("Node", name_of(node))
    for service in facts.all("Service"):
        about = ObjectRef("Service", name_of(service), namespace_of(service))
        for address in spec_of(service).get("clusterIPs") or [spec_of(service).get("clusterIP")]:
            if address and address != "None":
                found[str(address)] = about
        for pod in facts.pods_matching(namespace_of(service), spec_of(service).get("selector")):
            if address := status_of(pod).get("podIP"):
                found.setdefault(str(address), about)
    return found
