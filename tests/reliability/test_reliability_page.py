"""docs/reliability.md names tests: each of them exists, and each of ours is named."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent.parent
PAGE = (TESTS.parent / "docs" / "reliability.md").read_text()


def names_in(*files: Path) -> set[str]:
    return {name for file in files for name in re.findall(r"^(?:async )?def (test_\w+)", file.read_text(), re.M)}


def test_every_test_that_is_named_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert len(named) > 40
    assert named - names_in(*TESTS.glob("*/test_*.py")) == set()


def test_every_failure_that_is_tested_here_is_on_the_page() -> None:
    told_elsewhere = {"test_only_nameless_calls_are_no_answer"}
    own = names_in(*(file for file in TESTS.glob("reliability/test_*.py") if file != Path(__file__)))
    assert {name for name in own if name not in PAGE} == told_elsewhere
