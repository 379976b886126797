"""Everything that Holmes raises on purpose.

    HolmesError                     message, remedy (what to do next), where (file:line, URL, ...)
    ├── UsageError                  the caller asked for something impossible (exit 2)
    │   └── ConfigError             one or more located problems of the configuration
    ├── ModelError                  the language model cannot be used
    │   ├── ModelRefused            401, 403, 404, unknown model, missing extra: trying again is useless
    │   ├── ModelUnavailable        unreachable, 5xx, timeout, no sensible body: trying again may help
    │   │   └── RateLimited         429: carries retry_after
    │   └── ContextTooLong          the request is larger than the model's window: carries the limit
    └── StoreError                  journal or result store cannot be read or written

A failed tool is not an exception: it is a result with status ``error``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class HolmesError(Exception):
    """Base of the tree. ``str(error)`` is one line or a short block for people, remedy included."""

    def __init__(self, message: str, *, remedy: str = "", where: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.where = where

    def __str__(self) -> str:
        head = f"{self.where}: {self.message}" if self.where else self.message
        return f"{head}\n  → {self.remedy}" if self.remedy else head


class UsageError(HolmesError):
    """The command line, the question or an argument cannot be used. Exit code 2."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a configuration file."""

    where: str  # "file:line", or "command line", or a variable's name
    message: str
    warning: bool = False

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


class ConfigError(UsageError):
    """The configuration cannot be used; ``problems`` lists everything wrong with it at once."""

    def __init__(self, problems: Sequence[Problem], *, remedy: str = "") -> None:
        super().__init__("\n".join(str(problem) for problem in problems), remedy=remedy)
        self.problems = tuple(problems)


class ModelError(HolmesError):
    """The language model cannot be used."""


class ModelRefused(ModelError):
    """The provider will give the same answer next time: wrong key, no right, unknown model, missing extra."""


class ModelUnavailable(ModelError):
    """The provider could not answer this time."""


class RateLimited(ModelUnavailable):
    """The provider asks to wait; ``retry_after`` is in seconds, None when it did not say."""

    def __init__(self, message: str, *, retry_after: float | None = None, remedy: str = "", where: str = "") -> None:
        super().__init__(message, remedy=remedy, where=where)
        self.retry_after = retry_after


class ContextTooLong(ModelError):
    """The request does not fit the model; ``limit`` is the window in tokens when the provider told it."""

    def __init__(self, message: str, *, limit: int | None = None, remedy: str = "", where: str = "") -> None:
        super().__init__(message, remedy=remedy, where=where)
        self.limit = limit


class StoreError(HolmesError):
    """The state folder cannot be read or written (full disk, permissions, a foreign file)."""
