"""What a user may set, and what the policy has to know of the machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Decision = Literal["allow", "ask", "deny"]
RANK: Mapping[Decision, int] = {"allow": 0, "ask": 1, "deny": 2}


@dataclass(frozen=True)
class PolicySettings:
    """Paths are absolute. Whatever is left out is refused rather than allowed.

    ``allow`` and ``deny`` are prefixes of commands; ``builtin_allowlist`` "none" lets nothing run but the ``allow``
    prefixes ("core" and "extended" are the same list here: files are guarded by ``read_roots``, not by program).
    ``env`` holds the variables that commands may use, with their values. ``secret_paths`` are files or folders that
    are never read, on top of the usual ones. ``hosts`` are names and addresses that HTTP requests may go to, on top of
    the cluster's services. ``sql_reads`` says whether one SQL text only reads; without it every SQL text needs a
    person.
    """

    cwd: str
    home: str
    read_roots: tuple[str, ...] = ()
    secret_paths: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    builtin_allowlist: Literal["core", "extended", "none"] = "core"
    env: Mapping[str, str] = field(default_factory=dict)
    hosts: frozenset[str] = frozenset()
    sql_reads: Callable[[str], bool] | None = None


@dataclass(frozen=True, slots=True)
class Ruling:
    """One thing that speaks against running a command unasked."""

    decision: Decision
    reason: str
    rule: str


def ask(reason: str, rule: str) -> Ruling:
    """A person has to decide."""
    return Ruling("ask", reason, rule)


def deny(reason: str, rule: str) -> Ruling:
    """It never runs."""
    return Ruling("deny", reason, rule)
