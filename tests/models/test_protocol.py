"""What comes in from a model is mended or marked; what goes out is legal."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holmes.core.messages import ImagePart, Message, ToolCall
from holmes.llm import anthropic, openai_compatible, protocol
from holmes.llm.base import Request, ToolSchema
from holmes.llm.protocol import MAX_CALLS, RawCall, normalise, repair
from holmes.llm.strict import violations


def arguments(raw: object) -> tuple[dict, str]:
    call = normalise("", [RawCall("a", "bash", raw)]).message.tool_calls[0]
    return call.arguments, call.problem


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (None, {}),
        ("", {}),
        ("  \n", {}),
        ("null", {}),
        ('"null"', {}),
        ('{"a": 1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('{"a": "\\ud83d\\ude00 \\ud800"}', {"a": "😀 \ufffd"}),
    ],
)
def test_arguments_that_can_be_understood_are(raw: object, expected: dict) -> None:
    assert arguments(raw) == (expected, "")


@pytest.mark.parametrize(
    "raw",
    [
        *['{"a":1', '{"a":1}{"a":2}', "[1]", [1], '{"a":1,}', "{'a':1}", "7", 7],
        *['{"a": NaN}', '"text"', "[" * 100_000, '"\\"{}\\""'],
    ],
)
def test_other_arguments_never_run_and_the_model_is_told(raw: object) -> None:
    found, problem = arguments(raw)
    assert found == {}
    assert problem.startswith("Not run: the arguments of bash")
    assert "JSON" in problem
    assert len(problem) < 500


def test_ids_are_made_unique_and_good_ones_kept() -> None:
    raw = [RawCall(identity, "bash", "{}") for identity in ("a", "", None, "a", "old", "  b ", 7)]
    ids = [call.id for call in normalise("", raw, known_ids=["old"]).message.tool_calls]
    assert len(set(ids)) == 7
    assert ids[0] == "a"
    assert ids[5] == "b"
    assert "old" not in ids
    assert all(len(identity) == 9 and identity.isalnum() for identity in ids if identity not in "ab")


def test_made_up_ids_are_the_same_each_time() -> None:
    turns = [normalise("", [RawCall(None, "bash")], known_ids=["x"]) for _ in range(2)]
    assert turns[0] == turns[1]


@pytest.mark.parametrize("name", [None, "", "  ", 7, {}])
def test_nameless_calls_are_dropped_with_a_note(name: object) -> None:
    turn = normalise("text", [RawCall("a", name, "{}")], finish_reason="tool_calls")
    assert turn.message.tool_calls == ()
    assert turn.finish_reason == "stop"
    assert turn.notes == ("1 call without a tool name: dropped",)


def test_names_are_made_legal() -> None:
    names = ["functions.bash", " bash ", "mcp.tool name", "x" * 90]
    turn = normalise("", [RawCall(None, name) for name in names])
    assert [call.name for call in turn.message.tool_calls] == ["bash", "bash", "mcp_tool_name", "x" * 64]


def test_a_cut_answer_runs_no_call() -> None:
    for reason in ("length", "max_tokens", "content_filter"):
        turn = normalise(None, [RawCall("a", "bash", '{"command": "rm -r /tmp/x')], finish_reason=reason)
        assert turn.message.tool_calls[0].problem
        whole = normalise(None, [RawCall("a", "bash", "{}")], finish_reason=reason)
        assert whole.message.tool_calls[0].problem == protocol.CUT


def test_too_many_calls_are_cut_with_a_note() -> None:
    turn = normalise("", [RawCall(None, "bash") for _ in range(200)])
    assert len(turn.message.tool_calls) == MAX_CALLS
    assert "200 calls" in turn.notes[0]


@pytest.mark.parametrize("content", [None, "", 7])
def test_no_content_is_legal(content: object) -> None:
    assert normalise(content).message.content == ""
    assert normalise(content).finish_reason == "stop"


@pytest.mark.parametrize(
    ("reason", "calls", "expected"),
    [
        *[("end_turn", 0, "stop"), ("stop", 1, "tool_calls"), ("tool_use", 1, "tool_calls"), ("odd", 0, "stop")],
        *[
            (None, 1, "tool_calls"),
            ("tool_calls", 0, "stop"),
            ("length", 0, "length"),
            ("refusal", 0, "content_filter"),
        ],
    ],
)
def test_finish_reasons_of_all_providers_become_four(reason: object, calls: int, expected: str) -> None:
    assert normalise("x", [RawCall("a", "bash")] * calls, finish_reason=reason).finish_reason == expected


def test_lone_surrogates_are_replaced_and_the_body_is_utf8() -> None:
    assert normalise("a\ud800b").message.content == "a\ufffdb"
    assert json.loads(protocol.encode_body({"a": "x\udc80\U0001f600"})) == {"a": "x\ufffd😀"}


def test_orphans_are_answered_results_sorted_and_strays_dropped() -> None:
    calls = (ToolCall("a", "bash"), ToolCall("b", "bash"), ToolCall("c", "bash"))
    history = [
        Message("tool", "stray", tool_call_id="z"),
        Message("user", "q"),
        Message("assistant", " ", tool_calls=calls),
        Message("tool", "C", tool_call_id="c"),
        Message("user", "by the way"),
        Message("tool", "A", tool_call_id="a"),
        Message("tool", "A again", tool_call_id="a"),
        Message("assistant", "fine"),
        Message("tool", "too late", tool_call_id="b"),
    ]
    repaired = repair(history)
    assert [(message.role, message.content) for message in repaired] == [
        ("user", "q"),
        ("assistant", ""),
        ("tool", "A"),
        ("tool", protocol.CANCELLED),
        ("tool", "C"),
        ("user", "by the way"),
        ("assistant", "fine"),
    ]
    assert [message.tool_call_id for message in repaired[2:5]] == ["a", "b", "c"]


def test_a_repaired_history_is_left_alone() -> None:
    history = [
        Message("user", "q"),
        Message("assistant", "", tool_calls=(ToolCall("a", "bash"),)),
        Message("tool", "A", tool_call_id="a"),
    ]
    assert all(new is old for new, old in zip(repair(history), history, strict=True))


def test_ids_that_come_back_in_a_later_turn_are_told_apart() -> None:
    turn = [Message("assistant", tool_calls=(ToolCall("a", "bash"),)), Message("tool", "A", tool_call_id="a")]
    repaired = repair([Message("user", "q"), *turn, *turn])
    assert repaired[1].tool_calls[0].id == "a"
    assert repaired[3].tool_calls[0].id == repaired[4].tool_call_id != "a"


def test_past_arguments_are_valid_json_whatever_they_hold() -> None:
    text = protocol.arguments_json({"a": float("nan"), "b": [float("inf")]})
    assert json.loads(text, parse_constant=pytest.fail) == {"a": "nan", "b": ["inf"]}


_texts = st.text(st.characters(codec=None), max_size=5)
_calls = st.lists(
    st.builds(
        ToolCall,
        id=st.sampled_from(["a", "b", "functions.x:0", "", "é"]),
        name=st.just("bash"),
        arguments=st.dictionaries(_texts, st.floats() | _texts | st.none(), max_size=2),
    ),
    max_size=4,
)
_messages = st.lists(
    st.builds(Message, st.just("user"), _texts, images=st.sampled_from([(), (ImagePart("https://x/y.png"),)]))
    | st.builds(Message, st.just("assistant"), _texts, tool_calls=_calls.map(tuple))
    | st.builds(Message, st.just("tool"), _texts, tool_call_id=st.sampled_from(["a", "b", "functions.x:0", "", "z"])),
    max_size=12,
)


@settings(max_examples=300, deadline=None)
@given(_messages)
def test_any_history_becomes_legal_on_every_wire(history: list[Message]) -> None:
    tools = [ToolSchema("bash", "Run.", {"type": "object"})]
    request = Request([Message("system", "s"), Message("user", "q"), *history], tools)
    for dialect, encode in (("openai", openai_compatible), ("anthropic", anthropic)):
        body = encode.request_body(request, model="m", max_output=100)
        assert violations(json.loads(protocol.encode_body(body)), dialect) == []
