"""OpenAI's Responses API against a strict server over a real socket."""

from __future__ import annotations

import json

import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from holmes.core.errors import ModelRefused, ModelUnavailable, RateLimited
from holmes.core.http import DefaultHttp
from holmes.core.messages import ImagePart, Message, ToolCall, Turn
from holmes.llm.base import Request, ToolSchema
from holmes.llm.default import DefaultLLM, Retry
from holmes.llm.models import ModelEntry
from support.openai_server import OpenAIServer
from support.responses_server import ResponsesServer

pytestmark = pytest.mark.anyio

BASH = ToolSchema("bash", "Run a command.", {"type": "object", "properties": {"command": {"type": "string"}}})
SYSTEM, USER = Message("system", "You are Holmes."), Message("user", "Why?")
QUESTION = Request([SYSTEM, USER], [BASH])
ANSWER = {"content": "Looking.", "reasoning": "Hm.", "calls": [("bash", {"command": "ls"}), ("bash", {})]}


def model(server: OpenAIServer, **more: object) -> DefaultLLM:
    entry = ModelEntry("openai/responses/gpt-6.2-sol", **({"api_base": server.url, "api_key": "k"} | more))
    return DefaultLLM(entry, DefaultHttp({}), {}, retry=Retry(tries=1))


async def ask(server: OpenAIServer, request: Request = QUESTION, **more: object) -> Turn:
    llm = model(server, **more)
    try:
        return await llm.complete(request)
    finally:
        await llm.close()


@pytest.mark.parametrize("whole", [False, True])
async def test_text_reasoning_and_calls_come_through(whole: bool) -> None:
    pieces: list[str] = []
    with ResponsesServer([ANSWER | {"whole": whole}], key="k") as server:
        llm = model(server)
        turn = await llm.complete(QUESTION, pieces.append)
        await llm.close()
    assert turn.message.content == "".join(pieces) == "Looking."
    assert turn.message.reasoning == "Hm."
    assert [call.arguments for call in turn.message.tool_calls] == [{"command": "ls"}, {}]
    assert turn.finish_reason == "tool_calls"
    assert (turn.usage.prompt_tokens, turn.usage.cached_tokens, turn.usage.reasoning_tokens) == (100, 40, 5)
    assert turn.usage.cost == pytest.approx((50 * 2 + 40 * 0.1 + 10 * 2.5 + 20 * 10) / 1e6)
    body = server.bodies[0]
    assert body["store"] is False
    assert "reasoning.encrypted_content" in body["include"]


async def test_reasoning_goes_back_verbatim_in_its_place() -> None:
    with ResponsesServer([ANSWER, "ok"]) as server:
        first = (await ask(server)).message
        results = [Message("tool", "done", tool_call_id=call.id) for call in first.tool_calls]
        await ask(server, Request([SYSTEM, USER, first, *results], [BASH]))
    sent = server.bodies[1]["input"][2:]
    assert [item.get("type", item.get("role")) for item in sent[:4]] == [
        "reasoning",
        "assistant",
        "function_call",
        "function_call",
    ]
    assert sent[0]["encrypted_content"] == "sealed"
    assert sent[1]["phase"] == "commentary"


async def test_reasoning_that_is_refused_is_left_out_from_then_on() -> None:
    complaint = "The encrypted content could not be verified"
    with ResponsesServer([ANSWER, {"status": 400, "message": complaint}, "ok", "ok"]) as server:
        llm = model(server)
        first = (await llm.complete(QUESTION)).message
        results = [Message("tool", "done", tool_call_id=call.id) for call in first.tool_calls]
        history = Request([SYSTEM, USER, first, *results], [BASH])
        assert "reasoning left out" in (await llm.complete(history)).notes[0]
        await llm.complete(history)
        await llm.close()
    assert ["reasoning" in json.dumps(body["input"]) for body in server.bodies] == [False, True, False, False]


async def test_a_foreign_history_satisfies_the_strict_server() -> None:
    history = [
        SYSTEM,
        Message("user", "Look.", images=(ImagePart("data:image/png;base64,AAAA"),)),
        Message("assistant", " ", tool_calls=(ToolCall("a", "bash", {"x": 1}), ToolCall("b", "bash"))),
        Message("tool", "B", tool_call_id="b"),
        Message("assistant", "Fine."),
        Message("user", "Sure?"),
    ]
    schema = {"name": "verdict", "schema": {"type": "object"}}
    with ResponsesServer(["ok"]) as server:
        await ask(server, Request(history, [BASH], "none", schema, "low"))
    assert server.bodies[0]["reasoning"] == {"effort": "low"}
    assert server.bodies[0]["tool_choice"] == "none"


async def test_a_cut_answer_runs_no_call() -> None:
    with ResponsesServer([ANSWER | {"finish_reason": "length"}]) as server:
        turn = await ask(server)
    assert turn.finish_reason == "length"
    assert all(call.problem for call in turn.message.tool_calls)


@pytest.mark.parametrize(
    ("reply", "error", "words"),
    [
        (ANSWER | {"cut": 4}, ModelUnavailable, "broke off"),
        (ANSWER | {"cut": 4, "clean": True}, ModelUnavailable, "broke off"),
        ({"status": 404, "message": "no such model"}, ModelRefused, r"no model gpt-6\.2-sol there"),
        ({"events": [{"type": "error", "code": "server_error", "message": "boom"}]}, ModelUnavailable, "boom"),
        ({"events": [{"type": "error", "code": "rate_limit_exceeded", "message": "slow"}]}, RateLimited, "slow"),
        (
            {"events": [{"type": "response.failed", "response": {"error": {"code": "x", "message": "bad"}}}]},
            ModelUnavailable,
            "bad",
        ),
        ({"body": "{}"}, ModelUnavailable, "no output"),
    ],
)
async def test_every_failure_is_one_clear_error(reply: dict, error: type, words: str) -> None:
    with ResponsesServer([reply]) as server, pytest.raises(error, match=words):
        await ask(server)


async def test_a_model_that_needs_it_goes_there_at_openai_only() -> None:
    sol = ModelEntry("gpt-6.2-sol")
    assert sol.wants_responses({})
    assert not sol.wants_responses({"OPENAI_BASE_URL": "http://own:1/v1"})
    assert not ModelEntry("gpt-4o").wants_responses({})
    assert ModelEntry("openai/responses/x", api_base="http://own").wants_responses({})


async def test_chat_completions_switch_reasoning_off_when_tools_need_that() -> None:
    message = (
        "Function tools with reasoning_effort are not supported for gpt-6-sol in /v1/chat/completions. "
        "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
    )
    refusal = {"status": 400, "message": message, "param": "reasoning_effort"}
    with OpenAIServer([refusal, "one", "two"]) as server:
        llm = DefaultLLM(ModelEntry("openai/gpt-6-sol", api_base=server.url), DefaultHttp({}), {}, retry=Retry(1))
        turn = await llm.complete(QUESTION)
        await llm.complete(QUESTION)
        await llm.close()
    assert "reasoning switched off" in turn.notes[0]
    assert [body.get("reasoning_effort") for body in server.bodies] == [None, "none", "none"]


@pytest.mark.parametrize("answer", [ANSWER, {"content": "x", "finish_reason": "length"}])
def test_the_test_server_answers_in_the_documented_shape(answer: dict) -> None:
    server = ResponsesServer()
    Response.model_validate_json(json.dumps(server.whole(answer, {"model": "m"})), strict=True)
    adapter = TypeAdapter(ResponseStreamEvent)
    for event in server.events(answer, {"model": "m"}):
        adapter.validate_json(json.dumps(event), strict=True)
    server.abandon()
