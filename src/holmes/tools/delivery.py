"""The way of a result, in one order and one place.

decode, strip control characters, mask, store (the sink does these four while the result arrives), then here:
transform, cap, wrap with the marker, message.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from holmes.core.events import ToolCallingResult
from holmes.core.messages import Message, ToolCall
from holmes.core.result_store import ResultSink, Stored
from holmes.core.results import Status, StructuredToolResult
from holmes.tools.tool import ToolContext

if TYPE_CHECKING:
    from holmes.tools.executor import Bound

GRACE = 5.0  # seconds that a tool gets beyond its deadline to clean up and say what it has


class Mask(Protocol):
    """What delivery needs of core.masking.Masker."""

    def mask(self, text: str) -> str:
        """Text with placeholders for secrets."""
        ...

    def mask_tree(self, value: Any) -> Any:
        """The same for JSON types."""
        ...


class Source(Protocol):
    """Where results come from: the tool itself, or a recording."""

    async def result(self, bound: Bound, name: str, args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
        """Run the call; large output goes to ``ctx.sink``."""
        ...


class LiveSource:
    """Runs the tool, and survives whatever it does."""

    async def result(self, bound: Bound, name: str, args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
        """The tool's own result with the time that it took; a hang or a crash becomes a failure that names it."""
        started = time.monotonic()
        result = await self._survive(bound, name, args, ctx, ctx.deadline - started)
        result.elapsed_seconds = round(time.monotonic() - started, 3)
        return result

    async def _survive(
        self, bound: Bound, name: str, args: Mapping[str, Any], ctx: ToolContext, seconds: float
    ) -> StructuredToolResult:
        try:
            async with asyncio.timeout(seconds + GRACE):
                return await bound.tool.invoke(args, ctx)
        except TimeoutError:
            return StructuredToolResult.failure(
                f"{name} did not answer within {seconds:.0f} s and was stopped. Narrow the request or do without it."
            )
        except Exception as error:  # noqa: BLE001 - one call's bug must not end the investigation
            return StructuredToolResult.failure(f"{name} failed inside Holmes: {type(error).__name__}: {error}")


Tap = Callable[[str, Mapping[str, Any], StructuredToolResult, str], None]


