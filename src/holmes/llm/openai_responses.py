"""OpenAI's Responses API: the newer GPT models take tools together with reasoning only here.

Nothing is stored at OpenAI (``store: false``); the reasoning comes encrypted and goes back verbatim with the history,
in its place between text and calls. Source: the API reference of OpenAI, "Responses" and "Reasoning models".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from holmes.core.messages import Message, Turn, Usage
from holmes.llm import protocol
from holmes.llm.amendments import Amendments, ask_amending
from holmes.llm.base import Dialect, OnDelta, Request
from holmes.llm.exchange import Exchange
from holmes.llm.openai_compatible import endpoint, headers
from holmes.llm.refusals import NO_STATUS, Refusal
from holmes.llm.shapes import count, mapping, mappings, text

if TYPE_CHECKING:
    from holmes.core.http import Http
    from holmes.llm.models import ModelEntry
    from holmes.llm.providers import Provider

_OWN = "openai-responses"
_CUT = {"max_output_tokens": "length", "content_filter": "content_filter"}


class OpenAIResponses:
    """One model of OpenAI. One attempt a call: DefaultLLM does the retries."""

    dialect: Dialect = "openai"

    def __init__(
        self,
        entry: ModelEntry,
        provider: Provider,
        env: Mapping[str, str],
        http: Http,
        *,
        window: int,
        max_output: int,
    ) -> None:
        self.name = entry.name
        self.window = window
        self.max_output = max_output
        self._entry = entry
        self._endpoint = endpoint(entry, provider, env, "responses")
        self._exchange = Exchange(http, self._endpoint, headers(entry, provider, self._endpoint.key), entry.seconds)
        self._amendments = Amendments()
        self._thoughts_refused = False

    async def complete(self, request: Request, on_delta: OnDelta | None = None, deadline: float | None = None) -> Turn:
        """Ask once; see LLM. A parameter that the model does not take is left out and the request sent again."""
        body = request_body(request, model=self._endpoint.model, max_output=self.max_output)
        if self._entry.effort:
            body.setdefault("reasoning", {"effort": self._entry.effort})
        body |= self._entry.parameters
        if self._thoughts_refused:
            _drop_thoughts(body)
        reader, notes = await ask_amending(
            self._exchange, self._amendments, body, lambda: ResponsesReader(on_delta), deadline, self._mend
        )
        return reader.turn(self._endpoint.model, protocol.call_ids(request.messages), notes)

    def _mend(self, body: dict[str, Any], refusal: Refusal) -> str:
        """Encrypted reasoning can be read only by the account and the model that it came from."""
        about_thoughts = "encrypted" in refusal.words or "'reasoning'" in refusal.words
        if refusal.status != 400 or not about_thoughts or not _drop_thoughts(body):
            return ""
        self._thoughts_refused = True
        return "earlier reasoning left out of the history"

    async def close(self) -> None:
        """Close connections."""
        await self._exchange.close()


def request_body(request: Request, *, model: str, max_output: int, stream: bool = True) -> dict[str, Any]:
    """The body of a Responses request."""
    body: dict[str, Any] = {
        "model": model,
        "input": [item for message in protocol.repair(request.messages) for item in _items(message, model)],
        "max_output_tokens": max_output,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": False,
            }
            for tool in request.tools
        ]
        if request.tool_choice == "none":
            body["tool_choice"] = "none"
    if request.response_format is not None:
        body["text"] = {"format": {"type": "json_schema", "strict": False, **request.response_format}}
    if request.effort:
        body["reasoning"] = {"effort": request.effort}
    if stream:
        body["stream"] = True
    return body


def _items(message: Message, model: str) -> Iterator[dict[str, Any]]:
    if message.role == "tool":
        yield {"type": "function_call_output", "call_id": message.tool_call_id, "output": message.content}
    elif message.role == "assistant":
        yield from _assistant(message, model)
    elif message.images:
        words = [{"type": "input_text", "text": message.content}] if message.content.strip() else []
        pictures = [{"type": "input_image", "image_url": image.url, "detail": "auto"} for image in message.images]
        yield {"role": message.role, "content": [*words, *pictures]}
    else:
        yield {"role": message.role, "content": message.content}


def _assistant(message: Message, model: str) -> Iterator[dict[str, Any]]:
    words = [{"role": "assistant", "content": message.content}] if message.content else []
    calls = [
        {
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": protocol.arguments_json(call.arguments),
        }
        for call in message.tool_calls
    ]
    data = message.provider_data if isinstance(message.provider_data, dict) else {}
    kept: list[dict[str, Any]] = data["items"] if (data.get("provider"), data.get("model")) == (_OWN, model) else []
    ids = [item["call_id"] for item in kept if item["type"] == "function_call"]
    texts = "".join(item["text"] for item in kept if item["type"] == "message")
    if ids != [call["call_id"] for call in calls] or texts != message.content:
        yield from (item for item in kept if item["type"] == "reasoning")
        yield from [*words, *calls]
        return
    rest = iter(calls)
    for item in kept:
        if item["type"] == "reasoning":
            yield item
        elif item["type"] == "function_call":
            yield next(rest)
        elif item["text"].strip():
            phase = {"phase": item["phase"]} if item.get("phase") else {}
            yield {"role": "assistant", "content": item["text"], **phase}


def _drop_thoughts(body: dict[str, Any]) -> bool:
    """Take reasoning out of the history; False when there is none."""
    kept = [item for item in body["input"] if item.get("type") != "reasoning"]
    found = len(kept) < len(body["input"])
    body["input"] = kept
    return found


class ResponsesReader:
    """Puts an answer together; a stream's last event has all of it."""

    def __init__(self, on_delta: OnDelta | None) -> None:
        self.done = False
        self._on_delta = on_delta
        self._items: list[dict[str, Any]] = []
        self._finish = "stop"
        self._usage: Mapping[str, Any] = {}

    def chunk(self, data: dict[str, Any]) -> None:
        """One event of a stream."""
        kind = data.get("type")
        if kind in ("error", "response.failed") or (kind is None and data.get("error")):
            raise _refusal(data)
        if kind == "response.output_text.delta" and self._on_delta and text(data.get("delta")):
            self._on_delta(data["delta"])
        elif kind == "response.output_item.done":
            self._items += mappings([data.get("item")])
        elif kind in ("response.completed", "response.incomplete"):
            self._end(mapping(data.get("response")))

    def whole(self, data: dict[str, Any]) -> None:
        """An answer that was not streamed."""
        if data.get("error") or not isinstance(data.get("output"), list):
            raise _refusal(data)
        self._end(data)
        if self._on_delta and (said := "".join(_said(item) for item in self._items)):
            self._on_delta(said)

    def _end(self, response: Mapping[str, Any]) -> None:
        # The items of the single events count: the last event of some proxies has none.
        self._items = self._items or mappings(response.get("output"))
        if details := mapping(response.get("incomplete_details")):
            self._finish = _CUT.get(text(details.get("reason")), "length")
        self._usage = mapping(response.get("usage"))
        self.done = True

    def turn(self, model: str, known_ids: set[str], notes: list[str]) -> Turn:
        """The finished answer."""
        calls = [item for item in self._items if item.get("type") == "function_call"]
        thoughts = [item for item in self._items if item.get("type") == "reasoning"]
        summaries = [text(part.get("text")) for item in thoughts for part in mappings(item.get("summary"))]
        return protocol.normalise(
            "".join(_said(item) for item in self._items),
            [protocol.RawCall(item.get("call_id"), item.get("name"), item.get("arguments")) for item in calls],
            finish_reason=self._finish,
            reasoning="\n\n".join(summaries),
            usage=_usage(self._usage),
            provider_data=_opaque(model, self._items) if thoughts else None,
            known_ids=known_ids,
            notes=notes,
        )


