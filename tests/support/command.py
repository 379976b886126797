"""Calls ``holmes`` as a user would, in this process: arguments in, exit code and both streams out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from holmes.__main__ import run


@dataclass(frozen=True)
class Outcome:
    """What a call gave."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Command:
    """The command line of a user with an empty home and no kubeconfig."""

    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *arguments: Any) -> Outcome:
        self.capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = self.capsys.readouterr()
        return Outcome(code, captured.out, captured.err)


def command_in(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """A Command whose environment is its own."""
    for name in ("KUBECONFIG", "HOLMES_HOME", "CLICOLOR_FORCE", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    return Command(monkeypatch, capsys)
