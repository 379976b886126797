"""What a digest says of Services and Ingresses: where their traffic goes, and whether anybody is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from holmes.kube.cluster import Gap, Object
from holmes.kube.describe_pod import pods_lines
from holmes.kube.layout import indented, joined, some
from holmes.kube.neighbours import Related
from holmes.kube.related import name_of, selector_text, service_endpoints


def service_lines(obj: Object, related: Related, now: datetime) -> list[str]:
    """Addresses, ports, selector, endpoints and the pods that are selected."""
    spec = obj.get("spec") or {}
    pods = related.get("pods", ())
    lines = [_addresses(obj)]
    lines += [_port(port, [] if isinstance(pods, Gap) else pods) for port in spec.get("ports") or []]
    if not spec.get("selector"):
        lines.append("selector: none (its endpoints are made by hand or by another controller)")
    else:
        lines.append(f"selector: {selector_text(spec['selector'])}")
    lines += _endpoints(obj, related.get("endpointslices", ()))
    if isinstance(pods, Gap):
        lines.append(f"pods: not known: {pods.message}")
    elif spec.get("selector"):
        lines += pods_lines(pods, now) if pods else ["pods: the selector matches no pod of the namespace"]
    return lines


def _addresses(service: Object) -> str:
    spec, status = service.get("spec") or {}, service.get("status") or {}
    balancers = [
        str(item.get("ip") or item.get("hostname")) for item in (status.get("loadBalancer") or {}).get("ingress") or []
    ]
    kind = str(spec.get("type") or "ClusterIP")
    pending = kind == "LoadBalancer" and not balancers
    return joined(
        f"type: {kind}",
        f"cluster ip {spec.get('clusterIP')}" if spec.get("clusterIP") else "",
        f"external name {spec['externalName']}" if spec.get("externalName") else "",
        f"load balancer {', '.join(balancers)}" if balancers else "load balancer pending" if pending else "",
        f"session affinity {spec['sessionAffinity']}" if spec.get("sessionAffinity") not in (None, "None") else "",
    )


def _port(port: Mapping[str, Any], pods: Sequence[Object]) -> str:
    """A port of the Service, and whether the selected pods know the target port."""
    target = port.get("targetPort", port.get("port"))
    line = joined(
        f"port {port.get('port')}/{port.get('protocol', 'TCP')} to {target}",
        f"name {port['name']}" if port.get("name") else "",
        f"node port {port['nodePort']}" if port.get("nodePort") else "",
    )
    declared = [
        item
        for pod in pods
        for container in (pod.get("spec") or {}).get("containers") or []
        for item in container.get("ports") or []
    ]
    if any(target in (item.get("name"), item.get("containerPort")) for item in declared):
        return line
    if isinstance(target, str) and not target.isdigit() and pods:
        return f"{line}: NO container of the pods has a port of that name"
    known = dict.fromkeys(str(item.get("containerPort")) for item in declared)
    # Declaring a port is optional, so this is a hint and no proof.
    return f"{line} (the containers declare {', '.join(known)})" if known else line


def _endpoints(service: Object, slices: Sequence[Object] | Gap) -> list[str]:
    if isinstance(slices, Gap):
        return [f"endpoints: not known: {slices.message}"]
    if (service.get("spec") or {}).get("type") == "ExternalName":
        return []
    ready, other = service_endpoints(service, slices)
    return [
        joined(
            f"endpoints: {len(ready)} ready" + (f" ({', '.join(some(ready, 8))})" if ready else ""),
            f"{len(other)} not ready" + (f" ({', '.join(some(other, 8))})" if other else ""),
        )
    ]


def ingress_lines(obj: Object, related: Related, now: datetime) -> list[str]:
    """Rules, and for each backend whether it exists and has ready endpoints."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    addresses = [
        str(item.get("ip") or item.get("hostname")) for item in (status.get("loadBalancer") or {}).get("ingress") or []
    ]
    lines = [f"class: {spec.get('ingressClassName') or '(none)'}, address: {', '.join(addresses) or 'none yet'}"]
    rules = []
    for rule in spec.get("rules") or []:
        for path in (rule.get("http") or {}).get("paths") or []:
            rules.append(
                f"{rule.get('host') or '*'}{path.get('path') or '/'} to {_backend(path.get('backend'), related)}"
            )
    if spec.get("defaultBackend"):
        rules.append(f"everything else to {_backend(spec['defaultBackend'], related)}")
    lines += ["rules:", *indented(some(rules, 20) or ["none"])]
    for item in spec.get("tls") or []:
        lines.append(
            f"tls: {', '.join(item.get('hosts') or ['*'])} with secret {item.get('secretName') or '(default)'}"
        )
    return lines


def _backend(backend: Mapping[str, Any] | None, related: Related) -> str:
    wanted = (backend or {}).get("service")
    if not wanted:
        return f"resource {((backend or {}).get('resource') or {}).get('name')}"
    port = wanted.get("port") or {}
    number = port.get("number") or port.get("name")
    text = f"service {wanted.get('name')}:{number}"
    services, slices = related.get("services", ()), related.get("endpointslices", ())
    if isinstance(services, Gap):
        return f"{text} (services not known: {services.message})"
    service = next((item for item in services if name_of(item) == wanted.get("name")), None)
    if service is None:
        return f"{text}: NO such service"
    ports = list((service.get("spec") or {}).get("ports") or [])
    if not any(number in (item.get("port"), item.get("name")) for item in ports):
        return f"{text}: the service has NO such port, only {', '.join(str(item.get('port')) for item in ports)}"
    if isinstance(slices, Gap):
        return f"{text} (endpoints not known: {slices.message})"
    ready, other = service_endpoints(service, slices)
    return f"{text} ({len(ready)} endpoints ready, {len(other)} not)"
