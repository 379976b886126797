"""A model that writes its calls: turned into real ones where it is known for that, asked for the call elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holmes.agent.engine import Engine
from holmes.agent.safeguards import Limits
from holmes.app.wiring import model, wire
from holmes.core.config import load_config
from holmes.core.events import AnswerReset
from holmes.core.http import DefaultHttp
from holmes.core.messages import Message, ToolCall, Turn
from holmes.core.yaml_marks import load
from holmes.llm.base import Request
from holmes.llm.default import DefaultLLM
from holmes.llm.models import ModelEntry, load_model_list
from holmes.llm.scripted import ScriptedLLM
from holmes.llm.text_calls import with_real_calls
from support.engines import engine, say
from support.openai_server import OpenAIServer

pytestmark = pytest.mark.anyio

WRITTEN = '```json\n{"name": "pods", "arguments": {"x": "shop"}}\n```'
AGAIN = '```json\n{"name": "pods", "arguments": {"x": "other"}}\n```'
SMALL = "llama_cpp/qwen2.5-coder-1.5b-instruct-q8_0.gguf"
ANSWER = "It was `OOMKilled` [E1]."


def local(server: OpenAIServer, name: str = SMALL, **more: Any) -> DefaultLLM:
    return DefaultLLM(ModelEntry(name, api_base=server.url, **more), DefaultHttp({}), {})


async def test_a_model_known_for_it_has_its_calls_run() -> None:
    with OpenAIServer([f"I will list the pods.\n{WRITTEN}", ANSWER]) as server:
        async with engine(local(server), [say("pods")]) as holmes:
            report = await (await holmes.start("why?")).wait()
    assert report.status == "answered"
    assert report.answer.startswith(ANSWER)
    assert server.refused == []
    called, answered = server.bodies[1]["messages"][-2:]
    assert called["content"] == "I will list the pods."
    assert called["tool_calls"][0]["function"] == {"name": "pods", "arguments": '{"x":"shop"}'}
    assert answered["tool_call_id"] == called["tool_calls"][0]["id"]
    assert "OOMKilled" in answered["content"]


async def test_several_written_calls_run_side_by_side() -> None:
    both = "\n".join(f"<tool_call>{json.dumps({'name': 'pods', 'arguments': {'x': x}})}</tool_call>" for x in "ab")
    with OpenAIServer([both, ANSWER]) as server:
        async with engine(local(server), [say("pods")]) as holmes:
            report = await (await holmes.start("why?")).wait()
    assert [item.reference for item in report.evidence] == ["E1", "E2"]
    assert report.steps == 2


@pytest.mark.parametrize(
    ("name", "configured", "real"),
    [
        ("openai/some-model", True, True),
        ("openai/some-model", None, False),
        ("openai/Qwen/Qwen2.5-Coder-7B-Instruct", None, True),
        ("openai/qwen2.5-coder", False, False),
        ("ollama/llama3.2:3b", None, True),
        ("ollama/qwen3:8b", None, False),
    ],
)
async def test_known_or_configured_never_otherwise(name: str, configured: bool | None, real: bool) -> None:
    with OpenAIServer([WRITTEN, ANSWER, ANSWER]) as server:
        llm = local(server, name, text_calls=configured)
        async with engine(llm, [say("pods")], limits=Limits(max_steps=2)) as holmes:
            await (await holmes.start("why?")).wait()
    assert bool(server.bodies[1]["messages"][2].get("tool_calls")) == real


async def test_the_first_model_of_a_server_is_known_by_the_name_that_the_server_gives() -> None:
    with OpenAIServer([WRITTEN, ANSWER], models=["models/qwen2.5-coder-1.5b.gguf"]) as server:
        async with engine(local(server, "openai/"), [say("pods")]) as holmes:
            report = await (await holmes.start("why?")).wait()
    assert report.answer.startswith(ANSWER)


async def test_real_calls_are_taken_and_the_text_beside_them_stays_text() -> None:
    with OpenAIServer([{"content": WRITTEN, "calls": [("pods", {"x": "real"})]}, ANSWER]) as server:
        async with engine(local(server), [say("pods")]) as holmes:
            await (await holmes.start("why?")).wait()
    made = server.bodies[1]["messages"][2]["tool_calls"]
    assert [json.loads(call["function"]["arguments"]) for call in made] == [{"x": "real"}]


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "pods", "arguments": {"x": "sh',
        '<tool_call>{"name": "pods", "arguments": {"x": "shop"}}</tool_call> and',
    ],
)
async def test_a_written_call_of_an_answer_that_was_cut_off_is_not_run(text: str) -> None:
    with OpenAIServer([{"content": text, "finish_reason": "length"}, "It cannot be determined."]) as server:
        async with engine(local(server), [say("pods")]) as holmes:
            report = await (await holmes.start("why?")).wait()
    assert "Not run" in server.bodies[1]["messages"][-1]["content"]
    assert report.evidence == ()


async def test_invented_argument_names_are_answered_with_the_schema() -> None:
    invented = '{"name": "pods", "arguments": {"pod_namespace": "shop"}}'
    with OpenAIServer([invented, WRITTEN, ANSWER]) as server:
        async with engine(local(server), [say("pods")]) as holmes:
            report = await (await holmes.start("why?")).wait()
    complaint = server.bodies[1]["messages"][-1]["content"]
    assert "pod_namespace" in complaint
    assert "Parameters: {x?: string}" in complaint
    assert report.answer.startswith(ANSWER)


async def test_written_calls_after_tool_choice_none_are_not_run() -> None:
    with OpenAIServer([WRITTEN, AGAIN, ANSWER]) as server:
        async with engine(local(server), [say("pods")], limits=Limits(max_steps=2)) as holmes:
            report = await (await holmes.start("why?")).wait()
    assert server.bodies[1]["tool_choice"] == "none"
    assert "tools" not in server.bodies[2]
    assert "not run: the limit of 2 steps" in server.bodies[2]["messages"][-1]["content"]
    assert (report.status, report.answer.splitlines()[0]) == ("cut_short", ANSWER)


def test_without_declared_tools_text_stays_text() -> None:
    turn = Turn(Message("assistant", WRITTEN))
    assert with_real_calls(turn, Request([Message("user", "why?")])) is turn


async def test_a_written_call_that_repeats_is_stopped_as_any_other() -> None:
    with OpenAIServer([WRITTEN, WRITTEN, WRITTEN, WRITTEN, ANSWER]) as server:
        async with engine(local(server), [say("pods")]) as holmes:
            report = await (await holmes.start("why?")).wait()
    assert "the same call gave E1 above" in server.bodies[2]["messages"][-1]["content"]
    assert server.bodies[4]["tool_choice"] == "none"
    assert "repeating" in report.cut_short_by


async def test_another_model_is_asked_once_to_call_the_tool() -> None:
    llm = ScriptedLLM([WRITTEN, ToolCall("", "pods", {"x": "shop"}), ANSWER])
    async with engine(llm, [say("pods")]) as holmes:
        run = await holmes.start("why?")
        report = await run.wait()
        reset = [event async for event in run.events() if isinstance(event, AnswerReset)]
    assert report.answer.startswith(ANSWER)
    assert llm.requests[1].messages[-2].content == WRITTEN
    assert "Call the tool, do not write the call" in llm.requests[1].messages[-1].content
    assert llm.requests[1].tool_choice == "auto"
    assert reset, "what was streamed is taken back"


async def test_it_may_also_answer_in_words() -> None:
    llm = ScriptedLLM(["Let me look.\n" + WRITTEN, "All is well."])
    async with engine(llm, [say("pods")]) as holmes:
        report = await (await holmes.start("why?")).wait()
    assert (report.status, report.answer.splitlines()[0]) == ("answered", "All is well.")


@pytest.mark.parametrize("last", [WRITTEN, AGAIN, ""])
async def test_a_written_call_is_never_printed_as_the_answer(last: str) -> None:
    llm = ScriptedLLM([WRITTEN, AGAIN, last])
    async with engine(llm, [say("pods")]) as holmes:
        report = await (await holmes.start("why?")).wait()
    assert report.status == "no_answer"
    assert "arguments" not in report.answer
    assert "text_calls: true" in report.cut_short_by
    assert llm.requests[2].tool_choice == "none"


async def test_a_written_call_as_the_concluding_answer_is_asked_again() -> None:
    llm = ScriptedLLM([ToolCall("", "pods", {}), WRITTEN, ANSWER])
    async with engine(llm, [say("pods")], limits=Limits(max_steps=2)) as holmes:
        report = await (await holmes.start("why?")).wait()
    assert "You gave no answer" in llm.requests[2].messages[-1].content
    assert (report.status, report.answer.splitlines()[0]) == ("cut_short", ANSWER)


async def test_a_mended_answer_that_is_a_written_call_does_not_replace_the_first() -> None:
    llm = ScriptedLLM([ToolCall("", "pods", {}), "It says `disk is full` [E1].", WRITTEN])
    async with engine(llm, [say("pods")]) as holmes:
        report = await (await holmes.start("why?")).wait()
    assert report.answer.startswith("It says `disk is full` [E1].")


async def test_an_answer_that_shows_a_call_is_an_answer() -> None:
    text = f"The pods tool shows `OOMKilled` [E1]; to look again later, call it like this:\n{WRITTEN}"
    llm = ScriptedLLM([ToolCall("", "pods", {}), text])
    async with engine(llm, [say("pods")]) as holmes:
        report = await (await holmes.start("why?")).wait()
    assert (report.status, report.answer[: len(text)]) == ("answered", text)


def test_the_model_list_has_the_switch_and_does_not_send_it() -> None:
    text = "a: {model: openai/x, text_calls: true}\nb: {model: openai/x}\nc: {model: openai/x, text_calls: maybe}"
    models = load_model_list(load(text, "list.yaml"), {})
    assert (models.entries["a"].text_calls, models.entries["b"].text_calls) == (True, None)
    assert "text_calls" not in models.entries["a"].parameters
    assert "list.yaml:3" in str(models.disabled["c"][0])


async def test_from_the_model_list_to_the_answer(tmp_path: Path) -> None:
    env = {"PATH": "/usr/bin:/bin", "HOLMES_HOME": str(tmp_path)}
    with OpenAIServer(['{"tool": "TodoWrite", "args": {"todos": []}}', "All is well."]) as server:
        (tmp_path / "model_list.yaml").write_text(
            f"mine: {{model: openai/own, api_base: {server.url}, text_calls: true}}"
        )
        config, _ = load_config(None, env, {"opening_evidence": False})
        setup = wire(config, env, llm=model(config, env, lambda *_: None, lambda _: None), keep=False)
        async with Engine(setup.parts) as holmes:
            report = await (await holmes.start("why?")).wait()
        setup.close()
    assert report.answer.startswith("All is well.")
    assert "text_calls" not in server.bodies[0]
    assert server.bodies[1]["messages"][-1]["role"] == "tool"
