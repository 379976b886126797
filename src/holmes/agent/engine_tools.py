"""Tools that the engine itself brings: the task list, and reading on in earlier results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holmes.core.events import TodoUpdated
from holmes.core.results import StructuredToolResult
from holmes.tools.tool import FunctionTool, SimpleToolset, ToolContext, Toolset

_MARKS = {"pending": "[ ]", "in_progress": "[~]", "completed": "[x]", "failed": "[!]"}

_TODO_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "todos": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "content": {"type": "string"},
                    "status": {"type": "string", "enum": list(_MARKS)},
                },
                "required": ["content", "status"],
            },
        }
    },
    "required": ["todos"],
}

_READ_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "handle": {"type": "string", "description": "reference of the result"},
        "grep": {"type": "string", "description": "regular expression"},
        "context": {"type": "integer", "description": "lines around each match"},
        "lines": {"type": "string", "description": "first-last"},
        "jq": {"type": "string"},
        "stats": {"type": "boolean", "description": "counts, line patterns, time span"},
    },
    "required": ["handle"],
}


async def _todo_write(args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
    todos = tuple(
        {"id": str(todo.get("id") or number), "content": str(todo["content"]), "status": str(todo["status"])}
        for number, todo in enumerate(args["todos"], 1)
    )
    ctx.emit(TodoUpdated(todos))
    listing = "\n".join(f"{_MARKS[todo['status']]} {todo['content']}" for todo in todos)
    return StructuredToolResult.success(listing or "The list is empty.", data={"todos": list(todos)})


async def _read_result(args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
    import holmes.core.result_query as result_query

    handle = str(args["handle"]).strip().strip("[]").upper()
    stored = ctx.results.stored(handle)
    if stored is None:
        return StructuredToolResult.failure(f"There is no result {handle} in this investigation.")
    given = [name for name in ("grep", "lines", "jq", "stats") if args.get(name)]
    if len(given) > 1:
        return StructuredToolResult.failure(f"Give one of grep, lines, jq or stats, not {' and '.join(given)}.")
    invocation = " ".join([f"read_result {handle}", *(f"{name}={args[name]}" for name in given)])
    if args.get("jq"):
        return await _jq(handle, str(args["jq"]), ctx, invocation)
    path = ctx.results.path(handle)
    if args.get("grep"):
        found = await result_query.grep(path, str(args["grep"]), context=int(args.get("context") or 0))
        if not found.matches:
            return StructuredToolResult.nothing(found.text, invocation=invocation)
        return StructuredToolResult.success(found.text, invocation=invocation)
    if args.get("stats"):
        return StructuredToolResult.success(await result_query.stats(path), invocation=invocation)
    first, last = _range(str(args.get("lines") or "1-200"))
    return StructuredToolResult.success(await result_query.lines(path, first, last), invocation=invocation)


async def _jq(handle: str, program: str, ctx: ToolContext, invocation: str) -> StructuredToolResult:
    from holmes.tools.jq import LARGEST, run_jq

    if ctx.results.path(handle).stat().st_size > LARGEST:
        return StructuredToolResult.failure(
            f"{handle} is larger than {LARGEST // 1_000_000} MB, too large for jq. Use grep, lines or stats."
        )
    result = await run_jq(program, ctx.results.path(handle).read_bytes(), ctx.process, ctx.deadline)
    if result.error:
        return StructuredToolResult.failure(result.error, invocation=invocation)
    return StructuredToolResult.success(result.text, invocation=invocation)


def _range(text: str) -> tuple[int, int]:
    first, _, last = text.replace(":", "-").partition("-")
    start = int(first) if first.strip().isdigit() else 1
    end = int(last) if last.strip().isdigit() else start + 200
    return start, end


def engine_toolset() -> Toolset:
    """TodoWrite and read_result."""
    return SimpleToolset(
        (
            FunctionTool(
                "TodoWrite",
                "Keep the list of tasks of a longer investigation; always send the whole list.",
                _TODO_SCHEMA,
                _todo_write,
            ),
            FunctionTool(
                "read_result",
                "Read on in an earlier result that was too long to show. One of grep, lines, jq, stats.",
                _READ_SCHEMA,
                _read_result,
            ),
        )
    )
