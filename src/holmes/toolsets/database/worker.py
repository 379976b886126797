"""Blocking work of database drivers, in threads that can be left behind."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Generic, TypeVar

T = TypeVar("T")
GRACE = 2.0  # seconds that the caller still waits once the work was told to stop
_AGAIN, _TRIES = 0.5, 20  # seconds between attempts to stop it: one that comes before the statement stops nothing


class _Answer(Generic[T]):
    """Carries the end of the work, whatever it is, from its thread to the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.future: asyncio.Future[T] = loop.create_future()
        self.result: T
        self.ended = threading.Event()

    def __enter__(self) -> _Answer[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.ended.set()
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._deliver, error)
        return True

    def _deliver(self, error: BaseException | None) -> None:
        if self.future.done():
            return
        if error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(error)


async def in_thread(work: Callable[[], T], deadline: float, stop: Callable[[], None]) -> T:
    """The result of ``work``, by ``deadline`` (seconds of time.monotonic()).

    When it is not there in time, or the caller is cancelled, ``stop`` is called until the work ends (in a thread of its
    own: it may block, and must raise nothing), and after a short grace the work is left behind. The threads are
    daemons: a server that never answers keeps nobody from leaving. Raises TimeoutError, and what ``work`` raises.
    """
    answer: _Answer[T] = _Answer(asyncio.get_running_loop())

    def body() -> None:
        with answer:
            answer.result = work()

    def end() -> None:
        for _ in range(_TRIES):
            stop()
            if answer.ended.wait(_AGAIN):
                return

    threading.Thread(target=body, name="database", daemon=True).start()
    try:
        done, _ = await asyncio.wait([answer.future], timeout=max(0.0, deadline - time.monotonic()))
        if done:
            return answer.future.result()
        threading.Thread(target=end, name="database stop", daemon=True).start()
        await asyncio.wait([answer.future], timeout=GRACE)
        raise TimeoutError
    except asyncio.CancelledError:
        threading.Thread(target=end, name="database stop", daemon=True).start()
        raise
    finally:
        answer.future.cancel()
        if answer.future.done() and not answer.future.cancelled():
            answer.future.exception()  # seen: nothing is to be logged about work that came too late
