"""What a strict provider would refuse: each rule is shown to bite."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from holmes.core.messages import Message, ToolCall
from holmes.llm import anthropic, openai_compatible
from holmes.llm.base import Request, ToolSchema
from holmes.llm.strict import violations

BASH = ToolSchema("bash", "Run.", {"type": "object"})
HISTORY = [
    Message("system", "s"),
    Message("user", "q"),
    Message("assistant", "Looking.", tool_calls=(ToolCall("a", "bash", {"x": 1}), ToolCall("b", "bash"))),
    Message("tool", "A", tool_call_id="a"),
    Message("tool", "B", tool_call_id="b"),
]
OPENAI = openai_compatible.request_body(Request(HISTORY, [BASH]), model="m", max_output=10)
ANTHROPIC = anthropic.request_body(Request(HISTORY, [BASH]), model="m", max_output=10)

Spoil = Callable[[dict], object]


def test_what_the_encoders_make_is_legal() -> None:
    assert violations(OPENAI, "openai") == violations(OPENAI, "bedrock") == violations(ANTHROPIC, "anthropic") == []


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda b: b.pop("model"), "model is missing"),
        (lambda b: b["messages"].clear(), "at least one"),
        (lambda b: b["messages"].pop(3), "without a result"),
        (lambda b: b["messages"].pop(), "without a result"),
        (lambda b: b["messages"].pop(2), "without a preceding call"),
        (lambda b: b["messages"].append(b["messages"][4]), "without a preceding call"),
        (lambda b: b["messages"].insert(3, {"role": "user", "content": "hm"}), "without a result"),
        (lambda b: b["messages"].insert(3, b["messages"].pop(4)), "not in call order"),
        (lambda b: b["messages"].append({"role": "system", "content": "s"}), "system message behind"),
        (lambda b: b["messages"].append({"role": "bot", "content": "s"}), "unknown role"),
        (lambda b: b["messages"][1].update(content=" "), "empty text"),
        (lambda b: b["messages"][1].update(content=[{"type": "text", "text": ""}]), "empty text block"),
        (lambda b: b["messages"][1].update(content=[]), "list of parts"),
        (lambda b: b["messages"][1].update(content=None), "content is missing"),
        (lambda b: b["messages"][1].update(content="\ud800"), "surrogates"),
        (lambda b: b["messages"][2].update(tool_calls=[]), "empty list"),
        (lambda b: b["messages"][2]["tool_calls"][0]["function"].update(arguments="{"), "arguments"),
        (lambda b: b["messages"][2]["tool_calls"][0]["function"].update(arguments={"a": 1}), "arguments"),
        (lambda b: b["messages"][2]["tool_calls"][0]["function"].update(name="a.b"), "does not match"),
        (lambda b: b["messages"][2]["tool_calls"][1].update(id="a"), "used before"),
        (lambda b: b["messages"][2]["tool_calls"][1].pop("id"), "without an id"),
        (lambda b: b["messages"][2]["tool_calls"][1].pop("type"), "no function call"),
        (lambda b: b.pop("tools"), "no tools are declared"),
        (lambda b: b.update(tools=[]), "empty list"),
        (lambda b: b.update(tools=b["tools"] * 2), "twice"),
        (lambda b: b.update(tools=b["tools"] * 129), "too many"),
        (lambda b: b["tools"][0]["function"].pop("parameters"), "type object"),
        (lambda b: b["tools"][0]["function"].update(name="x" * 65), "does not match"),
        (
            lambda b: (b.pop("tools"), b["messages"].__delitem__(slice(2, 5)), b.update(tool_choice="none")),
            "tool_choice",
        ),
        (lambda b: b.pop("stream"), "stream_options"),
        (lambda b: b.pop("max_completion_tokens"), "exactly one"),
        (lambda b: b.update(max_tokens=5), "exactly one"),
        (lambda b: b.update(max_completion_tokens=0), "positive"),
        (lambda b: b.update(response_format={"type": "json_schema"}), "response_format"),
        (lambda b: b.update(temperature=float("nan")), "no JSON"),
    ],
)
def test_openai_rules_bite(spoil: Spoil, words: str) -> None:
    body = copy.deepcopy(OPENAI)
    spoil(body)
    assert any(words in violation for violation in violations(body, "openai"))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda b: b.pop("max_tokens"), "max_tokens"),
        (lambda b: b["messages"].insert(0, {"role": "system", "content": "s"}), "not allowed here"),
        (lambda b: b["messages"].insert(1, {"role": "user", "content": "again"}), "take turns"),
        (lambda b: b["messages"].pop(0), "begin with user"),
        (lambda b: b["messages"].append({"role": "assistant", "content": "Half"}), "end with a user"),
        (lambda b: b["messages"][0].update(content=[]), "content is empty"),
        (lambda b: b["messages"][0].update(content=" "), "must not be empty"),
        (lambda b: b["messages"][2]["content"].pop(0), "without a result"),
        (lambda b: b["messages"][2]["content"].reverse(), "call order"),
        (lambda b: b["messages"][2]["content"].append(b["messages"][2]["content"][0]), "twice"),
        (lambda b: b["messages"][2]["content"].insert(0, {"type": "text", "text": "hm"}), "come first"),
        (lambda b: b["messages"][1]["content"][1].update(id="a.b"), "does not match"),
        (lambda b: b["messages"][1]["content"][2].update(id="a"), "used before"),
        (lambda b: b["messages"][1]["content"][1].update(input="{}"), "must be an object"),
        (lambda b: b["messages"][1]["content"].insert(0, {"type": "thinking", "thinking": "x"}), "signature"),
        (lambda b: b["messages"][0]["content"].append({"type": "tool_use"}), "not allowed for user"),
        (lambda b: b.pop("tools"), "no tools are declared"),
        (lambda b: b.update(tool_choice="none"), "not known"),
        (lambda b: b["tools"][0].pop("input_schema"), "type object"),
        (lambda b: b.update(system=""), "system"),
        (lambda b: b.update(thinking={"type": "enabled", "budget_tokens": 2000}), "budget_tokens"),
        (lambda b: b["messages"][1]["content"][0].update(cache_control={}), "cache_control"),
    ],
)
def test_anthropic_rules_bite(spoil: Spoil, words: str) -> None:
    body = copy.deepcopy(ANTHROPIC)
    spoil(body)
    assert any(words in violation for violation in violations(body, "anthropic"))
