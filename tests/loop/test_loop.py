"""The loop: what goes to the model, what comes back, and how it ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holmes.agent.engine import RunOptions
from holmes.agent.safeguards import Limits
from holmes.core.errors import ModelRefused, ModelUnavailable, UsageError
from holmes.core.messages import ToolCall
from holmes.core.results import StructuredToolResult
from holmes.llm.scripted import ScriptedLLM
from holmes.tools.tool import FunctionTool, ToolContext
from support.engines import engine, say

pytestmark = pytest.mark.anyio


def call(name: str, **args: Any) -> ToolCall:
    return ToolCall("", name, args)


async def test_an_answer_cites_the_result_that_the_model_saw() -> None:
    llm = ScriptedLLM([call("pods"), "The pod was killed for its memory: `OOMKilled exit 137` [E1]."])
    async with engine(llm, [say("pods")]) as holmes:
        run = await holmes.start("why does pod-a restart?")
        report = await run.wait()
    assert report.status == "answered"
    assert report.answer.endswith("[E1].")
    tool_message = llm.requests[1].messages[-1]
    assert tool_message.role == "tool"
    assert "pod-a OOMKilled exit 137" in tool_message.content
    assert tool_message.content.startswith("[E1 pods success #")
    assert [item.reference for item in report.evidence] == ["E1"]


async def test_calls_run_side_by_side_and_are_answered_in_call_order() -> None:
    both = asyncio.Barrier(2)

    async def meet(args: Any, ctx: ToolContext) -> StructuredToolResult:
        await both.wait()  # only passes when two calls are inside at once
        return StructuredToolResult.success(args["x"])

    schema = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
    meeting = FunctionTool("meet", "waits for the other", schema, meet)
    llm = ScriptedLLM([[call("meet", x="first"), call("meet", x="second")], "done"])
    async with engine(llm, [meeting]) as holmes:
        await (await holmes.start("go")).wait()
    texts = [message.content for message in llm.requests[1].messages if message.role == "tool"]
    assert "first" in texts[0] and "[E1 " in texts[0]
    assert "second" in texts[1] and "[E2 " in texts[1]


async def test_a_hanging_call_does_not_hold_up_the_others() -> None:
    async def hang(args: Any, ctx: ToolContext) -> StructuredToolResult:
        await asyncio.Event().wait()
        raise AssertionError("never")

    hanging = FunctionTool("hang", "never ends", {"type": "object", "properties": {}}, hang)
    llm = ScriptedLLM([[call("hang"), call("pods")], "done"])
    async with engine(llm, [hanging, say("pods")], tool_timeout=0.05) as holmes:
        report = await (await holmes.start("go")).wait()
    first, second = [message for message in llm.requests[1].messages if message.role == "tool"]
    assert "did not answer within" in first.content
    assert "OOMKilled" in second.content
    assert any("hang" in gap for gap in report.gaps)


async def test_a_crashing_tool_is_a_failed_result() -> None:
    async def crash(args: Any, ctx: ToolContext) -> StructuredToolResult:
        raise RuntimeError("boom")

    crashing = FunctionTool("crash", "fails", {"type": "object", "properties": {}}, crash)
    llm = ScriptedLLM([call("crash"), "could not look"])
    async with engine(llm, [crashing]) as holmes:
        report = await (await holmes.start("go")).wait()
    assert "RuntimeError: boom" in llm.requests[1].messages[-1].content
    assert report.status == "answered"


async def test_unknown_tools_and_wrong_arguments_never_run() -> None:
    llm = ScriptedLLM([[call("podz"), call("pods", nonsense=1)], "done"])
    async with engine(llm, [say("pods")]) as holmes:
        await (await holmes.start("go")).wait()
    unknown, wrong = [message.content for message in llm.requests[1].messages if message.role == "tool"]
    assert "There is no tool podz. Did you mean pods" in unknown
    assert "nonsense" in wrong and "error" in wrong.splitlines()[0]


async def test_a_repeated_call_gets_a_pointer_and_three_of_them_end_the_turn() -> None:
    again = call("pods", x="same")
    llm = ScriptedLLM([again, again, again, again, "It is `OOMKilled` [E1]."])
    async with engine(llm, [say("pods")]) as holmes:
        report = await (await holmes.start("go")).wait()
    assert "the same call gave E1 above" in llm.requests[2].messages[-1].content
    assert llm.requests[4].tool_choice == "none"
    assert llm.requests[4].tools, "tools stay declared"
    assert report.status == "cut_short"
    assert "repeating" in report.cut_short_by


async def test_the_last_step_must_conclude_and_a_stubborn_model_loses_its_tools() -> None:
    llm = ScriptedLLM([call("pods", x="1"), call("pods", x="2"), "`OOMKilled` it is [E1]"])
    async with engine(llm, [say("pods")], limits=Limits(max_steps=2)) as holmes:
        report = await (await holmes.start("go")).wait()
    assert llm.requests[1].tool_choice == "none"
    assert not llm.requests[2].tools
    assert all(message.role != "tool" for message in llm.requests[2].messages)
    assert report.status == "cut_short"
    assert "OOMKilled" in report.answer


async def test_a_false_quote_is_asked_again_once() -> None:
    llm = ScriptedLLM([call("pods"), "It says `disk is full` [E1].", "It says `OOMKilled` [E1]."])
    async with engine(llm, [say("pods")]) as holmes:
        report = await (await holmes.start("go")).wait()
    assert "no result contains `disk is full`" in llm.requests[2].messages[-1].content
    assert report.answer == "It says `OOMKilled` [E1]."


async def test_a_false_quote_that_stays_is_marked() -> None:
    llm = ScriptedLLM([call("pods"), "It says `disk is full` [E7].", "It says `disk is full` [E1]."])
    async with engine(llm, [say("pods")]) as holmes:
        report = await (await holmes.start("go")).wait()
    assert "there is no result E7" in llm.requests[2].messages[-1].content
    assert any("disk is full" in note for note in report.notes)


async def test_a_blank_answer_is_asked_again_once() -> None:
    llm = ScriptedLLM(["", "All is well."])
    async with engine(llm) as holmes:
        report = await (await holmes.start("go")).wait()
    assert report.answer.startswith("All is well.")
    llm = ScriptedLLM(["", ""])
    async with engine(llm) as holmes:
        report = await (await holmes.start("go")).wait()
    assert report.status == "no_answer"


async def test_a_model_that_dies_with_results_in_hand_leaves_what_was_found() -> None:
    llm = ScriptedLLM([call("pods"), ModelUnavailable("the provider is down")])
    async with engine(llm, [say("pods")]) as holmes:
        report = await (await holmes.start("go")).wait()
    assert report.status == "cut_short"
    assert "the provider is down" in report.answer
    assert "OOMKilled" in report.answer


async def test_a_model_that_refuses_at_once_is_an_error() -> None:
    llm = ScriptedLLM([ModelRefused("wrong key", remedy="set OPENAI_API_KEY")])
    async with engine(llm) as holmes:
        run = await holmes.start("go")
        with pytest.raises(ModelRefused, match="wrong key"):
            await run.wait()


async def test_a_conversation_goes_on_with_references_counting() -> None:
    llm = ScriptedLLM([call("pods"), "first [E1]", call("pods"), "second [E2]"])
    async with engine(llm, [say("pods")]) as holmes:
        first = await holmes.start("one")
        await first.wait()
        second = await holmes.start("two", RunOptions(run_id=first.id))
        report = await second.wait()
    assert report.answer == "second [E2]"
    assert [m.content[:3] for m in llm.requests[3].messages if m.role == "tool"] == ["[E1", "[E2"]


async def test_an_empty_question_is_a_usage_error() -> None:
    async with engine(ScriptedLLM([])) as holmes:
        with pytest.raises(UsageError, match="empty"):
            await holmes.start("  \n")


async def test_the_prefix_is_the_same_for_every_run() -> None:
    llm = ScriptedLLM(["one", "two"])
    async with engine(llm, [say("pods")], instructions="Use pods first.") as holmes:
        await (await holmes.start("a")).wait()
        await (await holmes.start("b")).wait()
    first, second = llm.requests
    assert first.messages[0] == second.messages[0]
    assert first.tools == second.tools
    assert "2026-01-02T03:04:05Z" in first.messages[-1].content
    assert "2026" not in first.messages[0].content
