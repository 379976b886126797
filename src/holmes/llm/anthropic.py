"""Claude by Anthropic's Messages API.

The prompt's stable prefix is marked for the cache: the last tool, the system text, and the last block of the last
two user messages (two, because Anthropic looks back only 20 blocks for an earlier mark, and one turn may have more).
Thinking blocks go back verbatim in front of the calls that they led to. Source: platform.claude.com, "Messages",
"Prompt caching", "Extended thinking", "Structured outputs".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from holmes.core.messages import Message, Turn, Usage
from holmes.llm import protocol
from holmes.llm.amendments import Amendments, ask_amending
from holmes.llm.base import Dialect, JsonSchema, OnDelta, Request
from holmes.llm.exchange import Exchange, for_people
from holmes.llm.refusals import NO_STATUS, Endpoint, Refusal
from holmes.llm.shapes import count, mapping, mappings, text

if TYPE_CHECKING:
    from holmes.core.http import Http
    from holmes.llm.models import ModelEntry
    from holmes.llm.providers import Provider

_VERSION = "2023-06-01"
_MARK = {"type": "ephemeral"}
_THINKING = ("thinking", "redacted_thinking")
_THINKING_COMPLAINT = re.compile(r"(?=.*thinking)(?=.*(block|signature))", re.IGNORECASE)
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class Anthropic:
    """One Claude model. One attempt a call: DefaultLLM does the retries."""

    dialect: Dialect = "anthropic"

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
        self._endpoint = endpoint(entry, provider, env)
        self._exchange = Exchange(http, self._endpoint, _headers(entry, self._endpoint), entry.seconds)
        self._amendments = Amendments()
        self._thoughts_refused = False

    async def complete(self, request: Request, on_delta: OnDelta | None = None, deadline: float | None = None) -> Turn:
        """Ask once; see LLM. A parameter that the model does not take is left out and the request sent again."""
        body = request_body(request, model=self._endpoint.model, max_output=self.max_output)
        if self._entry.effort:
            body.setdefault("output_config", {}).setdefault("effort", self._entry.effort)
        body |= self._entry.parameters
        if self._thoughts_refused:
            _drop_thoughts(body)
        reader, notes = await ask_amending(
            self._exchange, self._amendments, body, lambda: AnthropicReader(on_delta), deadline, self._mend
        )
        return reader.turn(self._endpoint.model, protocol.call_ids(request.messages), notes)

    def _mend(self, body: dict[str, Any], refusal: Refusal) -> str:
        """Thinking is bound to the conversation that it came from; a shortened history may make it invalid."""
        if refusal.status != 400 or not _THINKING_COMPLAINT.search(refusal.words) or not _drop_thoughts(body):
            return ""
        self._thoughts_refused = True
        return "earlier thinking left out of the history"

    async def close(self) -> None:
        """Close connections."""
        await self._exchange.close()


def endpoint(entry: ModelEntry, provider: Provider, env: Mapping[str, str]) -> Endpoint:
    """Where the model is reached."""
    base = (entry.api_base or provider.base(env)).rstrip("/")
    base = base.removesuffix("/messages").removesuffix("/v1")
    url = f"{base}/v1/messages"
    key = entry.api_key or provider.key(env)
    key_name = "api_key" if entry.api_key else provider.key_names[0]
    return Endpoint(url, entry.name_on_wire, for_people(url), key_name, key, provider.hint)


def _headers(entry: ModelEntry, endpoint: Endpoint) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "User-Agent": "holmes", "anthropic-version": _VERSION}
    if endpoint.key:
        headers["x-api-key"] = endpoint.key
    return headers | dict(entry.headers)


def request_body(request: Request, *, model: str, max_output: int, stream: bool = True) -> dict[str, Any]:
    """The body of a Messages request."""
    history = protocol.repair(request.messages)
    system = "\n\n".join(message.content for message in history if message.role == "system")
    body: dict[str, Any] = {"model": model, "max_tokens": max_output}
    if system:
        body["system"] = [{"type": "text", "text": system, "cache_control": _MARK}]
    body["messages"] = _wire_messages([message for message in history if message.role != "system"], model)
    if request.tools:
        tools: list[dict[str, Any]] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in request.tools
        ]
        tools[-1]["cache_control"] = _MARK
        body["tools"] = tools
        if request.tool_choice == "none":
            body["tool_choice"] = {"type": "none"}
    output: dict[str, Any] = {}
    if request.effort:
        output["effort"] = request.effort
    if request.response_format is not None:
        output["format"] = {"type": "json_schema", "schema": _closed(request.response_format["schema"])}
    if output:
        body["output_config"] = output
    if stream:
        body["stream"] = True
    return body


def _wire_messages(history: Iterable[Message], model: str) -> list[dict[str, Any]]:
    ids = _Ids()
    entries: list[dict[str, Any]] = []
    for message in history:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _assistant(message, model, ids) if role == "assistant" else _user(message, ids)
        if entries and entries[-1]["role"] == role:
            entries[-1]["content"] += blocks
        else:
            entries.append({"role": role, "content": blocks})
    if entries and entries[0]["role"] == "assistant":
        entries.insert(0, {"role": "user", "content": [{"type": "text", "text": "(the beginning was left out)"}]})
    if entries and entries[-1]["role"] == "assistant":  # newer models refuse to go on with a given beginning
        entries.append({"role": "user", "content": [{"type": "text", "text": "Go on."}]})
    for entry in [entry for entry in entries if entry["role"] == "user"][-2:]:
        entry["content"][-1]["cache_control"] = _MARK
    return entries


def _user(message: Message, ids: _Ids) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": ids.legal(message.tool_call_id), "content": message.content}]
    words = [{"type": "text", "text": message.content}] if message.content.strip() else []
    return [*words, *(_image(image.url) for image in message.images)]


def _image(url: str) -> dict[str, Any]:
    if found := re.match(r"data:([\w/+.-]+);base64,(.*)", url, re.DOTALL):
        return {"type": "image", "source": {"type": "base64", "media_type": found.group(1), "data": found.group(2)}}
    return {"type": "image", "source": {"type": "url", "url": url}}


def _assistant(message: Message, model: str, ids: _Ids) -> list[dict[str, Any]]:
    words = [{"type": "text", "text": message.content}] if message.content.strip() else []
    calls = [
        {"type": "tool_use", "id": ids.legal(call.id), "name": call.name, "input": call.arguments}
        for call in message.tool_calls
    ]
    data = message.provider_data if isinstance(message.provider_data, dict) else {}
    if data.get("provider") != "anthropic" or data.get("model") != model:
        return [*words, *calls]
    blocks: list[dict[str, Any]] = data["blocks"]
    thoughts = [block for block in blocks if block["type"] in _THINKING]
    own_text = "".join(block["text"] for block in blocks if block["type"] == "text")
    own_calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    if own_text != message.content or own_calls != [call["id"] for call in calls]:
        return [*thoughts, *words, *calls]  # text or calls were changed since: their order to the thoughts is lost
    rest = iter(calls)
    return [next(rest) if block["type"] == "tool_use" else dict(block) for block in blocks if not _blank(block)]


def _drop_thoughts(body: dict[str, Any]) -> bool:
    """Take the thinking blocks out of the history; False when there are none."""
    found = False
    for entry in body["messages"]:
        kept = [block for block in entry["content"] if block["type"] not in _THINKING]
        found = found or len(kept) < len(entry["content"])
        entry["content"] = kept or [{"type": "text", "text": "(no text)"}]
    return found


def _blank(block: Mapping[str, Any]) -> bool:
    return block["type"] == "text" and not block["text"].strip()


class _Ids:
    """Call ids of other providers, in the letters that Anthropic takes."""

    def __init__(self) -> None:
        self._legal: dict[str, str] = {}

    def legal(self, identity: str) -> str:
        """The same legal id for the same id; two ids never become one."""
        if identity not in self._legal:
            legal = re.sub(r"[^a-zA-Z0-9_-]", "_", identity)
            while legal in self._legal.values():
                legal += "_"
            self._legal[identity] = legal
        return self._legal[identity]


def _closed(schema: JsonSchema) -> dict[str, Any]:
    """The schema with ``additionalProperties: false`` in every object, which structured outputs demand."""

    def walk(value: Any) -> Any:
        if isinstance(value, list):
            return [walk(item) for item in value]
        if not isinstance(value, dict):
            return value
        copy = {key: walk(item) for key, item in value.items()}
        if copy.get("type") == "object":
            copy.setdefault("additionalProperties", False)
        return copy

    closed: dict[str, Any] = walk(dict(schema))
    return closed


class AnthropicReader:
    """Puts an answer together, streamed or whole."""

    def __init__(self, on_delta: OnDelta | None) -> None:
        self.done = False
        self._on_delta = on_delta
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, list[str]] = {}
        self._finish: Any = None
        self._usage: dict[str, Any] = {}

    def chunk(self, data: dict[str, Any]) -> None:
        """One event of a stream."""
        kind, index = data.get("type"), count(data.get("index"))
        if kind == "error":
            raise _refusal(data)
        if kind == "message_start":
            self._count(mapping(data.get("message")).get("usage"))
        elif kind == "content_block_start":
            self._blocks[index] = dict(mapping(data.get("content_block")))
            self._say(text(self._blocks[index].get("text")))
        elif kind == "content_block_delta":
            self._add(index, mapping(data.get("delta")))
        elif kind == "message_delta":
            self._count(data.get("usage"))
            self._finish = mapping(data.get("delta")).get("stop_reason") or self._finish
        elif kind == "message_stop":
            self.done = True

    def whole(self, data: dict[str, Any]) -> None:
        """An answer that was not streamed."""
        if data.get("type") == "error" or "content" not in data:
            raise _refusal(data)
        self._blocks = {index: dict(block) for index, block in enumerate(mappings(data["content"]))}
        for block in self._blocks.values():
            self._say(text(block.get("text")))
        self._count(data.get("usage"))
        self._finish = data.get("stop_reason")
        self.done = True

    def _say(self, said: str) -> None:
        if said and self._on_delta:
            self._on_delta(said)

    def _count(self, usage: Any) -> None:
        self._usage |= {key: value for key, value in mapping(usage).items() if value is not None}

    def _add(self, index: int, delta: Mapping[str, Any]) -> None:
        block = self._blocks.setdefault(index, {"type": "text", "text": ""})
        kind = delta.get("type")
        if kind == "text_delta":
            self._say(text(delta.get("text")))
        if kind == "input_json_delta":
            self._inputs.setdefault(index, []).append(text(delta.get("partial_json")))
        elif kind in ("text_delta", "thinking_delta", "signature_delta"):
            part = kind.removesuffix("_delta")
            block[part] = text(block.get(part)) + text(delta.get(part))

    def turn(self, model: str, known_ids: set[str], notes: list[str]) -> Turn:
        """The finished answer."""
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        calls = []
        for index in sorted(self._blocks):
            block = self._blocks[index]
            if block.get("type") == "tool_use":
                pieces = self._inputs.get(index)
                arguments = "".join(pieces) if pieces is not None else block.get("input")
                calls.append(protocol.RawCall(block.get("id"), block.get("name"), arguments))
        thoughts = [block for block in blocks if block.get("type") in _THINKING]
        return protocol.normalise(
            "".join(text(block.get("text")) for block in blocks if block.get("type") == "text"),
            calls,
            finish_reason=self._finish,
            reasoning="\n\n".join(filter(None, (text(block.get("thinking")) for block in thoughts))),
            usage=self._usage_of_call(),
            provider_data=_opaque(model, blocks) if thoughts else None,
            known_ids=known_ids,
            notes=notes,
        )

    def _usage_of_call(self) -> Usage:
        raw = self._usage
        read, written = count(raw.get("cache_read_input_tokens")), count(raw.get("cache_creation_input_tokens"))
        return Usage(
            prompt_tokens=count(raw.get("input_tokens")) + read + written,  # Anthropic counts them apart
            completion_tokens=count(raw.get("output_tokens")),
            cached_tokens=read,
            cache_write_tokens=written,
            reasoning_tokens=count(mapping(raw.get("output_tokens_details")).get("thinking_tokens")),
        )


def _opaque(model: str, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    """Thinking verbatim; of the other blocks what tells their place."""
    kept = []
    for block in blocks:
        if block.get("type") in _THINKING:
            kept.append(block)
        elif block.get("type") == "text":
            kept.append({"type": "text", "text": text(block.get("text"))})
        elif block.get("type") == "tool_use":
            kept.append({"type": "tool_use", "id": block.get("id")})
    return {"provider": "anthropic", "model": model, "blocks": kept}


def _refusal(data: Mapping[str, Any]) -> Refusal:
    kind = mapping(data.get("error")).get("type")
    if kind is None:
        return Refusal(NO_STATUS, '{"error": "the answer has no content"}')
    return Refusal(_STATUS.get(str(kind), 500), protocol.encode_body(dict(data)).decode())
