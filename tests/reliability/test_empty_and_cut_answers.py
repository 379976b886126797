"""Answers that are none, and answers that end too early: asked for once more, never passed off as the real thing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ANSWER = "It was `OOMKilled`."
PODS = {"calls": [("pods", {})]}
WRITTEN = 'I will look.\n```json\n{"name": "mark", "arguments": {"what": "written"}}\n```'
NOTHING: dict[str, Any] = {
    "null": {"content": None},
    "empty": {"content": ""},
    "blank": {"content": " \n\t "},
    "only thoughts": {"content": "", "reasoning": "Hm, let me think about pods."},
    "cut thoughts": {"content": "", "reasoning": "Hm, let me", "finish_reason": "length"},
}


@pytest.mark.parametrize("name", ["null", "cut thoughts"])
def test_an_empty_answer_is_asked_for_once_more(ask: Any, name: str) -> None:
    asked = ask([PODS, NOTHING[name], ANSWER])
    assert (asked.code, len(asked.bodies)) == (0, 3), asked.err
    assert asked.out.startswith(ANSWER)


@pytest.mark.parametrize(
    ("dialect", "first", "second"),
    [("openai", "null", "empty"), ("openai", "blank", "only thoughts"), ("anthropic", "only thoughts", "empty")],
)
def test_no_answer_is_said_and_what_was_found_is_shown(ask: Any, dialect: str, first: str, second: str) -> None:
    asked = ask([PODS, NOTHING[first], NOTHING[second]], dialect=dialect)
    assert (asked.code, len(asked.bodies)) == (3, 3), asked.err
    assert "no answer" in asked.out and "OOMKilled exit 137" in asked.out


def test_no_answer_and_nothing_found(ask: Any) -> None:
    asked = ask(["", ""])
    assert (asked.code, len(asked.bodies)) == (3, 2), asked.err
    assert "no answer" in asked.out


def test_a_call_in_the_text_is_neither_run_nor_the_answer(ask: Any) -> None:
    asked = ask([WRITTEN, ANSWER])
    assert (asked.code, asked.marks) == (0, []), asked.err
    assert asked.out.startswith(ANSWER)
    insists = ask([WRITTEN] * 5)
    assert (insists.code, insists.marks) == (3, []), insists.err
    assert len(insists.bodies) <= 3
    assert '"arguments"' not in insists.out and "text_calls" in insists.out


def test_a_call_in_the_text_is_run_when_the_model_list_says_so(ask: Any, tmp_path: Path) -> None:
    (tmp_path / ".holmes").mkdir()
    settings = {"model": "openai/scripted", "text_calls": True}
    (tmp_path / ".holmes" / "model_list.yaml").write_text(json.dumps({"local": settings}))
    asked = ask([WRITTEN, ANSWER], "--model", "local")
    assert (asked.code, asked.marks) == (0, ["got written"]), asked.err


@pytest.mark.parametrize(("dialect", "reason"), [("openai", "length"), ("anthropic", "max_tokens")])
def test_an_answer_that_was_cut_is_shown_and_marked(ask: Any, dialect: str, reason: str) -> None:
    cut = {"content": "It was `OOMKilled` because", "finish_reason": reason, "usage": {"completion_tokens": 4096}}
    asked = ask([PODS, cut], dialect=dialect)
    assert asked.code == 3, asked.err
    assert asked.out.startswith("It was `OOMKilled` because")
    assert "cut short" in asked.out and "output limit" in asked.out
    limits = [body.get("max_tokens") or body.get("max_completion_tokens") for body in asked.bodies]
    assert all(isinstance(limit, int) for limit in limits), "no output limit was sent"


@pytest.mark.parametrize(("dialect", "reason"), [("openai", "length"), ("anthropic", "max_tokens")])
def test_a_call_that_was_cut_is_not_run(ask: Any, dialect: str, reason: str) -> None:
    torn = {"calls": [("mark", '{"what": "a'), ("mark", '{"what": "whole by chance"}')], "finish_reason": reason}
    asked = ask([torn, [("mark", {"what": "short"})], ANSWER], dialect=dialect)
    assert (asked.code, asked.marks) == (0, ["got short"]), asked.err
    assert all("Not run" in text for text in asked.results(1))
    assert "cut off" in asked.results(1)[1]
