"""Tool calls that a model writes as text instead of making them.

Many local models do so although tools are declared: as JSON in a fence, as bare JSON, between ``<tool_call>`` tags
(Qwen, Hermes), behind ``<|python_tag|>`` or as ``<function=name>`` (Llama, Qwen3-Coder), behind ``[TOOL_CALLS]``
(Mistral). DefaultLLM turns them into real calls when the model is known for it (``text_calls`` in models.json) or
configured so (``text_calls: true`` in the model list), never otherwise: an answer may show a call without meaning one.
The loop asks all other models to call the tool.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from holmes.core.messages import Turn
from holmes.llm import protocol
from holmes.llm.base import Request
from holmes.llm.protocol import RawCall

LEAD_IN = 200  # characters beside a call that do not make an answer of it: "Let me look at the logs."
_ATTEMPTS = 50  # places in a text where JSON may begin

_NAMES = ("name", "tool", "tool_name", "function")
_ARGUMENTS = ("arguments", "parameters", "args", "params", "input", "tool_input")
_BESIDE = frozenset([*_NAMES, *_ARGUMENTS, "id", "type", "index"])

_OPEN = re.compile(
    r"(?P<python><\|python_tag\|>)|<(?P<tag>tool_calls?|tools|function_calls?)>|<function=(?P<function>[\w.-]+)>"
    r"|(?P<fence>```)[\w+-]*|(?P<json>[\[{])"
)
_PARAMETER = re.compile(r"<parameter=([\w.-]+)>\n?(.*?)\n?(?:</parameter>|(?=<parameter=)|\Z)", re.S)
_FUNCTION = re.compile(r"<function=([\w.-]+)>(.*?)(?:</function>|\Z)", re.S)
_BETWEEN = re.compile(r"[\s;,]*")
_FENCE = re.compile(r"```[\w+-]*")
_NAME_IN_TEXT = re.compile(r'"(?:name|tool|tool_name|function)"\s*:\s*"([^"]{1,100})"')
_SPECIAL = re.compile(r"<\|(?:python_tag|eom_id|eot_id|im_end|end_of_text)\|>|\[TOOL_CALLS\]|</?tool_calls?>")
_CITATION = re.compile(r"\[E\d")


class Written(NamedTuple):
    """The calls in a text, and the text without them."""

    calls: list[RawCall]
    rest: str


@dataclass(frozen=True, slots=True)
class _Place:
    """A part of the text that reads like calls; ``marked``: it stands in marks that mean nothing else."""

    start: int
    end: int
    calls: list[RawCall]
    marked: bool


def find_calls(text: str, known_names: Collection[str]) -> list[RawCall]:
    """The calls that a text holds, in their order."""
    return read_calls(text, known_names).calls


def read_calls(text: str, known_names: Collection[str]) -> Written:
    """The calls that a text holds, and what it says beside them.

    Plain JSON beside other text is a call when it has arguments and the tool is known. Where nothing else is written
    one of the two is enough.
    """
    places = list(_places(text))
    sure = [place for place in places if place.marked or all(_sure(call, known_names) for call in place.calls)]
    if not sure and not _without(text, places):
        sure = [place for place in places if all(_likely(call, known_names) for call in place.calls)]
    return Written([call for place in sure for call in place.calls], _without(text, sure))


def is_only_calls(text: str, known_names: Collection[str]) -> bool:
    """Whether a text is calls and nothing else that could be an answer."""
    calls, rest = read_calls(text, known_names)
    return bool(calls) and len(rest) <= LEAD_IN and not _CITATION.search(rest)


def with_real_calls(turn: Turn, request: Request) -> Turn:
    """The turn with the calls in its text made real; unchanged when it has real ones, or no tools were declared."""
    if turn.message.tool_calls or not request.tools:
        return turn
    calls, rest = read_calls(turn.message.content, [tool.name for tool in request.tools])
    if not calls:
        return turn
    return protocol.normalise(
        rest,
        calls,
        finish_reason=turn.finish_reason,
        reasoning=turn.message.reasoning,
        usage=turn.usage,
        provider_data=turn.message.provider_data,
        known_ids=protocol.call_ids(request.messages),
        notes=turn.notes,
    )


def _places(text: str) -> Iterator[_Place]:
    at = attempts = 0
    while (match := _OPEN.search(text, at)) and attempts < _ATTEMPTS:
        at = match.end()
        if match["json"]:
            attempts += 1
            values, end = _values(text, match.start())
            if values:
                at = end
                yield from _place(match.start(), end, values, marked=False)
        elif match["fence"]:
            closing = text.find("```", at)
            inner_end = closing if closing >= 0 else len(text)
            values, end = _values(text, at)
            if values and not text[end:inner_end].strip():
                yield from _place(match.start(), min(inner_end + 3, len(text)), values, marked=False)
            at = inner_end + 3
        elif match["python"]:
            values, end = _values(text, at)
            yield from _place(match.start(), end, values, marked=True)
            at = max(at, end)
        else:
            start, at, calls = _marked(text, match)
            if calls:
                yield _Place(start, at, calls, marked=True)


def _place(start: int, end: int, values: list[Any], *, marked: bool) -> Iterator[_Place]:
    calls = [_call(value) for outer in values for value in _unpacked(outer)]
    if calls and all(call is not None for call in calls):
        yield _Place(start, end, [call for call in calls if call is not None], marked)


def _marked(text: str, match: re.Match[str]) -> tuple[int, int, list[RawCall]]:
    """The calls between tags; the closing one may be missing at the end of the text."""
    tag = match["tag"] or "function"
    closing = text.find(f"</{tag}>", match.end())
    end = closing + len(tag) + 3 if closing >= 0 else len(text)
    inner = text[match.end() : closing if closing >= 0 else len(text)]
    if match["function"]:
        return match.start(), end, [RawCall(name=match["function"], arguments=_parameters(inner))]
    if functions := _FUNCTION.findall(inner):
        return match.start(), end, [RawCall(name=name, arguments=_parameters(body)) for name, body in functions]
    plain = _FENCE.sub("", inner).strip()
    if plain.startswith("{{") and plain.endswith("}}"):
        plain = plain[1:-1]  # small models copy the doubled braces of their template
    values, stopped = _values(plain, 0)
    calls = [_call(value) for outer in values for value in _unpacked(outer)]
    whole = bool(calls) and not plain[stopped:].strip() and all(call is not None for call in calls)
    if whole:
        return match.start(), end, [call for call in calls if call is not None]
    # Bad JSON runs nothing: the customs office answers it with the error.
    name = _NAME_IN_TEXT.search(plain)
    return match.start(), end, [RawCall(name=name[1], arguments=plain)] if name else []


def _parameters(body: str) -> Any:
    """Arguments as JSON text (Llama), or as one tag each (Qwen3-Coder)."""
    tagged = _PARAMETER.findall(body)
    return dict(tagged) if tagged else body.strip()


def _values(text: str, at: int) -> tuple[list[Any], int]:
    """The JSON values that stand one behind the other from there on, and where they end."""
    decoder = json.JSONDecoder()
    values: list[Any] = []
    end = at
    while True:
        between = _BETWEEN.match(text, end)
        start = between.end() if between else end
        if text[start : start + 1] not in ("{", "["):
            return values, end
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            return values, end
        values.append(value)


def _unpacked(value: Any) -> Iterator[Any]:
    """The single calls of a list, or of ``{"tool_calls": [...]}``."""
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    yield from value if isinstance(value, list) else [value]


def _call(value: Any) -> RawCall | None:
    """A call in any of the usual shapes, None when it is something else."""
    if not isinstance(value, Mapping):
        return None
    inner = value.get("function")
    if isinstance(inner, Mapping):
        return _call(inner)
    if not _BESIDE.issuperset(value):
        return None
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    arguments = next((value[key] for key in _ARGUMENTS if key in value), None)
    if not name or not (arguments is None or isinstance(arguments, dict | str)):
        return None
    return RawCall(name=name, arguments=arguments)


def _sure(call: RawCall, known_names: Collection[str]) -> bool:
    return call.arguments is not None and _known(call, known_names)


def _likely(call: RawCall, known_names: Collection[str]) -> bool:
    return call.arguments is not None or _known(call, known_names)


def _known(call: RawCall, known_names: Collection[str]) -> bool:
    return str(call.name).strip().removeprefix("functions.") in known_names


def _without(text: str, places: list[_Place]) -> str:
    parts, at = [], 0
    for place in places:
        parts.append(text[at : place.start])
        at = place.end
    parts.append(text[at:])
    plain = (_SPECIAL.sub("", part).strip(" \n\t;,") for part in parts)
    return " ".join(part for part in plain if part)
