"""json_filter: the parts of a JSON output that matter."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holmes.core.errors import UsageError

if TYPE_CHECKING:
    from holmes.tools.tool import ToolContext

_NOTHING: Any = object()
_SPACE = re.compile(r"\s*")

Path = tuple[str, ...]  # the keys that lead to a value; places in lists do not count


async def json_filter(text: str, options: Mapping[str, Any], ctx: ToolContext) -> str:
    """Apply ``jq``, then ``keep``, ``drop`` and ``max_depth``. UsageError says why it cannot be done.

    ``keep`` and ``drop`` name keys at any depth: ``phase``, or the end of a path, ``status.phase``. What leads to a
    key to keep stays. Deeper than ``max_depth`` objects and lists are replaced by their size.
    """
    if options.get("jq"):
        text = await _jq(text, str(options["jq"]), ctx)
    return await asyncio.to_thread(_filtered, text, options)


async def _jq(text: str, program: str, ctx: ToolContext) -> str:
    from holmes.tools.jq import run_jq

    arguments = () if _spaced(text) else ("-c",)
    result = await run_jq(program, text, ctx.process, ctx.deadline, arguments=arguments)
    if result.error:
        raise UsageError(result.error)
    return result.text


def _filtered(text: str, options: Mapping[str, Any]) -> str:
    keep, drop = _paths(options.get("keep")), _paths(options.get("drop"))
    depth = options.get("max_depth")
    if not (keep or drop or depth):
        return text

    def work(value: Any) -> Any:
        if keep:
            value = _keep(value, keep, ())
        if drop and value is not _NOTHING:
            value = _drop(value, drop, ())
        return _cut(value, int(depth)) if depth and value is not _NOTHING else value

    return _each_value(text, work)


def _each_value(text: str, work: Callable[[Any], Any]) -> str:
    """Work on each of the values that a text consists of."""
    values, indented = _values(text)
    done = [value for value in map(work, values) if value is not _NOTHING]
    if not done:
        raise UsageError("none of the keys to keep occurs")
    # As the source writes it, so that what is quoted from here is found there.
    indent = 1 if indented else None
    separators = (",", ": ") if indented else (", ", ": ") if _spaced(text) else (",", ":")
    return "\n".join(json.dumps(value, ensure_ascii=False, indent=indent, separators=separators) for value in done)


def _values(text: str) -> tuple[list[Any], bool]:
    """The values one behind the other (lines of JSON, say), and whether they are written over several lines."""
    decoder, text, at = json.JSONDecoder(), text.strip(), 0
    values: list[Any] = []
    indented = False
    while at < len(text):
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise UsageError("the output is no JSON") from error
        indented = indented or "\n" in text[at : min(end, at + 200)]
        values.append(value)
        between = _SPACE.match(text, end)
        at = between.end() if between else end
    return values, indented


def _spaced(text: str) -> bool:
    return '": ' in text[:2_000]


def _paths(names: Any) -> list[Path]:
    listed = [names] if isinstance(names, str) else names or ()
    return [tuple(str(name).strip(".").split(".")) for name in listed]


def _named(path: Path, wanted: Sequence[Path]) -> bool:
    return any(path[-len(tail) :] == tail for tail in wanted)


def _keep(value: Any, wanted: Sequence[Path], path: Path) -> Any:
    """The value with only what is wanted in it; _NOTHING when there is none."""
    if isinstance(value, dict):
        kept = {
            key: item if _named((*path, key), wanted) else _keep(item, wanted, (*path, key))
            for key, item in value.items()
        }
        kept = {key: item for key, item in kept.items() if item is not _NOTHING}
        return kept or _NOTHING
    if isinstance(value, list):
        items = [kept for kept in (_keep(item, wanted, path) for item in value) if kept is not _NOTHING]
        return items or _NOTHING
    return _NOTHING


def _drop(value: Any, unwanted: Sequence[Path], path: Path) -> Any:
    if isinstance(value, dict):
        return {
            key: _drop(item, unwanted, (*path, key))
            for key, item in value.items()
            if not _named((*path, key), unwanted)
        }
    return [_drop(item, unwanted, path) for item in value] if isinstance(value, list) else value


def _cut(value: Any, depth: int) -> Any:
    """Objects and lists below ``depth`` levels of objects become their size."""
    if isinstance(value, dict):
        if depth == 0 and value:
            return f"{{{len(value)} keys}}"
        return {key: _cut(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list):
        if depth == 0 and any(isinstance(item, dict | list) for item in value):
            return f"[{len(value)} items]"
        return [_cut(item, depth) for item in value]
    return value
