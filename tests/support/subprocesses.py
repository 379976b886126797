"""Runs the ``holmes`` command as a person would, in an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Done:
    """How the command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


def holmes(
    *arguments: str,
    home: Path,
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    seconds: float = 60.0,
) -> Done:
    """Run ``holmes ARGUMENTS``. ``home`` is HOME; nothing of the caller's environment but PATH gets in."""
    process = subprocess.run(
        command(arguments),
        env=environment(home, env),
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        timeout=seconds,
        cwd=home,
    )
    done = Done(process.returncode, process.stdout.decode(), process.stderr.decode())
    assert "Traceback" not in done.err, done.err
    return done


def command(arguments: Sequence[str]) -> list[str]:
    """The argument vector."""
    return [sys.executable, "-m", "holmes", *arguments]


def environment(home: Path, env: Mapping[str, str] | None = None) -> dict[str, str]:
    """A bare environment."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **(env or {})}
