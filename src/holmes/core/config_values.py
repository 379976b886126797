"""What the value of a configuration key may be, and how a key is declared."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from holmes.core.secret import Secret

_YES = frozenset(["true", "yes", "on", "1"])
_NO = frozenset(["false", "no", "off", "0"])


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value.

    ``read`` takes what YAML, the command line or ``split`` gave and returns the typed value; it raises ValueError for
    anything else. ``split`` turns the text of an environment variable into what the file would hold. ``expected``
    says in words what is accepted.
    """

    expected: str
    read: Callable[[Any], Any]
    split: Callable[[str], Any] = str


@dataclass(frozen=True, slots=True)
class Key:
    """How one key is declared: its kind and the environment variable that can set it.

    ``adds``: what the command line gives comes on top of the other values instead of replacing them.
    """

    kind: Kind
    variable: str = ""
    adds: bool = False


def key(kind: Kind, variable: str = "", *, adds: bool = False) -> dict[str, Key]:
    """The metadata that makes a dataclass field a key of the configuration."""
    return {"key": Key(kind, variable, adds)}


def describe_found(value: Any) -> str:
    """What stands where something else was expected, for people."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {str(value)[:40]}"
    if isinstance(value, str | Path):
        return f'the text "{str(value)[:40]}"'
    if isinstance(value, list | tuple):
        other = next((item for item in value if not isinstance(item, str | Path)), None)
        return f"a list with {describe_found(other)} in it" if other is not None else "a list"
    if isinstance(value, dict):
        return "keys and values"
    return "a date" if isinstance(value, date) else "something else"


def whole(minimum: int) -> Kind:
    """A whole number from ``minimum``."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise ValueError
        number = int(value)
        if number < minimum:
            raise ValueError
        return number

    return Kind(f"a whole number from {minimum}", read)


def choice(*words: str) -> Kind:
    """One of a few words."""

    def read(value: Any) -> str:
        if value not in words:
            raise ValueError
        return str(value)

    return Kind(f"one of {', '.join(words)}", read)


def _text(value: Any) -> str:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()  # api_version: 2024-02-01 is a date in YAML
    if not isinstance(value, str):
        raise ValueError
    return value


def _secret(value: Any) -> Secret:
    return value if isinstance(value, Secret) else Secret(_text(value))


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError
    number = float(value)
    if not math.isfinite(number) or number <= 0:
        raise ValueError
    return number


def _percent(value: Any) -> float:
    number = _number(value)
    if number > 100:
        raise ValueError
    return number


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in _YES | _NO:
        raise ValueError
    return word in _YES


def _path(value: Any) -> Path:
    text = str(value) if isinstance(value, Path) else _text(value)
    if not text or "\0" in text:
        raise ValueError
    return Path(text).expanduser()


def _items(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(_text(item) for item in _items(value))


def _paths(value: Any) -> tuple[Path, ...]:
    return tuple(_path(item) for item in _items(value))


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError
    return {str(name): item for name, item in value.items()}


def _flags(value: Any) -> dict[str, bool]:
    return {name: _flag(item) for name, item in _mapping(value).items()}


def _repositories(value: Any) -> tuple[Any, ...]:
    items = _items(value)
    if not all(isinstance(item, str | dict) for item in items):
        raise ValueError
    return tuple(items)


def _commas(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _only_these(text: str) -> dict[str, bool]:
    return {"*": False} | {name: True for name in _commas(text) if name != "none"}


TEXT = Kind("text", _text)
SECRET = Kind("text", _secret)
POSITIVE = Kind("a number above 0", _number)
SECONDS = Kind("seconds, a number above 0", _number)
PERCENT = Kind("a percentage above 0, 100 at most", _percent)
FLAG = Kind("true or false", _flag)
PATH = Kind("a path", _path)
TEXTS = Kind("a list of texts", _texts, _commas)
PATHS = Kind("a list of paths", _paths, _commas)
MAPPING = Kind("names, each with its settings below it", _mapping)
FLAGS = Kind("names, each with true or false", _flags, _only_these)
REPOSITORIES = Kind("a list of repositories (a URL, or keys and values)", _repositories, json.loads)
