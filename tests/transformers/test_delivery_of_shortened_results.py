"""What the model reads when a result was shortened, and what stays behind it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holmes.agent.engine import Engine, RunOptions
from holmes.agent.safeguards import Limits
from holmes.agent.summaries import Summaries
from holmes.app.recording import Recorder, recorded
from holmes.app.replay import replay_parts
from holmes.core.errors import ModelRefused, ModelUnavailable
from holmes.core.messages import Message, ToolCall, Turn, Usage
from holmes.core.report import Report
from holmes.core.results import StructuredToolResult
from holmes.llm.base import Request
from holmes.llm.scripted import ScriptedLLM
from holmes.tools.tool import FunctionTool, Tool
from support.engines import engine, parts, say

pytestmark = pytest.mark.anyio

LOG = "\n".join(
    [*(f"10:00:{second:02} INFO served {second * 37} in {second} ms" for second in range(60)), "ERROR heap space"]
)
SUMMARIZE = {"name": "llm_summarize", "config": {"input_threshold": 500}}


def call(name: str, **args: Any) -> ToolCall:
    return ToolCall("", name, args)


def logs(*specs: dict[str, Any], text: str = LOG) -> FunctionTool:
    return say("logs", text, transformers=specs)


async def ask(
    tools: Sequence[Tool], steps: Sequence[Any], fast: ScriptedLLM | None = None, **more: Any
) -> tuple[Report, list[Request]]:
    llm = ScriptedLLM(steps)
    summaries = Summaries(lambda name: fast) if fast else None
    async with engine(llm, tools, summaries=summaries, **more) as holmes:
        report = await (await holmes.start("why is it slow?")).wait()
    return report, llm.requests


def seen(request: Request) -> str:
    return request.messages[-1].content


async def test_the_model_reads_the_summary_and_is_told_of_the_whole() -> None:
    fast = ScriptedLLM(["60 requests were served; then `ERROR heap space`."])
    _, requests = await ask([logs(SUMMARIZE)], [call("logs"), "done"], fast)
    first, *body = seen(requests[1]).splitlines()
    assert first.startswith("[E1 logs success #")
    assert body[0] == "60 requests were served; then `ERROR heap space`."
    assert body[1] == 'Note: summarised by llm_summarize; read the whole with read_result("E1")'
    assert len(body) == 3


async def test_the_whole_stays_readable_and_is_what_evidence_is_checked_against() -> None:
    fast = ScriptedLLM(["The log says `out of luck`."])
    steps = [
        call("logs"),
        call("read_result", handle="E1", grep="heap"),
        "It was `ERROR heap space` [E1], not `out of luck` [E1].",
        "It was `ERROR heap space` [E1].",
    ]
    report, requests = await ask([logs(SUMMARIZE)], steps, fast)
    assert "61: ERROR heap space" in seen(requests[2])
    assert "no result contains `out of luck`" in seen(requests[3]), "a summary is no evidence"
    assert "ERROR heap space" not in seen(requests[3])
    assert report.status == "answered"


async def test_the_request_for_a_summary_has_no_tools_and_marks_the_text_as_data() -> None:
    fast = ScriptedLLM(["short"])
    spec = {"type": "llm_summarize", "prompt": "Keep what is odd.", "max_tokens": 100}
    await ask([logs(spec)], [call("logs"), "done"], fast)
    (request,) = fast.requests
    assert request.tools == ()
    assert request.messages[0].content.startswith("Keep what is odd.")
    assert "at most 75 words" in request.messages[0].content
    assert LOG in request.messages[1].content
    assert request.messages[1].content.startswith("[text #")


async def test_short_results_are_not_summarised() -> None:
    fast = ScriptedLLM([])
    _, requests = await ask([logs(SUMMARIZE, text="x" * 500)], [call("logs"), "done"], fast)
    assert "x" * 500 in seen(requests[1])
    assert "Note" not in seen(requests[1])


async def test_a_summary_that_is_not_shorter_is_dropped() -> None:
    fast = ScriptedLLM(["word " * 2_000])
    _, requests = await ask([logs(SUMMARIZE)], [call("logs"), "done"], fast)
    assert LOG in seen(requests[1])
    assert "Note" not in seen(requests[1])


@pytest.mark.parametrize("answer", [ModelUnavailable("the fast model is down"), "  "])
async def test_a_summary_that_fails_leaves_the_result_and_a_note(answer: Any) -> None:
    _, requests = await ask([logs(SUMMARIZE)], [call("logs"), "done"], ScriptedLLM([answer]))
    assert LOG in seen(requests[1])
    assert "Note: llm_summarize was not applied: " in seen(requests[1])


async def test_without_a_model_for_summaries_nothing_happens() -> None:
    _, requests = await ask([logs(SUMMARIZE)], [call("logs"), "done"])
    assert LOG in seen(requests[1])
    assert "Note" not in seen(requests[1])


async def test_failed_results_are_never_shortened() -> None:
    async def fail(args: Any, ctx: Any) -> StructuredToolResult:
        return StructuredToolResult.failure("the pod is gone", text=LOG)

    tool = FunctionTool("logs", "d", {"type": "object", "properties": {}}, fail, transformers=(SUMMARIZE,))
    _, requests = await ask([tool], [call("logs"), "done"], ScriptedLLM([]))
    assert "the pod is gone" in seen(requests[1])


async def test_they_work_one_after_the_other() -> None:
    fast = ScriptedLLM(["heap space"])
    dedupe = {"name": "log_dedupe"}
    short = {"name": "llm_summarize", "config": {"input_threshold": 50}}
    _, requests = await ask([logs(dedupe, short)], [call("logs"), "done"], fast)
    assert "61 lines of 2 kinds" in fast.requests[0].messages[1].content
    assert "shown by kinds of lines by log_dedupe, summarised by llm_summarize; read" in seen(requests[1])


async def test_one_that_cannot_work_does_not_stop_the_next() -> None:
    specs = ({"name": "json_filter", "keep": ["a"]}, {"name": "log_dedupe"})
    _, requests = await ask([logs(*specs)], [call("logs"), "done"])
    assert "Note: json_filter was not applied: the output is no JSON" in seen(requests[1])
    assert "61 lines of 2 kinds" in seen(requests[1])


async def test_a_shortened_result_is_still_cut_to_what_the_model_may_see() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    lines = "\n".join(f"ERROR {first}{second} broke {'x' * 90}" for first in letters for second in letters)
    _, requests = await ask([logs({"name": "log_dedupe"}, text=lines * 2)], [call("logs"), "done"], shown=3_000)
    assert len(seen(requests[1])) < 3_500
    assert 'read_result("E1"' in seen(requests[1])


async def test_what_a_summary_costs_counts() -> None:
    answer = Turn(Message("assistant", "short"), usage=Usage(900, 100, cost=0.25))
    report, _ = await ask([logs(SUMMARIZE)], [call("logs"), "done"], ScriptedLLM([answer]))
    assert report.usage.total_tokens == 1_000
    limited, requests = await ask(
        [logs(SUMMARIZE)], [call("logs"), "done"], ScriptedLLM([answer]), limits=Limits(max_tokens=500)
    )
    assert limited.status == "cut_short"
    assert requests[1].tool_choice == "none"


async def test_a_huge_result_goes_to_the_model_within_its_window() -> None:
    fast = ScriptedLLM(["short"], window=8_192, max_output=1_000)
    text = "\n".join(f"{number} {'word ' * 20}" for number in range(20_000))
    await ask([logs(SUMMARIZE, text=text)], [call("logs"), "done"], fast)
    sent = fast.requests[0].messages[1].content
    assert len(sent) < 8_192 * 4
    assert "characters left out here" in sent
    assert sent.splitlines()[1].startswith("0 word")
    assert sent.splitlines()[-2].startswith("19999 word")


async def test_a_spec_may_name_another_model() -> None:
    models = {"": ScriptedLLM([]), "tiny": ScriptedLLM(["short"])}

    def make(name: str) -> ScriptedLLM:
        if name not in models:
            raise ModelRefused(f"unknown model {name}")
        return models[name]

    for name, words in (("tiny", "\nshort\n"), ("none", "llm_summarize was not applied: unknown model none")):
        tool = logs({"name": "llm_summarize", "fast_model": name})
        llm = ScriptedLLM([call("logs"), "done"])
        async with engine(llm, [tool], summaries=Summaries(make)) as holmes:
            await (await holmes.start("why?")).wait()
        assert words in seen(llm.requests[1])


async def test_a_recorded_run_with_summaries_comes_back_without_a_model(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    tools = [
        logs(SUMMARIZE | {"api_key": "sk-very-secret"}),
        say("other", LOG + "\nmore", transformers=(SUMMARIZE,)),
        say("list", json.dumps({"a": 1, "b": 2}), transformers=({"name": "json_filter", "keep": ["a"]},)),
    ]
    llm = ScriptedLLM([[call("logs"), call("other"), call("list")], "It was `ERROR heap space` [E1]."])
    # Answers by what is asked: the two summaries are asked for at the same time.
    fast = ScriptedLLM([lambda asked: ModelUnavailable("down") if "more" in asked.messages[1].content else "ok"] * 2)
    made = replace(parts(llm, tools), summaries=Summaries(lambda name: fast))
    reports = []
    for each in (recorded(made, Recorder(path), "why?", RunOptions()), None):
        playing = each or replay_parts(path, {}).parts
        async with Engine(playing) as holmes:
            run = await holmes.start("why?")
            reports.append(await run.wait())
    assert reports[0].answer == reports[1].answer
    assert reports[0].status == reports[1].status == "answered"
    assert "very-secret" not in path.read_text()
    results = [message for message in llm.requests[1].messages if message.role == "tool"]
    assert "\nok\n" in results[0].content
    assert "not applied: down" in results[1].content
    assert '\n{"a": 1}\n' in results[2].content