class Delivery:
    """Takes results of one run from the tool to the message that the model reads.

    ``shown`` is how many characters of a result the model sees; ``source`` and ``tap`` are for replay and recording.
    """

    def __init__(
        self, run_id: str, mask: Mask, shown: int = 24_000, source: Source | None = None, tap: Tap | None = None
    ) -> None:
        self._run_id = run_id
        self._mask = mask
        self._shown = shown
        self._source = source or LiveSource()
        self._tap = tap

    def masked(self, value: Any) -> Any:
        """JSON types without secrets."""
        return self._mask.mask_tree(value)

    async def run(self, bound: Bound, name: str, args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
        """Run the call, store what came, shorten what the model will see."""
        result = await self._source.result(bound, name, args, ctx)
        self.deliver(result, ctx.sink)
        specs = (*bound.transformers, *getattr(bound.tool, "transformers", ()))
        if specs and result.status is Status.SUCCESS:
            await self._transform(result, specs, ctx)
        if self._tap:
            self._tap(name, self.masked(dict(args)), result, ctx.results.read(result.reference))
        return result

    async def _transform(
        self, result: StructuredToolResult, specs: Sequence[Mapping[str, Any]], ctx: ToolContext
    ) -> None:
        from holmes.tools.transformers import MOST, transform

        stored = ctx.results.read(result.reference, MOST)
        text, notes = await transform(stored, specs, ctx, result.reference)
        result.notes += tuple(note for note in notes if note not in result.notes)  # a replayed result has them
        if text is not stored:
            result.text = cap(Stored(result.reference, len(text), text.count("\n") + 1, text), self._shown)
            result.truncated = True

    def deliver(self, result: StructuredToolResult, sink: ResultSink) -> None:
        """Store the result's text, unless the tool wrote to the sink itself, and cap what the model will see of it."""
        if not sink.size:
            sink.write(result.text)
        stored = sink.finish()
        result.reference = stored.reference
        if stored.masked:
            note = f"secrets are replaced by placeholders ({', '.join(sorted(stored.masked))}); they are not the fault"
            result.notes = (*result.notes, note)
        result.text = cap(stored, self._shown)
        result.size = stored.size
        result.truncated = result.truncated or len(result.text) != stored.size
        result.error = self._mask.mask(result.error)
        result.invocation = self._mask.mask(result.invocation)
        result.data = self._mask.mask_tree(result.data)

    def message(self, call: ToolCall, result: StructuredToolResult) -> Message:
        """The result between markers that data cannot forge: they hang on the ids of run and call."""
        marker = hashlib.blake2s(f"{self._run_id}/{call.id}".encode(), digest_size=3).hexdigest()
        head = " ".join(part for part in (result.reference, call.name, result.status.value) if part)
        body = [f"[{head} #{marker}]", *filter(None, (result.error, result.text.rstrip("\n")))]
        body += [f"Not seen: {gap}" for gap in result.gaps]
        body += [f"Note: {note}" for note in result.notes]
        content = "\n".join([*body, f"[end #{marker}]"])
        return Message("tool", content, tool_call_id=call.id, tool_name=call.name, result=result)

    def event(self, call: ToolCall, result: StructuredToolResult, toolset: str) -> ToolCallingResult:
        """The event that clients see, with HolmesGPT's keys."""
        return ToolCallingResult(call.id, call.name, describe(call), result_data(result), toolset)


def cap(stored: Stored, limit: int) -> str:
    """At most about ``limit`` characters: head and tail on whole lines, and how to read the rest."""
    if stored.whole and stored.size <= limit:
        return stored.head
    head = _whole_lines(stored.head[: limit * 2 // 3], from_end=False)
    tail = _whole_lines((stored.tail or stored.head)[-limit // 3 :], from_end=True)
    left_out = stored.size - len(head) - len(tail)
    return (
        f"{head}\n... {left_out:,} of {stored.size:,} characters left out here ({stored.lines:,} lines in all); "
        f'read on with read_result("{stored.reference}", grep, lines or stats) ...\n{tail}'
    )


def _whole_lines(text: str, *, from_end: bool) -> str:
    cut = text.find("\n") if from_end else text.rfind("\n")
    if cut < 0 or (from_end and cut > len(text) // 2) or (not from_end and cut < len(text) // 2):
        return text  # one long line: cut it where it is
    return text[cut + 1 :] if from_end else text[:cut]


def describe(call: ToolCall) -> str:
    """One short line for people: the tool and its arguments."""
    values = [value for value in call.arguments.values() if isinstance(value, str | int | float) and value != ""]
    return f"{call.name} {' '.join(str(value) for value in values)}".strip()[:200]


def result_data(result: StructuredToolResult) -> dict[str, Any]:
    """A result as JSON types; ``data`` is the text, as in HolmesGPT's API."""
    return {
        "schema_version": "robusta:v1.0.0",
        "status": result.status.value,
        "error": result.error or None,
        "return_code": result.return_code,
        "data": result.text or None,
        "url": result.url or None,
        "invocation": result.invocation or None,
        "params": result.params,
        "elapsed_seconds": result.elapsed_seconds,
        "reference": result.reference,
        "size": result.size,
        "truncated": result.truncated,
        "notes": list(result.notes),
        "gaps": list(result.gaps),
        "findings": result.data,
    }


def result_from_data(data: Mapping[str, Any]) -> StructuredToolResult:
    """The reverse of ``result_data``, for journals and recordings."""
    return StructuredToolResult(
        Status(data["status"]),
        data.get("data") or "",
        data.get("error") or "",
        data.get("findings"),
        data.get("invocation") or "",
        data.get("url") or "",
        data.get("return_code"),
        dict(data.get("params") or {}),
        data.get("reference") or "",
        data.get("elapsed_seconds") or 0.0,
        data.get("size") or 0,
        bool(data.get("truncated")),
        tuple(data.get("notes") or ()),
        tuple(data.get("gaps") or ()),
    )
