"""fetch_pod_logs: the logs of a pod or of a workload's pods, all containers, previous instances too."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import anyio.to_thread

from holmes.core.results import StructuredToolResult
from holmes.kube.cluster import Cluster, Gap, LogWindow, Object
from holmes.kube.log_times import has_time, without_time
from holmes.kube.related import is_ready, name_of, namespace_of, restarts
from holmes.tools.tool import FunctionTool, Services, SimpleToolset, ToolContext, Toolset
from holmes.toolsets.kubernetes.absent import located, nothing_there
from holmes.toolsets.kubernetes.health import needs_cluster
from holmes.toolsets.kubernetes.lists import in_one_namespace, listed
from holmes.toolsets.kubernetes.log_request import LogRequest, Source, read_request, sources_of
from holmes.toolsets.kubernetes.query import Query, Unanswered, answering, read_query, text_of

_PODS = 5  # pods of a workload whose logs are read
_PODS_FILTERED = 20
_FULL_SHARES = 4  # logs that are shown up to the limit; more of them share what these would have had
_LEAST_LINES = 20
_LONGEST = 4_000  # characters of a line
_SINK_FROM = 200_000  # characters; larger texts are written piece by piece
_ERRORS_SHOWN = 5
_DATA_LINES = 100  # of all logs together
_OWN_TIME = re.compile(r"\d{1,2}:\d{2}:\d{2}")
_ERRORS = re.compile(
    r"\b(?:error|err|exception|traceback|fatal|panic|critical|fail(?:ed|ure|ing)?|timed? ?out|refused|denied"
    r"|unable|cannot|killed|oom)\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Log:
    """What was read of one source. Lines are as they came, with the kubelet's time in front."""

    source: Source
    gap: Gap | None = None
    read: int = 0
    matched: int = 0
    shown: list[str] = field(default_factory=list)
    more: bool = False  # the source had more lines than were read
    first: str = ""
    last: str = ""
    errors: int = 0  # lines that were not shown and look like errors
    error_lines: list[str] = field(default_factory=list)


