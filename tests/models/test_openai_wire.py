"""The OpenAI-compatible wire against a strict server over a real socket."""

from __future__ import annotations

import time

import pytest

from holmes.core.errors import ContextTooLong, ModelRefused, ModelUnavailable, RateLimited
from holmes.core.http import DefaultHttp
from holmes.core.messages import ImagePart, Message, ToolCall, Turn
from holmes.llm.base import Request, ToolSchema
from holmes.llm.default import DefaultLLM, Retry
from holmes.llm.models import ModelEntry
from support.openai_server import OpenAIServer

pytestmark = pytest.mark.anyio

BASH = ToolSchema("bash", "Run a command.", {"type": "object", "properties": {"command": {"type": "string"}}})
QUESTION = Request([Message("system", "You are Holmes."), Message("user", "Why is checkout down?")], [BASH])


def model(server: OpenAIServer, name: str = "openai/test-model", **more: object) -> DefaultLLM:
    options = {"api_base": server.url, "api_key": "k"} | more
    return DefaultLLM(ModelEntry(name, **options), DefaultHttp({}), {}, retry=Retry(tries=1))


async def ask(server: OpenAIServer, request: Request = QUESTION, deadline: float | None = None, **more: object) -> Turn:
    llm = model(server, **more)
    try:
        return await llm.complete(request, deadline=deadline)
    finally:
        await llm.close()


async def test_a_streamed_answer_arrives_in_pieces() -> None:
    pieces: list[str] = []
    with OpenAIServer(["The database is down."]) as server:
        llm = model(server)
        turn = await llm.complete(QUESTION, pieces.append)
        await llm.close()
    assert turn.message.content == "".join(pieces) == "The database is down."
    assert len(pieces) == 2
    assert turn.finish_reason == "stop"
    assert (turn.usage.prompt_tokens, turn.usage.completion_tokens) == (100, 20)
    assert server.bodies[0]["max_completion_tokens"] > 0


@pytest.mark.parametrize("whole", [False, True])
async def test_calls_come_through_streamed_and_whole(whole: bool) -> None:
    reply = {
        "content": "Looking.",
        "calls": [("bash", {"command": "ls"}), ("bash", {"command": "pwd"})],
        "whole": whole,
    }
    with OpenAIServer([reply]) as server:
        turn = await ask(server)
    assert [call.arguments for call in turn.message.tool_calls] == [{"command": "ls"}, {"command": "pwd"}]
    assert turn.finish_reason == "tool_calls"
    assert turn.message.content == "Looking."


async def test_a_history_with_calls_satisfies_the_strict_server() -> None:
    history = [
        *QUESTION.messages,
        Message("assistant", "", tool_calls=(ToolCall("a", "bash", {"command": "ls"}), ToolCall("b", "bash"))),
        Message("tool", "done", tool_call_id="b", tool_name="bash"),
        Message("user", "And now?", images=(ImagePart("data:image/png;base64,AAAA"),)),
    ]
    with OpenAIServer(["ok"]) as server:
        await ask(server, Request(history, [BASH], "none", effort="low"))
    sent = server.bodies[0]["messages"]
    assert [message.get("tool_call_id") for message in sent[3:5]] == ["a", "b"]
    assert sent[3]["content"].startswith("Cancelled")
    assert sent[5]["content"][1]["type"] == "image_url"
    assert server.bodies[0]["tool_choice"] == "none"


@pytest.mark.parametrize("clean", [False, True])
async def test_half_a_tool_call_is_never_accepted(clean: bool) -> None:
    reply = {"calls": [("bash", {"command": "ls"})], "cut": 3, "clean": clean}
    with OpenAIServer([reply]) as server, pytest.raises(ModelUnavailable, match="broke off"):
        await ask(server)


async def test_an_unsupported_parameter_is_left_out_and_remembered() -> None:
    with OpenAIServer(["one", "two"], unsupported=["temperature", "max_completion_tokens"]) as server:
        llm = model(server, parameters={"temperature": 0.1})
        first = await llm.complete(QUESTION)
        await llm.complete(QUESTION)
        await llm.close()
    assert len(server.requests) == 4
    assert "temperature" not in server.bodies[3] and "max_tokens" in server.bodies[3]
    assert any("temperature left out" in note for note in first.notes)


@pytest.mark.parametrize(
    ("reply", "error", "words"),
    [
        ({"status": 401, "message": "Incorrect API key"}, ModelRefused, "api_key"),
        ({"status": 404, "message": "no such model"}, ModelRefused, "no model test-model there"),
        ({"status": 500, "message": "oops"}, ModelUnavailable, "cannot answer now .500.: oops"),
        ({"status": 529, "body": "<html>overloaded</html>"}, ModelUnavailable, "529"),
        ({"status": 429, "message": "slow down", "headers": {"Retry-After": "7"}}, RateLimited, "rate limited"),
        ({"status": 429, "message": "pay", "code": "insufficient_quota"}, ModelRefused, "no credit left"),
        ({"status": 302, "body": "", "headers": {"Location": "/login"}}, ModelRefused, "redirect to /login"),
        ({"body": "<html>hello</html>", "type": "text/html"}, ModelUnavailable, "web page"),
        ({"body": ""}, ModelUnavailable, "empty body"),
        ({"body": '{"choices": [{"mess'}, ModelUnavailable, "broken JSON"),
        ({"body": '{"choices": []}'}, ModelUnavailable, "no choices"),
        ({"body": '{"error": {"message": "boom", "code": 503}}'}, ModelUnavailable, "503.: boom"),
        ({"events": [{"error": {"message": "boom"}}]}, ModelUnavailable, "boom"),
        ({"events": ["{"]}, ModelUnavailable, "broken JSON"),
        ({"reset": True}, ModelUnavailable, "broke off"),
    ],
)
async def test_every_failure_is_one_clear_error(reply: dict, error: type, words: str) -> None:
    with OpenAIServer([reply]) as server:
        with pytest.raises(error, match=words) as caught:
            await ask(server)
        assert caught.value.where == f"{server.url}/chat/completions"
    assert "\n" not in caught.value.message
    if error is RateLimited:
        assert caught.value.retry_after == 7


@pytest.mark.parametrize("stall", ["headers", "stream"])
async def test_the_deadline_holds_when_nothing_comes(stall: str) -> None:
    with OpenAIServer([{"content": "never whole", "stall": stall}]) as server:
        start = time.monotonic()
        with pytest.raises(ModelUnavailable, match="time allowed"):
            await ask(server, deadline=start + 0.3)
        assert time.monotonic() - start < 1.5
        server.closing.set()


async def test_connection_refused_names_host_port_and_remedy() -> None:
    with OpenAIServer() as server:
        port = server.port
    llm = DefaultLLM(ModelEntry("ollama/x", api_base=f"http://127.0.0.1:{port}"), DefaultHttp({}), {}, retry=Retry(1))
    with pytest.raises(ModelUnavailable, match=f"cannot connect to 127.0.0.1:{port}: connection refused") as caught:
        await llm.complete(QUESTION)
    assert "ollama serve" in str(caught.value)


async def test_a_context_length_error_carries_the_limit() -> None:
    message = "This model's maximum context length is 32768 tokens. However, you requested 42832 tokens."
    reply = {"status": 400, "message": message, "code": "context_length_exceeded"}
    with OpenAIServer([reply]) as server, pytest.raises(ContextTooLong) as caught:
        await ask(server)
    assert caught.value.limit == 32768
