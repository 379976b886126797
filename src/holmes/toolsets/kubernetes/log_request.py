"""What a call of fetch_pod_logs asks for: the period, the filters, the limits, and which containers have a log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from holmes.kube.cluster import LogWindow, Object
from holmes.kube.related import parse_time
from holmes.toolsets.kubernetes.patterns import Pattern, compiled
from holmes.toolsets.kubernetes.query import Unanswered, pattern_of, text_of

_LINES = 100  # of each log, when no limit is asked for
_MOST_LINES = 20_000
_READ_PLAIN = 2_000  # lines read of each log without filters: what is not shown is still searched for errors
_READ_FILTERED = 50_000
_RELATIVE = re.compile(r"[-+]?\s*((?:\d+(?:\.\d+)?\s*[a-z]*\s*)+?)(?:\s*ago)?", re.IGNORECASE)
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


@dataclass(frozen=True, slots=True)
class LogRequest:
    """Times are in UTC; ``limit`` is in lines of each log. ``previous`` None: when the container restarted."""

    limit: int = _LINES
    start: datetime | None = None
    end: datetime | None = None
    include: Pattern | None = None
    exclude: Pattern | None = None
    previous: bool | None = None
    container: str = ""

    @property
    def filtered(self) -> bool:
        """Whether lines are chosen here, after reading."""
        return bool(self.include or self.exclude or self.end)

    def window(self, container: str, *, previous: bool) -> LogWindow:
        """What to ask the server for: no more than is needed."""
        tail = None if self.end else _READ_FILTERED if self.filtered else max(self.limit, _READ_PLAIN)
        since = self.start.strftime("%Y-%m-%dT%H:%M:%SZ") if self.start else ""
        return LogWindow(container, previous, tail, since_time=since, timestamps=True)

    def wants(self, line: str) -> bool:
        """Whether a line passes the filters."""
        if self.include and not self.include.matches(line):
            return False
        return not (self.exclude and self.exclude.matches(line))

    def command(self, namespace: str, pod: str) -> str:
        """The kubectl command that a person would type."""
        import shlex

        words = ["kubectl", "logs", "-n", namespace, pod]
        words += ["-c", self.container] if self.container else ["--all-containers"]
        words += ["--previous"] if self.previous else []
        words += [f"--since-time={self.start:%Y-%m-%dT%H:%M:%SZ}"] if self.start else []
        words += [] if self.filtered else [f"--tail={self.limit}"]
        greps = [
            *([f"grep -iE {shlex.quote(self.include.text)}"] if self.include else []),
            *([f"grep -viE {shlex.quote(self.exclude.text)}"] if self.exclude else []),
        ]
        return " | ".join([shlex.join(words), *greps, *([f"tail -n {self.limit}"] if greps else [])])


def read_request(args: Mapping[str, Any], now: datetime) -> LogRequest:
    """The request of a call's arguments; Unanswered names a time or a number that cannot be read."""
    end = _moment(text_of(args, "end_time"), now, now, "end_time")
    begin = text_of(args, "start_time")
    # A negative number counts from the end of the period, "10m" from now.
    base = end or now if re.fullmatch(r"-\d+", begin) else now
    start = _moment(begin, base, now, "start_time")
    if start and end and start > end:
        raise Unanswered(f"start_time {start:%Y-%m-%dT%H:%M:%SZ} is after end_time {end:%Y-%m-%dT%H:%M:%SZ}")
    include, exclude = pattern_of(args, "filter"), pattern_of(args, "exclude_filter")
    previous = args.get("previous")
    return LogRequest(
        limit=_limit(args),
        start=start,
        end=None if end == now else end,
        include=compiled(include) if include else None,
        exclude=compiled(exclude) if exclude else None,
        previous=previous if isinstance(previous, bool) else None,
        container=text_of(args, "container"),
    )


def _limit(args: Mapping[str, Any]) -> int:
    text = text_of(args, "limit")
    if not text:
        return _LINES
    try:
        return min(max(int(float(text)), 1), _MOST_LINES)
    except (ValueError, OverflowError) as error:
        raise Unanswered(f'limit "{text}" is no number of lines') from error


