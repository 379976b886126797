"""Columns that a model asks for: ``NAME:.metadata.name,NODE:.spec.nodeName`` as in kubectl's custom-columns.

Paths are kubectl's JSONPath: keys, ``[0]``, ``[*]``, ``['a.b']``, ``\\.`` in keys, ``[?(@.type=="Ready")]``. A word
that is no path names a column of the server's own table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from holmes.kube.cluster import Object
from holmes.toolsets.kubernetes.query import Unanswered

_COMMA = re.compile(r",(?![^\[(]*[\])])")
_STEP = re.compile(
    r"""\.?\[\?\(\s*@\.?(?P<test>[\w.\\/-]+)\s*(?P<op>==|!=|=)\s*(?P<quote>["']?)(?P<value>[^"')]*)(?P=quote)\s*\)\]
      | \.?\[(?P<index>-?\d+)\] | \.?\[(?P<all>\*?)\] | \.?\[["'](?P<quoted>[^"']*)["']\]
      | \.?(?P<key>(?:[^.\[\]\\]|\\.)+)\??""",
    re.VERBOSE,
)
NONE = "<none>"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a path: a key, an index, all elements, or those elements whose ``test`` equals ``value``."""

    key: str | None = None
    index: int | None = None
    test: tuple[Step, ...] = ()
    value: str = ""
    equal: bool = True


@dataclass(frozen=True, slots=True)
class Column:
    """A head and the path below it; without a path the head names a column of the server's table."""

    head: str
    path: tuple[Step, ...]
    text: str


def read_columns(text: str) -> list[Column]:
    """The columns of a specification; Unanswered says which one cannot be read."""
    columns = [_column(part.strip()) for part in _COMMA.split(text.strip("\"'` ")) if part.strip()]
    if not columns:
        raise Unanswered('"columns" is empty: give HEAD:path pairs such as those of kubectl -o custom-columns')
    return columns


def _column(part: str) -> Column:
    if re.fullmatch(r"[\w -]+", part):
        return Column(part.upper(), (), part)
    head, colon, path = part.partition(":")
    if not colon or "." in head or "[" in head:
        head, path = "", part
    path = path.strip().strip("{}").removeprefix("$")
    if re.fullmatch(r"[\w -]+", path) and not path.startswith("."):
        return Column(head.strip().upper(), (), path)  # STATUS:status
    return Column((head or path.rpartition(".")[2].strip("[]*'\"")).strip().upper(), read_path(path), path)


def read_path(path: str) -> tuple[Step, ...]:
    """The steps of a path; Unanswered when it cannot be read."""
    steps: list[Step] = []
    at = 0
    while at < len(path):
        found = _STEP.match(path, at)
        if not found or found.end() == at:
            raise Unanswered(f'the path "{path}" cannot be read from "{path[at:]}" on')
        at = found.end()
        if found["test"] is not None:
            steps.append(Step(test=read_path(found["test"]), value=found["value"].strip(), equal=found["op"] != "!="))
        elif found["index"] is not None:
            steps.append(Step(index=int(found["index"])))
        elif found["all"] is not None:
            steps.append(Step())
        else:
            key = found["quoted"] if found["quoted"] is not None else re.sub(r"\\(.)", r"\1", found["key"])
            steps.append(Step(key=key))
    return tuple(steps)


def values_at(value: Any, path: Sequence[Step]) -> Iterator[Any]:
    """All values that a path leads to."""
    if not path:
        if value is not None:
            yield value
        return
    step, rest = path[0], path[1:]
    if step.key is not None:
        if isinstance(value, dict) and step.key in value:
            yield from values_at(value[step.key], rest)
    elif step.index is not None:
        if isinstance(value, list) and -len(value) <= step.index < len(value):
            yield from values_at(value[step.index], rest)
    else:
        for item in value if isinstance(value, list) else value.values() if isinstance(value, dict) else ():
            if not step.test or (step.value in map(_text, values_at(item, step.test))) is step.equal:
                yield from values_at(item, rest)


def cell(obj: Object, path: Sequence[Step]) -> str:
    """What kubectl prints for a path: values with commas between them, ``<none>`` without one."""
    return ",".join(map(_text, values_at(obj, path))) or NONE


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return str(value)


def check_path(column: Column, objects: Sequence[Object]) -> str:
    """A note for a path that no object has; Unanswered when it is a slip: it names the fields that exist there."""
    for at in range(len(column.path)):
        if any(next(values_at(obj, column.path[: at + 1]), None) is not None for obj in objects):
            continue
        step = column.path[at]
        known = sorted({key for obj in objects for parent in values_at(obj, column.path[:at]) for key in _keys(parent)})
        if step.key is None or not known:
            return f"no object has {column.text}"
        near = [key for key in known if key.lower() == step.key.lower()] or get_close_matches(
            step.key, known, n=3, cutoff=0.75
        )
        fields = ", ".join(known[:30])
        if near or at == 0:
            hint = f"did you mean {', '.join(near)}? " if near else ""
            raise Unanswered(f'no object has "{step.key}" of column {column.text}; {hint}fields there: {fields}')
        return f'no object has "{step.key}" of column {column.text}; fields there: {fields}'
    return ""


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
