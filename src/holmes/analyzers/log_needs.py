"""Which log tails the analyzers need: as few as will do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from holmes.analyzers.base import Facts, live_pods, status_of
from holmes.analyzers.troubles import Container, containers_of, find_troubles
from holmes.core.findings import ObjectRef
from holmes.kube.cluster import Object
from holmes.kube.related import is_ready, name_of, namespace_of

TAIL = 50  # lines
RECENT = 900  # seconds of the log of a healthy container
CASES = 2  # containers of one trouble
BUSY = 30  # workloads: above this, logs of healthy ones are not read
LIMIT = 60  # tails in all
_READ = ("oom", "exit", "init", "liveness", "startup", "unready")


@dataclass(frozen=True, slots=True)
class LogNeed:
    """One tail; ``recent`` limits it to the last minutes."""

    namespace: str
    pod: str
    container: str
    previous: bool = False
    recent: bool = False


def log_needs(facts: Facts) -> list[LogNeed]:
    """Tails of containers in trouble first, then one pod of each healthy workload when there are not many."""
    needs = list(_troubled(facts))
    healthy = list(_healthy(facts))
    if len({(need.namespace, need.pod) for need in healthy}) <= BUSY:
        needs += healthy
    return list(dict.fromkeys(needs))[:LIMIT]


def _troubled(facts: Facts) -> Iterator[LogNeed]:
    for trouble in facts.once(find_troubles):
        if trouble.kind in _READ:
            for case in trouble.cases[:CASES]:
                previous = not case.ended_now and trouble.kind != "unready"
                yield LogNeed(namespace_of(case.pod), name_of(case.pod), case.name, previous)


def _healthy(facts: Facts) -> Iterator[LogNeed]:
    seen: set[ObjectRef] = {trouble.owner for trouble in facts.once(find_troubles)}
    for pod in live_pods(facts.all("Pod")):
        if status_of(pod).get("phase") != "Running" or not is_ready(pod):
            continue
        owner = facts.top_owner(pod)
        if owner not in seen:
            seen.add(owner)
            for container in _programs(pod):
                yield LogNeed(namespace_of(pod), name_of(pod), container.name, recent=True)


def _programs(pod: Object) -> list[Container]:
    """The first two running containers that are no init containers."""
    running = [item for item in containers_of(pod) if item.running and not item.init]
    return running[:2]
