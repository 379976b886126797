"""Chat completions as OpenAI, Azure and nearly everybody else speak them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from holmes.core.errors import ModelRefused
from holmes.core.messages import Message, Turn
from holmes.llm import protocol
from holmes.llm.amendments import Amendments, ask_amending
from holmes.llm.base import Dialect, OnDelta, Request
from holmes.llm.catalogue import catalogue
from holmes.llm.chat_answer import ChatReader
from holmes.llm.exchange import Exchange, for_people
from holmes.llm.refusals import Endpoint, Refusal, model_error

if TYPE_CHECKING:
    from holmes.core.http import Http
    from holmes.llm.models import ModelEntry
    from holmes.llm.providers import Provider

_AZURE_VERSION = "2024-10-21"  # the last stable version of Azure's inference API that is dated


class OpenAICompatible:
    """One model behind a chat completions endpoint. One attempt a call: DefaultLLM does the retries.

    ``max_output`` is in tokens and always sent; ``timeout`` in seconds counts when no deadline is given.
    """

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
        self._provider = provider
        target = endpoint(entry, provider, env)
        self._exchange = Exchange(http, target, headers(entry, provider, target.key), entry.seconds)
        self._amendments = Amendments()

    async def complete(self, request: Request, on_delta: OnDelta | None = None, deadline: float | None = None) -> Turn:
        """Ask once; see LLM. A parameter that the endpoint does not take is left out and the request sent again."""
        if not self._exchange.endpoint.model:
            await self._find_model(deadline)
        model = self._exchange.endpoint.model
        body = request_body(request, model=model, max_output=self.max_output, provider=self._provider.name)
        if self._entry.effort:
            body.setdefault("reasoning_effort", self._entry.effort)
        body |= self._entry.parameters
        reader, notes = await ask_amending(
            self._exchange, self._amendments, body, lambda: ChatReader(on_delta), deadline
        )
        return reader.turn(self._provider.name, protocol.call_ids(request.messages), notes)

    async def _find_model(self, deadline: float | None) -> None:
        """Take the first model that the server lists, when a base URL is all that was configured."""
        target = self._exchange.endpoint
        url = f"{target.url.removesuffix('/chat/completions')}/models"
        try:
            listed = (await self._exchange.get(url, deadline)).get("data")
        except Refusal as refusal:
            raise model_error(refusal, replace(target, model="(any)", shown=for_people(url))) from refusal
        ids = [str(item["id"]) for item in listed or [] if isinstance(item, dict) and item.get("id")]
        chat = [name for name in ids if "embed" not in name.lower()]
        if not chat:
            raise ModelRefused("the server lists no model", remedy="name one with --model", where=for_people(url))
        usual = catalogue()["defaults"].get(self._provider.name)
        chosen = usual if usual in chat else chat[0]
        self._exchange.endpoint = replace(target, model=chosen)
        self.name = f"{self._provider.name}/{chosen}"

    async def close(self) -> None:
        """Close connections."""
        await self._exchange.close()


def endpoint(entry: ModelEntry, provider: Provider, env: Mapping[str, str], path: str = "chat/completions") -> Endpoint:
    """Where the model is reached. ModelRefused when the provider has no address of its own and none is configured."""
    base = (entry.api_base or provider.base(env)).rstrip("/")
    if not base:
        name = provider.base_names[0] if provider.base_names else "--api-base"
        raise ModelRefused(f"no address is known for {provider.name}/", remedy=f"set {name}, or give --api-base")
    if "://" not in base:
        base = f"http://{base}"
    if provider.name == "azure":
        version = entry.api_version or env.get("AZURE_API_VERSION") or _AZURE_VERSION
        url = _azure_url(base, entry.name_on_wire, version)
    else:
        base = base.removesuffix("/chat/completions")
        if not base.partition("://")[2].partition("/")[2]:
            base += "/v1"  # a bare host: every server of this kind serves /v1
        if provider.name in ("ollama", "ollama_chat"):
            base = f"{base.removesuffix('/v1')}/v1"  # OLLAMA_API_BASE is written without it
        url = f"{base}/{path}"
    key = entry.api_key or provider.key(env)
    key_name = "api_key" if entry.api_key else next(iter(provider.key_names), "api_key")
    return Endpoint(url, entry.name_on_wire, for_people(url), key_name, key, provider.hint)


def _azure_url(base: str, deployment: str, version: str) -> str:
    if "/openai/deployments/" not in base:
        base = f"{base.removesuffix('/openai')}/openai/deployments/{quote(deployment, safe='')}"
    base = base.partition("?")[0].removesuffix("/chat/completions")
    return f"{base}/chat/completions?api-version={quote(version, safe='')}"


def headers(entry: ModelEntry, provider: Provider, key: str) -> dict[str, str]:
    """The headers of every request."""
    fixed = {"Content-Type": "application/json", "User-Agent": "holmes"}
    if key:
        fixed |= {"api-key": key} if provider.name == "azure" else {"Authorization": f"Bearer {key}"}
    return fixed | dict(entry.headers)


def request_body(
    request: Request, *, model: str, max_output: int, provider: str = "openai", stream: bool = True
) -> dict[str, Any]:
    """The body of a chat completions request."""
    # OpenAI's reasoning models refuse max_tokens; older servers of others do not know max_completion_tokens.
    output_name = "max_completion_tokens" if provider in ("openai", "azure") else "max_tokens"
    body: dict[str, Any] = {
        "model": model,
        "messages": list(_wire_messages(request, provider)),
        output_name: max_output,
    }
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in request.tools
        ]
        if request.tool_choice == "none":
            body["tool_choice"] = "none"
    if request.response_format is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": dict(request.response_format)}
    if request.effort:
        body["reasoning_effort"] = request.effort
    if stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return body


def _wire_messages(request: Request, provider: str) -> Iterator[dict[str, Any]]:
    for message in protocol.repair(request.messages):
        if message.role == "tool":
            yield {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content}
        elif message.role == "assistant":
            yield _assistant(message, provider)
        elif message.images:
            text = [{"type": "text", "text": message.content}] if message.content.strip() else []
            pictures = [{"type": "image_url", "image_url": {"url": image.url}} for image in message.images]
            yield {"role": message.role, "content": [*text, *pictures]}
        else:
            yield {"role": message.role, "content": message.content}


def _assistant(message: Message, provider: str) -> dict[str, Any]:
    data = message.provider_data if isinstance(message.provider_data, dict) else {}
    own = data if data.get("provider") == provider else {}
    entry: dict[str, Any] = {"role": "assistant", "content": message.content or None, **own.get("message", {})}
    if message.tool_calls:
        extras = own.get("calls", {})
        entry["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": protocol.arguments_json(call.arguments)},
                **extras.get(call.id, {}),
            }
            for call in message.tool_calls
        ]
    return entry
