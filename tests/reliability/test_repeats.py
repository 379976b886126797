"""Models that go round in circles: told so, then made to conclude from what there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

ANSWER = "It was `OOMKilled` [E1]."
FORBIDDEN = ("none", {"type": "none"})


def circling(*steps: Any) -> Any:
    """A model that makes these calls for ever, until calls are forbidden."""
    made: list[int] = []

    def model(body: dict[str, Any]) -> Any:
        if body.get("tool_choice") in FORBIDDEN:
            return ANSWER
        made.append(1)
        return [steps[(len(made) - 1) % len(steps)]]

    return model


A, B = ("mark", {"what": "a"}), ("mark", {"what": "b"})


@pytest.mark.parametrize(
    ("dialect", "steps"),
    [("openai", (A,)), ("anthropic", (A, B)), ("openai", (("pods", {}), A, B))],
    ids=["A-A-A", "A-B-A-B", "A-B-C"],
)
def test_a_circle_is_broken_and_the_answer_made(ask: Any, dialect: str, steps: Sequence[Any]) -> None:
    asked = ask(circling(*steps), dialect=dialect)
    assert asked.code == 3, asked.err
    assert asked.out.startswith(ANSWER) and "repeating" in asked.out
    assert len(asked.bodies) == len(steps) + 4, "three repeats, then the conclusion"
    assert len(asked.marks) == len(set(asked.marks)), "a repeat was run"
    assert all("Not run again: the same call gave E" in text for text in asked.results()[len(steps) :])
    assert asked.bodies[-1]["tools"] == asked.bodies[0]["tools"], "tools stay declared"


def test_a_call_that_always_fails_is_not_made_for_ever(ask: Any) -> None:
    asked = ask(circling(("killed", {})))
    assert asked.code == 3, asked.err
    assert len(asked.bodies) <= 8
    assert "E1" in asked.out


def test_a_model_that_calls_although_it_must_not_loses_its_tools(ask: Any) -> None:
    def model(body: dict[str, Any]) -> Any:
        return [A] if "tools" in body else ANSWER

    asked = ask(model, "--max-steps", "3")
    assert asked.code == 3, asked.err
    assert asked.out.startswith(ANSWER)
    assert asked.marks == ["got a"]
    assert "tools" not in asked.bodies[-1]


def test_a_repeat_is_known_after_the_conversation_was_shortened(ask: Any) -> None:
    """The first call is made again when its result is long out of the window."""
    numbers = iter(range(100))

    def model(body: dict[str, Any]) -> Any:
        if "tools" not in body:
            return "Notes: many logs were read."
        last = str(body["messages"][-1]["content"])
        if "Not run again" in last:
            return ANSWER
        number = next(numbers)
        return [A] if number in (0, 25) else [("log", {"number": number})]

    asked = ask(model, settings="max_context_size: 5000")
    assert asked.code == 0, asked.err
    assert "the conversation was shortened" in asked.err
    assert asked.marks == ["got a"]
    assert "Not run again: the same call gave E1 above" in asked.results()[-1]
