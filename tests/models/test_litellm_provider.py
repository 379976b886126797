"""Models by way of LiteLLM, with a small stand-in for it; LiteLLM itself is an extra."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holmes.core.errors import ContextTooLong, ModelRefused, ModelUnavailable, RateLimited
from holmes.core.http import DefaultHttp
from holmes.core.messages import Message, ToolCall
from holmes.llm.base import Request, ToolSchema
from holmes.llm.default import DefaultLLM, Retry
from holmes.llm.litellm_provider import LiteLLMProvider
from holmes.llm.models import ModelEntry
from holmes.llm.strict import violations

pytestmark = pytest.mark.anyio

BASH = ToolSchema("bash", "Run.", {"type": "object"})
QUESTION = Request([Message("system", "s"), Message("user", "q")], [BASH], effort="low")
THOUGHT = {"type": "thinking", "thinking": "Hm", "signature": None}
CALL = {"index": 0, "id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
CALL |= {"provider_specific_fields": {"thought_signature": "sig"}}


class ProviderError(Exception):
    def __init__(self, status_code: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.message = message
        self.response = SimpleNamespace(headers=headers or {})


class StandIn:
    """As much of the litellm module as we use."""

    exceptions = SimpleNamespace(LITELLM_EXCEPTION_TYPES=[ProviderError])

    def __init__(self, *deltas: dict[str, Any], error: Exception | None = None, finish: str | None = "stop") -> None:
        self.deltas = deltas
        self.error = error
        self.finish = finish
        self.calls: list[dict[str, Any]] = []

    async def acompletion(self, **arguments: Any) -> Any:
        self.calls.append(arguments)
        if self.error:
            raise self.error
        return self._stream()

    async def _stream(self) -> Any:
        for delta in self.deltas:
            yield SimpleNamespace(model_dump=lambda delta=delta: {"choices": [{"index": 0, "delta": delta}]})
        end = {"choices": [{"index": 0, "delta": {}, "finish_reason": self.finish}]}
        yield SimpleNamespace(model_dump=lambda: end | {"usage": {"prompt_tokens": 7, "completion_tokens": 3}})


def provider(litellm: Any, name: str = "bedrock/anthropic.claude-sonnet-5", **more: Any) -> LiteLLMProvider:
    return LiteLLMProvider(ModelEntry(name, **more), window=100_000, max_output=1000, load=lambda: litellm)


async def test_answers_come_through_and_requests_are_legal() -> None:
    litellm, pieces = StandIn({"content": "It is "}, {"content": "down."}), list[str]()
    model = provider(litellm, api_key="k", parameters={"aws_region_name": "eu-west-1"})
    turn = await model.complete(QUESTION, pieces.append)
    assert turn.message.content == "".join(pieces) == "It is down."
    assert turn.usage.prompt_tokens == 7
    sent = litellm.calls[0]
    assert sent["model"] == "bedrock/anthropic.claude-sonnet-5"
    assert (sent["api_key"], sent["aws_region_name"], sent["reasoning_effort"]) == ("k", "eu-west-1", "low")
    assert sent["max_tokens"] == 1000
    assert sent["cache_control_injection_points"][0]["role"] == "system"
    assert violations(sent, "bedrock") == []


async def test_thinking_and_signatures_travel_back() -> None:
    deltas = [
        {"thinking_blocks": [THOUGHT]},
        {"thinking_blocks": [THOUGHT | {"thinking": "m.", "signature": "s"}]},
        {"tool_calls": [CALL]},
    ]
    litellm = StandIn(*deltas, finish="tool_calls")
    model = provider(litellm)
    message = (await model.complete(QUESTION)).message
    assert message.tool_calls == (ToolCall("c", "bash"),)
    history = [*QUESTION.messages, message, Message("tool", "done", tool_call_id="c")]
    await model.complete(Request(history, [BASH]))
    sent = litellm.calls[1]["messages"][2]
    assert sent["thinking_blocks"] == [{"type": "thinking", "thinking": "Hmm.", "signature": "s"}]
    assert sent["tool_calls"][0]["provider_specific_fields"] == {"thought_signature": "sig"}


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (ProviderError(401, "no"), ModelRefused, "credentials of bedrock"),
        (ProviderError(429, "slow", {"Retry-After": "4"}), RateLimited, "slow"),
        (ProviderError(400, "Input is too long for requested model."), ContextTooLong, "does not fit"),
        (ProviderError(503, "down"), ModelUnavailable, "down"),
        (ModuleNotFoundError("No module named 'boto3'"), ModelUnavailable, "boto3"),
    ],
)
async def test_errors_become_ours(error: Exception, kind: type, words: str) -> None:
    with pytest.raises(kind, match=words) as caught:
        await provider(StandIn(error=error)).complete(QUESTION)
    if kind is RateLimited:
        assert caught.value.retry_after == 4


async def test_a_stream_without_an_end_is_no_answer() -> None:
    with pytest.raises(ModelUnavailable, match="broke off"):
        await provider(StandIn({"content": "half"}, finish=None)).complete(QUESTION)


async def test_the_deadline_holds() -> None:
    async def hang(**_: Any) -> None:
        await asyncio.Event().wait()

    litellm = SimpleNamespace(exceptions=StandIn.exceptions, acompletion=hang)
    with pytest.raises(ModelUnavailable, match="time allowed"):
        await provider(litellm).complete(QUESTION, deadline=time.monotonic() + 0.1)


async def test_a_missing_extra_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)  # makes the import fail
    llm = DefaultLLM(ModelEntry("vertex_ai/gemini-3-pro"), DefaultHttp({}), {}, retry=Retry(3))
    with pytest.raises(ModelRefused, match="vertex_ai/gemini-3-pro needs LiteLLM") as caught:
        await llm.complete(QUESTION)
    assert caught.value.remedy == "pip install 'holmes-sre[litellm]'"


async def test_azure_without_a_key_means_azure_ad(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    llm = DefaultLLM(ModelEntry("azure/gpt-4o", api_base="https://x"), DefaultHttp({}), {}, retry=Retry(3))
    with pytest.raises(ModelRefused) as caught:
        await llm.complete(QUESTION)
    assert caught.value.remedy == "pip install 'holmes-sre[litellm]', or set AZURE_API_KEY"


def test_it_is_imported_when_first_asked_and_told_to_stay_off_the_network(tmp_path: Path) -> None:
    (tmp_path / "litellm.py").write_text(
        "import os\n"
        "from types import SimpleNamespace\n"
        "exceptions = SimpleNamespace(LITELLM_EXCEPTION_TYPES=[])\n"
        "flag = os.environ['LITELLM_LOCAL_MODEL_COST_MAP']\n"
        "async def acompletion(**arguments):\n"
        "    async def stream():\n"
        "        end = [{'delta': {'content': flag}, 'finish_reason': 'stop'}]\n"
        "        yield SimpleNamespace(model_dump=lambda: {'choices': end})\n"
        "    return stream()\n"
    )
    code = (
        "import asyncio, sys\n"
        "from holmes.core.http import DefaultHttp\n"
        "from holmes.core.messages import Message\n"
        "from holmes.llm.base import Request\n"
        "from holmes.llm.default import DefaultLLM\n"
        "from holmes.llm.models import ModelEntry\n"
        "llm = DefaultLLM(ModelEntry('bedrock/x'), DefaultHttp({}), {})\n"
        "assert 'litellm' not in sys.modules\n"
        "print(asyncio.run(llm.complete(Request([Message('user', 'q')]))).message.content)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert (run.stdout.strip(), run.stderr) == ("True", "")
