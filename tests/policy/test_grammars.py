"""The grammar files themselves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import holmes.tools.policy.grammar as module
from holmes.tools.policy.checks import CHECKS
from holmes.tools.policy.grammar import Level, grammar
from holmes.tools.policy.kinds import KINDS

FOLDER = Path(module.__file__).with_name("grammars")
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.yaml"))


def levels(level: Level) -> Iterator[Level]:
    yield level
    for inner in level.commands.values():
        yield from levels(inner)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_file_is_whole(program: str) -> None:
    top = grammar(program)
    assert top is not None
    for level in levels(top):
        kinds = [flag.kind for flag in level.flags.values() if flag.kind]
        kinds += [*level.args, *(kind for _, other in level.args_with for kind in other), level.implicit]
        for kind in kinds:
            name = kind if kind.startswith("~") else kind.rstrip("*")
            assert name in KINDS or name.startswith("~") or name in ("", "command"), kind
        assert level.check in CHECKS or not level.check
        assert level.style in ("gnu", "cobra", "long", "plain")
        assert all(name.startswith("-") for name in level.flags)
        assert all(not kind.endswith("*") for kind in level.args[:-1])


def test_names_that_are_no_files() -> None:
    for name in ("", "no-such-program", "../judge", "README.md", ".hidden", "a/b", "kubectl.yaml"):
        assert grammar(name) is None
    assert grammar("[") is not None


def test_a_wrong_file_is_refused() -> None:
    with pytest.raises(ValueError, match="colour"):
        module._level({"colour": "red"}, "x", None)


def test_the_readme_names_every_key_and_kind() -> None:
    text = (FOLDER / "README.md").read_text()
    assert not [key for key in module._KEYS if f"`{key}`" not in text]
    assert not [kind for kind in KINDS if f"`{kind}`" not in text]
