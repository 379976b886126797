"""Conversations as data: for the journal, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holmes.core.messages import ImagePart, Message, ToolCall, Usage
from holmes.llm.base import LLM
from holmes.tools.delivery import result_data, result_from_data


@dataclass(frozen=True, slots=True)
class Facts:
    """What a report says of the run itself."""

    run_id: str
    model: str
    cluster: str = ""
    usage: Usage = Usage()
    metadata: Mapping[str, Any] = field(default_factory=dict)


def message_data(message: Message) -> dict[str, Any]:
    """JSON types of a message; empty fields are left out."""
    data: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.images:
        data["images"] = [image.url for image in message.images]
    if message.tool_calls:
        data["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": call.arguments, "problem": call.problem}
            for call in message.tool_calls
        ]
    if message.role == "tool":
        data |= {"tool_call_id": message.tool_call_id, "tool_name": message.tool_name}
    if message.result is not None:
        data["result"] = result_data(message.result)
    if message.provider_data is not None:
        data["provider_data"] = message.provider_data
    if message.reasoning:
        data["reasoning"] = message.reasoning
    return data


def message_from_data(data: dict[str, Any]) -> Message:
    """The reverse of ``message_data``."""
    return Message(
        data["role"],
        data["content"],
        tuple(ImagePart(url) for url in data.get("images", ())),
        tuple(ToolCall(**call) for call in data.get("tool_calls", ())),
        data.get("tool_call_id", ""),
        data.get("tool_name", ""),
        result_from_data(data["result"]) if data.get("result") else None,
        data.get("provider_data"),
        data.get("reasoning", ""),
    )


def flatten(messages: Sequence[Message]) -> list[Message]:
    """The conversation without tool blocks, for a model that will not stop calling: calls and results as text."""
    flat: list[Message] = []
    for message in messages:
        if message.role == "tool":
            message = Message("user", message.content, message.images)
        elif message.tool_calls:
            calls = ", ".join(call.name for call in message.tool_calls)
            message = Message("assistant", "\n".join(filter(None, (message.content, f"(called {calls})"))))
        if flat and flat[-1].role == message.role == "user":
            before = flat.pop()
            content = f"{before.content}\n\n{message.content}"
            images, evidence = before.images + message.images, before.evidence + message.evidence
            message = Message("user", content, images, evidence=evidence)
        flat.append(message)
    return flat


def usage_data(usage: Usage, llm: LLM) -> dict[str, Any]:
    """The metadata of a token_count event, with HolmesGPT's keys."""
    return {
        "usage": {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "total_tokens": usage.total_tokens,
            "cached_tokens": usage.cached_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
            "reasoning_tokens": usage.reasoning_tokens,
        },
        "costs": {"total_cost": usage.cost},
        "max_tokens": llm.window,
        "max_output_tokens": llm.max_output,
        "model": llm.name,
    }
