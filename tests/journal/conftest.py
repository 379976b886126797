"""Fixtures of the journal's tests."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

_NOBODY = 65534
Report = Callable[[str], None]
AsUser = Callable[[Callable[[Report], None]], list[str]]


@pytest.fixture
def user_folder() -> Iterator[Path]:
    """A folder that an ordinary user can reach, even when the tests run as root."""
    folder = Path(tempfile.mkdtemp(prefix="holmes-test-"))
    folder.chmod(0o777)
    yield folder
    folder.chmod(0o777)
    shutil.rmtree(folder)


@pytest.fixture
def as_user() -> AsUser:
    """Run something as an ordinary user (root may write everywhere) and give back what it reports."""

    def run(work: Callable[[Report], None]) -> list[str]:
        context = multiprocessing.get_context("fork")
        lines = context.SimpleQueue()

        def child() -> None:
            if os.geteuid() == 0:
                os.setgid(_NOBODY)
                os.setuid(_NOBODY)
            work(lines.put)

        process = context.Process(target=child)
        process.start()
        process.join(30)
        assert process.exitcode == 0
        said = []
        while not lines.empty():
            said.append(lines.get())
        return said

    return run
