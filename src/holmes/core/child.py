"""One running program: its pipes, its end, and how it is ended. Used by process.ChildProcess alone."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO

import anyio

from holmes.core.family import family, resident, send
from holmes.core.process import Exit

_PIECE = 256 * 1024  # bytes a read: also the size asked for the pipe, which saves most of the switching
_LAST = 1 << 20  # bytes that are still read from a pipe that somebody holds open

Sink = Callable[[bytes], None]


def start(
    argv: Sequence[str], env: Mapping[str, str], cwd: str | None, *, separate: bool, stdin: bool
) -> subprocess.Popen[bytes] | Exit:
    """Start a program in a session of its own; an Exit says why it could not be started."""
    try:
        return subprocess.Popen(
            list(argv),
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if separate else subprocess.STDOUT,
            bufsize=0,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        if cwd is not None and error.filename == cwd:
            return Exit(126, f"cannot start: no directory {cwd}")
        return Exit(127, "not found")
    except OSError as error:
        return Exit(126, f"cannot start: {error.strerror or error}")
    except ValueError as error:
        return Exit(126, f"cannot start: {error}")


class Running:
    """A started program. What it writes waits here, a few pieces at most, until ``pump`` hands it on."""

    def __init__(self, process: subprocess.Popen[bytes], write: Sink, write_error: Sink, stdin: bytes) -> None:
        self.size = 0
        self.exited = False
        self.heavy = False  # it holds more memory than it may
        self._process = process
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._pieces: deque[tuple[Sink, bytes]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._pidfd = -1
        self._sinks: dict[IO[bytes], Sink] = {}
        for pipe, sink in ((process.stdout, write), (process.stderr, write_error)):
            if pipe is not None:
                self._open(pipe, sink)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            self._feed(process.stdin, memoryview(stdin))

    def watch(self, memory_mb: int | None, poll: float) -> None:
        """Look out for the end and the memory limit."""
        try:
            self._pidfd = os.pidfd_open(self._process.pid)
            self._loop.add_reader(self._pidfd, self._ended)
        except (AttributeError, OSError):  # not Linux, or an old or emulated kernel
            self._loop.run_in_executor(None, self._wait)
        if memory_mb is not None:
            self._timer = self._loop.call_later(poll, self._weigh, memory_mb << 20, poll)

    def over(self) -> bool:
        """Whether it is time to stop."""
        return self.exited or self.heavy

    async def pump(self, done: Callable[[], bool]) -> None:
        """Hand output on until ``done``; raises what a sink raises."""
        while True:
            while self._pieces:
                sink, piece = self._pieces.popleft()
                sink(piece)
            if done():
                return
            self._wake.clear()
            await self._wake.wait()

    async def finish(self, grace: float, drain: float, *, keep: bool) -> None:
        """End what still runs, read what is left (``keep`` says whether somebody wants it), close everything."""
        if not keep:
            self._pieces.clear()
            self._sinks = dict.fromkeys(self._sinks, _forget)
        members = set()
        leader = self._process.pid
        try:
            if not self.exited:
                members = family(leader)
                send(leader, members, signal.SIGTERM)
                with anyio.move_on_after(grace):
                    await self.pump(lambda: self.exited)
            with anyio.move_on_after(drain):
                await self.pump(lambda: not self._sinks)
            if self._sinks:
                members |= family(leader)
        finally:
            # The leader is not reaped yet, so its number still names this group.
            send(leader, members, signal.SIGKILL)
            try:
                with anyio.move_on_after(2.0):  # a process in the kernel's hands (disk, NFS) may not end even now
                    await self.pump(lambda: self.exited)
                self._last_words()
            finally:
                self._close()

    def _open(self, pipe: IO[bytes], sink: Sink) -> None:
        with suppress(OSError, AttributeError):
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _PIECE)
        os.set_blocking(pipe.fileno(), False)
        self._sinks[pipe] = sink
        self._loop.add_reader(pipe.fileno(), self._read, pipe)

    def _read(self, pipe: IO[bytes]) -> int:
        try:
            piece = os.read(pipe.fileno(), _PIECE)
        except (BlockingIOError, InterruptedError):
            return 0
        if piece:
            self.size += len(piece)
            self._pieces.append((self._sinks[pipe], piece))
        else:
            self._shut(pipe)
        self._wake.set()
        return len(piece)

    def _shut(self, pipe: IO[bytes]) -> None:
        self._loop.remove_reader(pipe.fileno())
        del self._sinks[pipe]
        pipe.close()

    def _feed(self, pipe: IO[bytes], rest: memoryview) -> None:
        self._loop.remove_writer(pipe.fileno())
        try:
            rest = rest[os.write(pipe.fileno(), rest) :] if rest else rest
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:  # the program does not want it
            rest = rest[:0]
        if rest:
            self._loop.add_writer(pipe.fileno(), self._feed, pipe, rest)
        else:
            pipe.close()

    def _wait(self) -> None:
        self._process.wait()
        with suppress(RuntimeError):  # the loop is gone
            self._loop.call_soon_threadsafe(self._ended)

    def _ended(self) -> None:
        if self._pidfd >= 0:
            self._loop.remove_reader(self._pidfd)
        self.exited = True
        self._wake.set()

    def _weigh(self, limit: int, poll: float) -> None:
        if resident(self._process.pid) > limit:
            self.heavy = True
            self._wake.set()
        else:
            self._timer = self._loop.call_later(poll, self._weigh, limit, poll)

    def _last_words(self) -> None:
        """What is in pipes that a stranger still holds open."""
        for pipe in list(self._sinks):
            taken = 0
            while taken < _LAST and pipe in self._sinks and (size := self._read(pipe)):
                taken += size
        while self._pieces:
            sink, piece = self._pieces.popleft()
            sink(piece)

    def _close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for pipe in list(self._sinks):
            self._shut(pipe)
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._loop.remove_writer(self._process.stdin.fileno())
            self._process.stdin.close()
        if self._pidfd >= 0:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
        self._process.poll()


def _forget(piece: bytes) -> None:
    """Take output that nobody wants any more."""
