"""One mapping of a YAML document, read key by key; what is wrong is noted with its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from holmes.core.config_values import FLAG, POSITIVE, Kind, describe_found
from holmes.core.errors import Problem
from holmes.core.yaml_marks import Document, Key


class Entry:
    """The value at ``path``; problems go to ``problems``.

    ``value`` replaces what is written there (with the environment filled in, say); complaints show what is written.
    """

    def __init__(self, document: Document, path: Key, problems: list[Problem], value: Any = None) -> None:
        self.document = document
        self.path = path
        self.problems = problems
        self.value: Any = self._written() if value is None else value

    def inner(self, *keys: str | int) -> Entry:
        """The value below it."""
        return Entry(self.document, (*self.path, *keys), self.problems)

    def part(self, key: str) -> Document:
        """The document below a key, with its marks."""
        path = (*self.path, key)
        lines = {
            marked[len(path) :]: line for marked, line in self.document.lines.items() if marked[: len(path)] == path
        }
        return Document(self._written(key), self.document.file, lines)

    def where(self, *keys: str | int) -> str:
        """``file:line`` of a key in it."""
        return self.document.where(*self.path, *keys)

    def problem(self, message: str, *keys: str | int) -> None:
        """Note a problem; ``keys`` lead to the line."""
        self.problems.append(Problem(self.where(*keys), f"{self.label()}{message}"))

    def warn(self, message: str, *keys: str | int) -> None:
        """Note a warning."""
        self.problems.append(Problem(self.where(*keys), f"{self.label()}{message}", warning=True))

    def wrong_type(self, expected: str, *keys: str | int) -> None:
        """Note that something else was expected here."""
        label = ".".join(str(key) for key in keys)
        self.problem(
            f"{label}{': ' if label else ''}expected {expected}, found {describe_found(self._written(*keys))}", *keys
        )

    def name_unknown(self, known: Sequence[str], old: Mapping[str, str] | None = None) -> None:
        """Warn of keys that nobody reads."""
        for key in (str(key) for key in self.value if key not in known):
            if old and key in old:
                self.warn(f"{key} is no longer read; {old[key]}", key)
                continue
            near = get_close_matches(key, known, 1)
            self.warn(f"unknown key {key}{f'; did you mean {near[0]}?' if near else ''}", key)

    def label(self) -> str:
        """The path for people: ``demo.tools.0: ``."""
        below = len(self.path) > 1 and self.path[0] in ("toolsets", "mcp_servers")
        keys = self.path[1:] if below else self.path
        label = ".".join(str(key) for key in keys)
        return f"{label}: " if label else ""

    def is_mapping(self) -> bool:
        """Whether it has keys and values; noted when not."""
        if not isinstance(self.value, dict):
            self.wrong_type("keys and values")
        return isinstance(self.value, dict)

    def names(self) -> list[str]:
        """The keys of a mapping of names; noted when it is none."""
        if self.value is not None and self.is_mapping():
            return [str(key) for key in self.value]
        return []

    def items(self, key: str) -> Iterator[Entry]:
        """The entries of a list."""
        value = self.value.get(key)
        if value is None:
            return
        if not isinstance(value, list):
            self.wrong_type("a list", key)
            return
        for index in range(len(value)):
            yield self.inner(key, index)

    def text(self, key: str, *, required: bool = False) -> str:
        """A text, "" when it is not there."""
        value = self.value.get(key)
        if isinstance(value, str) and (value.strip() or not required):
            return value
        if value is None or value == "":
            if required:
                self.problem(f"{key} is missing", *([key] if key in self.value else []))
            return ""
        self.wrong_type("text", key)
        return ""

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        value = self.value.get(key)
        if value is None:
            return ()
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        self.wrong_type("a list of texts", key)
        return ()

    def flag(self, key: str, default: bool = False) -> bool:
        """True or false."""
        value = self._typed(key, FLAG)
        return default if value is None else bool(value)

    def number(self, key: str) -> float | None:
        """A number above 0."""
        value = self._typed(key, POSITIVE)
        return None if value is None else float(value)

    def mapping(self, key: str) -> Mapping[str, Any]:
        """Keys and values."""
        value = self.value.get(key)
        if value is None:
            return {}
        if isinstance(value, dict):
            return value
        self.wrong_type("keys and values", key)
        return {}

    def _typed(self, key: str, kind: Kind) -> Any:
        value = self.value.get(key)
        if value is None:
            return None
        try:
            return kind.read(value)
        except (ValueError, OverflowError):
            self.wrong_type(kind.expected, key)
            return None

    def _written(self, *keys: str | int) -> Any:
        value = self.document.value
        for key in (*self.path, *keys):
            # A name such as 1 or yes is no text for YAML; paths have it as text.
            found = value[int(key)] if isinstance(value, list) else value.get(key)
            if found is None and isinstance(value, dict):
                found = next((item for name, item in value.items() if str(name) == key), None)
            value = found
        return value
