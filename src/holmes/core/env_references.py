"""``{{ env.NAME }}`` in configuration files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holmes.core.errors import Problem

if TYPE_CHECKING:
    from holmes.core.yaml_marks import Document, Key

_REFERENCE = re.compile(r"\{\{\s*env\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


def resolve_env(document: Document, env: Mapping[str, str]) -> tuple[Any, list[Problem]]:
    """The document's value with each ``{{ env.NAME }}`` in its strings replaced.

    A variable that is set but empty gives ""; one that is not set is a problem at its line and stays as written.
    Keys are never touched, and a value that came from the environment is not looked at again.
    """
    problems: list[Problem] = []
    return _resolve(document.value, (), document, env, problems), problems


def _resolve(value: Any, path: Key, document: Document, env: Mapping[str, str], problems: list[Problem]) -> Any:
    if isinstance(value, str):
        for name in dict.fromkeys(_REFERENCE.findall(value)):
            if name not in env:
                problems.append(Problem(document.where(*path), f"the environment variable {name} is not set"))
        return _REFERENCE.sub(lambda match: env.get(match[1], match[0]), value)
    if isinstance(value, dict):
        return {key: _resolve(item, (*path, str(key)), document, env, problems) for key, item in value.items()}
    if isinstance(value, list):
        return [_resolve(item, (*path, index), document, env, problems) for index, item in enumerate(value)]
    return value