def _moment(text: str, base: datetime, now: datetime, name: str) -> datetime | None:
    """A time: RFC 3339, seconds since 1970, or so long before ``base`` (``-3600``, ``10m``, ``1h30m``, ``2d``)."""
    if not text:
        return None
    if text.lower() == "now":
        return now
    if re.fullmatch(r"\d{10}(\.\d+)?", text):
        return datetime.fromtimestamp(float(text), UTC)
    if found := _RELATIVE.fullmatch(text):
        parts = [(float(number), unit.lower()[:1]) for number, unit in _PART.findall(found[1])]
        if all(unit in _SECONDS for _, unit in parts):
            return base - timedelta(seconds=min(sum(number * _SECONDS[unit] for number, unit in parts), 3.2e8))
    parsed = parse_time(text.replace(" UTC", "Z").replace(" ", "T"))
    if parsed is None:
        raise Unanswered(
            f'{name} "{text}" is no time: give RFC 3339 (now is {now:%Y-%m-%dT%H:%M:%SZ}) or so long ago (10m)'
        )
    return parsed


@dataclass(frozen=True, slots=True)
class Source:
    """One log of a container, or why it has none (``silent``)."""

    pod: str
    namespace: str
    container: str
    previous: bool = False
    state: str = ""  # for people: "restarted 3 times", "previous instance: OOMKilled, exit code 137"
    silent: str = ""
    finished: bool = False  # an init container that did its part


def sources_of(pod: Object, request: LogRequest) -> Iterator[Source]:
    """The logs that a pod has: of each container, and of the instance before it where there was one."""
    metadata, spec, status = pod.get("metadata") or {}, pod.get("spec") or {}, pod.get("status") or {}
    states = {
        str(state.get("name")): state
        for part in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
        for state in status.get(part) or []
    }
    for part in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(part) or []:
            name = str(container.get("name"))
            if request.container and request.container != name:
                continue
            base = Source(str(metadata.get("name")), str(metadata.get("namespace") or ""), name)
            yield from _instances(base, states.get(name), pod, request, init=part == "initContainers")


def _instances(
    base: Source, state: Mapping[str, Any] | None, pod: Object, request: LogRequest, *, init: bool
) -> Iterator[Source]:
    if state is None:
        yield replace(base, silent=_not_started(pod))
        return
    current = state.get("state") or {}
    before = (state.get("lastState") or {}).get("terminated")
    waiting = current.get("waiting") or {}
    count = int(state.get("restartCount") or 0)
    if "waiting" in current and not before:
        reason = ": ".join(filter(None, [waiting.get("reason"), waiting.get("message")]))
        yield replace(base, silent=f"has not started ({reason or 'waiting'})")
        return
    # While a container does not run, its log is that of the instance that ended: who asks for the one before means it.
    ended = current.get("terminated") or (before if "waiting" in current else None)
    finished = init and bool(ended) and not (ended or {}).get("exitCode") and not request.container
    told = [waiting.get("reason"), ended and _ending(ended), f"restarts: {count}" if count else ""]
    if before and "waiting" not in current and request.previous is not False:
        yield replace(base, previous=True, state=f"previous instance, {_ending(before)}")
    if request.previous is not True or "running" not in current:
        yield replace(base, state=", ".join(filter(None, told)), finished=finished)
    elif not before:
        yield replace(base, silent="has no previous instance: it was never restarted")


def _ending(ended: Mapping[str, Any]) -> str:
    reason = ended.get("reason") or "ended"
    code = f"signal {ended['signal']}" if ended.get("signal") else f"exit code {ended.get('exitCode')}"
    return f"{reason}, {code}" + (f", at {ended['finishedAt']}" if ended.get("finishedAt") else "")


def _not_started(pod: Object) -> str:
    for condition in (pod.get("status") or {}).get("conditions") or []:
        if condition.get("type") == "PodScheduled" and condition.get("status") != "True":
            return f"has not started: the pod is not scheduled ({condition.get('message') or condition.get('reason')})"
    return f"has not started (pod phase {(pod.get('status') or {}).get('phase', 'unknown')})"
