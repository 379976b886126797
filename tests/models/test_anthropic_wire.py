"""The Anthropic wire against a strict server over a real socket."""

from __future__ import annotations

import pytest

from holmes.core.errors import ContextTooLong, ModelRefused, ModelUnavailable, RateLimited
from holmes.core.http import DefaultHttp
from holmes.core.messages import ImagePart, Message, ToolCall, Turn
from holmes.llm.base import Request, ToolSchema
from holmes.llm.default import DefaultLLM, Retry
from holmes.llm.models import ModelEntry
from support.anthropic_server import AnthropicServer

pytestmark = pytest.mark.anyio

BASH = ToolSchema("bash", "Run a command.", {"type": "object", "properties": {"command": {"type": "string"}}})
SYSTEM, USER = Message("system", "You are Holmes."), Message("user", "Why is checkout down?")
QUESTION = Request([SYSTEM, USER], [BASH])


def model(server: AnthropicServer, **more: object) -> DefaultLLM:
    entry = ModelEntry("anthropic/claude-sonnet-5-5", **({"api_base": server.url, "api_key": "k"} | more))
    return DefaultLLM(entry, DefaultHttp({}), {}, retry=Retry(tries=1))


async def ask(server: AnthropicServer, request: Request = QUESTION, **more: object) -> Turn:
    llm = model(server, **more)
    try:
        return await llm.complete(request)
    finally:
        await llm.close()


@pytest.mark.parametrize("whole", [False, True])
async def test_text_thinking_and_calls_come_through(whole: bool) -> None:
    pieces: list[str] = []
    reply = {"content": "Looking.", "reasoning": "Hm.", "calls": [("bash", {"command": "ls"}), ("bash",)]}
    with AnthropicServer([reply | {"whole": whole}], key="k") as server:
        llm = model(server)
        turn = await llm.complete(QUESTION, pieces.append)
        await llm.close()
    assert turn.message.content == "".join(pieces) == "Looking."
    assert turn.message.reasoning == "Hm."
    assert [call.arguments for call in turn.message.tool_calls] == [{"command": "ls"}, {}]
    assert turn.finish_reason == "tool_calls"


async def test_thinking_goes_back_verbatim_in_front_of_its_calls() -> None:
    reply = {"content": "Looking.", "reasoning": "Hm.", "calls": [("bash", {"command": "ls"})]}
    with AnthropicServer([reply, "ok", "ok"]) as server:
        first = (await ask(server)).message
        history = [SYSTEM, USER, first, Message("tool", "done", tool_call_id=first.tool_calls[0].id)]
        await ask(server, Request(history, [BASH]))
        sent = server.bodies[1]["messages"][1]["content"]
        assert [block["type"] for block in sent] == ["thinking", "text", "tool_use"]
        assert sent[0] == {"type": "thinking", "thinking": "Hm.", "signature": "signed-1"}


async def test_thinking_that_the_model_refuses_is_left_out_from_then_on() -> None:
    complaint = "messages.1.content.0: Invalid `signature` in `thinking` block"
    replies = [{"reasoning": "Hm.", "calls": [("bash",)]}, {"status": 400, "message": complaint}, "ok", "ok"]
    with AnthropicServer(replies) as server:
        llm = model(server)
        first = (await llm.complete(QUESTION)).message
        history = [SYSTEM, USER, first, Message("tool", "done", tool_call_id=first.tool_calls[0].id)]
        turn = await llm.complete(Request(history, [BASH]))
        await llm.complete(Request(history, [BASH]))
        await llm.close()
    assert "thinking left out" in turn.notes[0]
    kinds = [[block["type"] for block in body["messages"][1]["content"]] for body in server.bodies[1:]]
    assert kinds == [["thinking", "tool_use"], ["tool_use"], ["tool_use"]]


async def test_the_stable_prefix_is_marked_for_the_cache_and_stays_the_same() -> None:
    calls = (ToolCall("a", "bash"), ToolCall("b", "bash"))
    results = [Message("tool", "1", tool_call_id="a"), Message("tool", "2", tool_call_id="b")]
    with AnthropicServer(["ok", "ok"]) as server:
        await ask(server)
        await ask(server, Request([SYSTEM, USER, Message("assistant", tool_calls=calls), *results], [BASH]))
    first, second = server.bodies
    assert first["system"] == second["system"] and first["tools"] == second["tools"]
    assert "cache_control" in first["tools"][-1] and "cache_control" in first["system"][0]
    assert second["messages"][0] == first["messages"][0]  # still marked: the cache looks back 20 blocks only
    assert "cache_control" in second["messages"][2]["content"][-1]
    assert "cache_control" not in second["messages"][2]["content"][0]


