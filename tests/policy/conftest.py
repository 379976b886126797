"""A policy over a working directory of the test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holmes.tools.policy.settings import PolicySettings


@pytest.fixture
def settings(tmp_path: Path) -> Callable[..., PolicySettings]:
    """Makes settings; the working directory and /var/log may be read."""
    work = tmp_path / "work"
    home = tmp_path / "home"
    for folder in (work, home):
        folder.mkdir()

    def make(**more: Any) -> PolicySettings:
        plain: dict[str, Any] = {
            "cwd": str(work),
            "home": str(home),
            "read_roots": (str(work), "/var/log"),
            "env": {"HOME": str(home), "PWD": str(work), "USER": "me"},
        }
        return PolicySettings(**{**plain, **more})

    return make
