"""The model that everybody uses: picks the wire, tries again when that may help, counts the money."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from holmes.core.errors import ModelUnavailable, RateLimited
from holmes.core.messages import Turn
from holmes.llm.base import LLM, Dialect, OnDelta, Request
from holmes.llm.catalogue import writes_calls
from holmes.llm.text_calls import with_real_calls

if TYPE_CHECKING:
    from holmes.core.http import Http
    from holmes.llm.models import ModelEntry

OnWait = Callable[[float, str], None]


@dataclass(frozen=True, slots=True)
class Retry:
    """When to try again: ``tries`` counts the first one too; ``wait`` and ``cap`` are seconds.

    The wait doubles after each try, with up to a half taken off by chance. A provider's Retry-After replaces it. No
    wait is longer than ``cap``.
    """

    tries: int = 3
    wait: float = 1.0
    cap: float = 60.0


class DefaultLLM:
    """A model by its entry, over the wire that its provider speaks.

    ``on_wait(seconds, reason)`` is called before each pause. Text that came through ``on_delta`` before it is void:
    the next try starts anew. Only ModelUnavailable and RateLimited are tried again. One try lasts as long as the
    entry's ``timeout`` at most; the deadline bounds all of them together.
    """

    def __init__(
        self,
        entry: ModelEntry,
        http: Http,
        env: Mapping[str, str],
        *,
        retry: Retry | None = None,
        on_wait: OnWait | None = None,
    ) -> None:
        facts = entry.facts
        self.name = entry.name
        self.window = facts.window
        self.max_output = facts.output
        self.dialect: Dialect = _dialect(entry)
        self.entry = entry
        self.prices = facts.prices
        self.on_wait = on_wait
        self._http = http
        self._env = env
        self._retry = retry or Retry()
        self._wire: LLM | None = None

    async def complete(self, request: Request, on_delta: OnDelta | None = None, deadline: float | None = None) -> Turn:
        """Ask, trying again when the provider is down, busy or silent; see LLM."""
        for number in range(1, self._retry.tries + 1):
            limit = time.monotonic() + self.entry.seconds
            try:
                wire = self._connected()
                turn = await wire.complete(request, on_delta, limit if deadline is None else min(limit, deadline))
            except ModelUnavailable as error:
                wait = self._wait(error, number)
                if number == self._retry.tries or (deadline is not None and time.monotonic() + wait >= deadline):
                    raise
                if self.on_wait:
                    self.on_wait(wait, error.message)
                await asyncio.sleep(wait)
            else:
                self.name = wire.name  # a server's own model has no name before it is asked
                return self._priced(self._mended(turn, request))
        raise AssertionError("unreachable: the last try returns or raises")

    async def close(self) -> None:
        """Close connections."""
        if self._wire is not None:
            await self._wire.close()

    def _wait(self, error: ModelUnavailable, number: int) -> float:
        if isinstance(error, RateLimited) and error.retry_after is not None:
            return min(error.retry_after, self._retry.cap)
        wait: float = min(self._retry.wait * 2 ** (number - 1), self._retry.cap)
        return wait * random.uniform(0.5, 1.0)

    def _mended(self, turn: Turn, request: Request) -> Turn:
        wanted = self.entry.text_calls
        if wanted is None:
            wanted = writes_calls(self.entry.name_on_wire) or writes_calls(self.name)
        return with_real_calls(turn, request) if wanted else turn

    def _priced(self, turn: Turn) -> Turn:
        if turn.usage.cost is not None or self.prices is None:
            return turn
        return replace(turn, usage=replace(turn.usage, cost=self.prices.cost(turn.usage)))

    def _connected(self) -> LLM:
        if self._wire is None:
            self._wire = self._make()
        return self._wire

    def _make(self) -> LLM:
        entry, provider = self.entry, self.entry.provider
        limits = {"window": self.window, "max_output": self.max_output}
        keyless_azure = provider.name == "azure" and not (entry.api_key or provider.key(self._env))
        if provider.wire == "litellm" or keyless_azure:  # without a key Azure means Azure AD
            from holmes.llm.litellm_provider import LiteLLMProvider

            return LiteLLMProvider(entry, window=self.window, max_output=self.max_output)
        if provider.wire == "anthropic":
            from holmes.llm.anthropic import Anthropic

            return Anthropic(entry, provider, self._env, self._http, **limits)
        if entry.wants_responses(self._env):
            from holmes.llm.openai_responses import OpenAIResponses

            return OpenAIResponses(entry, provider, self._env, self._http, **limits)
        from holmes.llm.openai_compatible import OpenAICompatible

        return OpenAICompatible(entry, provider, self._env, self._http, **limits)


def _dialect(entry: ModelEntry) -> Dialect:
    if entry.provider.wire == "anthropic":
        return "anthropic"
    return "bedrock" if entry.model.startswith("bedrock") else "openai"
