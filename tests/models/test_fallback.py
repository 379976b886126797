"""What takes over when a model stays down."""

from __future__ import annotations

import time
from typing import Any

import pytest

from holmes.core.errors import ModelRefused, ModelUnavailable
from holmes.core.messages import Message, Turn
from holmes.core.results import StructuredToolResult
from holmes.llm.base import LLM, Request
from holmes.llm.fallback import FallbackLLM
from holmes.llm.offline import OfflineLLM
from holmes.llm.scripted import ScriptedLLM

pytestmark = pytest.mark.anyio

DOWN = ModelUnavailable("503")
SCAN: dict[str, Any] = {
    "schema": "holmes.scan/v1",
    "scope": "Deployment shop/web",
    "causes": [],
    "looked_at": {"Pod": 2},
    "healthy": {"Pod": 2},
    "state": ["Deployment shop/web: 2 of 2 pods ready"],
}


def ask(evidence: bool = False) -> Request:
    found = (StructuredToolResult.success("fine", data=SCAN, reference="E1"),) if evidence else ()
    return Request([Message("system", "You are Holmes."), Message("user", "is web healthy?", evidence=found)])


def fallback(*models: LLM) -> FallbackLLM:
    return FallbackLLM(models, lambda: OfflineLLM(last_resort=True))


async def test_the_next_model_takes_over_and_stays() -> None:
    first, second = ScriptedLLM([DOWN], name="one"), ScriptedLLM(["from two", "again"], name="two")
    llm = fallback(first, second)
    turn = await llm.complete(ask())
    assert turn.message.content == "from two"
    assert "one is down (503); two goes on" in turn.notes[0]
    assert llm.name == "two" and not llm.degraded
    assert (await llm.complete(ask())).notes == ()


async def test_the_offline_analysis_concludes_from_what_was_found() -> None:
    llm = fallback(ScriptedLLM([DOWN], name="one"))
    turn = await llm.complete(ask(evidence=True))
    assert "No fault was found" in turn.message.content
    assert llm.degraded == "503"


async def test_without_anything_found_the_first_error_counts() -> None:
    llm = fallback(ScriptedLLM([DOWN], name="one"))
    with pytest.raises(ModelUnavailable, match="503"):
        await llm.complete(ask())
    assert not llm.degraded


async def test_a_refusal_fails_at_once_but_not_with_results_in_hand() -> None:
    refused = ModelRefused("wrong key")
    second = ScriptedLLM([Turn(Message("assistant", "never asked"))])
    with pytest.raises(ModelRefused, match="wrong key"):
        await fallback(ScriptedLLM([refused]), second).complete(ask())
    turn = await fallback(ScriptedLLM([refused])).complete(ask(evidence=True))
    assert "No fault was found" in turn.message.content


class Watching(ScriptedLLM):
    """Remembers how many seconds it was given."""

    given = 0.0

    async def complete(self, request: Request, on_delta: Any = None, deadline: float | None = None) -> Turn:
        self.given = (deadline or 0.0) - time.monotonic()
        return await super().complete(request, on_delta, deadline)


async def test_the_time_is_shared_with_the_models_behind() -> None:
    first, second = Watching([DOWN], name="one"), Watching(["from two"], name="two")
    await fallback(first, second).complete(ask(), deadline=time.monotonic() + 100)
    assert (first.given, second.given) == (pytest.approx(50, abs=5), pytest.approx(100, abs=5))