def _said(item: Mapping[str, Any]) -> str:
    if item.get("type") != "message":
        return ""
    return "".join(text(part.get("text") or part.get("refusal")) for part in mappings(item.get("content")))


def _opaque(model: str, items: list[dict[str, Any]]) -> dict[str, Any]:
    """Reasoning verbatim; of the other items what tells their place."""
    kept: list[dict[str, Any]] = []
    for item in items:
        if item.get("type") == "reasoning":
            kept.append({key: value for key, value in item.items() if value is not None and key != "status"})
        elif item.get("type") == "message":
            kept.append({"type": "message", "text": _said(item), "phase": item.get("phase")})
        elif item.get("type") == "function_call":
            kept.append({"type": "function_call", "call_id": item.get("call_id")})
    return {"provider": _OWN, "model": model, "items": kept}


def _usage(raw: Mapping[str, Any]) -> Usage:
    prompt, completion = mapping(raw.get("input_tokens_details")), mapping(raw.get("output_tokens_details"))
    return Usage(
        prompt_tokens=count(raw.get("input_tokens")),
        completion_tokens=count(raw.get("output_tokens")),
        cached_tokens=count(prompt.get("cached_tokens")),
        cache_write_tokens=count(prompt.get("cache_write_tokens")),
        reasoning_tokens=count(completion.get("reasoning_tokens")),
    )


def _refusal(data: Mapping[str, Any]) -> Refusal:
    error = mapping(mapping(data.get("response")).get("error") or data.get("error") or data)
    if not error.get("message"):
        return Refusal(NO_STATUS, '{"error": "the answer has no output"}')
    code = str(error.get("code") or "")
    status = 429 if "rate_limit" in code else 400 if "invalid" in code or "context" in code else NO_STATUS
    return Refusal(status, protocol.encode_body({"error": error}).decode())