async def test_usage_counts_cached_tokens_as_prompt_tokens_and_costs_less() -> None:
    counts = {"input_tokens": 10, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 90}
    with AnthropicServer([{"content": "ok", "usage": counts}]) as server:
        usage = (await ask(server)).usage
    assert (usage.prompt_tokens, usage.cached_tokens, usage.cache_write_tokens) == (1000, 900, 90)
    assert usage.cost == pytest.approx((10 * 2 + 900 * 0.1 + 90 * 2.5 + 20 * 10) / 1e6)


async def test_a_foreign_history_satisfies_the_strict_server() -> None:
    odd = "functions.bash:0"
    history = [
        SYSTEM,
        Message("assistant", "An old answer."),
        Message("user", "First."),
        Message("user", "Second.", images=(ImagePart("data:image/png;base64,AAAA"), ImagePart("https://x/y.png"))),
        Message("assistant", " ", tool_calls=(ToolCall(odd, "bash"), ToolCall("functions_bash_0", "bash"))),
        Message("tool", "", tool_call_id=odd),
        Message("user", "And now?"),
        Message("assistant", "Half an"),
    ]
    with AnthropicServer(["ok"]) as server:
        await ask(server, Request(history, [BASH], "none", {"name": "x", "schema": {"type": "object"}}, "low"))
    body = server.bodies[0]
    assert body["tool_choice"] == {"type": "none"}
    assert body["output_config"]["effort"] == "low"
    assert body["output_config"]["format"]["schema"]["additionalProperties"] is False
    assert server.refused == []


@pytest.mark.parametrize("clean", [False, True])
async def test_half_a_tool_call_is_never_accepted(clean: bool) -> None:
    reply = {"calls": [("bash", {"command": "ls"})], "cut": 4, "clean": clean}
    with AnthropicServer([reply]) as server, pytest.raises(ModelUnavailable, match="broke off"):
        await ask(server)


@pytest.mark.parametrize(
    ("reply", "error", "words"),
    [
        ({"status": 401, "message": "invalid x-api-key"}, ModelRefused, "api_key is not accepted"),
        ({"status": 404, "message": "model: x"}, ModelRefused, "no model claude-sonnet-5-5 there"),
        ({"status": 429, "headers": {"retry-after": "3"}, "message": "slow"}, RateLimited, "rate limited"),
        ({"status": 529, "message": "Overloaded"}, ModelUnavailable, "529.: Overloaded"),
        (
            {"events": [{"type": "error", "error": {"type": "overloaded_error", "message": "x"}}]},
            ModelUnavailable,
            "529",
        ),
        ({"status": 400, "message": "prompt is too long: 210000 tokens > 200000 maximum"}, ContextTooLong, "too long"),
        ({"body": "<html>", "type": "text/html"}, ModelUnavailable, "web page"),
        ({"body": "{}"}, ModelUnavailable, "no content"),
    ],
)
async def test_every_failure_is_one_clear_error(reply: dict, error: type, words: str) -> None:
    with AnthropicServer([reply]) as server, pytest.raises(error, match=words) as caught:
        await ask(server)
    if error is ContextTooLong:
        assert caught.value.limit == 200000


async def test_a_missing_key_is_named() -> None:
    with AnthropicServer(key="right") as server:
        llm = DefaultLLM(ModelEntry("claude-haiku-5-5"), DefaultHttp({}), {"ANTHROPIC_BASE_URL": server.url})
        with pytest.raises(ModelRefused, match="ANTHROPIC_API_KEY is not set"):
            await llm.complete(QUESTION)
        await llm.close()


async def test_effort_and_sampling_that_a_model_does_not_take_are_left_out() -> None:
    with AnthropicServer(["ok"], unsupported=["temperature", "output_config"]) as server:
        turn = await ask(server, Request([USER], effort="high"), parameters={"temperature": 0.5})
    assert len(turn.notes) == 2
    assert "output_config" not in server.bodies[-1]
