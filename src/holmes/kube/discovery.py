"""Asks an API server which resource types it has: two requests, or one per API group on servers before 1.26."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from holmes.kube.api import ApiServer
from holmes.kube.cluster import Gap, Kind, Kinds, Object
from holmes.kube.failures import Failure

_AGGREGATED = ",".join(
    [f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList" for version in ("v2", "v2beta1")]
    + ["application/json"]
)
_WHAT = "resource types"


async def discover(server: ApiServer) -> Kinds | Gap:
    """All resource types in the server's order of preference, each in its preferred version."""
    core, groups = await asyncio.gather(
        server.get("/api", what=_WHAT, accept=_AGGREGATED), server.get("/apis", what=_WHAT, accept=_AGGREGATED)
    )
    for answer in (core, groups):
        if isinstance(answer, Failure):
            return answer.gap
    assert isinstance(core, dict) and isinstance(groups, dict)
    if groups.get("kind") != "APIGroupDiscoveryList":
        return await _classic(server, groups)
    kinds = [kind for answer in (core, groups) for item in answer.get("items") or [] for kind in _of_group(item)]
    return Kinds(tuple(kinds))


def _of_group(item: Object) -> list[Kind]:
    """The kinds of one group; of a resource in several versions the first, which the server prefers."""
    group = str((item.get("metadata") or {}).get("name") or "")
    found: dict[str, Kind] = {}
    for version in item.get("versions") or []:
        for resource in version.get("resources") or []:
            kind = str((resource.get("responseKind") or {}).get("kind") or "")
            plural = str(resource.get("resource"))
            if kind and plural not in found:
                found[plural] = Kind(
                    kind,
                    plural,
                    str(resource.get("singularResource") or kind.lower()),
                    tuple(resource.get("shortNames") or ()),
                    group,
                    str(version.get("version")),
                    resource.get("scope") == "Namespaced",
                    tuple(resource.get("verbs") or ()),
                )
    return list(found.values())


async def _classic(server: ApiServer, groups: Object) -> Kinds | Gap:
    wanted = [("", "v1")]
    for group in groups.get("groups") or []:
        preferred: Object = group.get("preferredVersion") or next(iter(group.get("versions") or []), {})
        wanted.append((str(group.get("name")), str(preferred.get("version"))))
    paths = [f"/apis/{group}/{version}" if group else f"/api/{version}" for group, version in wanted]
    answers = await asyncio.gather(*(server.get(path, what=_WHAT) for path in paths))
    kinds: list[Kind] = []
    for (group, version), answer in zip(wanted, answers, strict=True):
        # A group whose own server is down (metrics) must not hide the others.
        if not isinstance(answer, Failure):
            kinds += _classic_kinds(answer.get("resources") or [], group, version)
        elif not group:
            return answer.gap
    return Kinds(tuple(kinds))


def _classic_kinds(resources: Iterable[dict[str, Any]], group: str, version: str) -> list[Kind]:
    return [
        Kind(
            str(resource.get("kind")),
            str(resource.get("name")),
            str(resource.get("singularName") or str(resource.get("kind")).lower()),
            tuple(resource.get("shortNames") or ()),
            str(resource.get("group") or group),
            str(resource.get("version") or version),
            bool(resource.get("namespaced")),
            tuple(resource.get("verbs") or ()),
        )
        for resource in resources
        if "/" not in str(resource.get("name"))  # subresources: pods/log
    ]
