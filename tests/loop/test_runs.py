"""Runs: many readers, cancellation, approvals."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holmes.agent.engine import RunOptions, call
from holmes.core.errors import HolmesError
from holmes.core.events import ApprovalRequired, Event
from holmes.core.messages import ToolCall
from holmes.core.results import StructuredToolResult
from holmes.llm.scripted import ScriptedLLM
from holmes.tools.tool import FunctionTool, ToolContext
from support.engines import engine, parts, say

pytestmark = pytest.mark.anyio


async def collect(events: Any) -> list[Event]:
    return [event async for event in events]


async def test_every_reader_gets_every_event_also_when_it_comes_late() -> None:
    llm = ScriptedLLM([ToolCall("", "pods", {}), "done [E1]"])
    async with engine(llm, [say("pods")]) as holmes:
        run = await holmes.start("go")
        early = asyncio.create_task(collect(run.events()))
        await run.wait()
        late = await collect(run.events())
        kinds = [event.kind for event in late if not event.lossy]
        assert [event.kind for event in await early if not event.lossy] == kinds
    assert kinds == [
        "token_count",
        "start_tool_calling",
        "tool_calling_result",
        "token_count",
        "token_count",
        "evidence_verified",
        "ai_answer_end",
    ]


async def test_text_beside_calls_is_taken_back_and_is_never_the_answer() -> None:
    from dataclasses import replace

    from holmes.core.messages import Message, Turn

    calls = Turn(Message("assistant", "Let me look.", tool_calls=(ToolCall("c1", "pods", {}),)), "tool_calls")
    async with engine(ScriptedLLM([replace(calls), "done"]), [say("pods")]) as holmes:
        run = await holmes.start("go")
        kinds = [event.kind async for event in run.events()]
    assert kinds.index("answer_reset") < kinds.index("ai_message") < kinds.index("start_tool_calling")


async def test_cancelling_stops_the_tools_and_keeps_what_was_found() -> None:
    started = asyncio.Event()
    stopped = asyncio.Event()

    async def hang(args: Any, ctx: ToolContext) -> StructuredToolResult:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise AssertionError("never")

    hanging = FunctionTool("hang", "never ends", {"type": "object", "properties": {}}, hang)
    llm = ScriptedLLM([ToolCall("", "pods", {}), ToolCall("", "hang", {})])
    async with engine(llm, [hanging, say("pods")]) as holmes:
        run = await holmes.start("go")
        await started.wait()
        run.cancel("interrupted")
        report = await run.wait()
    assert stopped.is_set()
    assert report.status == "cut_short"
    assert "interrupted" in report.answer and "OOMKilled" in report.answer


async def test_cancelling_before_anything_was_found_is_an_error() -> None:
    llm = ScriptedLLM(["never asked"])
    async with engine(llm) as holmes:
        run = await holmes.start("go")
        run.cancel("interrupted")
        with pytest.raises(HolmesError, match="interrupted"):
            await run.wait()


def writer() -> FunctionTool:
    async def write(args: Any, ctx: ToolContext) -> StructuredToolResult:
        return StructuredToolResult.success("written")

    return FunctionTool("write", "changes something", {"type": "object", "properties": {}}, write, effect="write")


async def test_without_a_person_a_call_that_needs_one_is_refused() -> None:
    llm = ScriptedLLM([ToolCall("", "write", {}), "not done"])
    async with engine(llm, [writer()]) as holmes:
        report = await (await holmes.start("go")).wait()
    assert "Not run:" in llm.requests[1].messages[-1].content
    assert [refusal.verdict for refusal in report.refused] == ["ask"]


@pytest.mark.parametrize(("approved", "expected"), [(True, "written"), (False, "a person said no: not today")])
async def test_a_person_decides(approved: bool, expected: str) -> None:
    llm = ScriptedLLM([ToolCall("", "write", {}), "done"])
    async with engine(llm, [writer()]) as holmes:
        run = await holmes.start("go", RunOptions(approve="ask", approvals="wait"))
        async for event in run.events():
            if isinstance(event, ApprovalRequired):
                call_id = event.pending_approvals[0]["tool_call_id"]
                assert await run.decide(call_id, approved, "" if approved else "not today")
                assert not await run.decide(call_id, True), "a decision counts once"
        await run.wait()
    assert expected in llm.requests[1].messages[-1].content


async def test_what_a_person_says_meanwhile_reaches_the_model() -> None:
    llm = ScriptedLLM([ToolCall("", "pods", {}), "done"])
    async with engine(llm, [say("pods")]) as holmes:
        run = await holmes.start("go")
        run.say("look at the node too")
        await run.wait()
    assert any(message.content == "look at the node too" for message in llm.requests[-1].messages)


async def test_call_refuses_to_stop_a_running_loop() -> None:
    with pytest.raises(RuntimeError, match="async with Engine"):
        call(parts(ScriptedLLM(["never"])), "go")


def test_call_waits_for_the_report() -> None:
    async def make() -> Any:
        return parts(ScriptedLLM(["All is well."]))

    assert call(asyncio.run(make()), "go").answer == "All is well."


async def test_call_stream_gives_the_events() -> None:
    async with engine(ScriptedLLM(["All is well."])) as holmes:
        kinds = [event.kind async for event in holmes.call_stream("go")]
    assert kinds[-1] == "ai_answer_end"
