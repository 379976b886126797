"""DefaultLLM: when it tries again, how it waits, what it loads, what it costs."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from holmes.core.errors import ModelRefused, ModelUnavailable, RateLimited
from holmes.core.http import DefaultHttp
from holmes.core.messages import Message
from holmes.llm.base import Request
from holmes.llm.default import DefaultLLM, Retry
from holmes.llm.models import ModelEntry
from support.openai_server import OpenAIServer

pytestmark = pytest.mark.anyio

QUESTION = Request([Message("user", "Why?")])
DOWN = {"status": 503, "message": "down"}


def model(server: OpenAIServer, retry: Retry, waits: list, name: str = "openai/gpt-4o") -> DefaultLLM:
    entry = ModelEntry(name, api_base=server.url)
    return DefaultLLM(entry, DefaultHttp({}), {}, retry=retry, on_wait=lambda *wait: waits.append(wait))


async def test_it_tries_again_and_says_why_it_waits() -> None:
    waits: list[tuple[float, str]] = []
    with OpenAIServer([DOWN, {"reset": True}, "fine"]) as server:
        llm = model(server, Retry(3, 0.01, 0.02), waits)
        assert (await llm.complete(QUESTION)).message.content == "fine"
        await llm.close()
    assert len(server.requests) == 3
    assert "503" in waits[0][1]
    assert "broke off" in waits[1][1]
    assert all(0 < seconds <= 0.02 for seconds, _ in waits)


async def test_it_gives_up_after_the_last_try_with_the_last_error() -> None:
    with OpenAIServer([DOWN, DOWN, {"status": 529, "message": "overloaded"}]) as server:
        llm = model(server, Retry(3, 0.001, 0.002), [])
        with pytest.raises(ModelUnavailable, match="529"):
            await llm.complete(QUESTION)
        await llm.close()


@pytest.mark.parametrize(("told", "waited"), [("0.05", 0.05), ("500", 0.1), ("0", 0.0)])
async def test_retry_after_is_obeyed_up_to_the_cap(told: str, waited: float) -> None:
    waits: list[tuple[float, str]] = []
    limited = {"status": 429, "message": "slow", "headers": {"Retry-After": told}}
    with OpenAIServer([limited, "fine"]) as server:
        llm = model(server, Retry(2, 9.0, 0.1), waits)
        await llm.complete(QUESTION)
        await llm.close()
    assert [seconds for seconds, _ in waits] == [waited]


@pytest.mark.parametrize("status", [400, 401, 403, 404])
async def test_what_cannot_get_better_fails_at_once(status: int) -> None:
    with OpenAIServer([{"status": status, "message": "no"}, "fine"]) as server:
        llm = model(server, Retry(3, 0.01), [])
        with pytest.raises(ModelRefused):
            await llm.complete(QUESTION)
        await llm.close()
    assert len(server.requests) == 1


async def test_a_wait_that_passes_the_deadline_is_not_begun() -> None:
    limited = {"status": 429, "message": "slow", "headers": {"Retry-After": "30"}}
    with OpenAIServer([limited, "fine"]) as server:
        llm = model(server, Retry(3, 1.0, 60.0), [])
        start = time.monotonic()
        with pytest.raises(RateLimited) as caught:
            await llm.complete(QUESTION, deadline=start + 5)
        await llm.close()
    assert time.monotonic() - start < 2
    assert caught.value.retry_after == 30


async def test_cost_is_counted_when_the_price_is_known() -> None:
    with OpenAIServer(["a", {"content": "b", "usage": {"cost": 0.5}}, "c"]) as server:
        known = model(server, Retry(1), [])
        assert (await known.complete(QUESTION)).usage.cost == pytest.approx((100 * 2.5 + 20 * 10) / 1e6)
        assert (await known.complete(QUESTION)).usage.cost == 0.5  # what the provider says counts
        await known.close()
        unknown = model(server, Retry(1), [], "openai/mine")
        assert (await unknown.complete(QUESTION)).usage.cost is None
        await unknown.close()


async def test_a_base_url_alone_takes_the_servers_own_model() -> None:
    with OpenAIServer(["fine"], models=["nomic-embed-text", "qwen3", "other"]) as server:
        llm = model(server, Retry(1), [], "openai/")
        await llm.complete(QUESTION)
        await llm.close()
    assert server.bodies[0]["model"] == "qwen3"
    assert llm.name == "openai/qwen3"
    with OpenAIServer(models=[]) as server:
        llm = model(server, Retry(1), [], "openai/")
        with pytest.raises(ModelRefused, match="lists no model"):
            await llm.complete(QUESTION)
        await llm.close()


def test_nothing_heavy_is_loaded_before_the_first_request() -> None:
    code = (
        "import sys\n"
        "import holmes.llm.default, holmes.llm.openai_compatible, holmes.llm.models, holmes.llm.anthropic\n"
        "from holmes.core.http import DefaultHttp\n"
        "llm = holmes.llm.default.DefaultLLM(holmes.llm.models.ModelEntry('gpt-4o'), DefaultHttp({}), {})\n"
        "print([name for name in ('httpx2', 'pydantic', 'rich', 'ssl', 'litellm', 'jinja2', 'openai', 'anthropic')"
        " if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() in ("[]", "['ssl']")  # asyncio brings ssl along
