"""Ready endpoints of Services."""

from __future__ import annotations

from holmes.analyzers.base import Facts, spec_of
from holmes.kube.cluster import Object
from holmes.kube.related import is_ready, labels_of, name_of, namespace_of


def ready_endpoints(facts: Facts, service: Object) -> int:
    """How many addresses take traffic: of the EndpointSlices where they are known, else of the ready pods.

    A slice without ports leads nowhere: the Service's targetPort is a name that the pods do not have.
    """
    has_ports = bool(spec_of(service).get("ports"))
    slices = facts.once(_slices).get((namespace_of(service), name_of(service)))
    if slices is None and not facts.knows_all("EndpointSlice", namespace_of(service)):
        return sum(
            1 for pod in facts.pods_matching(namespace_of(service), spec_of(service).get("selector")) if is_ready(pod)
        )
    ready = {
        address
        for item in slices or ()
        if item.get("ports") or not has_ports
        for endpoint in item.get("endpoints") or []
        if (endpoint.get("conditions") or {}).get("ready") is not False  # missing counts as ready (API)
        for address in endpoint.get("addresses") or []
    }
    return len(ready)


def _slices(facts: Facts) -> dict[tuple[str, str], list[Object]]:
    found: dict[tuple[str, str], list[Object]] = {}
    for item in facts.all("EndpointSlice"):
        service = labels_of(item).get("kubernetes.io/service-name", "")
        found.setdefault((namespace_of(item), service), []).append(item)
    return found
