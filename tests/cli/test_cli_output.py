"""The answer on standard output, in each format, and the exit code that goes with it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from holmes.cli.options import Output
from holmes.cli.output import check_writable, print_event, print_report, print_rows, write_json_file
from holmes.cli.session import exit_code
from holmes.core.errors import HolmesError, UsageError
from holmes.core.events import AnswerDelta, Record, ToolCallingResult
from holmes.core.messages import Message, Usage
from holmes.core.report import EvidenceItem, RefusedCall, Report, ReportStatus, report_schema

ANSWER = """## Root cause
The pod `web` on node <none> is out of memory [E1]: see [the runbook](https://wiki.example/oom).

| pod | restarts |
|---|---|
| web | 5 |
"""
REPORT = Report(
    question="why is web down?",
    status="answered",
    answer=ANSWER,
    run_id="r1",
    model="openai/test",
    started=datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
    finished=datetime(2026, 1, 2, 3, 5, tzinfo=UTC),
    evidence=(EvidenceItem("E1", "kubectl_get", "kubectl get pods", "success", cited=True),),
    gaps=("secrets: forbidden",),
    usage=Usage(100, 20, cost=0.01),
    steps=2,
)
COLOUR = {"CLICOLOR_FORCE": "1", "TERM": "xterm"}


def printed(output: Output, capsys: pytest.CaptureFixture[str], report: Report = REPORT, **env: str) -> str:
    print_report(report, output, env)
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.endswith("\n")
    assert not said.out.endswith("\n\n")
    return said.out


@pytest.mark.parametrize("output", [Output.TEXT, Output.MARKDOWN])
def test_text_and_markdown(output: Output, capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(output, capsys)
    assert out.startswith(ANSWER.strip())
    assert "secrets: forbidden" in out


def test_text_in_colours(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(Output.TEXT, capsys, **COLOUR)
    assert "\x1b[" in out
    assert "##" not in out
    assert "<none>" in out  # looks like a tag and is none
    assert "https://wiki.example/oom" in out  # where a link leads is seen
    assert "\x1b]8" not in out
    assert "restarts" in out


@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1", **COLOUR}])
def test_no_colours_where_they_are_not_wanted(env: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert "\x1b" not in printed(Output.TEXT, capsys, **env)


@pytest.mark.parametrize("env", [{}, COLOUR])
def test_the_answer_does_not_drive_the_terminal(env: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    hostile = replace(REPORT, answer="fine\x1b[2J\x1b]0;owned\x07\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\\x9b5n")
    out = printed(Output.TEXT, capsys, hostile, **env)
    assert not [sign for sign in ("\x1b[2J", "\x1b]", "\x07", "\x9b", "owned", "evil") if sign in out]
    assert "fine" in out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(printed(Output.JSON, capsys))
    jsonschema_rs.validate(report_schema(), data)
    assert data == REPORT.as_data()


def test_html(capsys: pytest.CaptureFixture[str]) -> None:
    page = printed(Output.HTML, capsys, replace(REPORT, question="<script>alert(1)</script>"))
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert "kubectl get pods" in page


def test_events_are_lines_of_json_and_records_stay_inside(capsys: pytest.CaptureFixture[str]) -> None:
    for seq, event in enumerate([AnswerDelta("two\nlines 检"), Record("message", {})]):
        print_event(event.kind, seq, event.as_data())
    assert capsys.readouterr().out == '{"event": "answer_delta", "seq": 0, "data": {"content": "two\\nlines 检"}}\n'


def test_rows(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"name": "a"}, {"name": "b"}]
    print_rows(rows, Output.JSONL)
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == rows
    print_rows(rows, Output.JSON)
    assert json.loads(capsys.readouterr().out) == rows


def test_the_json_file_has_the_keys_that_the_field_knows(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    call = ToolCallingResult("1", "kubectl_get", "kubectl_get pods", {"status": "success", "data": "web"}, "core")
    write_json_file(file, replace(REPORT, answer="检查 \ud83d"), [Message("user", "why?")], [call])
    data = json.loads(file.read_bytes())
    assert data["result"] == "检查 \ud83d"
    assert data["messages"] == [{"role": "user", "content": "why?"}]
    assert data["tool_calls"][0]["tool_name"] == "kubectl_get"
    assert (data["num_llm_calls"], data["total_cost"], data["finish_reason"]) == (2, 0.01, "stop")


def test_a_file_that_cannot_be_written_is_said_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written: No such file"):
        check_writable(tmp_path / "no-folder" / "result.json")
    with pytest.raises(UsageError, match="cannot be written: Is a directory"):
        check_writable(tmp_path)
    with pytest.raises(HolmesError, match="cannot be written: Is a directory"):
        write_json_file(tmp_path, REPORT, [], [])


ASK, DENY = RefusedCall("tee x", "a person", "ask"), RefusedCall("rm x", "never", "deny")


@pytest.mark.parametrize(
    ("status", "refused", "never", "code"),
    [
        ("answered", (), False, 0),
        ("answered", (), True, 0),
        ("answered", (DENY,), False, 0),
        ("answered", (ASK,), False, 4),
        ("answered", (DENY, ASK), False, 4),
        ("answered", (ASK,), True, 0),
        ("cut_short", (), False, 3),
        ("cut_short", (ASK,), False, 3),
        ("no_answer", (), False, 3),
        ("failed", (), False, 1),
        ("failed", (ASK,), True, 1),
    ],
)
def test_exit_codes(status: ReportStatus, refused: Any, never: bool, code: int) -> None:
    assert exit_code(replace(REPORT, status=status, refused=refused), never) == code
