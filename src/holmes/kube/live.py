"""A live cluster behind the ``Cluster`` protocol: plain GETs, plain dicts, Secrets emptied at the door."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import anyio

from holmes.core.http import Http
from holmes.core.process import Process
from holmes.kube.api import JSON, ApiServer, Params
from holmes.kube.builtin_kinds import builtin_kinds
from holmes.kube.cluster import Gap, Kind, Kinds, Lines, LogWindow, Object, Page, Table
from holmes.kube.discovery import discover
from holmes.kube.failures import Failure
from holmes.kube.kubeconfig import Connection
from holmes.kube.log_lines import LineBuffer
from holmes.kube.paths import described, filters, log_params, not_a_read, paging, path_of
from holmes.kube.redact import redacted
from holmes.kube.related import name_of, namespace_of

_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
_KINDS_SECONDS = 60.0  # an unknown kind is looked up again after this: it may be a new CRD
_PARALLEL = 8
_MAX_PROBES = 200  # namespaces that are tried when not all may be read at once
_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
_POD = Kind("Pod", "pods", "pod", ("po",), "", "v1", namespaced=True)
_NAMESPACE = Kind("Namespace", "namespaces", "namespace", ("ns",), "", "v1", namespaced=False)


class LiveCluster:
    """One cluster of a kubeconfig. The first request connects; nothing is asked before."""

    def __init__(
        self, connection: Connection, http: Http, process: Process, env: Mapping[str, str], timeout: float = 30.0
    ) -> None:
        self.name = connection.cluster
        self.context = connection.context
        self.namespace = connection.namespace
        self.server = ApiServer(connection, http, process, env, timeout)
        self._builtin = builtin_kinds()
        self._kinds: Kinds | None = None
        self._kinds_at = 0.0
        self._lock = anyio.Lock()

    @property
    def now(self) -> datetime:
        """The API server's clock in UTC, this machine's until the first answer."""
        return self.server.now

    async def kinds(self) -> Kinds | Gap:
        """All resource types, CRDs included; asked once and kept for a minute."""
        async with self._lock:
            if self._kinds is None or time.monotonic() - self._kinds_at > _KINDS_SECONDS:
                found = await discover(self.server)
                if isinstance(found, Gap):
                    return found
                self._kinds, self._kinds_at = found, time.monotonic()
            return self._kinds

    async def get(self, kind: str, name: str, namespace: str | None = None) -> Object | Gap:
        """One object, without its managedFields and what ``redact`` hides."""
        resource = await self._find(kind)
        if isinstance(resource, Gap):
            return resource
        answer = await self._fetch(resource, namespace or self.namespace, name)
        return answer.gap if isinstance(answer, Failure) else redacted(answer, resource.kind)

    async def list(
        self, kind: str, namespace: str | None = None, selector: str = "", fields: str = ""
    ) -> AsyncIterator[Page | Gap]:
        """Pages of at most 500 objects.

        Where all namespaces may not be read, those that may are, and a Gap at the end says so.
        """
        resource = await self._find(kind)
        if isinstance(resource, Gap):
            yield resource
            return
        chosen = filters(selector, fields)
        async for page in self._pages(resource, namespace, chosen):
            if isinstance(page, Page):
                yield page
            elif page.status == 403 and namespace is None and resource.namespaced:
                readable = await self._readable(resource)
                for allowed in readable.allowed:
                    async for part in self._pages(resource, allowed, chosen):
                        yield part if isinstance(part, Page) else part.gap
                yield replace(page.gap, message=f"{page.gap.message}. {readable}")
            else:
                yield page.gap

    async def table(
        self, kind: str, namespace: str | None = None, name: str = "", selector: str = "", fields: str = ""
    ) -> Table | Gap:
        """What ``kubectl get`` would print, as the server made it.

        Half a table is none: where all namespaces may not be read, the Gap names those that may.
        """
        resource = await self._find(kind)
        if isinstance(resource, Gap):
            return resource
        scope = (namespace or self.namespace) if name else namespace
        answers: list[Object] = []
        token = ""
        while token or not answers:
            params = [*filters(selector, fields), *([] if name else paging(token))]
            answer = await self._fetch(resource, scope, name, params, _TABLE)
            if isinstance(answer, Failure):
                if answer.status == 403 and scope is None and resource.namespaced:
                    message = f"{answer.gap.message}. {await self._readable(resource)}"
                    return replace(answer.gap, message=message)
                return answer.gap
            if answer.get("kind") != "Table":
                return Gap(
                    described(resource, scope, name), "unsupported", "this API makes no tables; read the objects"
                )
            answers.append(answer)
            token = _continue_token(answer)
        return _table(answers)

    async def logs(self, pod: str, namespace: str, window: LogWindow) -> Lines | Gap:
        """Log lines in bounded memory: of a longer log the newest 16 MB are kept."""
        container = window.container or await self._default_container(pod, namespace)
        if isinstance(container, Gap):
            return container
        what = f"logs of {namespace}/{pod}, container {container}{', previous instance' if window.previous else ''}"
        path = path_of(_POD, namespace, pod)
        if path is None:
            return _bad_name(what)
        buffer = LineBuffer(window.tail)
        failure = await self.server.stream(f"{path}/log", log_params(container, window), buffer.take, what=what)
        if failure:
            return await self._no_logs(failure, pod, namespace)
        lines = buffer.finish()
        if len(lines) == 1 and lines[0].startswith("unable to retrieve container logs for "):
            return Gap(what, "not_found", f"the node no longer has them ({lines[0]})")
        cut = window.limit_bytes is not None and buffer.size >= window.limit_bytes
        return Lines(lines, container, window.previous, buffer.dropped or cut)

    async def raw(self, path: str) -> Object | Gap:
        """GET of a path of the API that answers with a JSON object; Secrets are emptied here too."""
        refusal = not_a_read(path)
        if refusal:
            return Gap(f"GET {path}", "unsupported", refusal)
        answer = await self.server.get(path, what=f"GET {path}")
        return answer.gap if isinstance(answer, Failure) else redacted(answer)

    async def close(self) -> None:
        """Close connections."""
        await self.server.close()

    async def _find(self, name: str) -> Kind | Gap:
        """The resource type of that name; discovery is asked only for what is not built in."""
        known = self._builtin.find(name)
        if known:
            return known
        kinds = await self.kinds()
        if isinstance(kinds, Gap):
            return kinds
        found = kinds.find(name)
        if found:
            return found
        near = kinds.near(name)
        advice = f"did you mean {' or '.join(near)}?" if near else "is its CustomResourceDefinition missing?"
        return Gap(f"resource type {name}", "not_found", f"the cluster {self.name} does not have it; {advice}")

    async def _fetch(
        self, resource: Kind, namespace: str | None, name: str = "", params: Params = (), accept: str = JSON
    ) -> Object | Failure:
        what = described(resource, namespace, name)
        path = path_of(resource, namespace, name)
        if path is None:
            return Failure(_bad_name(what))
        answer = await self.server.get(path, params, what=what, accept=accept)
        if isinstance(answer, Failure) and answer.kind_missing:
            kinds = await self.kinds()
            served = None if isinstance(kinds, Gap) else kinds.find(f"{resource.plural}.{resource.group}".rstrip("."))
            if served and served.version != resource.version:
                other = path_of(served, namespace, name) or path
                return await self.server.get(other, params, what=what, accept=accept)
        return answer

    async def _pages(self, resource: Kind, namespace: str | None, chosen: Params) -> AsyncIterator[Page | Failure]:
        """Pages to the end or the first Failure. A list that expires on the way (410) is taken up again once."""
        token, expired = "", False
        seen: set[tuple[str, str]] = set()
        while True:
            answer = await self._fetch(resource, namespace, params=[*chosen, *paging(token)])
            if isinstance(answer, Failure):
                if answer.status != 410 or expired:
                    yield answer
                    return
                expired, token = True, answer.continue_token
                continue
            page = _page(answer, resource, seen if expired else None)
            seen.update((namespace_of(item), name_of(item)) for item in page.items)
            yield page
            token = _continue_token(answer)
            if not token:
                return

    async def _readable(self, resource: Kind) -> Readable:
        """In which namespaces the objects of a kind may be listed."""
        candidates = [self.namespace]
        complete = False
        async for page in self._pages(_NAMESPACE, None, ()):
            complete = isinstance(page, Page)
            candidates += [name_of(item) for item in page.items] if isinstance(page, Page) else []
        candidates = list(dict.fromkeys(candidates))
        allowed: set[str] = set()
        limiter = anyio.CapacityLimiter(_PARALLEL)

        async def probe(namespace: str) -> None:
            async with limiter:
                answer = await self._fetch(resource, namespace, params=[("limit", "1")])
                if not isinstance(answer, Failure):
                    allowed.add(namespace)

        async with anyio.create_task_group() as group:
            for namespace in candidates[:_MAX_PROBES]:
                group.start_soon(probe, namespace)
        tried = candidates[:_MAX_PROBES]
        return Readable(
            tuple(name for name in tried if name in allowed),
            tuple(name for name in tried if name not in allowed),
            complete and len(tried) == len(candidates),
        )

    async def _default_container(self, pod: str, namespace: str) -> str | Gap:
        found = await self.get("Pod", pod, namespace)
        if isinstance(found, Gap):
            return found
        names = [str(container.get("name")) for container in (found.get("spec") or {}).get("containers") or []]
        marked = (found["metadata"].get("annotations") or {}).get(_DEFAULT_CONTAINER)
        return marked if marked in names else names[0]

    async def _no_logs(self, failure: Failure, pod: str, namespace: str) -> Gap:
        """Says why there is no log: most refusals (400) mean that there is none, not that asking failed."""
        message = failure.gap.message
        if failure.status != 400:
            return failure.gap
        if "is not valid for pod" in message:
            found = await self.get("Pod", pod, namespace)
            names = [] if isinstance(found, Gap) else _containers(found)
            return replace(failure.gap, reason="not_found", message=f"{message}; it has: {', '.join(names)}")
        if "previous terminated container" in message:
            advice = "it has not been restarted, or the node dropped the old log; read the current log"
            return replace(failure.gap, reason="not_found", message=f"{message}: {advice}")
        if "waiting to start" in message:
            advice = "it has written nothing yet; the events of the pod tell why"
            return replace(failure.gap, reason="not_found", message=f"{message}: {advice}")
        return failure.gap


@dataclass(frozen=True, slots=True)
class Readable:
    """The namespaces in which a kind may and may not be listed; not ``complete``: there may be others."""

    allowed: tuple[str, ...]
    refused: tuple[str, ...]
    complete: bool

    def __str__(self) -> str:
        allowed = f"It may be read in: {', '.join(self.allowed)}" if self.allowed else "It may be read in no namespace"
        refused = f"; not in: {', '.join(self.refused[:10])}" if self.refused else ""
        more = f" and {len(self.refused) - 10} more" if len(self.refused) > 10 else ""
        unknown = "" if self.complete else "; other namespaces were not tried, as not all of them may be listed"
        return f"{allowed}{refused}{more}{unknown}"


def _page(answer: Object, resource: Kind, skip: set[tuple[str, str]] | None) -> Page:
    """Items get the kind and apiVersion that a list leaves out; ``skip`` are those that were already given."""
    items = []
    for item in answer.get("items") or []:
        if skip is None or (namespace_of(item), name_of(item)) not in skip:
            items.append(redacted({"apiVersion": resource.api_version, "kind": resource.kind, **item}))
    remaining = (answer.get("metadata") or {}).get("remainingItemCount")
    total = None
    if not _continue_token(answer):
        total = len(items)
    elif remaining is not None:
        total = len(items) + int(remaining)
    return Page(items, total=total)


def _continue_token(answer: Object) -> str:
    return str((answer.get("metadata") or {}).get("continue") or "")


def _table(answers: list[Object]) -> Table:
    """One table of all pages."""
    columns = answers[0].get("columnDefinitions") or []
    rows = [row for answer in answers for row in answer.get("rows") or []]
    objects = [row.get("object") or {} for row in rows]
    return Table(
        tuple(str(column.get("name")) for column in columns),
        tuple(int(column.get("priority") or 0) for column in columns),
        tuple(tuple("" if cell is None else str(cell) for cell in row.get("cells") or []) for row in rows),
        tuple((namespace_of(obj), name_of(obj)) for obj in objects),
    )


def _containers(pod: Object) -> list[str]:
    spec = pod.get("spec") or {}
    groups = ("initContainers", "containers", "ephemeralContainers")
    return [str(container.get("name")) for group in groups for container in spec.get(group) or []]


def _bad_name(what: str) -> Gap:
    return Gap(what, "not_found", "no object can have such a name")
