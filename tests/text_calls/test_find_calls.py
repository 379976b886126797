"""Calls in a text: the forms that models write, and what is no call."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holmes.llm.protocol import normalise
from holmes.llm.text_calls import find_calls, is_only_calls, read_calls

NAMES = ["kubectl_get", "fetch_pod_logs", "scan"]
GET = {"name": "kubectl_get", "arguments": {"kind": "pods", "namespace": "shop"}}
LOGS = {"name": "fetch_pod_logs", "arguments": {"pod_name": "web-0"}}
ANSWER = "The pod was killed for its memory [E1]."


def calls(text: str) -> list[tuple[str, dict[str, Any], bool]]:
    """Name, arguments and whether the call may run, as they come through customs."""
    turn = normalise("", find_calls(text, NAMES))
    return [(call.name, call.arguments, not call.problem) for call in turn.message.tool_calls]


def wanted(*described: dict[str, Any]) -> list[tuple[str, dict[str, Any], bool]]:
    return [(each["name"], each["arguments"], True) for each in described]


ONE = {
    "json fence": f"```json\n{json.dumps(GET, indent=2)}\n```",
    "bare fence": f"```\n{json.dumps(GET)}\n```",
    "fence without end": f"```json\n{json.dumps(GET)}",
    "bare": json.dumps(GET),
    "hermes": f"<tool_call>\n{json.dumps(GET)}\n</tool_call>",
    "hermes without end": f"<tool_call>\n{json.dumps(GET)}",
    "hermes with doubled braces": "<tool_call>\n{" + json.dumps(GET) + "}\n</tool_call>",
    "hermes with a fence inside": f"<tool_call>\n```json\n{json.dumps(GET)}\n```\n</tool_call>",
    "tools tag": f"<tools>{json.dumps(GET)}</tools>",
    "llama python tag": '<|python_tag|>{"type": "function", "name": "kubectl_get", "parameters": '
    '{"kind": "pods", "namespace": "shop"}}<|eom_id|>',
    "llama function": '<function=kubectl_get>{"kind": "pods", "namespace": "shop"}</function><|eot_id|>',
    "qwen3 coder": "<tool_call>\n<function=kubectl_get>\n<parameter=kind>\npods\n</parameter>\n"
    "<parameter=namespace>\nshop\n</parameter>\n</function>\n</tool_call>",
    "mistral": f"[TOOL_CALLS][{json.dumps(GET)}]",
    "tool and parameters": '{"tool": "kubectl_get", "parameters": {"kind": "pods", "namespace": "shop"}}',
    "tool and args": '{"tool": "kubectl_get", "args": {"kind": "pods", "namespace": "shop"}}',
    "openai": json.dumps({"type": "function", "function": GET | {"arguments": json.dumps(GET["arguments"])}}),
    "tool_calls": json.dumps({"tool_calls": [{"id": "1", "type": "function", "function": GET}]}),
    "with a prefix": json.dumps(GET | {"name": "functions.kubectl_get"}),
}


@pytest.mark.parametrize("form", ONE)
def test_one_call_in_any_form(form: str) -> None:
    assert calls(ONE[form]) == wanted(GET)
    assert read_calls(ONE[form], NAMES).rest == ""
    assert is_only_calls(ONE[form], NAMES)


@pytest.mark.parametrize("form", ONE)
def test_text_around_it_stays(form: str) -> None:
    text = f"I will list the pods first.\n\n{ONE[form]}"
    assert calls(text) == wanted(GET)
    assert read_calls(text, NAMES).rest == "I will list the pods first."
    assert is_only_calls(text, NAMES), "a sentence that leads to a call is no answer"
    if "without end" not in form:
        assert read_calls(f"{text}\n\nThen the logs.", NAMES).rest == "I will list the pods first. Then the logs."


@pytest.mark.parametrize(
    "text",
    [
        f"<tool_call>{json.dumps(GET)}</tool_call>\n<tool_call>{json.dumps(LOGS)}</tool_call>",
        f"<tool_call>{json.dumps(GET)}\n{json.dumps(LOGS)}</tool_call>",
        f"```json\n{json.dumps(GET)}\n```\nand\n```json\n{json.dumps(LOGS)}\n```",
        f"```json\n{json.dumps([GET, LOGS])}\n```",
        f"```json\n{json.dumps(GET)}\n{json.dumps(LOGS)}\n```",
        f"{json.dumps(GET)}; {json.dumps(LOGS)}",
        json.dumps({"tool_calls": [GET, LOGS]}),
        f"<|python_tag|>{json.dumps(GET)}; {json.dumps(LOGS)}",
    ],
)
def test_several_calls(text: str) -> None:
    assert calls(text) == wanted(GET, LOGS)


@pytest.mark.parametrize(
    "text",
    [
        ANSWER,
        f'{ANSWER} The spec says {{"name": "web", "image": "web:2"}}.',
        f'{ANSWER} It returned {{"name": "kubectl_get"}}.',
        f'{ANSWER}\n```json\n{{"name": "web", "parameters": {{"replicas": 2}}}}\n```\nApply that.',
        f'{ANSWER}\n```yaml\nname: kubectl_get\narguments: {{"kind": "pods"}}\n```',
        f"{ANSWER}\n```sh\nkubectl get pods -o json | jq '{{\"name\": .x}}'\n```",
        '{"root_cause": "memory", "evidence": ["E1"]}',
        '[1, 2, {"name": "scan"}]',
        "{not json}",
        "```json\n{}\n```",
        "<details>",
        "",
    ],
)
def test_what_is_no_call(text: str) -> None:
    assert find_calls(text, NAMES) == []
    assert not is_only_calls(text, NAMES)


def test_an_answer_that_shows_a_known_call_is_not_only_a_call() -> None:
    text = f"{ANSWER} To look again:\n```json\n{json.dumps(GET)}\n```"
    assert not is_only_calls(text, NAMES)
    assert not is_only_calls("word " * 60 + json.dumps(GET), NAMES)


def test_an_unknown_tool_is_a_call_where_nothing_else_is_written_or_the_marks_say_so() -> None:
    unknown = {"name": "kubectl_podz", "arguments": {"x": 1}}
    assert calls(json.dumps(unknown)) == wanted(unknown)
    assert calls(f"Look: <tool_call>{json.dumps(unknown)}</tool_call>") == wanted(unknown)
    assert calls(f"The request was {json.dumps(unknown)} and failed.") == []


def test_a_known_tool_needs_no_arguments_when_nothing_else_is_written() -> None:
    assert calls('```json\n{"name": "scan"}\n```') == [("scan", {}, True)]
    assert calls('<tool_call>{"name": "scan"}</tool_call>') == [("scan", {}, True)]


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "kubectl_get", "arguments": {"kind": "po',
        '<tool_call>{"name": "kubectl_get", "arguments": {\'kind\': \'pods\'}}</tool_call>',
        '<tool_call>{"name": "kubectl_get", "arguments": {"kind": "pods",}}</tool_call>',
        '<function=kubectl_get>{"kind": pods}</function>',
    ],
)
def test_bad_json_never_runs_and_is_answered_with_the_error(text: str) -> None:
    ((name, _, runs),) = calls(text)
    assert name == "kubectl_get"
    assert not runs


def test_texts_of_other_languages_and_escapes_come_through_whole() -> None:
    described = {"name": "scan", "arguments": {"namespace": "商店", "note": 'a "quoted" } ``` </tool_call> x'}}
    assert calls(json.dumps(described, ensure_ascii=False)) == wanted(described)


@given(st.text(alphabet=st.sampled_from('{}[]",:`<>/=|ab \n')) | st.text())
def test_no_text_breaks_it(text: str) -> None:
    read_calls(text, NAMES)
    is_only_calls(text, NAMES)


@pytest.mark.parametrize("piece", ["{", "[", '{"name":', "```json\n", "<tool_call>", "<function=x>", '{"a":1} '])
def test_no_long_text_makes_it_slow(piece: str) -> None:
    started = time.perf_counter()
    read_calls(piece * 50_000, NAMES)
    assert time.perf_counter() - started < 3
