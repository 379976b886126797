"""Every other provider (Bedrock, Vertex, Gemini, Azure AD, watsonx, ...), by way of LiteLLM.

LiteLLM is an extra, and importing it takes seconds and some 200 MB: it is loaded in a worker thread when a model of
it is first asked.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from holmes.core.errors import ModelRefused, ModelUnavailable
from holmes.core.messages import Turn
from holmes.llm import protocol
from holmes.llm.base import Dialect, OnDelta, Request
from holmes.llm.chat_answer import ChatReader
from holmes.llm.openai_compatible import request_body
from holmes.llm.refusals import NO_STATUS, Endpoint, Refusal, model_error

if TYPE_CHECKING:
    from holmes.llm.models import ModelEntry

_WITHOUT_STATUS = (ImportError, OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError)


class LiteLLMProvider:
    """One model that LiteLLM knows how to reach. One attempt a call: DefaultLLM does the retries.

    Keys that are not in the entry are found by LiteLLM itself, in the process environment and the cloud's own
    credential chains. ``load`` returns the litellm module.
    """

    def __init__(
        self,
        entry: ModelEntry,
        *,
        window: int,
        max_output: int,
        load: Callable[[], Any] | None = None,
    ) -> None:
        self.name = entry.name
        self.window = window
        self.max_output = max_output
        self.dialect: Dialect = "bedrock" if entry.model.startswith("bedrock") else "openai"
        self._entry = entry
        self._load = load or load_litellm
        self._key_name = next(iter(entry.provider.key_names), "")
        place = f"{entry.provider.name} (through LiteLLM)"
        self._endpoint = Endpoint("", entry.model, place, f"the credentials of {entry.provider.name}", entry.api_key)

    async def complete(self, request: Request, on_delta: OnDelta | None = None, deadline: float | None = None) -> Turn:
        """Ask once; see LLM."""
        end = time.monotonic() + self._entry.seconds if deadline is None else deadline
        reader = ChatReader(on_delta)
        try:
            async with asyncio.timeout(end - time.monotonic()):
                litellm = await asyncio.to_thread(self._library)
                await self._converse(litellm, request, reader, end)
        except TimeoutError as error:
            raise ModelUnavailable("no complete answer within the time allowed", where=self._endpoint.shown) from error
        except Refusal as refusal:
            raise model_error(refusal, self._endpoint) from refusal
        if not reader.done:
            raise ModelUnavailable("the answer broke off before its end", where=self._endpoint.shown)
        return reader.turn("litellm", protocol.call_ids(request.messages), [])

    async def close(self) -> None:
        """LiteLLM keeps its own connections."""

    def _library(self) -> Any:
        try:
            return self._load()
        except ImportError as error:
            message = f"{self._entry.model} needs LiteLLM, which cannot be imported ({error})"
            other = f", or set {self._key_name}" if self._key_name else ""
            raise ModelRefused(message, remedy=f"pip install 'holmes-sre[litellm]'{other}") from error

    async def _converse(self, litellm: Any, request: Request, reader: ChatReader, end: float) -> None:
        errors = (*litellm.exceptions.LITELLM_EXCEPTION_TYPES, *_WITHOUT_STATUS)
        try:
            stream = await litellm.acompletion(**self._arguments(request, end))
            async for chunk in stream:
                reader.chunk(chunk.model_dump())
        except errors as error:
            raise self._refusal(error) from error

    def _arguments(self, request: Request, end: float) -> dict[str, Any]:
        entry = self._entry
        body = request_body(request, model=entry.model, max_output=self.max_output, provider="litellm")
        if "reasoning_effort" not in body and entry.effort:
            body["reasoning_effort"] = entry.effort
        arguments = body | {"drop_params": True, "num_retries": 0, "max_retries": 0, "timeout": end - time.monotonic()}
        if "claude" in entry.model:
            # Claude on Bedrock and Vertex caches only what is marked; LiteLLM sets the marks.
            points = [{"location": "message", "role": "system"}, {"location": "message", "index": -1}]
            arguments["cache_control_injection_points"] = points
        own: Mapping[str, Any] = {
            "api_key": entry.api_key,
            "api_base": entry.api_base,
            "api_version": entry.api_version,
            "extra_headers": dict(entry.headers),
        }
        return arguments | {name: value for name, value in own.items() if value} | dict(entry.parameters)

    def _refusal(self, error: Exception) -> Refusal:
        status = getattr(error, "status_code", None)
        response = getattr(error, "response", None)
        headers = {
            str(name).lower(): str(value) for name, value in dict(getattr(response, "headers", None) or {}).items()
        }
        words = str(getattr(error, "message", "") or error)
        if not isinstance(status, int):
            status, words = NO_STATUS, f"{type(error).__name__}: {words}"
        return Refusal(status, words, headers)


def load_litellm() -> Any:
    """Import litellm without its habit of fetching a price list from the network."""
    # LiteLLM reads this from os.environ alone, while it is being imported; there is no other way to tell it.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    litellm: Any = importlib.import_module("litellm")
    litellm.suppress_debug_info = True  # else it prints "Give Feedback / Get Help" on stdout at each error
    return litellm
