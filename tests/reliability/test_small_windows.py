"""Models with little room, and those that tell it only when they refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest

ANSWER = "It was `OOMKilled` [E1]."


class Limited:
    """A model that counts tokens and refuses what does not fit, as vLLM says it."""

    def __init__(self, window: int, steps: Any) -> None:
        self.window = window
        self.refusals = 0
        self._steps = iter(steps)

    def __call__(self, body: dict[str, Any]) -> Any:
        prompt = len(json.dumps([body["messages"], body.get("tools")], ensure_ascii=False)) // 4
        wanted = body.get("max_tokens") or body["max_completion_tokens"]
        if prompt + wanted > self.window:
            self.refusals += 1
            said = (
                f"This model's maximum context length is {self.window} tokens. However, you requested "
                f"{prompt + wanted} tokens ({prompt} in the messages, {wanted} in the completion). "
                "Please reduce the length of the messages or completion."
            )
            return {"status": 400, "message": said, "code": "context_length_exceeded"}
        return "Notes." if "tools" not in body else next(self._steps)


def reading(times: int) -> list[Any]:
    return [*([("log", {"number": number})] for number in range(times)), ANSWER]


def test_8k_hold_the_default_question_and_long_results(ask: Any) -> None:
    model = Limited(8192, reading(5))
    asked = ask(model, settings="max_context_size: 8192")
    assert asked.code == 0, asked.err
    assert model.refusals == 0
    assert len(asked.results()) >= 1 and asked.out.startswith(ANSWER)


@pytest.mark.parametrize("window", [8192, 16384])
def test_a_refusal_teaches_the_window(ask: Any, window: int) -> None:
    """The window of a server of one's own is not known; here it is smaller than the guess."""
    model = Limited(window, reading(9))
    asked = ask(model)
    assert asked.code == 0, asked.err
    assert 1 <= model.refusals <= 2, "asked once too large, then shrunk"
    assert asked.out.startswith(ANSWER)


@pytest.mark.parametrize(
    ("dialect", "found", "words"),
    [
        ("openai", [], "This model's maximum context length is 32768 tokens. However, you requested 42832 tokens"),
        ("openai", [[("pods", {})]], "the request exceeds the available context size, try increasing it"),
        ("anthropic", [[("pods", {})]], "prompt is too long: 210000 tokens > 200000 maximum"),
    ],
)
def test_a_provider_that_always_says_too_long_is_not_asked_for_ever(
    ask: Any, dialect: str, found: list[Any], words: str
) -> None:
    asked = ask([*found, *([{"status": 400, "message": words}] * 9)], dialect=dialect)
    assert asked.code == (3 if found else 1), asked.err
    assert len(asked.bodies) <= 3 + len(found)
    assert words[:40] in asked.err + asked.out
    assert not found or "OOMKilled exit 137" in asked.out


def test_what_cannot_fit_is_refused_with_the_size_of_each_part(ask: Any) -> None:
    long = "Know this too: " + "the shop has many pods. " * 1500
    asked = ask([], settings=f"max_context_size: 8192\nsystem_prompt_additions: '{long}'")
    assert (asked.code, asked.bodies) == (1, [])
    for part in ("tools", "system prompt", "conversation", "→"):
        assert part in asked.err, asked.err
