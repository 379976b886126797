"""A recorded run comes back byte for byte, and says where the program parts from it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holmes.agent.engine import Engine, RunOptions
from holmes.agent.opening import Found
from holmes.app.recording import Recorder, recorded
from holmes.app.replay import Parted, read_recording, replay_parts
from holmes.core.errors import UsageError
from holmes.core.messages import ToolCall
from holmes.core.report import Report
from holmes.core.results import StructuredToolResult
from holmes.llm.base import LLM
from holmes.llm.scripted import ScriptedLLM
from holmes.report.markdown import to_markdown
from support.engines import parts, say

pytestmark = pytest.mark.anyio

QUESTION = "why does pod-a restart?"


async def opening(question: str, namespace: str) -> list[Found]:
    result = StructuredToolResult.success("pod-a: last state OOMKilled", data={"state": ["OOMKilled"]})
    return [Found("inspect", {"name": "pod-a"}, result)]


async def record(path: Path, llm: LLM) -> tuple[Report, list[dict[str, Any]]]:
    options = RunOptions(approve="never", files=[("notes.txt", b"password=hunter2hunter2")])
    writer = say("write", effect="write")
    made = recorded(
        replace(parts(llm, [say("pods"), writer], "Use pods."), opening=opening), Recorder(path), QUESTION, options
    )
    return await run(made, QUESTION, options)


async def run(made: Any, question: str, options: RunOptions) -> tuple[Report, list[dict[str, Any]]]:
    async with Engine(made) as engine:
        turn = await engine.start(question, options)
        report = await turn.wait()
        events = [{"kind": event.kind, **event.as_data()} async for event in turn.events() if not event.lossy]
    return report, events


def script() -> ScriptedLLM:
    return ScriptedLLM([[ToolCall("", "pods", {"x": "1"}), ToolCall("", "write", {})], "It says `OOMKilled` [E1]."])


async def test_report_and_events_are_the_same(tmp_path: Path) -> None:
    first = await record(tmp_path / "run.jsonl", script())
    replay = replay_parts(tmp_path / "run.jsonl", {})
    options = RunOptions(files=replay.files, approve=replay.approve, max_steps=replay.max_steps)
    second = await run(replay.parts, replay.question, options)
    assert json.dumps(first[0].as_data()) == json.dumps(second[0].as_data())
    assert json.dumps(first[1]) == json.dumps(second[1])
    assert to_markdown(first[0]) == to_markdown(second[0])
    assert [refusal.tool for refusal in second[0].refused] == ["write"]


async def test_no_secret_is_in_the_file(tmp_path: Path) -> None:
    await record(tmp_path / "run.jsonl", script())
    assert "hunter2" not in (tmp_path / "run.jsonl").read_text()
    assert (tmp_path / "run.jsonl").stat().st_mode & 0o077 == 0


async def test_a_changed_program_is_told_where_it_parts(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await record(path, script())
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["additions"] = "Be brief."
    path.write_text("\n".join(json.dumps(line) for line in lines))
    replay = replay_parts(path, {})
    with pytest.raises(Parted, match="at model call 1"):
        await run(replay.parts, replay.question, RunOptions(files=replay.files))


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "first line"), ("hello", "not a recording"), ('{"kind": "header", "schema": "holmes.recording/v1"}', "ends")],
)
def test_a_file_that_is_no_recording(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(content)
    with pytest.raises(UsageError, match=message):
        read_recording(path)
    with pytest.raises(UsageError, match="cannot be read"):
        read_recording(tmp_path / "absent.jsonl")
