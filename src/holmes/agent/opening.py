"""Opening evidence: what anyone would look at first, gathered by program before the model is asked.

The objects that the question names are resolved and inspected side by side, within 2 seconds and about 1,200 tokens.
A model that starts from evidence instead of a menu needs fewer steps; a weak one needs it to be right at all.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.to_thread

from holmes.core.findings import ObjectRef
from holmes.core.results import StructuredToolResult
from holmes.kube.cluster import Cluster, Clusters, Gap

SECONDS = 2.0
TOKENS = 1_100  # of all blocks together; the markers around them take the rest
OBJECTS = 3


@dataclass(frozen=True, slots=True)
class Found:
    """One look, as a call that a model could have made."""

    tool: str
    args: Mapping[str, Any]
    result: StructuredToolResult


Opening = Callable[[str, str], Awaitable[Sequence[Found]]]  # question, default namespace


async def nothing(question: str, namespace: str) -> Sequence[Found]:
    """No opening evidence."""
    return ()


def kubernetes_opening(clusters: Clusters, seconds: float = SECONDS, tokens: int = TOKENS) -> Opening:
    """Looks into the run's cluster; without one, or when nothing is named, it gives nothing and costs nothing."""

    async def look(question: str, namespace: str) -> Sequence[Found]:
        deadline = time.monotonic() + seconds
        found: list[Found] = []
        with anyio.move_on_at(deadline):
            cluster = await clusters.get()
            if not isinstance(cluster, Gap):
                await _look(cluster, question, namespace, deadline, tokens, found)
        return found

    return look


async def _look(
    cluster: Cluster, question: str, namespace: str, deadline: float, tokens: int, found: list[Found]
) -> None:
    from holmes.kube.inventory import inventory
    from holmes.kube.mentions import find_mentions

    names, _ = await inventory(cluster)
    mentions = await anyio.to_thread.run_sync(find_mentions, question, names)
    objects = _preferred([mention.object for mention in mentions.objects], namespace)[:OBJECTS]
    spaces = [] if objects else list(mentions.namespaces)[:2]
    share = tokens // max(1, len(objects) + len(spaces))
    reserve = deadline - 0.2  # an inspection that runs out of time still has to be told
    slots: dict[int, Found] = {}

    async def inspect_one(index: int, about: ObjectRef) -> None:
        slots[index] = await _inspected(cluster, about, reserve, share)

    async def scan_one(index: int, space: str) -> None:
        slots[index] = await _scanned(cluster, space, reserve, share)

    async with anyio.create_task_group() as tasks:
        for index, about in enumerate(objects):
            tasks.start_soon(inspect_one, index, about)
        for index, space in enumerate(spaces):
            tasks.start_soon(scan_one, index, space)
    found += [slots[index] for index in sorted(slots)]


def _preferred(objects: Sequence[ObjectRef], namespace: str) -> list[ObjectRef]:
    """Objects of the default namespace first, when the question leaves it open."""
    return sorted(objects, key=lambda ref: bool(namespace) and ref.namespace != namespace)


async def _inspected(cluster: Cluster, about: ObjectRef, deadline: float, tokens: int) -> Found:
    from holmes.analyzers.run import inspect
    from holmes.analyzers.told import told

    result = await inspect(cluster, about.kind, about.name, about.namespace or None, deadline)
    place = f" -n {about.namespace}" if about.namespace else ""
    args = {"kind": about.kind, "name": about.name} | ({"namespace": about.namespace} if about.namespace else {})
    return Found("inspect", args, told(result, f"kubectl describe {about.kind.lower()} {about.name}{place}", tokens))


async def _scanned(cluster: Cluster, space: str, deadline: float, tokens: int) -> Found:
    from holmes.analyzers.run import scan
    from holmes.analyzers.told import told

    result = await scan(cluster, space, deadline)
    return Found("scan", {"namespace": space}, told(result, f"holmes scan --namespace {space}", tokens))
