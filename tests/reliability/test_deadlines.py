"""Seconds, steps, tokens and money: what is used up still ends in an answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holmes.cli import session
from holmes.core.errors import UsageError
from support.command import command_in

ANSWER = "It was `OOMKilled` [E1]."


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (["--max-steps", "2"], "2 steps"),
        (["--max-tokens", "100"], "100 tokens"),
        (["--max-cost", "0.0001"], "$0.0001"),
    ],
)
def test_a_limit_ends_in_an_answer_that_says_so(ask: Any, limit: list[str], words: str) -> None:
    asked = ask([[("pods", {})], ANSWER], *limit, "--model", "openai/gpt-4o")
    assert (asked.code, len(asked.bodies)) == (3, 2), asked.err
    assert asked.bodies[1]["tool_choice"] == "none" and asked.bodies[1]["tools"]
    assert asked.out.startswith(ANSWER) and words in asked.out


def test_a_cost_that_nobody_can_count_is_no_limit(ask: Any, tmp_path: Path) -> None:
    asked = ask([ANSWER], "--max-cost", "1")
    assert (asked.code, asked.bodies) == (2, [])
    assert "price of openai/scripted is not known" in asked.err and "input_cost_per_token" in asked.err
    (tmp_path / ".holmes").mkdir(exist_ok=True)
    (tmp_path / ".holmes" / "model_list.yaml").write_text(
        "own: {model: openai/own, input_cost_per_token: 0, output_cost_per_token: 0}"
    )
    assert ask([ANSWER], "--max-cost", "1", "--model", "own").code == 0


def test_the_model_concludes_when_the_seconds_are_over(ask: Any) -> None:
    asked = ask([[("pods", {}), ("hang", {})], ANSWER], "--max-seconds", "1")
    assert asked.code == 3, asked.err
    assert asked.out.startswith(ANSWER)


def test_the_seconds_bound_a_silent_model(ask: Any) -> None:
    asked = ask([[("pods", {})], {"stall": "headers"}], "--max-seconds", "2")
    assert asked.code == 3, asked.err
    assert asked.seconds < 10
    assert "OOMKilled exit 137" in asked.out


@pytest.mark.parametrize(
    ("terminal", "more", "seconds"),
    [(False, [], 900.0), (False, ["--max-seconds", "5000"], 5000.0), (True, [], None), (True, ["-n"], None)],
)
def test_without_a_terminal_a_question_ends_after_a_quarter_of_an_hour(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    terminal: bool,
    more: list[str],
    seconds: float | None,
) -> None:
    seen: list[Any] = []

    def wire(config: Any, *_: Any, **__: Any) -> Any:
        seen.append(config.max_seconds)
        raise UsageError("not begun")

    monkeypatch.setattr(session, "wire", wire)
    monkeypatch.setattr(session, "is_interactive", lambda: terminal)
    monkeypatch.setattr("sys.stdin", None)
    command_in(tmp_path, monkeypatch, capsys)("ask", "why?", "--model", "offline", *more)
    assert seen == [seconds]
