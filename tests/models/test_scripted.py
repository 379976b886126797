"""The scripted model plays its steps and is as strict as a provider."""

from __future__ import annotations

import pytest

from holmes.core.errors import RateLimited
from holmes.core.messages import Message, ToolCall, Turn
from holmes.llm.base import Request, ToolSchema
from holmes.llm.scripted import ScriptedLLM, ScriptError

pytestmark = pytest.mark.anyio

BASH = ToolSchema("bash", "Run.", {"type": "object"})
USER = Message("user", "q")


async def test_steps_are_played_in_order() -> None:
    pieces: list[str] = []
    llm = ScriptedLLM(
        [
            "text",
            ToolCall("", "bash", {"a": 1}),
            [ToolCall("x", "bash"), ToolCall("x", "bash")],
            Turn(Message("assistant", "as it is")),
            lambda request: f"{len(request.messages)} messages",
            RateLimited("slow"),
        ]
    )
    request = Request([USER], [BASH])
    assert (await llm.complete(request, pieces.append)).message.content == "text" == pieces[0]
    assert (await llm.complete(request)).message.tool_calls[0].arguments == {"a": 1}
    assert len({call.id for call in (await llm.complete(request)).message.tool_calls}) == 2
    assert (await llm.complete(request)).message.content == "as it is"
    assert (await llm.complete(request)).message.content == "1 messages"
    assert llm.remaining == 1
    with pytest.raises(RateLimited):
        await llm.complete(request)
    with pytest.raises(ScriptError, match="request 7, but the script has only 6 steps"):
        await llm.complete(request)


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "bedrock"])
async def test_requests_that_a_provider_would_refuse_are_refused(dialect: str) -> None:
    llm = ScriptedLLM(["never"], dialect=dialect)
    history = [USER, Message("assistant", tool_calls=(ToolCall("a", "bash"),)), Message("tool", "A", tool_call_id="a")]
    with pytest.raises(ScriptError, match="no tools are declared"):
        await llm.complete(Request(history))
    bad = ToolSchema("a.b", "", {"type": "object"})
    with pytest.raises(ScriptError, match="does not match"):
        await llm.complete(Request([USER], [bad]))


async def test_requests_are_kept_as_they_were() -> None:
    llm = ScriptedLLM(["one", "two"])
    messages = [USER]
    await llm.complete(Request(messages))
    messages.append(Message("user", "more"))
    await llm.complete(Request(messages))
    assert [len(request.messages) for request in llm.requests] == [1, 2]
    assert llm.bodies[0]["messages"] == [{"role": "user", "content": "q"}]
