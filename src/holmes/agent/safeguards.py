"""What keeps a run from going round in circles or on for ever: the duplicate guard and the limits."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holmes.core.messages import Usage
from holmes.tools.tool import Tool

LIVE_AGAIN = 60.0  # seconds after which a live source may be asked the same once more
LIVE_TIMES = 2  # how often at most
FAILURES = 3  # how often the same call may fail
OFTEN = 5  # how often an exempt call may be repeated
STUBBORN = 3  # answers "not run again" after which the turn is concluded

_EXEMPT = frozenset({"TodoWrite", "read_result"})


@dataclass(slots=True)
class _Entry:
    reference: str
    at: float
    again: int = 0  # runs after one that worked
    failures: int = 0
    failed: bool = False  # the last run


@dataclass(slots=True)
class DuplicateGuard:
    """Answers a repeated call of one turn with a pointer to the earlier result. It survives compactions."""

    refused: int = 0  # steps in which a call was refused
    _counted: bool = False
    _calls: dict[str, _Entry] = field(default_factory=dict)
    _faults: set[str] = field(default_factory=set)

    def begin(self) -> None:
        """A new step: all its repeats together count once."""
        self._counted = False

    def claim(self, name: str, args: Mapping[str, Any], tool: Tool, reference: str) -> str:
        """The earlier reference, or "" when the call is to run; then it is remembered under ``reference``."""
        key, now = _key(name, args), time.monotonic()
        entry = self._calls.get(key)
        if entry is None:
            self._calls[key] = _Entry(reference, now)
            return ""
        if not _may_run_again(entry, tool, now):
            self._refuse()
            return entry.reference
        entry.again += not entry.failed
        entry.reference, entry.at, entry.failed = reference, now, False
        return ""

    def release(self, name: str, args: Mapping[str, Any]) -> None:
        """A call that failed may be made again, some times."""
        entry = self._calls[_key(name, args)]
        entry.failed = True
        entry.failures += 1

    def fault(self, problem: str) -> None:
        """A call that cannot be run at all: to make it again with the same problem is a repeat too."""
        if problem in self._faults:
            self._refuse()
        self._faults.add(problem)

    def _refuse(self) -> None:
        self.refused += not self._counted
        self._counted = True

    @property
    def stubborn(self) -> bool:
        """The model keeps repeating itself although it was told."""
        return self.refused >= STUBBORN


def _may_run_again(entry: _Entry, tool: Tool, now: float) -> bool:
    if tool.name in _EXEMPT:
        return entry.again < OFTEN
    if entry.failed and entry.failures < FAILURES:
        return True
    return getattr(tool, "live", False) and now - entry.at >= LIVE_AGAIN and entry.again < LIVE_TIMES


def _key(name: str, args: Mapping[str, Any]) -> str:
    return name + json.dumps(args, sort_keys=True, ensure_ascii=False, default=str)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one turn; None is no limit. Seconds are wall time, cost is in US dollars."""

    max_steps: int = 100
    max_seconds: float | None = None
    max_tokens: int | None = None
    max_cost: float | None = None

    def reached(self, step: int, started: float, usage: Usage) -> str:
        """The limit that is reached before model call number ``step`` (from 1), in words; "" when none is."""
        if step >= self.max_steps:
            return f"the limit of {self.max_steps} steps"
        if self.max_seconds is not None and time.monotonic() - started >= self.max_seconds:
            return f"the limit of {self.max_seconds:g} seconds"
        if self.max_tokens is not None and usage.total_tokens >= self.max_tokens:
            return f"the limit of {self.max_tokens:,} tokens"
        if self.max_cost is not None and (usage.cost or 0.0) >= self.max_cost:
            return f"the limit of ${self.max_cost:g}"
        return ""
