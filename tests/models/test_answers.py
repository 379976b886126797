"""Answers in the many shapes that servers give them, taken apart without a network."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holmes.core.errors import ModelUnavailable
from holmes.core.messages import Message, Turn
from holmes.llm import anthropic, openai_compatible, openai_responses
from holmes.llm.base import Request
from holmes.llm.chat_answer import ChatReader
from holmes.llm.exchange import Events
from holmes.llm.models import ModelEntry
from holmes.llm.openai_compatible import endpoint
from holmes.llm.refusals import Refusal


def read(*deltas: dict[str, Any], finish: str | None = "stop", provider: str = "openai") -> Turn:
    reader = ChatReader(None)
    for delta in deltas:
        reader.chunk({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    reader.chunk({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return reader.turn(provider, set(), [])


def call(index: int | None, identity: str | None, name: str | None, arguments: Any) -> dict[str, Any]:
    part: dict[str, Any] = {"function": {"name": name, "arguments": arguments}}
    if index is not None:
        part["index"] = index
    if identity is not None:
        part["id"] = identity
    return {"tool_calls": [part]}


@pytest.mark.parametrize(
    "deltas",
    [
        [call(0, "a", "f", ""), call(0, None, None, '{"x"'), call(0, None, None, ": 1}"), call(1, "b", "g", "{}")],
        [call(0, "a", "f", '{"x": 1}'), call(0, "b", "g", "{}")],  # a server that does not count
        [call(None, "a", "f", '{"x": 1}'), call(None, "b", "g", None)],  # no index
        [call(None, None, "f", '{"x": 1}'), call(None, None, "g", {})],  # no index and no id
        [call(0, "a", "f", '{"x"'), call(0, "a", "f", ": 1}"), call(1, "b", "g", "")],  # all repeated each time
        [call(0, "a", "f", {"x": 1}), call(1, "b", "g", {})],  # objects, not text
        [call(1, "b", "f", '{"x": 1}'), call(2, "c", "g", "{}")],  # counted from one
    ],
)
def test_calls_are_put_together_however_they_are_cut(deltas: list[dict[str, Any]]) -> None:
    calls = read(*deltas).message.tool_calls
    assert [(each.name, each.arguments) for each in calls] == [("f", {"x": 1}), ("g", {})]
    assert len({each.id for each in calls}) == 2


@pytest.mark.parametrize(
    ("deltas", "text", "thoughts"),
    [
        ([{"reasoning_content": "H"}, {"reasoning_content": "m."}, {"content": "Yes."}], "Yes.", "Hm."),
        ([{"reasoning": "Hm."}, {"content": "Yes."}], "Yes.", "Hm."),
        ([{"content": "<think>Hm.</think>\n\nYes."}], "Yes.", "Hm."),
        ([{"content": "<think> never closed"}], "<think> never closed", ""),
        ([{"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]}], "", "Hm."),
        ([{"content": [{"type": "text", "text": "Yes."}]}], "Yes.", ""),
        ([{"content": None, "refusal": "I cannot."}], "I cannot.", ""),
    ],
)
def test_thoughts_are_kept_apart_from_the_answer(deltas: list[dict[str, Any]], text: str, thoughts: str) -> None:
    message = read(*deltas).message
    assert (message.content, message.reasoning) == (text, thoughts)


def sent_back(message: Message, provider: str) -> dict[str, Any]:
    request = Request([Message("user", "q"), message, Message("user", "more")])
    return openai_compatible.request_body(request, model="m", max_output=9, provider=provider)["messages"][1]


def test_reasoning_goes_back_only_to_providers_that_ask_for_it() -> None:
    deltas = ({"reasoning_content": "Hm."}, {"content": "Yes."})
    assert sent_back(read(*deltas, provider="deepseek").message, "deepseek")["reasoning_content"] == "Hm."
    assert "reasoning_content" not in sent_back(read(*deltas, provider="groq").message, "groq")
    assert "reasoning_content" not in sent_back(read(*deltas, provider="deepseek").message, "groq")


def test_reasoning_details_of_openrouter_are_put_together_and_go_back() -> None:
    pieces = [
        {"type": "reasoning.text", "index": 0, "text": "H", "format": "x"},
        {"type": "reasoning.text", "index": 0, "text": "m.", "signature": None},
        {"type": "reasoning.text", "index": 0, "text": "", "signature": "s"},
        {"type": "reasoning.encrypted", "index": 1, "data": "sealed"},
    ]
    message = read(*({"reasoning_details": [piece]} for piece in pieces), {"content": "Yes."}, provider="openrouter")
    assert sent_back(message.message, "openrouter")["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "Hm.", "format": "x", "signature": "s"},
        {"type": "reasoning.encrypted", "index": 1, "data": "sealed"},
    ]


def test_a_server_that_gives_up_in_the_middle_is_no_answer() -> None:
    for finish in ("error", "abort"):
        with pytest.raises(Refusal):
            read({"content": "half"}, finish=finish)
    with pytest.raises(Refusal) as caught:
        ChatReader(None).chunk({"error": {"code": 429, "message": "slow"}, "choices": [{"finish_reason": "error"}]})
    assert caught.value.status == 429


@pytest.mark.parametrize(
    ("model", "base", "env", "url"),
    [
        ("gpt-4o", "", {}, "https://api.openai.com/v1/chat/completions"),
        (
            "gpt-4o",
            "",
            {"OPENAI_BASE_URL": "http://a/v1/", "OPENAI_API_BASE": "http://b"},
            "http://a/v1/chat/completions",
        ),
        ("gpt-4o", "", {"OPENAI_API_BASE": "http://b/x"}, "http://b/x/chat/completions"),
        ("openai/m", "http://host:8000", {}, "http://host:8000/v1/chat/completions"),
        ("openai/m", "host:8000", {}, "http://host:8000/v1/chat/completions"),
        ("openai/m", "http://host/v1/chat/completions", {}, "http://host/v1/chat/completions"),
        ("ollama/m", "", {"OLLAMA_API_BASE": "http://host:11434"}, "http://host:11434/v1/chat/completions"),
        ("ollama_chat/m", "", {}, "http://localhost:11434/v1/chat/completions"),
        ("groq/m", "", {}, "https://api.groq.com/openai/v1/chat/completions"),
        (
            "azure/my gpt",
            "https://x.openai.azure.com/",
            {"AZURE_API_VERSION": "2025-01-01"},
            "https://x.openai.azure.com/openai/deployments/my%20gpt/chat/completions?api-version=2025-01-01",
        ),
        (
            "azure/d",
            "https://x/openai/deployments/d/chat/completions?api-version=1",
            {},
            "https://x/openai/deployments/d/chat/completions?api-version=2024-10-21",
        ),
    ],
)
def test_where_a_model_is_reached(model: str, base: str, env: dict[str, str], url: str) -> None:
    entry = ModelEntry(model, api_base=base)
    found = endpoint(entry, entry.provider, env)
    assert found.url == url
    assert "?" not in found.shown


def test_credentials_in_a_url_are_not_shown() -> None:
    entry = ModelEntry("openai/m", api_base="https://user:secret@host/v1")
    assert endpoint(entry, entry.provider, {}).shown == "https://host/v1/chat/completions"


EVENTS = [{"choices": [{"delta": {"content": text}}]} for text in ("a\u2028b", "é", "😀")]
LINES = "".join(f": keep alive\n\ndata: {json.dumps(event, ensure_ascii=False)}\n\n" for event in EVENTS).encode()


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 10_000])
def test_events_survive_any_cut(end: bytes, size: int) -> None:
    reader = ChatReader(None)
    events = Events(reader, ModelUnavailable)
    raw = LINES.replace(b"\n", end) + b"data:[DONE]"
    for start in range(0, len(raw), size):
        events.feed(raw[start : start + size])
    assert not reader.done
    events.end()
    assert reader.done
    assert reader.turn("openai", set(), []).message.content == "a\u2028bé😀"


def test_an_event_may_have_several_data_lines() -> None:
    reader = ChatReader(None)
    events = Events(reader, ModelUnavailable)
    events.feed(b'event: x\nid: 1\ndata: {"choices":\ndata: [{"delta": {"content": "ok"}}]}\n\n')
    assert reader.turn("openai", set(), []).message.content == "ok"
    with pytest.raises(ModelUnavailable):
        events.feed(b"data: {\n\n")


_keys = st.sampled_from(
    [
        *["choices", "delta", "message", "content", "tool_calls", "function", "name", "arguments", "id", "index"],
        *["finish_reason", "usage", "error", "code", "type", "text", "thinking", "signature", "content_block"],
        *[
            "response",
            "output",
            "item",
            "summary",
            "incomplete_details",
            "call_id",
            "partial_json",
            "reasoning_details",
        ],
        *["stop_reason", "thinking_blocks", "prompt_tokens", "input_tokens", "prompt_tokens_details", "reason"],
    ]
)
_kinds = st.sampled_from(
    [
        *["message_start", "content_block_start", "content_block_delta", "message_delta", "text_delta", "tool_use"],
        *["input_json_delta", "thinking_delta", "signature_delta", "thinking", "text", "message", "reasoning"],
        *["function_call", "response.completed", "response.output_item.done", "response.failed", "error", "stop"],
    ]
)
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | _kinds,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=5),
    max_leaves=25,
)


@settings(max_examples=500, deadline=None)
@given(st.lists(st.dictionaries(_keys, _values, max_size=6), max_size=4), st.booleans())
def test_no_answer_however_odd_breaks_a_reader(events: list[dict[str, Any]], whole: bool) -> None:
    for kind in (ChatReader, anthropic.AnthropicReader, openai_responses.ResponsesReader):
        reader = kind(None)
        try:
            for event in events:
                (reader.whole if whole else reader.chunk)(event)
        except Refusal:
            continue
        turn = reader.turn("m", set(), [])
        json.dumps(turn.message.provider_data)
        history = Request([Message("user", "q"), turn.message, Message("user", "more")])
        openai_compatible.request_body(history, model="m", max_output=1, provider="m")
        anthropic.request_body(history, model="m", max_output=1)
        openai_responses.request_body(history, model="m", max_output=1)
