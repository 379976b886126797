"""A conversation that outgrows the window: notes for its beginning, the last exchanges whole, and always an answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from holmes.agent.context import Context
from holmes.agent.engine import Engine, RunOptions
from holmes.agent.safeguards import Limits
from holmes.agent.summaries import Summaries
from holmes.app.recording import Recorder, recorded
from holmes.app.replay import replay_parts
from holmes.core.errors import ContextTooLong, ModelUnavailable
from holmes.core.events import Compacted, CompactionStart, Event
from holmes.core.messages import Message, ToolCall, Turn, Usage
from holmes.core.report import Report
from holmes.core.results import StructuredToolResult
from holmes.llm.base import Dialect, Request
from holmes.llm.scripted import ScriptedLLM
from holmes.llm.tokens import estimate_request
from support.engines import engine, parts, say

pytestmark = pytest.mark.anyio

WINDOW = 8_192
TEXT = "connection refused by 10.0.0.7, pod-a OOMKilled exit 137. " * 12
TODO = {"todos": [{"content": "look at the node", "status": "in_progress"}]}


def call(number: int, name: str = "pods", **args: Any) -> ToolCall:
    return ToolCall("", name, args or {"x": f"query {number} of a service with a rather long name"})


def think(number: int) -> Turn:
    """A call with words beside it, as many models write them."""
    words = f"Step {number}: " + "the next thing to look at is the service behind it and its endpoints. " * 4
    return Turn(Message("assistant", words, tool_calls=(replace(call(number), id=f"c{number}"),)), "tool_calls")


async def work(
    steps: Sequence[Any], notes: Sequence[Any] = (), dialect: Dialect = "openai", window: int = WINDOW, **more: Any
) -> tuple[Report, ScriptedLLM, ScriptedLLM, list[Event]]:
    llm = ScriptedLLM(steps, window=window, max_output=1_000, dialect=dialect)
    fast = ScriptedLLM(notes)
    summaries = Summaries(lambda name: fast)
    async with engine(llm, [say("pods", TEXT)], **{"summaries": summaries, "shown": 3_000} | more) as holmes:
        run = await holmes.start("why does pod-a restart?")
        report = await run.wait()
        events = [event async for event in run.events()]
    return report, llm, fast, events


def of_kind(events: Sequence[Event], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def notes_in(request: Request) -> list[Message]:
    return [message for message in request.messages if "The conversation was shortened here" in message.content]


def first_with_notes(requests: Sequence[Request]) -> int:
    return next(index for index, request in enumerate(requests) if notes_in(request))


STEPS = [think(number) for number in range(1, 31)]
NOTES = ["NOTES: pod-a was killed for its memory [E2]."] * 9


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "bedrock"])
async def test_notes_stand_in_for_the_beginning_and_every_provider_takes_it(dialect: Dialect) -> None:
    report, llm, fast, events = await work([*STEPS, "It was `OOMKilled` [E2]."], NOTES, dialect)
    assert report.answer.startswith("It was `OOMKilled` [E2].")
    assert report.status == "answered"
    assert len(fast.requests) == len(of_kind(events, Compacted)) == len(of_kind(events, CompactionStart)) >= 1
    assert all(estimate_request(request) <= WINDOW for request in llm.requests)
    index = first_with_notes(llm.requests)
    system, question, notes, *tail = llm.requests[index].messages
    assert [system, question] == list(llm.requests[0].messages), "the prefix stays"
    assert NOTES[0] in notes.content
    assert tail[0].tool_calls
    assert list(tail[-2:]) == list(llm.requests[index].messages[-2:])
    assert tail[-1].content.count("OOMKilled") > 5, "the last result is whole"


async def test_the_calls_of_the_beginning_are_listed_with_their_references() -> None:
    _, llm, _, _ = await work([*STEPS, "done"], NOTES)
    index = first_with_notes(llm.requests)
    (notes,) = notes_in(llm.requests[index])
    line = next(line for line in notes.content.splitlines() if line.startswith("E2 "))
    assert line.startswith("E2 pods(x=query 2 of a service with a rather long name): success, 696 characters")
    shown = {message.result.reference for message in llm.requests[index].messages if message.result}
    listed = {line.split()[0] for line in notes.content.splitlines() if line.startswith("E")}
    assert listed.isdisjoint(shown)
    assert listed | shown == {f"E{number}" for number in range(1, index + 1)}


async def test_of_very_many_calls_the_older_ones_are_named_at_least() -> None:
    _, llm, _, _ = await work([*[think(number) for number in range(1, 95)], "done"], NOTES * 9)
    (notes,) = notes_in(llm.requests[-1])
    assert "Older calls, stored as E1, E2, E3," in notes.content
    assert "E80 pods(" in notes.content


async def test_a_listed_result_is_read_again_and_cited() -> None:
    read = ToolCall("", "read_result", {"handle": "E1", "lines": "1-1"})
    report, llm, _, _ = await work([*STEPS[:22], read, "It was `OOMKilled exit 137` [E1]."], NOTES)
    assert notes_in(llm.requests[22])
    assert "OOMKilled" in llm.requests[23].messages[-1].content
    assert report.evidence[0].cited


async def test_the_task_list_survives() -> None:
    steps = [ToolCall("", "TodoWrite", TODO), *STEPS, "done"]
    _, llm, _, _ = await work(steps, NOTES)
    (notes,) = notes_in(llm.requests[-1])
    assert "Task list:\n[~] look at the node" in notes.content
    assert "TodoWrite" not in notes.content


async def test_the_model_that_writes_notes_reads_the_whole_part_once_and_may_call_nothing() -> None:
    _, _, fast, _ = await work([*STEPS, "done"], NOTES)
    request = fast.requests[0]
    assert request.tools == ()
    text = request.messages[1].content
    assert "user: why does pod-a restart?" not in text, "the question stays where it is"
    assert "[E1 pods success" in text
    assert "Step 2:" in text
    assert request.messages[0].content.startswith("This is the beginning of an investigation")
    if len(fast.requests) > 1:
        assert NOTES[0] in fast.requests[1].messages[1].content, "earlier notes go into later ones"


async def test_what_it_costs_and_how_much_it_wins_is_said() -> None:
    note = Turn(Message("assistant", "short notes"), usage=Usage(3_000, 200, cost=0.5))
    report, _, fast, events = await work([*STEPS, "done"], [note] * 9)
    assert report.usage.prompt_tokens == 3_000 * len(fast.requests)
    for event in of_kind(events, Compacted):
        before, after = event.metadata["initial_tokens"], event.metadata["compacted_tokens"]
        assert after <= before * 0.8
        assert f"from {before:,} to {after:,} tokens" in event.content
        assert "short notes" in event.metadata["compaction_summary"]
    started = of_kind(events, CompactionStart)[0]
    assert started.metadata["max_context_size"] == WINDOW
    assert started.metadata["num_messages"] > 10
    assert started.metadata["threshold_pct"] == 87


async def test_never_two_in_a_row() -> None:
    _, llm, _, events = await work([*[think(number) for number in range(1, 90)], "done"], NOTES * 9)
    assert len(of_kind(events, Compacted)) >= 3
    seen = [notes_in(request)[0].content if notes_in(request) else "" for request in llm.requests]
    changed = [index for index in range(1, len(seen)) if seen[index] != seen[index - 1]]
    assert all(later - earlier > 1 for earlier, later in pairwise(changed))
    assert len(changed) == len(of_kind(events, Compacted))


@pytest.mark.parametrize("failure", [ModelUnavailable("the fast model is down"), "   "])
async def test_notes_that_fail_leave_the_list_of_calls(failure: Any) -> None:
    report, llm, _, events = await work([*STEPS, "done [E1]"], [failure] * 9)
    assert report.status == "answered"
    (notes,) = notes_in(llm.requests[-1])
    assert "E1 pods(" in notes.content
    assert "no notes could be written" in of_kind(events, Compacted)[0].content


async def test_without_a_model_for_notes_the_calls_are_listed() -> None:
    report, llm, _, _ = await work([*STEPS, "done [E1]"], summaries=None)
    assert report.status == "answered"
    assert "E1 pods(" in notes_in(llm.requests[-1])[0].content


async def test_notes_of_a_model_that_does_not_stop_are_cut() -> None:
    report, llm, _, _ = await work([*STEPS, "done"], ["word " * 20_000] * 9)
    assert report.status == "answered"
    assert all(estimate_request(request) <= WINDOW for request in llm.requests)


async def test_calls_after_a_compaction_are_still_known() -> None:
    again = call(1, x="query 1 of a service with a rather long name")
    report, llm, _, _ = await work([*STEPS[:22], again, again, again, "It was `OOMKilled` [E1]."], NOTES)
    assert notes_in(llm.requests[22])
    assert "the same call gave E1 above" in llm.requests[23].messages[-1].content
    assert "repeating" in report.cut_short_by
    assert llm.requests[-1].tool_choice == "none"


async def test_the_concluding_request_is_shortened_too() -> None:
    steps = [*STEPS[:21], call(99), "It was `OOMKilled` [E1]."]
    report, llm, _, _ = await work(steps, NOTES, limits=Limits(max_steps=22))
    assert report.status == "cut_short"
    assert not llm.requests[-1].tools
    assert notes_in(llm.requests[-1]) or "The conversation was shortened" in llm.requests[-1].messages[1].content
    assert estimate_request(llm.requests[-1]) <= WINDOW


async def test_it_goes_on_over_questions() -> None:
    later = [think(number) for number in range(31, 60)]
    llm = ScriptedLLM([*STEPS, "first", *later, "second [E1]"], window=WINDOW, max_output=1_000)
    fast = ScriptedLLM(NOTES)
    async with engine(llm, [say("pods", TEXT)], summaries=Summaries(lambda name: fast), shown=3_000) as holmes:
        first = await holmes.start("why does pod-a restart?")
        await first.wait()
        run = await holmes.start("and what about pod-b?", RunOptions(run_id=first.id))
        report = await run.wait()
        messages, _ = holmes.transcript(first.id)
    assert notes_in(llm.requests[30])
    assert notes_in(llm.requests[30]) == notes_in(llm.requests[31]), "the second question starts from the notes"
    assert any("and what about pod-b?" in message.content for message in llm.requests[-1].messages)
    assert len(messages) == 2 * 59 + 5, "the conversation itself is whole"
    assert any("why does pod-a restart?" in request.messages[1].content for request in fast.requests[1:])
    assert report.status == "answered"


async def test_a_first_request_that_cannot_fit_is_refused_with_its_parts() -> None:
    llm = ScriptedLLM(["never asked"], window=3_000, max_output=500)
    async with engine(llm, [say("pods")], instructions="rule " * 4_000) as holmes:
        run = await holmes.start("why?")
        with pytest.raises(ContextTooLong, match="system prompt"):
            await run.wait()
    assert llm.requests == []


async def test_when_nothing_helps_the_program_concludes_from_the_evidence() -> None:
    wall = Turn(Message("assistant", "word " * 9_000, tool_calls=(ToolCall("big", "pods", {"x": "2"}),)), "tool_calls")
    report, _, _, _ = await work([think(1), wall], ["notes"])
    assert report.status == "cut_short"
    assert "the model takes" in report.cut_short_by
    assert "OOMKilled" in report.answer


async def test_a_result_in_the_last_exchange_shrinks_when_all_else_is_gone() -> None:
    many = [ToolCall(f"m{number}", "pods", {"x": str(number)}) for number in range(16)]
    report, llm, _, _ = await work([*STEPS[:5], many, "It was `OOMKilled` [E6]."], NOTES, window=6_000)
    assert report.status == "answered"
    assert all(estimate_request(request) <= 6_000 for request in llm.requests)


async def test_a_window_that_the_provider_teaches_may_need_a_compaction() -> None:
    refusal = ContextTooLong("maximum context length is 8192 tokens", limit=8_192)
    steps = [*STEPS[:25], refusal, "It was `OOMKilled` [E1]."]
    report, llm, fast, _ = await work(steps, NOTES, window=32_000)
    assert report.status == "answered"
    assert len(fast.requests) == 1
    assert estimate_request(llm.requests[-1]) <= 8_192


def history(count: int, size: int = 1_200) -> list[Message]:
    messages = [Message("system", "You look."), Message("user", "Why?")]
    for number in range(1, count + 1):
        made = ToolCall(f"c{number}", "pods", {"x": "q" * size})
        result = StructuredToolResult.success("short", reference=f"E{number}")
        messages += [
            Message("assistant", tool_calls=(made,)),
            Message("tool", "short", (), (), made.id, "pods", result),
        ]
    return messages


async def test_a_gain_under_a_fifth_is_not_worth_it() -> None:
    asked = []

    async def summarize(text: str, instructions: str, max_tokens: int, model: str = "") -> str:
        asked.append(text)
        return "notes"

    huge = [Message("system", "rule " * 9_000), *history(6)[1:]]
    fits = Context(ScriptedLLM([], window=15_000, max_output=500), summarize=summarize)
    with pytest.raises(ContextTooLong):
        await fits.prepare([*huge, Message("user", "word " * 4_000)], ())
    assert asked == []
    small = Context(ScriptedLLM([], window=5_000, max_output=500), summarize=summarize)
    assert len(await small.prepare(history(20), ())) < 20
    assert len(asked) == 1


async def test_the_request_after_a_compaction_is_not_compacted_whatever_comes() -> None:
    asked = []

    async def summarize(text: str, instructions: str, max_tokens: int, model: str = "") -> str:
        asked.append(text)
        return "notes"

    fits = Context(ScriptedLLM([], window=5_000, max_output=500), summarize=summarize)
    messages = history(20)
    await fits.prepare(messages, ())
    messages += history(20)[2:]
    with pytest.raises(ContextTooLong):
        await fits.prepare(messages, ())
    assert len(asked) == 1
    await fits.prepare(messages, ())
    assert len(asked) == 2


async def test_a_cancelled_compaction_leaves_the_conversation_as_it_was() -> None:
    started = asyncio.Event()

    async def hang(text: str, instructions: str, max_tokens: int, model: str = "") -> str:
        started.set()
        await asyncio.Event().wait()
        return ""

    fits = Context(ScriptedLLM([], window=5_000, max_output=500), summarize=hang)
    task = asyncio.create_task(fits.prepare(history(20), ()))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    fits.window = 100_000
    assert await fits.prepare(history(20), ()) == history(20)


async def test_each_step_measures_new_text_only() -> None:
    fits = Context(ScriptedLLM([], window=10_000_000, max_output=500))
    messages = history(2_000)
    await fits.prepare(messages, ())
    messages += history(1)[2:]
    started = time.perf_counter()
    await fits.prepare(messages, ())
    assert time.perf_counter() - started < 0.1


async def test_a_recorded_run_with_compactions_comes_back(tmp_path: Path) -> None:
    llm = ScriptedLLM([*STEPS, "It was `OOMKilled` [E2]."], window=WINDOW, max_output=1_000)
    fast = ScriptedLLM(NOTES)
    made = replace(parts(llm, [say("pods", TEXT)], shown=3_000), summaries=Summaries(lambda name: fast))
    reports = []
    for playing in (recorded(made, Recorder(tmp_path / "run"), "why?", RunOptions()), None):
        async with Engine(playing or replay_parts(tmp_path / "run", {}).parts) as holmes:
            run = await holmes.start("why?")
            reports.append(await run.wait())
    assert fast.requests
    assert reports[0].answer == reports[1].answer
    assert [item.invocation for item in reports[0].evidence] == [item.invocation for item in reports[1].evidence]
    assert reports[0].steps == reports[1].steps == 31
