"""What to say when there is nothing: which names are close, where else it is, what does exist there."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches

import anyio.to_thread

from holmes.kube.cluster import Cluster, Gap, Object
from holmes.kube.related import labels_of, name_of, namespace_of
from holmes.toolsets.kubernetes.lists import LOOKED_FOR, Listed, full_name, locate, named, query_for, seen
from holmes.toolsets.kubernetes.query import Query, Unanswered

_SHOWN = 12  # names in an error


async def located(cluster: Cluster, query: Query) -> Listed:
    """As ``locate``; Unanswered with close names when there is nothing of that name."""
    found = await locate(cluster, query)
    if not found.items:
        raise await not_found(cluster, query)
    return found


async def not_found(cluster: Cluster, query: Query) -> Unanswered:
    """Says which names are close, in which other kinds the name exists, and whether the namespace does."""
    await check_namespace(cluster, query)
    what = f'no {query.kind.kind} "{query.name}" in {query.place}'
    kinds = [kind for kind in (*LOOKED_FOR, "pods") if kind != query.kind.plural]
    others, visible, elsewhere = await asyncio.gather(
        asyncio.gather(*(seen(cluster, query_for(kind, query.namespace, query.name)) for kind in kinds)),
        seen(cluster, replace(query, name="", selector="", fields="")),
        named(cluster, replace(query, namespace=None)) if query.namespace else _nothing(),
    )
    hints = []
    if elsewhere.items:
        hints.append(f"it exists as {_listing([full_name(obj) for obj in elsewhere.items])}")
    if same := [f"{obj.get('kind')} {full_name(obj)}" for group in others for obj in group or ()]:
        hints.append(f"there is {_listing(same)}")
    there = visible or []
    names = sorted({name_of(obj) for obj in there})
    close = await close_names(query.name, names)
    if close:
        wanted = [full_name(obj) for obj in there if name_of(obj) in close]
        hints.append(f"close names: {_listing(sorted(wanted, key=lambda name: close.index(name.rpartition('/')[2])))}")
    elif names:
        hints.append(f"{query.kind.plural} there: {_listing(names)}")
    elif visible is not None:
        hints.append(f"there are no {query.kind.plural} in {query.place}")
    return Unanswered("; ".join([what, *hints]))


async def _nothing() -> Listed:
    return Listed()


async def close_names(name: str, names: Sequence[str]) -> list[str]:
    """Names that look like ``name`` or contain it, best first; a pod's hash does not count."""
    return await anyio.to_thread.run_sync(_close_names, name, names)


def _close_names(name: str, names: Sequence[str]) -> list[str]:
    wanted = name.lower()
    families: dict[str, list[str]] = {family: [] for family in map(_family, names)} | {
        other: [other] for other in names
    }
    for other in names:
        families[_family(other)] = [*families[_family(other)], other]
    alike = get_close_matches(wanted, families, n=5, cutoff=0.6)
    inside = [family for family in families if len(wanted) > 2 and (wanted in family or family in wanted)]
    return list(dict.fromkeys(other for family in [*alike, *inside] for other in families[family]))[:8]


def _family(name: str) -> str:
    """A pod's or replica set's name without the hashes at its end."""
    return re.sub(r"(-[a-f0-9]{6,10})?-[a-z0-9]{5}$|-[a-f0-9]{8,10}$", "", name)


async def check_namespace(cluster: Cluster, query: Query) -> None:
    """Unanswered when the query's namespace does not exist; silent when that cannot be known."""
    if not query.namespace or not query.kind.namespaced:
        return
    answer = await cluster.get("namespaces", query.namespace)
    if not isinstance(answer, Gap) or answer.reason != "not_found":
        return
    names = sorted(name_of(obj) for obj in await seen(cluster, query_for("namespaces", None)) or ())
    if not names:
        return
    close = await close_names(query.namespace, names)
    hint = f"did you mean {_listing(close)}?" if close else f"there are: {_listing(names)}"
    raise Unanswered(f'there is no namespace "{query.namespace}"; {hint}')


async def nothing_there(cluster: Cluster, query: Query) -> str:
    """Why a list is empty and what does exist: for results with status no_data.

    Unanswered for an unknown namespace and for a label that no object has.
    """
    await check_namespace(cluster, query)
    head = f"No {query.kind.plural} in {query.place}"
    if query.selector or query.fields:
        there = await seen(cluster, replace(query, selector="", fields=""))
        if there:
            wanted = " and ".join(filter(None, [query.selector, query.fields]))
            return f"{head} match {wanted}. Without it there are {len(there)}. {_known_labels(query, there)}".rstrip()
    if not query.namespace:
        return f"{head}."
    everywhere = await seen(cluster, replace(query, namespace=None, selector="", fields=""))
    inventory = await _inventory(cluster, query)
    if everywhere is None:
        return f"{head}. {inventory}".rstrip()
    places = [f"{namespace} ({count})" for namespace, count in Counter(map(namespace_of, everywhere)).most_common()]
    where = f". There are {query.kind.plural} in: {_listing(places)}" if places else ", nor in any other namespace"
    return f"{head}{where}. {inventory}".rstrip()


def _known_labels(query: Query, there: Sequence[Object]) -> str:
    """The labels that would match; Unanswered when the selector names a label that none of them has."""
    known: dict[str, Counter[str]] = {}
    for obj in there:
        for key, value in labels_of(obj).items():
            known.setdefault(key, Counter())[value] += 1
    keys = [key for key in _selector_keys(query.selector) if key not in known]
    if keys:
        labels = _listing(sorted(known)) or "none"
        kinds = query.kind.plural
        raise Unanswered(f'none of the {len(there)} {kinds} in {query.place} has a label "{keys[0]}"; known: {labels}')
    values = [
        f"{key}: {_listing([value for value, _ in known[key].most_common()])}" for key in _selector_keys(query.selector)
    ]
    return f"Known values of {'; '.join(values)}." if values else ""


def _selector_keys(selector: str) -> list[str]:
    """Keys that a label selector wants to be there."""
    parts = re.split(r",(?![^()]*\))", selector)
    return [
        found[1]
        for part in parts
        if "!=" not in part and " notin" not in part and (found := re.match(r"\s*([A-Za-z0-9][\w./-]*)", part))
    ]


async def _inventory(cluster: Cluster, query: Query) -> str:
    """What a namespace holds of the main kinds."""
    kinds = [kind for kind in ("pods", *LOOKED_FOR) if kind not in (query.kind.plural, "replicasets")]
    groups = await asyncio.gather(*(seen(cluster, query_for(kind, query.namespace)) for kind in kinds))
    held = [
        f"{len(group)} {kind if len(group) != 1 else kind.removesuffix('s')}"
        for kind, group in zip(kinds, groups, strict=True)
        if group
    ]
    return f"Namespace {query.namespace} has {', '.join(held)}." if held else ""


def _listing(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
