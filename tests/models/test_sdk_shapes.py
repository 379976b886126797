"""Our requests, and the answers of our test servers, as the providers' own SDKs describe them."""

from __future__ import annotations

import json

import jsonschema_rs
import openai
import pytest
from anthropic import Anthropic as Client
from anthropic.types import Message as AnthropicMessage
from anthropic.types import RawMessageStreamEvent
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from pydantic import TypeAdapter

from holmes.core.messages import ImagePart, Message, ToolCall
from holmes.llm import anthropic, openai_compatible
from holmes.llm.base import Request, ToolSchema
from support.anthropic_server import AnthropicServer
from support.openai_server import OpenAIServer

THOUGHT = {
    "provider": "anthropic",
    "model": "m",
    "blocks": [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "tool_use", "id": "a"}],
}
REQUEST = Request(
    [
        Message("system", "You are Holmes."),
        Message("user", "Why?", images=(ImagePart("data:image/png;base64,AAAA"), ImagePart("https://x/y.png"))),
        Message("assistant", "", tool_calls=(ToolCall("a", "bash", {"command": "ls"}),), provider_data=THOUGHT),
        Message("tool", "done", tool_call_id="a"),
        Message("assistant", "It works."),
        Message("user", "Sure?"),
    ],
    [ToolSchema("bash", "Run.", {"type": "object", "properties": {}})],
    "none",
    {"name": "verdict", "schema": {"type": "object", "properties": {"a": {"type": "string"}}}},
    "low",
)
ANSWER = {"content": "Looking.", "calls": [("bash", {"command": "ls"}), ("bash", {})]}


def test_openais_own_client_understands_the_test_server() -> None:
    with OpenAIServer([ANSWER, ANSWER]) as server, openai.OpenAI(base_url=server.url, api_key="k") as client:
        question: dict = {"model": "m", "messages": [{"role": "user", "content": "q"}], "max_completion_tokens": 9}
        whole = client.chat.completions.create(**question)
        assert whole.choices[0].message.tool_calls[0].function.arguments == '{"command": "ls"}'
        with client.chat.completions.stream(**question) as stream:
            final = stream.get_final_completion()
        assert final.choices[0].message.tool_calls[0].function.arguments == '{"command": "ls"}'
        client.max_retries = 0
        with pytest.raises(openai.BadRequestError, match="at least one"):
            client.chat.completions.create(**question | {"messages": []})


def test_anthropics_own_client_understands_the_test_server() -> None:
    answer = ANSWER | {"reasoning": "Hm."}
    with AnthropicServer([answer, answer]) as server, Client(base_url=server.url, api_key="k") as client:
        question: dict = {"model": "m", "messages": [{"role": "user", "content": "q"}], "max_tokens": 9}
        assert client.messages.create(**question).content[2].input == {"command": "ls"}
        with client.messages.stream(**question) as stream:
            final = stream.get_final_message()
        assert [block.type for block in final.content] == ["thinking", "text", "tool_use", "tool_use"]
        assert final.content[2].input == {"command": "ls"}
        assert final.content[0].signature == "signed-2"


def complaints(body: dict, params: type) -> list[str]:
    """By JSON schema: pydantic itself looks into an Iterable only while it is read."""
    schema = TypeAdapter(params).json_schema()
    unknown = [f"unknown key {name}" for name in body.keys() - schema["properties"].keys()]
    errors = jsonschema_rs.validator_for(schema).iter_errors(json.loads(json.dumps(body)))
    return [*unknown, *(error.message for error in errors)]


def test_openai_requests_have_the_documented_shape() -> None:
    body = openai_compatible.request_body(REQUEST, model="m", max_output=10)
    assert complaints(body, CompletionCreateParamsStreaming) == []
    body["messages"][1]["content"][0]["type"] = "texture"
    assert complaints(body, CompletionCreateParamsStreaming) != []


def test_anthropic_requests_have_the_documented_shape() -> None:
    body = anthropic.request_body(REQUEST, model="m", max_output=10)
    assert complaints(body, MessageCreateParamsStreaming) == []
    body["messages"][1]["content"][0]["type"] = "texture"
    assert complaints(body, MessageCreateParamsStreaming) != []


@pytest.mark.parametrize("answer", [ANSWER, {"content": "Done."}, {"content": "Cut", "finish_reason": "length"}])
def test_the_openai_test_server_answers_in_the_documented_shape(answer: dict) -> None:
    server = OpenAIServer()
    body = {"model": "m", "stream_options": {"include_usage": True}}
    ChatCompletion.model_validate(server.whole(answer, body), strict=True)
    chunks = [event for event in server.events(answer, body) if isinstance(event, dict)]
    for chunk in chunks:
        ChatCompletionChunk.model_validate(chunk, strict=True)
    assert chunks[-1]["usage"]["total_tokens"] == 120
    server.abandon()


@pytest.mark.parametrize("answer", [ANSWER | {"reasoning": "Hm."}, {"content": "x", "finish_reason": "max_tokens"}])
def test_the_anthropic_test_server_answers_in_the_documented_shape(answer: dict) -> None:
    server = AnthropicServer()
    AnthropicMessage.model_validate_json(json.dumps(server.whole(answer, {"model": "m"})), strict=True)
    adapter = TypeAdapter(RawMessageStreamEvent)
    for event in server.events(answer, {"model": "m"}):
        if isinstance(event, dict) and event["type"] != "ping":  # the SDK swallows pings itself
            adapter.validate_json(json.dumps(event), strict=True)
    server.abandon()
