"""What is known of models: windows, output caps and prices, from models.json."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from holmes.core.messages import Usage

HOSTED_WINDOW = 128_000  # of an unknown hosted model: all that are sold for tool use have as much
LOCAL_WINDOW = 32_768  # of an unknown one on the user's own server: memory sets it; a refusal teaches the real limit

_DATE = re.compile(r"[-@](\d{8}|\d{4}-\d{2}-\d{2}|latest)$")
_BEDROCK = re.compile(r"^(?:[a-z-]+\.)?(?:anthropic|amazon|meta|mistral)\.(.+?)(?:-v\d+(?::\d+)?)?$")
_VERSION_DOT = re.compile(r"(?<=\d)\.(?=\d)")


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens; ``cached`` and ``cache_write`` None: as ``prompt``.

    Above ``long_from`` prompt tokens a whole call costs more: the factors ``long_prompt`` (also for the cache) and
    ``long_completion``.
    """

    prompt: float
    completion: float
    cached: float | None = None
    cache_write: float | None = None
    long_from: int | None = None
    long_prompt: float = 1.0
    long_completion: float = 1.0

    def cost(self, usage: Usage) -> float:
        """Dollars of one call. ``usage.prompt_tokens`` includes what was read from and written to the cache."""
        fresh = max(0, usage.prompt_tokens - usage.cached_tokens - usage.cache_write_tokens)
        cached = self.prompt if self.cached is None else self.cached
        write = self.prompt if self.cache_write is None else self.cache_write
        prompt = fresh * self.prompt + usage.cached_tokens * cached + usage.cache_write_tokens * write
        completion = usage.completion_tokens * self.completion
        if self.long_from is not None and usage.prompt_tokens > self.long_from:
            prompt, completion = prompt * self.long_prompt, completion * self.long_completion
        return (prompt + completion) / 1_000_000


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a model. ``window`` and ``output`` are tokens; ``known`` is False for careful guesses."""

    window: int
    output: int
    provider: str = ""
    prices: Prices | None = None
    wire: Literal["", "responses"] = ""  # "responses": OpenAI gives this model tools only there
    known: bool = True


@cache
def catalogue() -> Mapping[str, Any]:
    """models.json: ``date``, ``defaults`` (a model for each provider), ``text_calls`` (families) and ``models``."""
    data: dict[str, Any] = json.loads(Path(__file__).with_name("models.json").read_bytes())
    return data


def lookup(name: str) -> Facts:
    """Facts of a model by its name, with or without provider, date and Bedrock's decoration."""
    models = catalogue()["models"]
    last = name.rpartition("/")[2]
    bedrock = _BEDROCK.sub(r"\1", last)
    for candidate in (name, last, _DATE.sub("", last), bedrock, _DATE.sub("", bedrock)):
        # OpenRouter and others write claude-sonnet-5.5 for Anthropic's claude-sonnet-5-5.
        for spelled in (candidate, _VERSION_DOT.sub("-", candidate)):
            if spelled in models:
                return _facts(models[spelled])
    return Facts(HOSTED_WINDOW, HOSTED_WINDOW // 8, known=False)


def writes_calls(name: str) -> bool:
    """Whether a model is known to write its tool calls as text."""
    return any(family in name.lower() for family in catalogue()["text_calls"])


def _facts(data: Mapping[str, Any]) -> Facts:
    prices = data.get("prices")
    return Facts(
        data["window"],
        data["output"],
        data["provider"],
        Prices(**prices) if prices else None,
        data.get("wire", ""),
    )
