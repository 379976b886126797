"""The only way our own code starts a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Exit:
    """How a program ended.

    ``code`` is the exit status as a shell shows it (128 + signal when killed); ``cause`` is empty when it ended by
    itself, else one of "timeout", "memory limit", "killed by signal N", "not found", "cannot start: ...";
    ``size`` counts the bytes that it wrote.
    """

    code: int
    cause: str = ""
    size: int = 0


class Process(Protocol):
    """Runs programs: own process group, stdin closed or given, private environment, killed as a whole at the end.

    No shell is involved unless ``argv`` names one.
    """

    async def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        deadline: float,  # seconds of time.monotonic()
        write: Callable[[bytes], None],  # stdout as it arrives
        write_error: Callable[[bytes], None] | None = None,  # stderr; None: together with stdout
        stdin: bytes | None = None,
        cwd: str | None = None,
        memory_mb: int | None = None,
    ) -> Exit:
        """Run to the end, the deadline or cancellation; never raises for what the program does."""
        ...


@dataclass(frozen=True, slots=True)
class ChildProcess:
    """Process on asyncio. All times in seconds.

    Works without asyncio's child watchers (their default costs a thread a child): the end of a program is a readable
    pidfd. ``write`` is called on the loop, one piece at a time, so a slow reader slows the program down and nothing
    piles up here. What ``write`` raises ends the program and comes out of ``run``.
    """

    grace: float = 0.5  # between SIGTERM and SIGKILL
    drain: float = 0.25  # how long a pipe may stay open after the program ended (a grandchild holds it)
    poll: float = 0.1  # between two looks at the memory

    async def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        deadline: float,
        write: Callable[[bytes], None],
        write_error: Callable[[bytes], None] | None = None,
        stdin: bytes | None = None,
        cwd: str | None = None,
        memory_mb: int | None = None,
    ) -> Exit:
        """See Process."""
        import anyio

        from holmes.core import child

        started = child.start(argv, env, cwd, separate=write_error is not None, stdin=stdin is not None)
        if isinstance(started, Exit):
            return started
        running = child.Running(started, write, write_error or write, stdin or b"")
        running.watch(memory_mb, self.poll)
        whole = False
        try:
            with anyio.move_on_at(deadline):
                await running.pump(running.over)
            whole = True
        finally:
            cause = "memory limit" if running.heavy else "" if running.exited else "timeout"
            with anyio.CancelScope(shield=True):
                await running.finish(self.grace if cause else 0.0, self.drain, keep=whole)
        code = started.returncode
        if code is None:  # in the kernel's hands, not even SIGKILL ended it
            return Exit(137, cause, running.size)
        if code < 0:
            return Exit(128 - code, cause or f"killed by signal {-code}", running.size)
        return Exit(code, cause, running.size)
