"""The customs office between Holmes and the models: what comes in is mended or marked, what goes out is legal."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holmes.core.messages import FinishReason, Message, ToolCall, Turn, Usage

MAX_CALLS = 128  # the most calls that OpenAI takes back in one assistant message
CANCELLED = "Cancelled: this call was not run."
NO_OUTPUT = "(no output)"
CUT = "Not run: the answer was cut off, so the arguments may be incomplete. Make fewer or shorter calls."

_ILLEGAL_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_SHOWN = 200  # characters of bad arguments that the model gets to see again

_FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "content_filter": "content_filter",
    "refusal": "content_filter",
}


@dataclass(slots=True)
class RawCall:
    """A tool call as a provider sent it; nothing about it can be relied on."""

    id: Any = None
    name: Any = None
    arguments: Any = None  # JSON text, or already a dict


def normalise(
    content: Any,
    calls: Sequence[RawCall] = (),
    *,
    finish_reason: Any = "",
    reasoning: Any = "",
    usage: Usage | None = None,
    provider_data: Any = None,
    known_ids: Iterable[str] = (),
    notes: Iterable[str] = (),
) -> Turn:
    """Make a Turn of whatever a model answered.

    ``known_ids`` are the call ids of the history: they are never used twice. Every ``LLM.complete`` ends here, so
    the loop has no need to call it again.
    """
    remarks = list(notes)
    finish = _FINISH.get(finish_reason if isinstance(finish_reason, str) else "", "tool_calls" if calls else "stop")
    accepted = list(_accept(calls, set(known_ids), remarks))
    if finish in ("length", "content_filter"):
        accepted = [replace(call, problem=call.problem or CUT) for call in accepted]
    elif accepted:
        finish = "tool_calls"
    elif finish == "tool_calls":
        finish = "stop"
    message = Message(
        "assistant",
        well_formed(content),
        tool_calls=tuple(accepted),
        provider_data=provider_data,
        reasoning=well_formed(reasoning),
    )
    return Turn(message, finish, usage or Usage(), tuple(remarks))


def _accept(calls: Sequence[RawCall], taken: set[str], remarks: list[str]) -> Iterator[ToolCall]:
    named = [call for call in calls if isinstance(call.name, str) and call.name.strip()]
    if len(named) < len(calls):
        remarks.append(f"{_count(len(calls) - len(named), 'call')} without a tool name: dropped")
    if len(named) > MAX_CALLS:
        remarks.append(f"{len(named)} calls in one turn: only the first {MAX_CALLS} are taken, the rest are not run")
    for call in named[:MAX_CALLS]:
        name = call.name.strip().removeprefix("functions.")
        name = _ILLEGAL_NAME.sub("_", name)[:64]
        arguments, problem = _arguments(call.arguments, name)
        yield ToolCall(_unique_id(call.id, taken), name, arguments, problem)


def _unique_id(offered: Any, taken: set[str]) -> str:
    """The provider's id if it is usable, else the next free one: nine letters and digits, legal everywhere."""
    if isinstance(offered, str) and (chosen := offered.strip()) and chosen not in taken:
        taken.add(chosen)
        return chosen
    number = len(taken) + 1
    while (chosen := f"call{number:05d}") in taken:
        number += 1
    taken.add(chosen)
    return chosen


def _arguments(raw: Any, name: str) -> tuple[dict[str, Any], str]:
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        return {}, ""
    value = raw
    try:
        for _ in range(2):  # the second round is for an object that was encoded twice
            if isinstance(value, str):
                value = json.loads(value, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        return {}, _bad_arguments(name, f"are not valid JSON ({error})", raw)
    if value is None:
        return {}, ""
    if not isinstance(value, dict):
        return {}, _bad_arguments(name, "are no JSON object", raw)
    cleaned: dict[str, Any] = _clean(value)
    return cleaned, ""


def _bad_arguments(name: str, what: str, raw: Any) -> str:
    text = well_formed(raw if isinstance(raw, str) else json.dumps(raw, default=str))
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return f"Not run: the arguments of {name} {what}: {shown}\nSend them as one JSON object."


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {well_formed(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value


def well_formed(text: Any) -> str:
    """The text without lone surrogates (they cannot be sent as UTF-8); "" for None and for what is no text."""
    if not isinstance(text, str):
        return ""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def repair(messages: Iterable[Message]) -> list[Message]:
    """A history that every provider takes.

    Each call has exactly one result directly behind its message, in call order; a call without a result is answered
    "cancelled"; a result without a call goes; so do messages without any content. Call ids are unique.
    """
    history = list(messages)
    repaired: list[Message] = []
    taken: set[str] = set()
    position = 0
    while position < len(history):
        message = history[position]
        position += 1
        if message.role == "assistant" and message.tool_calls:
            end = position
            while end < len(history) and history[end].role != "assistant":
                end += 1
            repaired += _answered(message, history[position:end], taken)
            position = end
        else:
            repaired += _kept(message)
    return repaired


def _answered(message: Message, behind: Sequence[Message], taken: set[str]) -> Iterator[Message]:
    results: dict[str, list[Message]] = {}
    for other in behind:
        if other.role == "tool":
            results.setdefault(other.tool_call_id, []).append(other)
    calls, answers = [], []
    for call in message.tool_calls[:MAX_CALLS]:
        queue = results.get(call.id, [])
        answer = queue.pop(0) if queue else Message("tool", CANCELLED, tool_name=call.name)
        identity = _unique_id(call.id, taken)
        calls.append(call if identity == call.id else replace(call, id=identity))
        content = answer.content if answer.content.strip() else NO_OUTPUT
        if (answer.tool_call_id, answer.content) != (identity, content):
            answer = replace(answer, tool_call_id=identity, content=content)
        answers.append(answer)
    content = message.content if message.content.strip() else ""
    if content != message.content or tuple(calls) != message.tool_calls:
        message = replace(message, content=content, tool_calls=tuple(calls))
    yield message
    yield from answers
    for other in behind:
        yield from _kept(other)


def _kept(message: Message) -> Iterator[Message]:
    if message.role != "tool" and (message.content.strip() or message.images):
        yield message


def call_ids(messages: Iterable[Message]) -> set[str]:
    """The ids of all calls in a history."""
    return {call.id for message in messages for call in message.tool_calls}


def arguments_json(arguments: dict[str, Any]) -> str:
    """Arguments as JSON text."""
    return _strict_json(arguments)


def _strict_json(value: dict[str, Any]) -> str:
    """JSON text; NaN and infinities, which JSON does not have, become text."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def encode_body(body: dict[str, Any]) -> bytes:
    """A request body as UTF-8 JSON, whatever characters came from tools and users."""
    text = _strict_json(body)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return well_formed(text).encode()
