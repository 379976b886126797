"""A run: one turn of a conversation at work, and its events for any number of readers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holmes.agent.approval import Decision, PendingApproval
from holmes.core.events import ApprovalRequired, Event, Record

if TYPE_CHECKING:
    from holmes.core.report import Report

PROVISIONAL = 2_000  # lossy events that wait for slow readers at most


@dataclass(frozen=True, slots=True)
class Entry:
    """An event with its number; ``seq`` is the journal's and 0 for provisional events."""

    seq: int
    event: Event


class EventLog:
    """Events of a conversation: what is journalled is kept, what is provisional may be lost. Never blocks the run."""

    def __init__(self, append: Callable[[Event], int]) -> None:
        self._append = append
        self._kept: list[tuple[int, Entry]] = []
        self._lossy: deque[tuple[int, Entry]] = deque(maxlen=PROVISIONAL)
        self._count = 0
        self._news = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self.closed = False

    def emit(self, event: Event) -> None:
        """Take an event; from any thread."""
        try:
            here = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            here = False
        if here:
            self._take(event)
        else:
            self._loop.call_soon_threadsafe(self._take, event)

    def close(self) -> None:
        """No more events: readers end when they have read all."""
        self.closed = True
        self._wake()

    def kept(self) -> list[Entry]:
        """What was journalled so far."""
        return [entry for _, entry in self._kept]

    def reopen(self) -> None:
        """The conversation goes on; what was provisional is past."""
        self.closed = False
        self._lossy.clear()

    async def read(self, after: int = 0) -> AsyncIterator[Entry]:
        """All entries with a ``seq`` above ``after``, then what comes, until the log is closed."""
        seen = 0
        while True:
            news = self._news
            batch = sorted((item for item in self._since(seen)), key=lambda item: item[0])
            for number, entry in batch:
                seen = number
                if entry.seq > after or entry.event.lossy:
                    yield entry
            if not batch:
                if self.closed:
                    return
                await news.wait()

    def _since(self, seen: int) -> list[tuple[int, Entry]]:
        kept: list[tuple[int, Entry]] = []
        for item in reversed(self._kept):
            if item[0] <= seen:
                break
            kept.append(item)
        return kept + [item for item in self._lossy if item[0] > seen]

    def _take(self, event: Event) -> None:
        self._count += 1
        if event.lossy:
            self._lossy.append((self._count, Entry(0, event)))
        else:
            self._kept.append((self._count, Entry(self._append(event), event)))
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


@dataclass(slots=True)
class Run:
    """A turn that works in the engine's task group. It outlives whoever started it."""

    id: str
    question: str
    log: EventLog
    turn: int = 1  # of the conversation
    _finished: asyncio.Event = field(default_factory=asyncio.Event)
    _report: Report | None = None
    _error: BaseException | None = None
    _task: asyncio.Task[Any] | None = None
    _said: list[str] = field(default_factory=list)
    _pending: dict[str, asyncio.Future[Decision]] = field(default_factory=dict)
    cancelled: str = ""  # why, when it was

    async def events(self, after: int = 0) -> AsyncIterator[Event]:
        """Events for clients, from ``after`` on; many readers, each at its own pace."""
        async for entry in self.log.read(after):
            if not isinstance(entry.event, Record):
                yield entry.event

    def cancel(self, why: str = "cancelled") -> None:
        """Stop: running tools are killed with their group, the turn ends with what it has."""
        self.cancelled = self.cancelled or why
        if self._task is not None:
            self._task.cancel()

    def say(self, text: str) -> None:
        """Tell the model something before its next step."""
        self._said.append(text)

    def take_said(self) -> list[str]:
        """What was said since the last call."""
        said, self._said = self._said, []
        return said

    async def decide(self, call_id: str, approved: bool, note: str = "") -> bool:
        """Answer a pending approval; False when no such call waits (it is answered once)."""
        future = self._pending.pop(call_id, None)
        if future is None or future.done():
            return False
        future.set_result(Decision(approved, note))
        return True

    async def ask_person(self, pending: PendingApproval) -> Decision:
        """Wait for ``decide``; the question goes out as an event."""
        future: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._pending[pending.call_id] = future
        self.log.emit(
            ApprovalRequired(
                (
                    {
                        "tool_call_id": pending.call_id,
                        "tool_name": pending.tool_name,
                        "description": pending.show,
                        "reason": pending.reason,
                        "params": dict(pending.args),
                        "prefixes": list(pending.prefixes),
                    },
                )
            )
        )
        return await future

    async def wait(self) -> Report:
        """The report; raises the HolmesError that the turn failed with."""
        await self._finished.wait()
        if self._error is not None:
            raise self._error
        if self._report is None:
            assert self._task is not None
            await self._task  # raises the bug that ended the turn
            raise AssertionError("a turn ended without report and error")
        return self._report

    @property
    def finished(self) -> bool:
        """Whether the turn has ended."""
        return self._finished.is_set()

    def attach(self, task: asyncio.Task[Any]) -> None:
        """The task that works; a cancellation that came first takes effect now."""
        self._task = task
        if self.cancelled:
            task.cancel()

    def finish(self, report: Report | None, error: BaseException | None = None) -> None:
        """End the run with its report or its error."""
        self._report, self._error = report, error
        self._finished.set()
        self.log.close()
