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
