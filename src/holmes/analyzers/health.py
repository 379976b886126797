"""What an object is like, in a few lines: for people who ask whether it is well."""

from __future__ import annotations

from collections.abc import Iterator

from holmes.analyzers.base import Facts, live_pods, ready_count, ref, spec_of, status_of
from holmes.analyzers.endpoints import ready_endpoints
from holmes.analyzers.references import near_names
from holmes.analyzers.words import count, listed
from holmes.core.findings import ObjectRef
from holmes.kube.cluster import Object
from holmes.kube.related import age, condition, name_of, pod_status, restarts, selector_matches


def state_of(facts: Facts, about: ObjectRef) -> Iterator[str]:
    """Lines such as ``2 of 2 pods ready, 0 restarts``; nothing for an object that is not known."""
    obj = facts.get(about.kind, about.namespace, about.name)
    if obj is None:
        if facts.is_missing(about.kind, about.namespace, about.name):
            yield _missing(facts, about)
        return
    if since := (obj.get("metadata") or {}).get("deletionTimestamp"):
        finalizers = ", ".join(obj["metadata"].get("finalizers") or [])
        held = f", held by finalizer {finalizers}" if finalizers else ""
        yield f"{about}: being deleted, since {age(since, facts.now) or 'now'}{held}"
    if about.kind == "Pod":
        yield f"{about}: {pod_status(obj)}, {count(restarts(obj), 'restart')}, made {_age(facts, obj)} ago"
        top = facts.top_owner(obj)
        if top != about:
            yield _pods_line(facts, top)
    elif about.kind == "Service":
        yield f"{about}: {count(ready_endpoints(facts, obj), 'ready endpoint')}"
    elif about.kind in ("Job", "CronJob"):
        yield from _job_lines(facts, obj)
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


def _missing(facts: Facts, about: ObjectRef) -> str:
    """That it does not exist, and what does."""
    names = [name_of(obj) for obj in facts.all(about.kind) if ref(obj).namespace == about.namespace]
    near = near_names(facts, about)
    place = f"namespace {about.namespace}" if about.namespace else "the cluster"
    have = f"{place} has {listed([*near, *(name for name in names if name not in near)], 8)}" if names else ""
    return f"{about} does not exist; {have or f'{place} has no {about.kind}'}"


def _job_lines(facts: Facts, obj: Object) -> Iterator[str]:
    jobs = [obj] if obj.get("kind") == "Job" else facts.children("Job", ref(obj))
    for job in jobs[-3:]:
        status = status_of(job)
        parts = [f"{name} {status[name]}" for name in ("active", "succeeded", "failed") if status.get(name)]
        yield f"Job {name_of(job)}: {', '.join(parts) or 'no pod yet'}, made {_age(facts, job)} ago"
    if obj.get("kind") == "CronJob":
        last = status_of(obj).get("lastSuccessfulTime")
        success = f"last success {age(last, facts.now)} ago" if last else "no success is known"
        yield f"{ref(obj)}: schedule {spec_of(obj).get('schedule')}, {success}"


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
