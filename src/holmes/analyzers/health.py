"""What an object is like, in a few lines: for people who ask whether it is well."""

from __future__ import annotations

from collections.abc import Iterator

from holmes.analyzers.base import Facts, live_pods, ready_count, ref, spec_of, status_of
from holmes.analyzers.endpoints import ready_endpoints
from holmes.analyzers.words import count
from holmes.core.findings import ObjectRef
from holmes.kube.cluster import Object
from holmes.kube.related import age, condition, name_of, pod_status, restarts, selector_matches


def state_of(facts: Facts, about: ObjectRef) -> Iterator[str]:
    """Lines such as ``2 of 2 pods ready, 0 restarts``; nothing for an object that is not known."""
    obj = facts.get(about.kind, about.namespace, about.name)
    if obj is None:
        return
    if about.kind == "Pod":
        yield f"{about}: {pod_status(obj)}, {count(restarts(obj), 'restart')}, made {_age(facts, obj)} ago"
        top = facts.top_owner(obj)
        if top != about:
            yield _pods_line(facts, top)
    elif about.kind == "Service":
        yield f"{about}: {count(ready_endpoints(facts, obj), 'ready endpoint')}"
    elif about.kind == "Node":
        ready = condition(obj, "Ready") or {}
        yield f"{about}: Ready {ready.get('status')}, {count(len(facts.all('Pod')), 'pod')}"
    elif facts.pods_of(about) or spec_of(obj).get("template"):
        yield _pods_line(facts, about)
        yield from _service_lines(facts, about)
    elif phase := status_of(obj).get("phase"):
        yield f"{about}: {phase}, made {_age(facts, obj)} ago"
    else:
        yield f"{about}: exists, made {_age(facts, obj)} ago"


def _age(facts: Facts, obj: Object) -> str:
    return age((obj.get("metadata") or {}).get("creationTimestamp"), facts.now)


def _pods_line(facts: Facts, about: ObjectRef) -> str:
    pods = live_pods(facts.pods_of(about))
    again = sum(map(restarts, pods))
    obj = facts.get(about.kind, about.namespace, about.name)
    wanted = spec_of(obj).get("replicas") if obj else None
    of = f"{len(pods)}" if wanted is None else f"{wanted}"
    return f"{about}: {ready_count(pods)} of {of} pods ready, {count(again, 'restart')}"


def _service_lines(facts: Facts, about: ObjectRef) -> Iterator[str]:
    pods = facts.pods_of(about)
    labels = (pods[0].get("metadata") or {}).get("labels") or {} if pods else {}
    for service in facts.all("Service"):
        selector = spec_of(service).get("selector")
        if selector and ref(service).namespace == about.namespace and selector_matches(selector, labels):
            yield f"Service {name_of(service)}: {count(ready_endpoints(facts, service), 'ready endpoint')}"
