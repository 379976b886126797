"""How facts become evidence lines: short, and with the words of the data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from holmes.analyzers.base import KubeEvent
from holmes.kube.cluster import Object
from holmes.kube.related import age, name_of

LINE = 300  # characters of an evidence line

# Exit codes: 126 to 128 are the shell's and the runtime's, above 128 it is 128 + signal (POSIX; signal(7)).
EXIT_MEANING = {
    0: "the program ended by itself, without an error",
    1: "the program reported an error",
    2: "the program reported an error (Go: panic; shell: wrong use)",
    126: "the command was found but may not be executed",
    127: "the command was not found",
    128: "the command could not be started",
    134: "SIGABRT: the program aborted itself",
    137: "SIGKILL: killed from outside (out of memory, a probe, or a stop that took too long)",
    139: "SIGSEGV: invalid memory access",
    143: "SIGTERM: asked to stop from outside",
}

_UID = re.compile(r"\(?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\)?")


def exit_text(ended: Mapping[str, Any]) -> str:
    """``exit code 137, SIGKILL: ...`` of a terminated state."""
    code = int(ended.get("exitCode") or 0)
    meaning = EXIT_MEANING.get(code) or (f"signal {code - 128}" if 128 < code < 160 else "")
    return f"exit code {code}" + (f", {meaning}" if meaning else "")


def cut(text: str, limit: int = LINE) -> str:
    """One line of at most ``limit`` characters, the middle left out."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    head = limit * 2 // 3
    return f"{line[:head].rstrip()} … {line[-(limit - head - 3) :].lstrip()}"


def event_line(event: KubeEvent, now: datetime) -> str:
    """``event FailedMount (x7, 45s ago): message``, without uids."""
    times = [f"x{event.count}"] if event.count > 1 else []
    ago = f"{age(event.last, now)} ago" if event.last else ""
    inside = ", ".join([*times, *([ago] if ago else [])])
    return cut(f"event {event.reason}{f' ({inside})' if inside else ''}: {without_uids(event.message)}")


def without_uids(message: str) -> str:
    """A message without the uids of pods, which say nothing to people."""
    return _UID.sub("", message)


def log_line(container: str, line: str, previous: bool = False) -> str:
    """``log of app (previous run): line``."""
    return cut(f"log of {container}{' (previous run)' if previous else ''}: {line.strip()}")


def state_line(pod: Object, status: Mapping[str, Any], now: datetime) -> str:
    """A container's state as ``pod x: container app waiting CrashLoopBackOff, 4 restarts; last run ended ...``."""
    state: Mapping[str, Any] = status.get("state") or {}
    parts = [_state_text(state, now)]
    if restarts := int(status.get("restartCount") or 0):
        parts.append(count(restarts, "restart"))
    last = (status.get("lastState") or {}).get("terminated")
    ended = f"; last run: {_ended_text(last, now)}" if last else ""
    return cut(f"pod {name_of(pod)}: container {status.get('name')} {', '.join(parts)}{ended}")


def _state_text(state: Mapping[str, Any], now: datetime) -> str:
    if waiting := state.get("waiting"):
        return f"waiting {waiting.get('reason') or ''}".strip()
    if running := state.get("running"):
        return f"running for {age(running.get('startedAt'), now) or 'an unknown time'}"
    if ended := state.get("terminated"):
        return f"terminated, {_ended_text(ended, now)}"
    return "state unknown"


def _ended_text(ended: Mapping[str, Any], now: datetime) -> str:
    ago = age(ended.get("finishedAt"), now)
    return f"{ended.get('reason') or 'ended'}, exit code {ended.get('exitCode', 0)}{f', {ago} ago' if ago else ''}"


def count(number: int, noun: str) -> str:
    """``1 restart``, ``3 restarts``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(names: list[str], limit: int = 4) -> str:
    """``a, b and c``; more than ``limit`` are counted."""
    if len(names) > limit:
        return f"{', '.join(names[:limit])} and {len(names) - limit} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def quoted(label: str, message: object) -> str:
    """``label: message`` as an evidence line, "" for an empty message."""
    return cut(f"{label}: {without_uids(str(message))}") if message else ""
