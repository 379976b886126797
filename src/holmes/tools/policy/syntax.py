"""The part of the shell's language that the policy understands, as data.

Everything else becomes ``Odd`` (a command) or ``Unknown`` (a piece of a word): known to be there, never allowed, and
still searched for what is denied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """Literal characters; only unquoted ones can be wildcards, braces or a tilde."""

    text: str
    quoted: bool


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """``$name``, or ``${name#text}`` and its kin (``#``, ``##``, ``%``, ``%%``: cut a literal off an end)."""

    name: str
    quoted: bool
    cut: tuple[str, str] | None = None  # operator, literal


@dataclass(frozen=True, slots=True, eq=False)
class Substitution:
    """``$(...)`` or backquotes."""

    script: Sequence
    quoted: bool


@dataclass(frozen=True, slots=True, eq=False)
class ProcessInput:
    """``<(...)``: a file whose content another command writes."""

    script: Sequence


@dataclass(frozen=True, slots=True, eq=False)
class Arithmetic:
    """``$((...))`` of numbers alone."""

    expression: str


@dataclass(frozen=True, slots=True, eq=False)
class Unknown:
    """A piece that is not understood; ``reason`` says what it is."""

    text: str
    reason: str
    inner: tuple[Command, ...] = ()


Part: TypeAlias = Text | Variable | Substitution | ProcessInput | Arithmetic | Unknown
Word: TypeAlias = tuple[Part, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Redirect:
    """``2>file``; ``operator`` is the shell's, ``<<`` and ``<<<`` have the text itself as target."""

    descriptor: str
    operator: str
    target: Word


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """``name=value``."""

    name: str
    value: Word
    append: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Simple:
    """One program with its words; no words at all is a bare assignment or redirection."""

    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """``[[ ... ]]``: operators as text, operands as words."""

    tokens: tuple[str | Word, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Redirected:
    """A command with redirections."""

    command: Command
    redirects: tuple[Redirect, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Pipeline:
    """``a | b``, or one command with ``!`` before it."""

    stages: tuple[Command, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """``a && b || c``: the first operator is empty."""

    items: tuple[tuple[str, Command], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    """Commands one after the other."""

    items: tuple[Command, ...]


@dataclass(frozen=True, slots=True, eq=False)
class For:
    """``for name in words; do body; done``."""

    name: str
    words: tuple[Word, ...]
    body: Sequence


@dataclass(frozen=True, slots=True, eq=False)
class While:
    """``while`` or ``until``."""

    until: bool
    condition: Sequence
    body: Sequence


@dataclass(frozen=True, slots=True, eq=False)
class If:
    """Conditions with their bodies, and what is done otherwise."""

    branches: tuple[tuple[Sequence, Sequence], ...]
    otherwise: Sequence | None


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """``{ ...; }`` or ``( ... )``."""

    body: Sequence
    subshell: bool


@dataclass(frozen=True, slots=True, eq=False)
class Odd:
    """Something that the policy does not follow (background, functions, case, a syntax error)."""

    reason: str
    inner: tuple[Command, ...] = ()


Command: TypeAlias = Simple | Test | Redirected | Pipeline | Chain | Sequence | For | While | If | Group | Odd
