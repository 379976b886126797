"""Calls that no provider should send, and all send some day: none runs with what the model did not say whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

ANSWER = "It was `OOMKilled`."


def whole(*calls: Any, **message: Any) -> dict[str, Any]:
    """An answer of chat completions as it stands on the wire, with calls of any shape."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": None, "tool_calls": list(calls), **message},
        "finish_reason": "tool_calls",
    }
    return {"body": json.dumps({"id": "x", "object": "chat.completion", "choices": [choice]})}


def call(arguments: Any, name: Any = "mark", **more: Any) -> dict[str, Any]:
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def streamed(*texts: str) -> dict[str, Any]:
    return {"calls": [{"name": "mark", "arguments": text} for text in texts]}


UNDERSTOOD = ['{"what": "plain"}', '"{\\"what\\": \\"twice\\"}"', '{"what": "\\ud83d\\ude00"}']
BROKEN = ['{"what":"a"', '{"what":"a"}{"what":"b"}', "[1]", '{"what":"a",}', "{'what':'a'}", '{"what": NaN}', '"word"']


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_arguments_are_understood_or_the_call_is_not_run(ask: Any, dialect: str) -> None:
    asked = ask([streamed(*UNDERSTOOD, *BROKEN), ANSWER], dialect=dialect)
    assert asked.code == 0, asked.err
    assert sorted(asked.marks) == ["got plain", "got twice", "got 😀"]
    results = asked.results()
    assert len(results) == 10
    assert all("JSON" in text and "Not run" in text for text in results[3:])


def test_no_arguments_are_empty_arguments(ask: Any) -> None:
    nothing = {"pods": None, "nodes": "", "mark": "  \n", "killed": "null"}
    asked = ask([whole(*(call(given, name, id=name) for name, given in nothing.items())), ANSWER])
    assert (asked.code, asked.marks) == (0, ["got "]), asked.err
    pods, nodes, mark, killed = asked.results()
    assert "OOMKilled" in pods and "Ready" in nodes and "marked" in mark and "137" in killed


def test_arguments_that_are_no_text(ask: Any) -> None:
    asked = ask([whole(call({"what": "dict"}, id="a"), call(["what"], id="b"), call(7, id="c")), ANSWER])
    assert (asked.code, asked.marks) == (0, ["got dict"]), asked.err
    assert ["Not run" in text for text in asked.results()] == [False, True, True]


def test_ids_that_cannot_be_used_are_replaced(ask: Any) -> None:
    words = iter("abcdefghijk")

    def turn(*ids: Any) -> dict[str, Any]:
        made = [call({"what": next(words)}, id=identity) for identity in ids]
        for each in made:
            if each["id"] == "missing":
                del each["id"], each["type"]
        return whole(*made)

    asked = ask([turn("missing", "missing"), turn("", ""), turn(None, 7), turn("same", "same"), turn("same"), ANSWER])
    assert asked.code == 0, asked.err
    assert sorted(asked.marks) == [f"got {word}" for word in "abcdefghi"]
    made = [each["id"] for message in asked.bodies[-1]["messages"] for each in message.get("tool_calls", ())]
    assert len(set(made)) == 9
    assert [text.split("marked ")[1][0] for text in asked.results()] == [*"abcdefghi"]


def test_nameless_calls_are_dropped_and_it_is_said(ask: Any) -> None:
    odd = [call({"what": "x"}, name, id=f"n{number}") for number, name in enumerate((None, "", "  ", 7))]
    asked = ask([whole(*odd, call({"what": "named"}, id="good"), content="Let me look."), ANSWER])
    assert (asked.code, asked.marks) == (0, ["got named"]), asked.err
    assert "4 calls without a tool name" in asked.err
    assert len(asked.results()) == 1


def test_only_nameless_calls_are_no_answer(ask: Any) -> None:
    asked = ask([whole(call({}, None)), ANSWER])
    assert asked.code == 0 and ANSWER in asked.out


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_unknown_tools_and_wrong_arguments_get_the_way_to_do_it_right(ask: Any, dialect: str) -> None:
    wrong = [
        ("podz", {}),
        ("lines", {"count": "3", "kind": "POD", "previous": "true"}),
        ("lines", {"count": 3}),
        ("lines", {"count": 3, "kind": "pod", "limit": 5}),
        ("lines", {"count": "three", "kind": "pod"}),
        ("lines", {"count": 0, "kind": "pod"}),
        ("lines", {"count": 1, "kind": "deployment"}),
    ]
    asked = ask([[*wrong], ANSWER], dialect=dialect)
    assert asked.code == 0, asked.err
    podz, mended, *refused = asked.results()
    assert "no tool podz" in podz and "pods" in podz
    assert "3 lines of pod" in mended and "success" in mended
    assert all("Not run" in text and '"pod" | "node"' in text for text in refused), refused
    for text, word in zip(refused, ["kind", "limit", "count", "count", "kind"], strict=True):
        assert word in text.partition("Parameters:")[0]


@pytest.mark.parametrize(
    "again",
    [("podz", {}), ("lines", {"count": "many", "kind": "pod"}), ("mark", '{"what": "a"')],
    ids=["unknown tool", "wrong type", "broken JSON"],
)
def test_a_model_that_insists_on_a_wrong_call_is_stopped(ask: Any, again: Any) -> None:
    def model(body: dict[str, Any]) -> Any:
        return ANSWER if body.get("tool_choice") == "none" else [again]

    asked = ask(model)
    assert asked.code == 3, asked.err
    assert len(asked.bodies) <= 6
    assert asked.marks == [] and "kept repeating" in asked.out


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_two_hundred_calls_at_once(ask: Any, dialect: str) -> None:
    asked = ask([[("mark", {"what": f"{number}."}) for number in range(200)], ANSWER], dialect=dialect)
    assert asked.code == 0, asked.err
    assert "200 calls in one turn" in asked.err
    results = asked.results()
    assert len(results) == len(asked.marks) == 128
    assert all(f"marked {number}." in text for number, text in enumerate(results)), "not in call order"


def test_among_six_calls_one_hangs_one_dies_and_one_needs_a_person(ask: Any) -> None:
    delete = {"command": "kubectl delete pod pod-a"}
    six = [("pods", {}), ("hang", {}), ("nodes", {}), ("killed", {}), ("bash", delete), ("mark", {"what": "six"})]
    asked = ask([[*six], "It was `OOMKilled` [E1]."])
    assert asked.code == 4, "answered, but a call was refused"
    assert asked.seconds < 15
    pods, hang, nodes, killed, bash, mark = asked.results()
    assert "OOMKilled" in pods and "Ready" in nodes and "marked six" in mark
    assert "in time" in hang and "started" in hang
    assert "137" in killed and "before" in killed
    assert "Not run" in bash and "kubectl delete pod pod-a" in asked.out
