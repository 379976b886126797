"""Reports of turns that ended well, early, or not at all."""

from __future__ import annotations

from collections.abc import Callable

import jsonschema_rs
import pytest

from holmes.agent.approval import Refusal
from holmes.core.report import QuoteCheck, Report, report_schema
from holmes.report.markdown import to_markdown

Build = Callable[..., Report]
ANSWER = """## Root cause
The container ran out of memory: `Reason: OOMKilled` with exit code 137 [E1]. Confidence: high
## Evidence
- `limit 64Mi` [E1]
## Ruled out
- The image: it started before [E1]
## Next steps
Raise the limit: `kubectl set resources deploy/checkout --limits=memory=256Mi` [E1]
"""


def test_an_answer(report: Build) -> None:
    made = report(ANSWER)
    assert (made.status, made.answer, made.cut_short_by) == ("answered", ANSWER.strip(), "")
    assert made.root_cause.startswith("The container ran out of memory")
    assert made.confidence == "high"
    assert made.ruled_out == ("The image: it started before [E1]",)
    assert made.remediation == ("kubectl set resources deploy/checkout --limits=memory=256Mi",)
    first, second = made.evidence
    assert (first.reference, first.cited, first.status) == ("E1", True, "success")
    assert first.quote_checks == (QuoteCheck("Reason: OOMKilled", "E1"), QuoteCheck("limit 64Mi", "E1"))
    assert (second.cited, second.status, second.error) == (False, "error", "no metrics")
    assert [(number.text, number.mark) for number in made.number_checks] == [("137", "verified")]
    assert (made.model, made.run_id, made.cluster, made.steps, made.cost) == ("some-model", "run-1", "prod", 3, 0.25)
    assert made.notes == ()


def test_gaps_are_listed_by_program(report: Build) -> None:
    assert report(ANSWER).gaps == ("E2 kubectl top pods: no metrics", "events: forbidden")


def test_a_cut_answer_says_so(report: Build) -> None:
    made = report("It ran out [E1].", "cut_short", "the limit of 3 steps")
    assert (made.status, made.cut_short_by, made.answer) == ("cut_short", "the limit of 3 steps", "It ran out [E1].")
    assert "the limit of 3 steps" in made.notes[-1]


def test_a_cut_turn_without_words_shows_what_was_found(report: Build) -> None:
    made = report("", "cut_short", "the model is gone")
    assert "the model is gone" in made.answer
    assert "[E1] `kubectl describe pod checkout-1`: `Reason: OOMKilled, exit code 137, limit 64Mi`" in made.answer
    assert "[E2] `kubectl top pods`: `no metrics`" in made.answer
    assert made.notes == ()


@pytest.mark.parametrize("question", ["Why?", "为什么 checkout 失败？"])
def test_no_answer(report: Build, question: str) -> None:
    made = report("  ", "no_answer", question=question)
    lead = {"Why?": "The model gave no answer.", "为什么 checkout 失败？": "模型没有给出回答。"}[question]
    assert made.status == "no_answer"
    assert made.answer.startswith(lead)
    assert "E1" in made.answer
    assert report("", "no_answer", question=question, results=()).answer == lead


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("It says `disk is full` [E1].", "not found in the results: `disk is full`"),
        ("It crashed [E9].", "there is no result E9"),
        ("Metrics say so [E2].", "E2 is a call that failed"),
        ("All is well.", "This answer cites no result: nothing in it was checked."),
    ],
)
def test_what_the_check_found_is_noted(report: Build, text: str, note: str) -> None:
    assert note in report(text).notes


def test_an_answer_from_no_results_need_not_cite(report: Build) -> None:
    assert report("A pod is a group of containers.", results=()).notes == ()


def test_notes_are_in_the_language_of_the_question(report: Build) -> None:
    made = report("日志显示 `disk is full`【E1】【E9】【E2】。", "cut_short", "3 steps", "为什么 checkout 失败？")
    assert made.notes == (
        "在结果中未找到：`disk is full`",
        "不存在结果 E9",
        "E2 是一次失败的调用",
        "本回答提前结束：3 steps。结论仅基于此前收集到的证据。",
    )
    assert "## 未能查看的内容" in to_markdown(made)
    assert "## Not seen" in to_markdown(report(ANSWER, question="なぜ checkout が落ちる？"))


def test_refused_calls_can_be_copied(report: Build) -> None:
    refusals = (
        Refusal("bash", "kubectl delete pod a", "changes the cluster", "ask"),
        Refusal("bash", "cat <<EOF\n```\nEOF", "writes", "ask"),
        Refusal("delete_everything", "", "never", "deny"),
    )
    made = report(ANSWER, refusals=refusals)
    assert [(each.tool, each.verdict) for each in made.refused] == [
        ("bash", "ask"),
        ("bash", "ask"),
        ("delete_everything", "deny"),
    ]
    text = to_markdown(made)
    assert "- `kubectl delete pod a`: changes the cluster" in text
    assert "- writes:\n  ~~~\n  cat <<EOF\n  ```\n  EOF\n  ~~~" in text
    assert "- `delete_everything`: never" in text


@pytest.mark.parametrize(
    ("text", "status"), [(ANSWER, "answered"), ("So far [E9] `x y z` [E1].", "cut_short"), ("", "no_answer")]
)
def test_the_data_is_what_the_schema_says(report: Build, text: str, status: str) -> None:
    made = report(text, status, refusals=(Refusal("bash", "rm x", "writes", "ask"),))
    validator = jsonschema_rs.Draft202012Validator(report_schema(), validate_formats=True)
    assert [error.message for error in validator.iter_errors(made.as_data())] == []
    assert Report.from_data(made.as_data()) == made
