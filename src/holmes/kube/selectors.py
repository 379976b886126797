"""Label and field selectors as kubectl takes them, for sources without an API server to apply them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from holmes.kube.cluster import Object
from holmes.kube.related import labels_of, selector_matches

Matches = Callable[[Object], bool]

_SET = re.compile(r"([^\s,!=()]+)\s+(in|notin)\s*\(([^()]*)\)", re.IGNORECASE)
_EQUAL = re.compile(r"([^\s,!=()]+)\s*(==|!=|=)\s*([^\s,=()]*)")
_EXISTS = re.compile(r"(!?)\s*([^\s,!=()]+)")
_COMMA = re.compile(r",(?![^()]*\))")


def label_selector(text: str) -> Matches:
    """A test for ``app=web,tier in (a,b),!canary``; ValueError names the part that cannot be read."""
    selector = {"matchExpressions": [_requirement(part.strip()) for part in _COMMA.split(text) if part.strip()]}
    return lambda obj: selector_matches(selector, labels_of(obj))


def _requirement(part: str) -> dict[str, Any]:
    if found := _SET.fullmatch(part):
        values = [value.strip() for value in found[3].split(",")]
        return {"key": found[1], "operator": "In" if found[2].lower() == "in" else "NotIn", "values": values}
    if found := _EQUAL.fullmatch(part):
        return {"key": found[1], "operator": "NotIn" if found[2] == "!=" else "In", "values": [found[3]]}
    if found := _EXISTS.fullmatch(part):
        return {"key": found[2], "operator": "DoesNotExist" if found[1] else "Exists"}
    raise ValueError(f'"{part}" is no label selector (key=value, key!=value, key in (a,b), key, !key)')


def field_selector(text: str) -> Matches:
    """A test for ``status.phase!=Running,spec.nodeName=node-1``; ValueError names the part that cannot be read.

    Any path is taken, not only those that the API server supports. A missing field is empty, as on the server.
    """
    wanted: list[tuple[list[str], bool, str]] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        found = _EQUAL.fullmatch(part)
        if not found:
            raise ValueError(f'"{part}" is no field selector (path=value or path!=value)')
        wanted.append((found[1].lstrip(".").split("."), found[2] != "!=", found[3]))
    return lambda obj: all((_field(obj, path) == value) is equal for path, equal, value in wanted)


def _field(obj: Object, path: list[str]) -> str:
    value: Any = obj
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
