"""The ``config`` of a toolset, read key by key; what is wrong with it is told all at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from holmes.core.config_values import Kind, describe_found


class PluginConfig:
    """Keys and values of one toolset. Read all keys, then ``check``."""

    def __init__(self, values: Any, where: str = "config", problems: list[str] | None = None) -> None:
        self.problems: list[str] = [] if problems is None else problems
        self._where = where
        self._read: dict[str, None] = {}
        self._parts: list[PluginConfig] = []
        self._values: Mapping[Any, Any] = values if isinstance(values, Mapping) else {}
        if not isinstance(values, Mapping) and values is not None:
            self.problem(f"expected keys and values, found {describe_found(values)}")

    def get(self, key: str, kind: Kind, default: Any) -> Any:
        """The value as its kind wants it; the default when it is not there, and when it is wrong (and noted)."""
        self._read[key] = None
        value = self._values.get(key)
        if value is None:
            return default
        try:
            return kind.read(value)
        except (ValueError, OverflowError):
            self.problem(f"expected {kind.expected}, found {describe_found(value)}", key)
            return default

    def part(self, key: str) -> PluginConfig:
        """Keys and values below a key; none when it is not there."""
        self._read[key] = None
        return self._add(self._values.get(key), key)

    def parts(self, key: str) -> Iterator[PluginConfig]:
        """The members of a list, each with keys and values."""
        self._read[key] = None
        value = self._values.get(key)
        if value is not None and not isinstance(value, list):
            self.problem(f"expected a list, found {describe_found(value)}", key)
            return
        for number, item in enumerate(value or (), 1):
            yield self._add(item, f"{key}.{number}")

    def problem(self, message: str, key: str = "") -> None:
        """Note what is wrong."""
        self.problems.append(f"{self._where}{f'.{key}' if key else ''}: {message}")

    def check(self) -> None:
        """ValueError with every problem, keys that nobody reads among them."""
        self._name_unknown()
        if self.problems:
            raise ValueError("; ".join(self.problems))

    def _name_unknown(self) -> None:
        for key in (str(key) for key in self._values if key not in self._read):
            near = get_close_matches(key, self._read, 1)
            self.problem(f"unknown key {key}; {f'did you mean {near[0]}?' if near else f'known: {self._known()}'}")
        for part in self._parts:
            part._name_unknown()

    def _known(self) -> str:
        return ", ".join(self._read)

    def _add(self, values: Any, key: str) -> PluginConfig:
        part = PluginConfig(values, f"{self._where}.{key}", self.problems)
        self._parts.append(part)
        return part
