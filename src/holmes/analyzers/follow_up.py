"""What the first facts make worth reading: claims, references, quotas, nodes, logs, and Services that are called."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from anyio import to_thread

from holmes.analyzers.base import Facts, live_pods, ref, spec_of, status_of
from holmes.analyzers.log_needs import LogNeed, log_needs
from holmes.analyzers.reader import Job, Reader
from holmes.analyzers.references import claims_of, references
from holmes.analyzers.troubles import containers_of
from holmes.analyzers.upstreams import Target, failed_calls
from holmes.core.findings import ObjectRef
from holmes.kube.cluster import Object
from holmes.kube.related import name_of, namespace_of, selector_text

NODES = 8  # nodes read by name; above, the list is read
REFERENCES = 20  # ConfigMaps and Secrets looked for
CALLED = 4  # Services followed in one round
ROUNDS = 3  # from caller to called


async def follow_up(reader: Reader, logs: bool = True) -> set[ObjectRef]:
    """Read on; gives the objects that were opened because somebody calls them."""
    await reader.together(await to_thread.run_sync(lambda: list(_second_look(reader))))
    await reader.together(await to_thread.run_sync(lambda: list(_third_look(reader.facts, reader))))
    opened: set[ObjectRef] = set()
    if not logs:
        return opened
    read: set[LogNeed] = set()
    for _ in range(ROUNDS):
        await _read_logs(reader, read)
        called = [item for item in await to_thread.run_sync(_called, reader.facts) if item not in opened][:CALLED]
        if not called:
            break
        opened.update(called)
        await reader.together(partial(open_service, reader, service, opened) for service in called)
    await _read_logs(reader, read)
    return opened


async def _read_logs(reader: Reader, read: set[LogNeed]) -> None:
    needs = [need for need in await to_thread.run_sync(log_needs, reader.facts) if need not in read]
    read.update(needs)
    await reader.together(partial(reader.log, need) for need in needs)


def _second_look(reader: Reader) -> Iterator[Job]:
    facts = reader.facts
    pods = live_pods(facts.all("Pod"))
    claims = {claim for pod in pods for claim in claims_of(pod) if not facts.knows_all(claim.kind, claim.namespace)}
    for claim in sorted(claims, key=str)[:REFERENCES]:
        yield partial(reader.get, claim)
    for about in _references(facts, pods)[:REFERENCES]:
        yield partial(reader.get, about)
    for item in facts.all("Ingress"):
        for tls in spec_of(item).get("tls") or []:
            if tls.get("secretName"):
                yield partial(reader.get, ObjectRef("Secret", str(tls["secretName"]), namespace_of(item)))
    for namespace in _short_of_pods(facts):
        for kind in ("ResourceQuota", "LimitRange"):
            if not facts.knows_all(kind, namespace):
                yield partial(reader.list, kind, namespace)
    yield from _nodes(reader)


def _third_look(facts: Facts, reader: Reader) -> Iterator[Job]:
    """Storage classes for claims that wait; names that may have been meant for references that lead nowhere."""
    pending = [claim for claim in facts.all("PersistentVolumeClaim") if status_of(claim).get("phase") == "Pending"]
    if pending:
        for kind in ("StorageClass", "PersistentVolume"):
            if not facts.knows_all(kind, ""):
                yield partial(reader.list, kind, None)
    missing = {about for about in _references(facts, live_pods(facts.all("Pod"))) if facts.is_missing(*_place(about))}
    for kind, namespace in sorted({(about.kind, about.namespace) for about in missing}):
        yield partial(reader.names, kind, namespace)


def _place(about: ObjectRef) -> tuple[str, str, str]:
    return about.kind, about.namespace, about.name


def _references(facts: Facts, pods: list[Object]) -> list[ObjectRef]:
    """ConfigMaps and Secrets of pods whose containers were not made: running pods had what they need."""
    found: dict[ObjectRef, None] = {}
    for pod in pods:
        waiting = [str(item.waiting.get("reason") or "") for item in containers_of(pod)]
        if "CreateContainerConfigError" in waiting or "ContainerCreating" in waiting:
            for used in references(pod):
                if used.object.kind in ("ConfigMap", "Secret") and not used.optional:
                    found[used.object] = None
    return list(found)


def _short_of_pods(facts: Facts) -> set[str]:
    """Namespaces with a workload that has fewer pods than it wants."""
    return {
        namespace_of(item)
        for kind in ("ReplicaSet", "StatefulSet")
        for item in facts.all(kind)
        if int(status_of(item).get("replicas") or 0) < int(spec_of(item).get("replicas") or 0)
    }


def _nodes(reader: Reader) -> Iterator[Job]:
    """The nodes of the pods, of evicted ones too; all of them when a pod finds none."""
    facts = reader.facts
    names = {str(spec_of(pod).get("nodeName") or "") for pod in facts.all("Pod")}
    if "" in names:
        yield partial(reader.list, "Node", None)
    elif len(names) > NODES:
        yield partial(reader.list, "Node", None, keep=lambda node: name_of(node) in names)
    else:
        for name in sorted(names):
            if facts.get("Node", "", name) is None:
                yield partial(reader.get, ObjectRef("Node", name))


def _called(facts: Facts) -> list[ObjectRef]:
    """Services that logs complain about and whose pods are not known yet."""
    found: dict[ObjectRef, None] = {}
    for (namespace, _, _, _), lines in facts.logs():
        for calls in failed_calls(facts, namespace, lines):
            service = calls.target.service or _perhaps(calls.target)
            if service and not facts.knows_all("Pod", service.namespace) and not facts.is_missing(*_place(service)):
                found[service] = None
    return list(found)


def _perhaps(target: Target) -> ObjectRef | None:
    """``name.namespace`` may be a Service of a namespace that is not known yet, or a domain outside."""
    parts = target.host.split(".")
    is_short = target.object is None and len(parts) == 2 and not parts[1].isdigit()
    return ObjectRef("Service", parts[0], parts[1]) if is_short else None


async def open_service(reader: Reader, service: ObjectRef, opened: set[ObjectRef]) -> None:
    """Add a Service with its endpoints, pods and their workloads; without pods, the workloads it may be meant for."""
    obj = await reader.get(service)
    selector = spec_of(obj).get("selector") if isinstance(obj, dict) else None
    if not selector:
        return
    by_name = f"kubernetes.io/service-name={service.name}"
    await reader.together(
        [
            partial(reader.list, "Pod", service.namespace, selector_text(selector)),
            partial(reader.list, "EndpointSlice", service.namespace, by_name),
        ]
    )
    pods = reader.facts.pods_matching(service.namespace, selector)
    if pods:
        await reader.together(partial(climb, reader, pod, opened) for pod in pods[:3])
    else:
        kinds = ("Deployment", "StatefulSet", "DaemonSet")
        await reader.together(partial(reader.list, kind, service.namespace) for kind in kinds)


async def climb(reader: Reader, obj: Object, opened: set[ObjectRef]) -> Object:
    """Add the owners of an object; gives the topmost that can be read."""
    opened.add(ref(obj))
    owners = (obj.get("metadata") or {}).get("ownerReferences") or []
    above = next((item for item in owners if item.get("controller")), next(iter(owners), None))
    if above is None or above.get("kind") == "Node":
        return obj
    found = await reader.get(ObjectRef(str(above.get("kind")), str(above.get("name")), namespace_of(obj)))
    return await climb(reader, found, opened) if isinstance(found, dict) else obj
