"""The duplicate guard and the limits by themselves."""

from __future__ import annotations

import time

import pytest

from holmes.agent import safeguards
from holmes.agent.safeguards import DuplicateGuard, Limits
from holmes.core.messages import Usage
from support.engines import say


def test_the_same_call_is_claimed_once_whatever_the_order_of_its_arguments() -> None:
    guard = DuplicateGuard()
    assert guard.claim("pods", {"a": 1, "b": 2}, say("pods"), "E1") == ""
    assert guard.claim("pods", {"b": 2, "a": 1}, say("pods"), "E2") == "E1"
    assert guard.claim("pods", {"a": 1}, say("pods"), "E3") == ""


def test_a_failed_call_may_be_made_again() -> None:
    guard = DuplicateGuard()
    guard.claim("pods", {}, say("pods"), "E1")
    guard.release("pods", {})
    assert guard.claim("pods", {}, say("pods"), "E2") == ""


def test_a_call_that_fails_each_time_is_run_three_times() -> None:
    guard = DuplicateGuard()
    for number in range(1, 4):
        assert guard.claim("pods", {}, say("pods"), f"E{number}") == ""
        guard.release("pods", {})
    assert guard.claim("pods", {}, say("pods"), "E4") == "E3"


def test_a_call_that_works_in_the_end_is_not_run_again() -> None:
    guard = DuplicateGuard()
    guard.claim("pods", {}, say("pods"), "E1")
    guard.release("pods", {})
    assert [guard.claim("pods", {}, say("pods"), name) for name in ("E2", "E3")] == ["", "E2"]


def test_the_same_wrong_call_again_is_a_repeat() -> None:
    guard = DuplicateGuard()
    for problem in ("a", "b", "a", "a", "b"):
        assert not guard.stubborn
        guard.begin()
        guard.fault(problem)
    assert guard.stubborn


@pytest.mark.parametrize("name", ["TodoWrite", "read_result"])
def test_the_task_list_and_reading_on_are_exempt_for_a_while(name: str) -> None:
    guard = DuplicateGuard()
    answers = [guard.claim(name, {}, say(name), f"E{number}") for number in range(1, 8)]
    assert answers == ["", "", "", "", "", "", "E6"]


def test_live_sources_may_be_asked_again_after_a_minute_twice_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(safeguards.time, "monotonic", lambda: now[0])
    guard, logs = DuplicateGuard(), say("logs", live=True)
    answers = []
    for number, moment in enumerate((100.0, 130.0, 170.0, 240.0, 310.0), 1):
        now[0] = moment
        answers.append(guard.claim("logs", {}, logs, f"E{number}"))
    assert answers == ["", "E1", "", "", "E4"]


def test_repeats_of_one_step_count_once() -> None:
    guard = DuplicateGuard()
    guard.claim("pods", {}, say("pods"), "E1")
    for step in range(3):
        assert not guard.stubborn
        guard.begin()
        for _ in range(4):
            guard.claim("pods", {}, say("pods"), f"E{step}")
    assert guard.stubborn


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(max_steps=3), "3 steps"),
        (Limits(max_seconds=0.0), "0 seconds"),
        (Limits(max_tokens=100), "100 tokens"),
        (Limits(max_cost=0.5), r"$0.5"),
    ],
)
def test_limits(limits: Limits, words: str) -> None:
    assert words in limits.reached(3, time.monotonic(), Usage(90, 10, cost=0.5))
    assert not Limits(max_tokens=101, max_cost=0.6, max_seconds=60).reached(
        3, time.monotonic(), Usage(90, 10, cost=0.5)
    )
