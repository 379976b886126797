"""YAML whose values know their line, so that every complaint can say file:line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from holmes.core.errors import ConfigError, Problem

Key = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML document: plain values and the line of each of them by its path, ``("toolsets", "bash", 0)``."""

    value: Any
    file: str
    lines: Mapping[Key, int] = field(default_factory=dict)
    duplicates: tuple[Problem, ...] = ()  # keys written twice in one mapping: the last one counts

    def where(self, *path: str | int) -> str:
        """``file:line`` of a path, or of the nearest part of it that was written."""
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.file}:{self.lines.get(path, 1)}"

    def part(self, *path: str | int) -> Document:
        """The document below a path, with its marks."""
        value = self.value
        for key in path:
            value = value[key]
        size = len(path)
        lines = {key[size:]: line for key, line in self.lines.items() if key[:size] == path}
        return Document(value, self.file, lines)


def load_file(path: Path) -> Document:
    """Read a file; ConfigError says file:line for bad YAML, and the cause for an unreadable file."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"not UTF-8 text ({error.reason})"
        raise ConfigError([Problem(str(path), f"cannot be read: {reason}")]) from error
    return load(text, str(path))


def load(text: str, file: str) -> Document:
    """Parse text; an empty document has the value None."""
    loader = yaml.CSafeLoader(text.removeprefix("\ufeff"))
    try:
        node = loader.get_single_node()
        lines: dict[Key, int] = {}
        duplicates: list[Problem] = []
        if node is not None:
            _mark(node, (), lines, duplicates, file)
        return Document(loader.construct_document(node) if node else None, file, lines, tuple(duplicates))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{file}:{mark.line + 1}" if mark else file
        hint = " (YAML takes no tabs for indentation)" if _tab_at(text, mark) else ""
        raise ConfigError([Problem(where, f"not valid YAML: {error.problem or error.context}{hint}")]) from error
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError([Problem(file, f"not valid YAML: {error}")]) from error
    except RecursionError as error:
        raise ConfigError(
            [Problem(file, "not usable: it is nested too deeply, or an alias refers to itself")]
        ) from error
    finally:
        loader.dispose()


def _mark(node: yaml.Node, path: Key, lines: dict[Key, int], duplicates: list[Problem], file: str) -> None:
    if path in lines:
        return
    lines[path] = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            line = key.start_mark.line + 1
            if name in seen and name != "<<":
                duplicates.append(Problem(f"{file}:{line}", f"the key {name} stands here twice; the last one counts"))
            seen.add(name)
            _mark(value, (*path, name), lines, duplicates, file)
            lines[(*path, name)] = line
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            _mark(value, (*path, index), lines, duplicates, file)


def _tab_at(text: str, mark: yaml.Mark | None) -> bool:
    lines = text.splitlines()
    if mark is None or mark.line >= len(lines):
        return False
    line = lines[mark.line]
    return "\t" in line[: len(line) - len(line.lstrip())]
