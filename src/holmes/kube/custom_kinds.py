"""The resource types of a heap of objects, for sources that never asked a server."""

from __future__ import annotations

from collections.abc import Iterable

from holmes.kube.builtin_kinds import builtin_kinds
from holmes.kube.cluster import Kind, Kinds, Object


def kinds_of(objects: Iterable[Object]) -> Kinds:
    """The built-in kinds and those of the objects; names of custom ones come from their CRD, else are guessed."""
    kinds = {(kind.group, kind.kind): kind for kind in builtin_kinds().all}
    guessed: dict[tuple[str, str], Kind] = {}
    for obj in objects:
        group, _, version = str(obj.get("apiVersion") or "v1").rpartition("/")
        kind = str(obj.get("kind") or "")
        if kind == "CustomResourceDefinition":
            custom = _of_crd(obj)
            kinds[custom.group, custom.kind] = custom
        elif (group, kind) not in kinds:
            namespaced = bool((obj.get("metadata") or {}).get("namespace"))
            plural, singular = _guess(kind, group)
            guessed[group, kind] = Kind(kind, plural, singular, (), group, version, namespaced)
    return Kinds((*kinds.values(), *(kind for key, kind in guessed.items() if key not in kinds)))


def _guess(kind: str, group: str) -> tuple[str, str]:
    """Plural and singular."""
    name = kind.lower()
    if group == "metrics.k8s.io":  # PodMetrics are "pods" there
        name = name.removesuffix("metrics")
    if name.endswith("y") and name[-2:-1] not in "aeiou":
        return f"{name[:-1]}ies", name
    return f"{name}es" if name.endswith(("s", "x", "ch", "sh")) else f"{name}s", name


def _of_crd(obj: Object) -> Kind:
    spec = obj.get("spec") or {}
    names = spec.get("names") or {}
    versions = [version.get("name", "v1") for version in spec.get("versions") or [] if version.get("served", True)]
    return Kind(
        kind=str(names.get("kind")),
        plural=str(names.get("plural")),
        singular=str(names.get("singular") or str(names.get("kind")).lower()),
        short_names=tuple(names.get("shortNames") or ()),
        group=str(spec.get("group")),
        version=versions[0] if versions else "v1",
        namespaced=spec.get("scope") != "Cluster",
    )
