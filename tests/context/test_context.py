"""The request fits the model's window: old results shrink first."""

from __future__ import annotations

import pytest

from holmes.agent.context import KEPT, Context
from holmes.agent.history import flatten
from holmes.core.errors import ContextTooLong
from holmes.core.messages import ImagePart, Message, ToolCall
from holmes.core.results import StructuredToolResult
from holmes.llm.base import ToolSchema
from holmes.llm.scripted import ScriptedLLM
from holmes.llm.tokens import estimate_message

SYSTEM, QUESTION = Message("system", "You look."), Message("user", "Why?")
TOOLS = [ToolSchema("pods", "lists pods", {"type": "object", "properties": {}})]


def result(number: int, size: int = 4_000) -> list[Message]:
    """A call and its result of about ``size`` characters."""
    reference = f"E{number}"
    text = f"[{reference} pods success #abc]\n" + "some words of a log " * (size // 20) + "\n[end #abc]"
    call = ToolCall(f"c{number}", "pods")
    answer = Message("tool", text, result=StructuredToolResult.success(reference=reference), tool_call_id=call.id)
    return [Message("assistant", tool_calls=(call,)), answer]


def conversation(count: int, size: int = 4_000) -> list[Message]:
    return [SYSTEM, QUESTION, *(message for number in range(1, count + 1) for message in result(number, size))]


def context(window: int) -> Context:
    return Context(ScriptedLLM([], window=window, max_output=500))


def shrunk(before: list[Message], after: list[Message]) -> list[str]:
    """The references of results that shrank; everything else must be as it was."""
    assert len(before) == len(after)
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old is not new]
    assert all(old.role == "tool" and len(new.content) < len(old.content) for old, new in changed)
    return [old.result.reference for old, _ in changed if old.result]


def test_nothing_changes_under_the_limit() -> None:
    messages = conversation(3)
    assert context(100_000).fit(messages, TOOLS) == messages
    assert shrunk(messages, context(100_000).fit(messages, TOOLS)) == []


def test_the_oldest_results_shrink_first_and_a_fifth_of_the_room_is_won() -> None:
    messages = conversation(5)
    fits = context(5_000)
    after = fits.fit(messages, TOOLS)
    assert shrunk(messages, after) == ["E1", "E2"]
    assert sum(map(estimate_message, after)) < 4_500 * 0.8


def test_a_shrunk_result_names_its_handle_and_keeps_its_marks() -> None:
    messages = conversation(5)
    text = context(5_000).fit(messages, TOOLS)[3].content
    first, _, note, last = text.splitlines()
    assert (first, last) == ("[E1 pods success #abc]", "[end #abc]")
    assert 'read_result("E1")' in note
    assert len(text) < 700


def test_what_shrank_stays_so_and_later_steps_change_nothing_before_the_room_is_used_up() -> None:
    fits = context(5_000)
    messages = conversation(5)
    first = fits.fit(messages, TOOLS)
    messages += result(6, 400)
    second = fits.fit(messages, TOOLS)
    assert all(old is new for old, new in zip(first, second, strict=False))
    messages += result(7)
    assert shrunk(messages, fits.fit(messages, TOOLS))[:2] == ["E1", "E2"]


def test_the_newest_results_never_shrink() -> None:
    messages = conversation(6)
    after = context(3_300).fit(messages, TOOLS)
    assert shrunk(messages, after) == ["E1", "E2", "E3", "E4"]
    assert KEPT == 2


def test_a_request_that_cannot_fit_is_refused_with_the_size_of_each_part() -> None:
    messages = [Message("system", "rule " * 2_000), *conversation(2)[1:]]
    fits = context(3_000)
    with pytest.raises(ContextTooLong) as caught:
        fits.fit(messages, TOOLS)
    assert caught.value.limit == 2_500
    for part in ("the model takes 2,500", "tools ", "system prompt 2,5", "conversation "):
        assert part in caught.value.message
    assert "larger window" in caught.value.remedy
    assert not fits.learn(caught.value), "our own refusal teaches nothing"
    assert fits.window == 0


def test_short_results_and_those_without_a_reference_stay() -> None:
    messages = [SYSTEM, QUESTION, Message("tool", "x " * 4_000), *result(1, 500), *result(2), *result(3)]
    with pytest.raises(ContextTooLong):
        context(2_600).fit(messages, TOOLS)


def test_a_window_is_learned_from_the_provider() -> None:
    fits = context(100_000)
    messages = conversation(12)
    assert shrunk(messages, fits.fit(messages, TOOLS)) == []
    assert fits.learn(ContextTooLong("too long", limit=8_192))
    assert fits.window == 8_192
    assert shrunk(messages, fits.fit(messages, TOOLS))


@pytest.mark.parametrize("limit", [None, 100_000, 50_000])
def test_a_refusal_of_what_should_fit_makes_the_next_request_a_quarter_smaller(limit: int | None) -> None:
    fits = context(100_000)
    messages = conversation(20)
    before = sum(map(estimate_message, fits.fit(messages, TOOLS)))
    assert fits.learn(ContextTooLong("too long", limit=limit))
    after = sum(map(estimate_message, fits.fit(messages, TOOLS)))
    assert after < before * 3 // 4


def test_a_window_too_small_for_anything_is_not_learned() -> None:
    fits = context(100_000)
    fits.fit(conversation(12), TOOLS)
    assert not fits.learn(ContextTooLong("too long", limit=1_000))
    assert fits.window == 0


def test_flattening_keeps_the_words_and_pictures() -> None:
    picture = ImagePart("data:image/png;base64,AAAA")
    messages = [SYSTEM, Message("user", "Why?", (picture,)), Message("user", "And this?"), *result(1, 40)]
    flat = flatten(messages)
    assert [message.role for message in flat] == ["system", "user", "assistant", "user"]
    assert (flat[1].content, flat[1].images) == ("Why?\n\nAnd this?", (picture,))
    assert "pods" in flat[2].content
    assert not flat[2].tool_calls
    assert flat[3].content.startswith("[E1 ")
