"""What each program's arguments mean: the files in ``grammars/``, read when a program is first met.

grammars/README.md says how such a file is written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

Style = Literal["gnu", "cobra", "long", "plain"]
Takes = Literal["nothing", "value", "optional", "pair"]


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag: whether it takes a value, of which kind, and what speaks against it."""

    takes: Takes
    kind: str = ""
    decision: Literal["allow", "ask", "deny"] = "allow"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Level:
    """A program or one of its subcommands."""

    style: Style = "gnu"
    flags: Mapping[str, Flag] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    args_with: tuple[tuple[frozenset[str], tuple[str, ...]], ...] = ()
    implicit: str = ""  # kind of the working directory, which is read when no file is named
    implicit_with: frozenset[str] = frozenset()  # ... only with one of these flags
    needs: frozenset[str] = frozenset()
    commands: Mapping[str, Level] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)  # subcommand -> why it never runs
    alone: bool = True  # has a meaning without a subcommand
    stops: bool = False  # flags end at the first argument
    numbers: bool = False  # -20 is a number
    literal: bool = False  # it opens connections: nothing in it may come from data
    sends_stdin: bool = False  # what it reads goes out
    skip_secrets: tuple[str, ...] = ()  # flags with {file} or {folder}
    check: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)  # for the check


@cache
def grammar(program: str) -> Level | None:
    """The grammar of a program; None when there is none. Raises ValueError for a file that is wrong."""
    raw = _load(program)
    return None if raw is None else _level(raw, program, None)


def _load(program: str) -> dict[str, Any] | None:
    import yaml

    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*|\[|:", program):
        return None
    program = {"[": "test", ":": "true"}.get(program, program)
    path = Path(__file__).with_name("grammars") / f"{program}.yaml"
    if not path.is_file():
        return None
    raw = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
    if "like" in raw:
        base = _load(raw.pop("like")) or {}
        for key, value in raw.items():
            base[key] = {**base[key], **value} if isinstance(value, dict) and key in base else value
        return base
    return dict(raw)


_KEYS = frozenset(
    [
        *("style", "switches", "values", "optional", "pairs", "deny", "ask", "args", "args_with", "implicit"),
        *("implicit_with", "needs", "commands", "deny_commands", "alone", "stops", "numbers", "literal"),
        *("sends_stdin", "skip_secrets", "check", "data"),
    ]
)


def _level(raw: Mapping[str, Any], name: str, parent: Level | None) -> Level:
    unknown = set(raw) - _KEYS
    if unknown:
        raise ValueError(f"{name}: unknown keys {sorted(unknown)}")
    base = parent or Level()
    flags = {**base.flags, **_flags(raw)}
    commands = raw.get("commands") or {}
    made = Level(
        style=raw.get("style", base.style),
        flags=flags,
        args=tuple(raw.get("args") or ()),
        args_with=tuple((_names(key), tuple(value)) for key, value in (raw.get("args_with") or {}).items()),
        implicit=raw.get("implicit", ""),
        implicit_with=_names(raw.get("implicit_with")),
        needs=_names(raw.get("needs")),
        refused={word: why for why, words in (raw.get("deny_commands") or {}).items() for word in words.split()},
        alone=raw.get("alone", not commands),
        stops=raw.get("stops", base.stops),
        numbers=raw.get("numbers", False),
        literal=raw.get("literal", base.literal),
        sends_stdin=raw.get("sends_stdin", False),
        skip_secrets=tuple(raw.get("skip_secrets") or ()),
        check=raw.get("check", base.check),
        data=raw.get("data") or base.data,
        commands={},
    )
    inner = {}
    for key, value in commands.items():
        level = _level(value or {}, f"{name} {key}", made)
        inner.update(dict.fromkeys(str(key).split(), level))
    made.commands.update(inner)  # type: ignore[attr-defined]
    return made


def _flags(raw: Mapping[str, Any]) -> dict[str, Flag]:
    flags = dict.fromkeys(_names(raw.get("switches")), Flag("nothing"))
    for takes, key in (("value", "values"), ("optional", "optional"), ("pair", "pairs")):
        for kind, names in (raw.get(key) or {}).items():
            flags |= dict.fromkeys(_names(names), Flag(takes, kind))  # type: ignore[arg-type]
    for decision in ("ask", "deny"):
        for reason, names in (raw.get(decision) or {}).items():
            for word in _names(names):
                name = word.removesuffix("=")
                known = flags.get(name, Flag("nothing") if name == word else Flag("value", "text"))
                flags[name] = Flag(known.takes, known.kind, decision, reason)
    return flags


def _names(text: str | None) -> frozenset[str]:
    return frozenset((text or "").split())
