"""A program and everything that it started, as Linux's /proc shows it; elsewhere only the process group is known."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
Member = tuple[int, int]  # pid, start time in clock ticks: together they never name another process


def family(leader: int) -> set[Member]:
    """The leader's session and process group, and all descendants of these, whatever session they moved to.

    A process that left the session and whose parent has ended is not found.
    """
    parents: dict[int, int] = {}
    started: dict[int, int] = {}
    inside: set[int] = set()
    for pid in _pids():
        fields = _stat(pid)
        if fields is None:
            continue
        parents[pid], group, session, started[pid] = fields
        if leader in (pid, group, session):
            inside.add(pid)
    for pid in parents:
        line = []
        while pid in parents and pid not in inside:
            line.append(pid)
            pid = parents[pid]
        if pid in inside:
            inside.update(line)
    return {(pid, started[pid]) for pid in inside}


def send(leader: int, members: set[Member], signum: signal.Signals) -> None:
    """Signal the leader's group and the members that still are the same process."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signum)
    for pid, started in members:
        fields = _stat(pid)
        if fields is not None and fields[3] == started:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signum)


def resident(leader: int) -> int:
    """Bytes of memory that the leader and its descendants hold (RSS; pages that they share count for each). Linux."""
    total = 0
    waiting = [leader]
    while waiting:
        pid = waiting.pop()
        with suppress(OSError, ValueError, IndexError):
            total += int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * _PAGE
        with suppress(OSError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                with suppress(OSError):
                    waiting += map(int, (task / "children").read_bytes().split())
    return total


def _pids() -> list[int]:
    try:
        return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    except OSError:
        return []


def _stat(pid: int) -> tuple[int, int, int, int] | None:
    """Parent, group, session and start time: fields 4, 5, 6 and 22 of proc_pid_stat(5)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    fields = text[text.rfind(b")") + 2 :].split()
    return int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19])
