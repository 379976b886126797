"""What Holmes asks of a Kubernetes cluster; live clusters, snapshots and frozen benchmark data implement it.

Objects are plain dicts as the API server gives them. Forbidden or missing is a value (``Gap``), never "none found".
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

Object = dict[str, Any]
GapReason = Literal["forbidden", "not_found", "unreachable", "unauthorized", "unsupported", "error"]


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that could not be looked at. ``message`` is for people and names what to do where that is known."""

    what: str  # "pods in namespace prod", "Deployment prod/checkout"
    reason: GapReason
    message: str

    def __str__(self) -> str:
        return f"{self.what}: {self.message}"


@dataclass(frozen=True, slots=True)
class Kind:
    """One resource type of the API server, as discovery tells it."""

    kind: str  # Deployment
    plural: str  # deployments
    singular: str  # deployment
    short_names: tuple[str, ...]
    group: str  # apps; "" is the core group
    version: str  # v1
    namespaced: bool
    verbs: tuple[str, ...] = ("get", "list")

    @property
    def api_version(self) -> str:
        """``apps/v1``, or ``v1`` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version


@dataclass(frozen=True, slots=True)
class Kinds:
    """All resource types; ``find`` takes what kubectl takes: po, pods, Pod, deployments.apps, a CRD's name."""

    all: tuple[Kind, ...]

    def find(self, name: str) -> Kind | None:
        """The kind of that name in any spelling (case, plural, short name, with group), None when unknown."""
        wanted, _, group = name.strip().lower().partition(".")
        for kind in self.all:
            names = {kind.kind.lower(), kind.plural, kind.singular, *kind.short_names}
            if wanted in names and (not group or kind.group == group or group.startswith(f"{kind.version}.")):
                return kind
        return None

    def near(self, name: str) -> list[str]:
        """Plural names that look like ``name``, best first."""
        from difflib import get_close_matches

        return get_close_matches(name.lower(), [kind.plural for kind in self.all], n=3, cutoff=0.6)


@dataclass(frozen=True, slots=True)
class Page:
    """Some objects of a list. ``partial`` names fields that this source does not have: unknown is not empty."""

    items: list[Object]
    partial: frozenset[str] = frozenset()
    total: int | None = None  # of the whole list, when the server told it


@dataclass(frozen=True, slots=True)
class Table:
    """The API server's own table: what ``kubectl get`` prints. ``priorities`` > 0 are the columns of ``-o wide``."""

    columns: tuple[str, ...]
    priorities: tuple[int, ...]
    rows: tuple[tuple[str, ...], ...]
    names: tuple[tuple[str, str], ...]  # (namespace, name) of each row


@dataclass(frozen=True, slots=True)
class Lines:
    """Log lines of one container, oldest first."""

    lines: list[str]
    container: str
    previous: bool = False
    truncated: bool = False  # there were more than the limit


@dataclass(frozen=True, slots=True)
class LogWindow:
    """Which log lines. Times are RFC 3339 in UTC; ``since_seconds`` counts back from the cluster's now."""

    container: str = ""  # "" = the only one, or the pod's default container
    previous: bool = False
    tail: int | None = None  # lines, at the source
    since_seconds: int | None = None
    since_time: str = ""
    timestamps: bool = False
    limit_bytes: int | None = None


class Cluster(Protocol):
    """Read-only access to one cluster."""

    name: str  # for people: the cluster's name in the kubeconfig, or the snapshot's
    context: str
    namespace: str  # the context's default namespace

    @property
    def now(self) -> datetime:
        """The time of the data: a snapshot's "now" is its capture time."""
        ...

    async def kinds(self) -> Kinds | Gap:
        """All resource types, CRDs included."""
        ...

    async def get(self, kind: str, name: str, namespace: str | None = None) -> Object | Gap:
        """One object; ``namespace`` None = the context's default for namespaced kinds."""
        ...

    def list(
        self, kind: str, namespace: str | None = None, selector: str = "", fields: str = ""
    ) -> AsyncIterator[Page | Gap]:
        """Pages of a list; ``namespace`` None = all namespaces. A Gap ends it."""
        ...

    async def table(
        self, kind: str, namespace: str | None = None, name: str = "", selector: str = "", fields: str = ""
    ) -> Table | Gap:
        """The server's table of a kind, or of one object; ``namespace`` None = all namespaces."""
        ...

    async def logs(self, pod: str, namespace: str, window: LogWindow) -> Lines | Gap:
        """Log lines of one container."""
        ...

    async def raw(self, path: str) -> Object | Gap:
        """GET of any API path that answers JSON (metrics.k8s.io, /version); snapshots may say unsupported."""
        ...

    async def close(self) -> None:
        """Close connections."""
        ...


class Clusters(Protocol):
    """The clusters of a run."""

    async def get(self, context: str = "") -> Cluster | Gap:
        """The cluster of a kubeconfig context; "" is the run's own. A Gap names the cause and the next step."""
        ...

    async def close(self) -> None:
        """Close all of them."""
        ...
