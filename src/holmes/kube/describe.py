"""A digest of one object: what a person on call needs first, in few lines.

State, last end, probes, resources, references and conditions that are not fine; events last. Ages are relative to the
time of the data. What could not be looked at is said, never shown as none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from holmes.kube.cluster import Cluster, Gap, Object
from holmes.kube.conditions import condition_line, not_fine
from holmes.kube.describe_kinds import section_of
from holmes.kube.event_lines import event_lines
from holmes.kube.layout import joined, pairs, short, some
from holmes.kube.neighbours import Related, neighbours_of
from holmes.kube.related import age, name_of, namespace_of

_MAX_YAML = 80  # lines
# Annotations that controllers keep for themselves.
_NOISE = ("kubectl.kubernetes.io/", "deployment.kubernetes.io/", "control-plane.alpha.kubernetes.io/", "pv.kube")
_MACHINE_LABELS = ("controller-uid", "job-name", "pod-template-hash", "controller-revision-hash")


async def describe(cluster: Cluster, kind: str, name: str, namespace: str | None = None) -> str | Gap:
    """Fetch an object with what belongs to it, and write its digest."""
    obj = await cluster.get(kind, name, namespace)
    if isinstance(obj, Gap):
        return obj
    around = await neighbours_of(cluster, obj)
    return digest(obj, around.events, around.owners, around.related, cluster.now)


def digest(
    obj: Object,
    events: Sequence[Object] | Gap,
    owners: Sequence[tuple[str, str]],
    related: Related,
    now: datetime,
) -> str:
    """The digest of an object; ``owners`` from the nearest up, ``related`` by plural as ``neighbours`` gives them."""
    section = section_of(str(obj.get("kind")))
    lines = [*_header(obj, owners, now)]
    if section:
        lines += section(obj, related, now)
    lines += [f"not fine: {short(condition_line(item, now), 500)}" for item in not_fine(obj)]
    if not section:
        lines += _yaml(obj)
    if parts := related.get("warnings"):
        lines += event_lines(parts, now, title="warnings about its parts", named=True)
    lines += event_lines(events, now)
    return "\n".join(lines) + "\n"


def _header(obj: Object, owners: Sequence[tuple[str, str]], now: datetime) -> list[str]:
    metadata = obj.get("metadata") or {}
    place = f"{namespace_of(obj)}/{name_of(obj)}" if namespace_of(obj) else name_of(obj)
    chain = " of ".join(f"{kind} {name}" for kind, name in owners)
    created = age(metadata.get("creationTimestamp"), now)
    born, above = f"{created} old" if created else "", f"owned by {chain}" if chain else ""
    lines = [joined(f"{obj.get('kind')} {place}", born, above)]
    if metadata.get("deletionTimestamp"):
        finalizers = ", ".join(metadata.get("finalizers") or []) or "none"
        lines.append(f"being deleted since {age(metadata['deletionTimestamp'], now)}, finalizers: {finalizers}")
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if not key.endswith(_MACHINE_LABELS)}
    if labels:
        lines.append(f"labels: {pairs(labels)}")
    written = metadata.get("annotations") or {}
    annotations = {key: value for key, value in written.items() if not key.startswith(_NOISE)}
    if annotations:
        lines.append(f"annotations: {short(pairs(annotations, 120), 600)}")
    return lines


def _yaml(obj: Object) -> list[str]:
    """The rest of an object as YAML, for kinds without a section of their own."""
    import yaml

    rest = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
    status = rest.get("status")
    if isinstance(status, Mapping):
        rest["status"] = {key: value for key, value in status.items() if key != "conditions"}
    text = yaml.dump({key: value for key, value in rest.items() if value}, Dumper=yaml.CSafeDumper, sort_keys=False)
    return some([_cut(line) for line in text.splitlines()], _MAX_YAML) if rest else []


def _cut(line: str, limit: int = 200) -> str:
    """A line of YAML, cut at its end: its indentation means something."""
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
