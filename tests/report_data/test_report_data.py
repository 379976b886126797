"""The report as data: its published schema, its round trip, and HolmesGPT's form of it."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import UTC, datetime, timedelta, timezone

import jsonschema_rs
import pytest

from holmes.core.events import ToolCallingResult
from holmes.core.messages import ImagePart, Message, ToolCall, Usage
from holmes.core.report import (
    EvidenceItem,
    NumberCheck,
    QuoteCheck,
    RefusedCall,
    Report,
    holmes_gpt_result,
    report_schema,
)

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SMALL = Report("why?", "no_answer", "", "r1", "offline", START, START)
FULL = Report(
    question="为什么 checkout 失败?",
    status="answered",
    answer="Out of memory [E1], exit code `137`.",
    run_id="r1",
    model="openai/m",
    started=START,
    finished=START + timedelta(seconds=12.5),
    cut_short_by="the limit of 3 steps",
    root_cause="memory limit",
    confidence="high",
    evidence=(
        EvidenceItem(
            "E1", "kubectl_describe", "kubectl describe pod a", "success", True, (QuoteCheck("137", "E1"),), size=9
        ),
        EvidenceItem("E2", "bash", "kubectl top", "error", error="no metrics"),
    ),
    missing_references=("E9",),
    number_checks=(NumberCheck("137", "verified"),),
    ruled_out=("network",),
    gaps=("logs of b: forbidden",),
    remediation=("kubectl set resources deployment a --limits=memory=1Gi",),
    notes=("one call was repeated",),
    refused=(RefusedCall("kubectl delete pod a", "changes the cluster", "ask", "bash"),),
    usage=Usage(100, 20, 50, 0, 5, 0.25),
    steps=3,
    cluster="prod",
    metadata={"max_tokens": 1000},
)


@pytest.fixture(scope="module")
def validator() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(report_schema(), validate_formats=True)


@pytest.mark.parametrize("report", [SMALL, FULL])
def test_the_data_is_what_the_schema_says(report: Report, validator: jsonschema_rs.Draft202012Validator) -> None:
    data = report.as_data()
    assert [error.message for error in validator.iter_errors(data)] == []
    assert json.loads(json.dumps(data)) == data
    assert set(data) == set(report_schema()["properties"])


def test_the_schema_names_every_key_at_every_depth() -> None:
    def same(schema: dict[str, object], value: object) -> None:
        if isinstance(value, dict) and "properties" in schema:
            assert set(schema["properties"]) == set(value)
            for name, part in value.items():
                same(schema["properties"][name], part)
        if isinstance(value, list):
            for item in value:
                same(schema["items"], item)

    same(report_schema(), FULL.as_data())


@pytest.mark.parametrize(
    "wrong",
    [
        {"schema": "holmes.report/v2"},
        {"status": "done"},
        {"confidence": "sure"},
        {"started": "yesterday"},
        {"cost": "free"},
        {"evidence": [{"reference": "E1"}]},
        {"steps": -1},
    ],
)
def test_the_schema_refuses_what_is_wrong(
    wrong: dict[str, object], validator: jsonschema_rs.Draft202012Validator
) -> None:
    assert not validator.is_valid(FULL.as_data() | wrong)


def test_later_keys_are_allowed(validator: jsonschema_rs.Draft202012Validator) -> None:
    later = FULL.as_data() | {"charts": []}
    assert validator.is_valid(later)
    assert Report.from_data(later) == FULL


@pytest.mark.parametrize("report", [SMALL, FULL])
def test_round_trip(report: Report) -> None:
    assert Report.from_data(json.loads(json.dumps(report.as_data()))) == report


def test_a_report_of_an_older_version_can_be_read() -> None:
    added_later = {"metadata", "number_checks", "missing_references", "cut_short_by"}
    older = {name: value for name, value in SMALL.as_data().items() if name not in added_later}
    assert Report.from_data(older) == SMALL


def test_no_field_is_forgotten() -> None:
    names = {field.name for field in fields(Report)}
    assert set(FULL.as_data()) == names | {"schema", "cost"}


def test_times_are_utc_and_cost_stands_beside_the_tokens() -> None:
    there = datetime(2026, 1, 2, 5, 4, 5, tzinfo=timezone(timedelta(hours=2)))
    data = Report("q", "answered", "a", "r", "m", there, there, usage=Usage(1, 2, cost=0.5)).as_data()
    assert data["started"] == "2026-01-02T03:04:05Z"
    assert data["cost"] == 0.5
    assert data["usage"]["total_tokens"] == 3
    assert SMALL.as_data()["cost"] is None


def test_holmes_gpts_result() -> None:
    messages = [
        Message("system", "be good"),
        Message("user", "why?", images=(ImagePart("https://x/y.png"),)),
        Message("assistant", "", tool_calls=(ToolCall("c1", "bash", {"command": "date, 世界"}),)),
        Message("tool", "Monday", tool_call_id="c1", tool_name="bash"),
        Message("assistant", FULL.answer),
    ]
    call = ToolCallingResult("c1", "bash", "bash date", {"status": "success", "data": "Monday", "size": 6}, "bash")
    result = holmes_gpt_result(FULL, messages, [call])
    assert result["result"] == FULL.answer
    assert [message["role"] for message in result["messages"]] == ["system", "user", "assistant", "tool", "assistant"]
    assert result["messages"][1]["content"][1] == {"type": "image_url", "image_url": {"url": "https://x/y.png"}}
    function = result["messages"][2]["tool_calls"][0]["function"]
    assert (function["name"], json.loads(function["arguments"])) == ("bash", {"command": "date, 世界"})
    assert result["messages"][3] == {"role": "tool", "content": "Monday", "tool_call_id": "c1", "name": "bash"}
    assert result["tool_calls"] == [
        {
            "tool_call_id": "c1",
            "tool_name": "bash",
            "description": "bash date",
            "result": {"status": "success", "data": "Monday", "size": 6},
            "toolset_name": "bash",
            "size": 6,
        }
    ]
    assert (result["num_llm_calls"], result["total_cost"], result["total_tokens"]) == (3, 0.25, 120)
    assert (result["metadata"], result["finish_reason"]) == ({"max_tokens": 1000}, "stop")
    json.dumps(result)


@pytest.mark.parametrize("status", ["answered", "cut_short", "no_answer", "failed"])
def test_every_status_has_a_finish_reason(status: str) -> None:
    report = Report("q", status, "", "r", "m", START, START)
    assert holmes_gpt_result(report, [], [])["finish_reason"] in ("stop", "length", "error")