@answering
async def fetch_pod_logs(cluster: Cluster, args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
    """The newest lines of each container's log in the period that pass the filters."""
    request = read_request(args, cluster.now)
    query = await read_query(cluster, {**args, "kind": "pods", "name": text_of(args, "pod_name")}, ctx)
    pods, notes, gaps = await _pods(cluster, query, request)
    sources = [source for pod in pods for source in sources_of(pod, request)]
    if request.container and not sources:
        raise Unanswered(_no_container(pods, request.container))
    done = [source.container for source in sources if source.finished]
    if done:
        notes.append(f"init containers that completed are left out: {', '.join(dict.fromkeys(done))}")
    wanted = [source for source in sources if not source.finished]
    speaking = max(1, sum(not source.silent for source in wanted))
    share = request.limit
    if speaking > _FULL_SHARES:
        share = min(request.limit, max(_LEAST_LINES, request.limit * _FULL_SHARES // speaking))
    logs = await asyncio.gather(*(_read(cluster, source, request, share) for source in wanted))
    gaps += [str(log.gap) for log in logs if log.gap and log.gap.reason != "not_found"]
    if logs and all(log.gap and log.gap.reason != "not_found" for log in logs):
        raise Unanswered(str(logs[0].gap), *(log.gap for log in logs if log.gap))
    return _result(cluster, request, pods, logs, {"notes": tuple(notes), "gaps": tuple(dict.fromkeys(gaps))}, ctx)


async def _pods(cluster: Cluster, query: Query, request: LogRequest) -> tuple[list[Object], list[str], list[str]]:
    """The pods to read, what to say of the choice, and gaps."""
    if not query.name and not query.selector:
        raise Unanswered('"pod_name" is missing: the name of a pod or of a workload')
    found = await (located if query.name else listed)(cluster, query)
    if not found.items:
        raise Unanswered(await nothing_there(cluster, query))
    in_one_namespace(found, query)
    most = _PODS_FILTERED if request.include else _PODS
    pods = sorted(found.items, key=lambda pod: (is_ready(pod), -restarts(pod), name_of(pod)))
    notes = [found.note] if found.note else []
    if len(pods) > most:
        rest = ", ".join(name_of(pod) for pod in pods[most : most + 10])
        notes.append(f"{len(pods) - most} more pods were not read, those read are the least healthy: {rest}")
    return pods[:most], notes, list(found.told)


def _no_container(pods: Sequence[Object], name: str) -> str:
    parts = ("initContainers", "containers", "ephemeralContainers")
    names = {str(item.get("name")) for pod in pods for part in parts for item in pod["spec"].get(part) or []}
    return f'pod {name_of(pods[0])} has no container "{name}"; it has: {", ".join(sorted(names))}'


async def _read(cluster: Cluster, source: Source, request: LogRequest, share: int) -> Log:
    log = Log(source)
    if source.silent:
        return log
    window = request.window(source.container, previous=source.previous)
    answer = await cluster.logs(source.pod, source.namespace, window)
    if isinstance(answer, Gap):
        log.gap = answer
        return log
    await anyio.to_thread.run_sync(_choose, log, answer.lines, request, share)
    log.more = answer.truncated
    if not log.read and request.start:
        last = await cluster.logs(
            source.pod, source.namespace, LogWindow(source.container, source.previous, tail=1, timestamps=True)
        )
        log.last = "" if isinstance(last, Gap) or not last.lines else _time_of(last.lines[-1])
    return log


def _choose(log: Log, lines: Sequence[str], request: LogRequest, share: int) -> None:
    """Keep the newest matching lines, and the last of the others that look like errors. Runs in a thread."""
    end = request.end.strftime("%Y-%m-%dT%H:%M:%S") if request.end else ""
    inside = [line for line in lines if not end or not has_time(line) or line[:19] <= end]
    log.read = len(inside)
    if inside:
        log.first, log.last = _time_of(inside[0]), _time_of(inside[-1])
    matched = [line for line in inside if request.wants(without_time(line))] if request.filtered else inside
    log.matched = len(matched)
    log.shown = matched[max(0, len(matched) - share) :]
    if not request.include:
        errors = [line for line in matched[: max(0, len(matched) - share)] if _ERRORS.search(line[:_LONGEST])]
        log.errors, log.error_lines = len(errors), errors[-_ERRORS_SHOWN:]


def _time_of(line: str) -> str:
    return f"{line[:19]}Z" if has_time(line) else ""


def _result(
    cluster: Cluster,
    request: LogRequest,
    pods: Sequence[Object],
    logs: Sequence[Log],
    shared: dict[str, Any],
    ctx: ToolContext,
) -> StructuredToolResult:
    namespaces = ", ".join(dict.fromkeys(map(namespace_of, pods)))
    names = ", ".join(map(name_of, pods))
    head = f"cluster {cluster.name}, namespace {namespaces}, pod {names}\n{_summary(logs, request, cluster.now)}"
    shared["invocation"] = "; ".join(request.command(namespace_of(pod), name_of(pod)) for pod in pods)
    shared["data"] = _data(cluster, request, logs)
    shared["notes"] += tuple(
        f'"{pattern.text}" is no regular expression; it was taken literally'
        for pattern in (request.include, request.exclude)
        if pattern and pattern.literal
    )
    many = sum(bool(log.shown) for log in logs) > 1
    blocks = [head, *(_block(log, request, prefix=many) for log in logs)]
    if not any(log.shown for log in logs):
        return StructuredToolResult.nothing("\n".join(blocks), **shared)
    if sum(map(len, blocks)) < _SINK_FROM:
        return StructuredToolResult.success("\n".join(blocks), **shared)
    for block in blocks:
        ctx.sink.write(f"{block}\n")
    return StructuredToolResult.success(**shared)


def _summary(logs: Sequence[Log], request: LogRequest, now: datetime) -> str:
    """The period, and how many lines there were: asked for, read, matching, shown."""
    firsts = sorted(log.first for log in logs if log.first)
    start = f"{request.start:%Y-%m-%dT%H:%M:%SZ}" if request.start else (firsts[0] if firsts else "the start")
    end = request.end or now
    read, shown = sum(log.read for log in logs), sum(len(log.shown) for log in logs)
    text = f"period {start} to {end:%Y-%m-%dT%H:%M:%SZ}: {read:,} lines read"
    if request.include or request.exclude:
        wanted = [f'"{request.include.text}"'] if request.include else []
        wanted += [f'without "{request.exclude.text}"'] if request.exclude else []
        text += f", {sum(log.matched for log in logs):,} match {' '.join(wanted)}"
    text += f", {shown:,} shown"
    if any(log.more for log in logs):
        text += "; older lines were not read"
    return text


def _block(log: Log, request: LogRequest, *, prefix: bool) -> str:
    """One log under its head; with several, each line begins with its container's name."""
    source = log.source
    label = f"{source.container}{' (previous)' if source.previous else ''}"
    head = f"=== {source.pod} / {source.container}" + (f" ({source.state})" if source.state else "")
    if source.silent:
        return f"{head}: {source.silent}"
    if log.gap:
        return f"{head}: {log.gap.message}"
    if not log.shown:
        if log.read:
            return f"{head}: none of {log.read:,} lines match"
        ended = f"; the last line is of {log.last}" if log.last else ""
        return f"{head}: no lines{' in this period' if request.start or request.end else ''}{ended}"
    lines = [*log.error_lines, *log.shown] if log.errors else log.shown
    clock = _clock(lines)
    text = [f"{label}| {clock(line)}" if prefix else clock(line) for line in lines]
    if log.errors:
        count = len(log.error_lines)
        before = log.matched - len(log.shown)
        told = f"--- {log.errors:,} of the {before:,} lines before look like errors, the last {count}:"
        text = [told, *text[:count], f"--- the last {len(log.shown):,} lines:", *text[count:]]
    elif log.matched > len(log.shown):
        head += f", the last {len(log.shown):,} of {log.matched:,}"
    return "\n".join([head, *text])


def _clock(lines: Sequence[str]) -> Any:
    """How to print lines: without the kubelet's time where they have one of their own."""
    own = sum(bool(_OWN_TIME.search(without_time(line)[:40])) for line in lines)
    if own * 5 >= len(lines) * 4:
        return lambda line: _cut(without_time(line))
    days = {line[:10] for line in lines if has_time(line)}
    start = 11 if len(days) == 1 else 0
    return lambda line: f"{line[start:19]} {_cut(without_time(line))}" if has_time(line) else _cut(line)


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}… ({len(line):,} characters)"


def _data(cluster: Cluster, request: LogRequest, logs: Sequence[Log]) -> dict[str, Any]:
    share = max(5, _DATA_LINES // max(1, len(logs)))
    return {
        "cluster": cluster.name,
        "start": request.start.isoformat() if request.start else None,
        "end": (request.end or cluster.now).isoformat(),
        "items": [
            {
                "kind": "Pod",
                "namespace": log.source.namespace,
                "name": log.source.pod,
                "container": log.source.container,
                "previous": log.source.previous,
                "state": log.source.state or log.source.silent,
                "gap": str(log.gap) if log.gap else None,
                "read": log.read,
                "matched": log.matched,
                "first": log.first,
                "last": log.last,
                "errors": [line[:500] for line in log.error_lines],
                "lines": [line[:500] for line in log.shown[-share:]],
            }
            for log in logs
        ],
    }


def make_logs(config: Mapping[str, Any], services: Services) -> Toolset:
    """The toolset kubernetes/logs."""
    text = {"type": "string"}
    tool = FunctionTool(
        name="fetch_pod_logs",
        description="Logs of a pod, or of the pods of a workload: all containers, also before a restart. "
        "Times: RFC 3339 or how long ago (10m). Filters: regex.",
        parameters={
            "type": "object",
            "properties": {
                "pod_name": text,
                "namespace": text,
                "start_time": text,
                "end_time": text,
                "limit": {"type": "integer", "description": "lines of each container"},
                "filter": text,
                "exclude_filter": text,
                "container": text,
                "previous": {"type": "boolean"},
            },
            "required": ["pod_name"],
        },
        function=fetch_pod_logs,
        live=True,
    )
    return SimpleToolset((tool,), check=needs_cluster(services))
