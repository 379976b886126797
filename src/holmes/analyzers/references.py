"""What a pod refers to by name: ConfigMaps, Secrets, claims and its service account."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from holmes.analyzers.base import Facts, spec_of
from holmes.core.findings import ObjectRef
from holmes.kube.cluster import Object
from holmes.kube.related import name_of, namespace_of

_SOURCES = (("configMap", "ConfigMap", "name"), ("secret", "Secret", "name"))


@dataclass(frozen=True, slots=True)
class Reference:
    """One reference; ``where`` says where it stands in the spec, ``key`` is "" for the whole object."""

    object: ObjectRef
    where: str
    key: str = ""
    optional: bool = False
    volume: str = ""


def references(pod: Object) -> Iterator[Reference]:
    """All references of a pod's spec."""
    spec, namespace = spec_of(pod), namespace_of(pod)
    for container in [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]:
        yield from _of_container(container, namespace)
    for volume in spec.get("volumes") or []:
        yield from _of_volume(volume, namespace)
    if account := spec.get("serviceAccountName"):
        yield Reference(ObjectRef("ServiceAccount", str(account), namespace), "serviceAccountName")


def _of_container(container: Mapping[str, Any], namespace: str) -> Iterator[Reference]:
    name = container.get("name")
    for source in container.get("envFrom") or []:
        for kind, field in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")):
            if part := source.get(field):
                about = ObjectRef(kind, str(part.get("name")), namespace)
                yield Reference(about, f"envFrom of container {name}", optional=bool(part.get("optional")))
    for variable in container.get("env") or []:
        origin = variable.get("valueFrom") or {}
        for kind, field in (("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef")):
            if part := origin.get(field):
                yield Reference(
                    ObjectRef(kind, str(part.get("name")), namespace),
                    f"variable {variable.get('name')} of container {name}",
                    str(part.get("key") or ""),
                    bool(part.get("optional")),
                )


def _of_volume(volume: Mapping[str, Any], namespace: str) -> Iterator[Reference]:
    name = str(volume.get("name"))
    sources = [volume, *((volume.get("projected") or {}).get("sources") or [])]
    for source in sources:
        for field, kind, name_field in _SOURCES:
            part = source.get(field)
            if not isinstance(part, Mapping):
                continue
            about = ObjectRef(kind, str(part.get(name_field) or part.get("secretName")), namespace)
            optional = bool(part.get("optional"))
            yield Reference(about, f"volume {name}", optional=optional, volume=name)
            for item in part.get("items") or []:
                yield Reference(about, f"volume {name}", str(item.get("key")), optional, name)
    if claim := volume.get("persistentVolumeClaim"):
        about = ObjectRef("PersistentVolumeClaim", str(claim.get("claimName")), namespace)
        yield Reference(about, f"volume {name}", volume=name)


def claims_of(pod: Object) -> list[ObjectRef]:
    """The volume claims that a pod mounts, those of ephemeral volumes included."""
    found = [item.object for item in references(pod) if item.object.kind == "PersistentVolumeClaim"]
    for volume in spec_of(pod).get("volumes") or []:
        if volume.get("ephemeral"):
            found.append(ObjectRef("PersistentVolumeClaim", f"{name_of(pod)}-{volume.get('name')}", namespace_of(pod)))
    return found


def near_names(facts: Facts, missing: ObjectRef) -> list[str]:
    """Names of existing objects of that kind and namespace that look like the missing one."""
    names = [name_of(obj) for obj in facts.all(missing.kind) if namespace_of(obj) == missing.namespace]
    return get_close_matches(missing.name, names, n=2, cutoff=0.6)


def keys_of(facts: Facts, about: ObjectRef) -> list[str]:
    """The keys of a ConfigMap or Secret, empty when it is not known."""
    obj = facts.get(about.kind, about.namespace, about.name) or {}
    return sorted([*(obj.get("data") or {}), *(obj.get("binaryData") or {})])
