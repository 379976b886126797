"""Reads the answers of chat completions, streamed or whole, in all the dialects that servers have made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holmes.core.messages import Turn, Usage
from holmes.llm import protocol
from holmes.llm.base import OnDelta
from holmes.llm.providers import find
from holmes.llm.refusals import NO_STATUS, Refusal
from holmes.llm.shapes import count, mapping, mappings, text

_THOUGHTS = ("reasoning_content", "reasoning")  # DeepSeek, vLLM, llama.cpp; OpenRouter, Groq, newer vLLM
_BROKEN = ("error", "abort")  # finish reasons of OpenRouter and vLLM


class ChatReader:
    """Puts an answer together, streamed or whole."""

    def __init__(self, on_delta: OnDelta | None) -> None:
        self.done = False
        self._on_delta = on_delta
        self._text: list[str] = []
        self._thoughts: list[str] = []
        self._details: list[dict[str, Any]] = []
        self._thinking_blocks: list[dict[str, Any]] = []
        self._calls: list[_Call] = []
        self._finish: Any = None
        self._usage: Mapping[str, Any] = {}

    def chunk(self, data: dict[str, Any]) -> None:
        """One chunk of a stream."""
        _raise_error(data)
        self._usage = mapping(data.get("usage")) or self._usage
        for choice in mappings(data.get("choices")):
            self._choice(choice)

    def whole(self, data: dict[str, Any]) -> None:
        """An answer that was not streamed."""
        _raise_error(data)
        if not data.get("choices"):
            raise Refusal(NO_STATUS, '{"error": "the answer has no choices"}')
        self.chunk(data)
        self.done = True

    def _choice(self, choice: Mapping[str, Any]) -> None:
        self._take(mapping(choice.get("delta") or choice.get("message")))
        if finish := text(choice.get("finish_reason")):
            if finish in _BROKEN:
                raise Refusal(NO_STATUS, '{"error": "the server gave up in the middle of the answer"}')
            self._finish, self.done = finish, True

    def _take(self, delta: Mapping[str, Any]) -> None:
        said, thoughts = _parts(delta.get("content") or delta.get("refusal"))
        thoughts += next((delta[name] for name in _THOUGHTS if text(delta.get(name))), "")
        if thoughts:
            self._thoughts.append(thoughts)
        if said:
            self._text.append(said)
            if self._on_delta:
                self._on_delta(said)
        _merge_details(self._details, mappings(delta.get("reasoning_details")))
        _merge_thinking(self._thinking_blocks, mappings(delta.get("thinking_blocks")))
        for part in mappings(delta.get("tool_calls")):
            self._call_for(part).take(part)

    def _call_for(self, part: Mapping[str, Any]) -> _Call:
        """The call that a piece belongs to: by index, unless a new id shows that the server does not count."""
        index, identity = part.get("index"), text(part.get("id"))
        same = [call for call in self._calls if index is None or call.index == index]
        if same and (not identity or identity == same[-1].id or not same[-1].id):
            last = same[-1]
            # Without index and id, a second name can only be a second call.
            if index is not None or not (mapping(part.get("function")).get("name") and last.name):
                return last
        call = _Call(index)
        self._calls.append(call)
        return call

    def turn(self, provider: str, known_ids: set[str], notes: list[str]) -> Turn:
        """The finished answer."""
        raw = [protocol.RawCall(call.id, call.name, call.arguments) for call in self._calls]
        answer, thoughts = _split_thinking("".join(self._text), "".join(self._thoughts))
        return protocol.normalise(
            answer,
            raw,
            finish_reason=self._finish,
            reasoning=thoughts,
            usage=_usage(self._usage),
            provider_data=self._opaque(provider),
            known_ids=known_ids,
            notes=notes,
        )

    def _opaque(self, provider: str) -> dict[str, Any] | None:
        """What has to go back with the history: reasoning of providers that ask for it, signatures of calls."""
        message: dict[str, Any] = {}
        if self._details:
            message["reasoning_details"] = self._details
        elif self._thinking_blocks:
            message["thinking_blocks"] = self._thinking_blocks
        elif self._thoughts and find(provider).returns_reasoning:
            message["reasoning_content"] = "".join(self._thoughts)
        calls = {call.id: call.extra for call in self._calls if call.id and call.extra}
        if not message and not calls:
            return None
        return {"provider": provider, "message": message, "calls": calls}


class _Call:
    """A tool call in the making."""

    def __init__(self, index: Any) -> None:
        self.index = index
        self.id: str = ""
        self.name: Any = None
        self.extra: dict[str, Any] = {}
        self._pieces: list[str] = []
        self._object: Any = None

    def take(self, part: Mapping[str, Any]) -> None:
        """Add a piece. Names come whole; arguments come as pieces of JSON text, from some servers as an object."""
        self.id = self.id or text(part.get("id"))
        for key in ("extra_content", "provider_specific_fields"):  # thought signatures: Gemini's own, LiteLLM's
            if part.get(key):
                self.extra[key] = part[key]
        function = mapping(part.get("function"))
        self.name = self.name or function.get("name")
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            self._pieces.append(arguments)
        elif arguments is not None:
            self._object = arguments

    @property
    def arguments(self) -> Any:
        """JSON text, or the object that the server sent."""
        return self._object if self._object is not None else "".join(self._pieces)


def _raise_error(data: Mapping[str, Any]) -> None:
    """Some proxies answer 200 and put the error into the body or the stream."""
    error = data.get("error")
    if error:
        code = mapping(error).get("code")
        status = code if isinstance(code, int) and 400 <= code < 600 else NO_STATUS
        raise Refusal(status, protocol.encode_body({"error": error}).decode())


def _parts(content: Any) -> tuple[str, str]:
    """Text and thoughts of a content that is a string or (Mistral) a list of parts."""
    if isinstance(content, str):
        return content, ""
    said, thoughts = [], []
    for part in mappings(content):
        if part.get("type") == "thinking":
            thoughts.append(_parts(part.get("thinking"))[0])
        else:
            said.append(text(part.get("text")))
    return "".join(said), "".join(thoughts)


def _split_thinking(answer: str, thoughts: str) -> tuple[str, str]:
    """Servers without a reasoning parser leave the thoughts in the text, between <think> tags."""
    start = answer.lstrip()
    if start.startswith("<think>") and "</think>" in start:
        inside, _, rest = start.removeprefix("<think>").partition("</think>")
        return rest.lstrip(), thoughts + inside.strip()
    return answer, thoughts


def _merge_details(details: list[dict[str, Any]], new: list[dict[str, Any]]) -> None:
    """OpenRouter streams reasoning_details in pieces: texts of the same index and type belong together."""
    for item in new:
        last = details[-1] if details else {}
        if "index" in item and (last.get("index"), last.get("type")) == (item["index"], item.get("type")):
            for key, value in item.items():
                joins = key in ("text", "summary", "data") and isinstance(last.get(key), str) and isinstance(value, str)
                if joins or value is not None:
                    last[key] = last[key] + value if joins else value
        else:
            details.append(dict(item))


def _merge_thinking(blocks: list[dict[str, Any]], new: list[dict[str, Any]]) -> None:
    """LiteLLM streams Claude's thinking blocks in pieces; the signature ends a block."""
    for item in new:
        last = blocks[-1] if blocks else {}
        if item.get("type") == "thinking" and last.get("type") == "thinking" and not last.get("signature"):
            last["thinking"] = text(last.get("thinking")) + text(item.get("thinking"))
            last["signature"] = text(item.get("signature"))
        else:
            blocks.append(dict(item))


def _usage(raw: Mapping[str, Any]) -> Usage:
    prompt, completion = mapping(raw.get("prompt_tokens_details")), mapping(raw.get("completion_tokens_details"))
    cost = raw.get("cost")  # OpenRouter tells it in dollars
    return Usage(
        prompt_tokens=count(raw.get("prompt_tokens")),
        completion_tokens=count(raw.get("completion_tokens")),
        cached_tokens=count(prompt.get("cached_tokens") or raw.get("prompt_cache_hit_tokens")),
        cache_write_tokens=count(prompt.get("cache_write_tokens")),
        reasoning_tokens=count(completion.get("reasoning_tokens")),
        cost=float(cost) if isinstance(cost, int | float) else None,
    )
