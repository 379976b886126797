"""What a strict provider would refuse in a request, said without asking one.

Sources: the error messages and API references of OpenAI (chat completions), Anthropic (Messages) and Amazon Bedrock
(Converse, reached through LiteLLM with OpenAI's wire form). Where the three differ the strictest rule is taken when
it costs nothing to keep it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from holmes.llm.base import Dialect
from holmes.llm.protocol import MAX_CALLS

MAX_TOOLS = 128
MAX_CACHE_MARKS = 4
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ANTHROPIC_ID = re.compile(r"[a-zA-Z0-9_-]+")


def violations(body: Mapping[str, Any], dialect: Dialect) -> list[str]:
    """Everything wrong with a request body, in the wire form of the dialect; empty when it is legal."""
    return [*_encoding(body), *(_anthropic(body) if dialect == "anthropic" else _openai(body))]


def _encoding(body: Mapping[str, Any]) -> Iterator[str]:
    try:
        json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        yield "the body has lone surrogates: it cannot be sent as UTF-8"
    except (TypeError, ValueError) as error:
        yield f"the body is no JSON: {error}"
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "model is missing"
    if not isinstance(body.get("messages"), list) or not body["messages"]:
        yield "messages: at least one is needed"


def _openai(body: Mapping[str, Any]) -> Iterator[str]:
    messages = [message for message in body.get("messages") or [] if isinstance(message, dict)]
    tools = body.get("tools")
    limits = [name for name in ("max_tokens", "max_completion_tokens") if name in body]
    if len(limits) != 1:
        yield "exactly one of max_tokens and max_completion_tokens has to be sent"
    for name in limits:
        yield from _positive(body, name)
    if "stream_options" in body and not body.get("stream"):
        yield "stream_options is only allowed when stream is true"
    if tools is None:
        for name in ("tool_choice", "parallel_tool_calls"):
            if name in body:
                yield f"{name} is only allowed when tools are given"
        if any(message.get("tool_calls") or message.get("role") == "tool" for message in messages):
            yield "the history has tool calls, but no tools are declared"
    else:
        yield from _openai_tools(tools)
    yield from _response_format(body.get("response_format"))
    yield from _openai_messages(messages)


def _openai_tools(tools: Any) -> Iterator[str]:
    names = []
    for index, tool in enumerate(tools if isinstance(tools, list) else []):
        where = f"tools[{index}]"
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or tool.get("type") != "function":
            yield f"{where} is no function"
            continue
        names.append(function.get("name"))
        yield from _schema(function.get("parameters"), f"{where}.function.parameters")
    yield from _tool_list(tools, names)


def _tool_list(tools: Any, names: Sequence[Any]) -> Iterator[str]:
    if not isinstance(tools, list) or not tools:
        yield "tools: an empty list is refused; leave it out"
        return
    if len(tools) > MAX_TOOLS:
        yield f"tools: {len(tools)} are too many ({MAX_TOOLS})"
    for name in names:
        yield from _name(name, "tools")
    if len(set(map(str, names))) < len(names):
        yield "tools: a name stands there twice"


def _schema(schema: Any, where: str) -> Iterator[str]:
    if not isinstance(schema, dict) or schema.get("type") != "object":
        yield f"{where}: must be a JSON schema of type object"


def _name(name: Any, where: str) -> Iterator[str]:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        yield f"{where}: the name {name!r} does not match {NAME.pattern}"


def _response_format(response_format: Any) -> Iterator[str]:
    if response_format is None:
        return
    inner = response_format.get("json_schema") if isinstance(response_format, dict) else None
    if not isinstance(inner, dict) or response_format.get("type") != "json_schema":
        yield "response_format: must be a json_schema"
        return
    yield from _name(inner.get("name"), "response_format.json_schema")
    if not isinstance(inner.get("schema"), dict):
        yield "response_format.json_schema.schema is missing"


def _openai_messages(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    waiting: list[str] = []  # call ids that must be answered before anything else
    seen: set[str] = set()
    for index, message in enumerate(messages):
        where, role = f"messages[{index}]", message.get("role")
        if role == "tool":
            identity = message.get("tool_call_id")
            if identity not in waiting:
                yield f"{where}: a tool result without a preceding call ({identity!r})"
            else:
                if waiting[0] != identity:
                    yield f"{where}: results are not in call order"
                waiting.remove(identity)
        elif waiting:
            yield f"{where}: calls without a result directly behind them: {', '.join(waiting)}"
            waiting = []
        if role not in ("system", "developer", "user", "assistant", "tool"):
            yield f"{where}: unknown role {role!r}"
        if role in ("system", "developer") and any(
            other.get("role") not in ("system", "developer") for other in messages[:index]
        ):
            yield f"{where}: a system message behind other messages"
        calls = message.get("tool_calls")
        yield from _openai_content(message, where, optional=bool(calls))
        if calls is not None:
            if role != "assistant":
                yield f"{where}: only an assistant calls tools"
            yield from _openai_calls(calls, where, seen)
            waiting = [str(call.get("id")) for call in calls if isinstance(call, dict)]
    if waiting:
        yield f"the last message has calls without a result: {', '.join(waiting)}"


def _openai_content(message: Mapping[str, Any], where: str, *, optional: bool) -> Iterator[str]:
    content = message.get("content")
    if content is None:
        if not optional:
            yield f"{where}: content is missing"
    elif isinstance(content, str):
        if not content.strip():
            yield f"{where}: an empty text"
    elif not isinstance(content, list) or not content:
        yield f"{where}: content must be text or a list of parts"
    else:
        for part in content:
            if not isinstance(part, dict) or part.get("type") not in ("text", "image_url", "refusal"):
                yield f"{where}: unknown part {part!r:.80}"
            elif part["type"] == "text" and not str(part.get("text") or "").strip():
                yield f"{where}: an empty text block"
            elif part["type"] == "image_url" and message.get("role") != "user":
                yield f"{where}: images are only allowed in user messages"


def _openai_calls(calls: Any, where: str, seen: set[str]) -> Iterator[str]:
    if not isinstance(calls, list) or not calls:
        yield f"{where}.tool_calls: an empty list is refused"
        return
    if len(calls) > MAX_CALLS:
        yield f"{where}.tool_calls: {len(calls)} are too many ({MAX_CALLS})"
    for call in calls:
        identity = call.get("id") if isinstance(call, dict) else None
        if not isinstance(identity, str) or not identity:
            yield f"{where}.tool_calls: a call without an id"
            continue
        if identity in seen:
            yield f"{where}.tool_calls: the id {identity} was used before"
        seen.add(identity)
        if call.get("type") != "function" or not isinstance(call.get("function"), dict):
            yield f"{where}.tool_calls: {identity} is no function call"
            continue
        yield from _name(call["function"].get("name"), f"{where}.tool_calls")
        yield from _arguments(call["function"].get("arguments"), f"{where}.tool_calls: {identity}")


def _arguments(text: Any, where: str) -> Iterator[str]:
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        value = None
    if not isinstance(value, dict):
        yield f"{where}: arguments are not the text of a JSON object"


def _positive(body: Mapping[str, Any], name: str) -> Iterator[str]:
    if not isinstance(body.get(name), int) or body[name] < 1:
        yield f"{name}: must be a positive integer"


def _anthropic(body: Mapping[str, Any]) -> Iterator[str]:
    messages = [message for message in body.get("messages") or [] if isinstance(message, dict)]
    yield from _positive(body, "max_tokens")
    thinking = body.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") == "enabled":
        budget = thinking.get("budget_tokens")
        if not isinstance(budget, int) or not 1024 <= budget < body.get("max_tokens", 0):
            yield "thinking.budget_tokens: must be at least 1024 and less than max_tokens"
    if "system" in body:
        yield from _anthropic_system(body["system"])
    if json.dumps(body, default=str).count('"cache_control"') > MAX_CACHE_MARKS:
        yield f"more than {MAX_CACHE_MARKS} blocks with cache_control"
    blocks = [block for message in messages for block in _blocks(message)]
    if "tools" in body:
        yield from _anthropic_tools(body["tools"])
    else:
        if any(block.get("type") in ("tool_use", "tool_result") for block in blocks):
            yield "the history has tool blocks, but no tools are declared"
        if "tool_choice" in body:
            yield "tool_choice is only allowed when tools are given"
    choice = body.get("tool_choice")
    if choice is not None and (
        not isinstance(choice, dict) or choice.get("type") not in ("auto", "any", "tool", "none")
    ):
        yield f"tool_choice: {choice!r} is not known"
    yield from _anthropic_messages(messages)


def _anthropic_system(system: Any) -> Iterator[str]:
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system
    for block in blocks if isinstance(blocks, list) else [{}]:
        if block.get("type") != "text" or not str(block.get("text") or "").strip():
            yield "system: must be text, or blocks of text that is not empty"


def _anthropic_tools(tools: Any) -> Iterator[str]:
    listed = [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    for index, tool in enumerate(listed):
        yield from _schema(tool.get("input_schema"), f"tools[{index}].input_schema")
    yield from _tool_list(tools, [tool.get("name") for tool in listed])


def _anthropic_messages(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    seen: set[str] = set()
    waiting: list[str] = []
    previous = "assistant"
    for index, message in enumerate(messages):
        where, role, blocks = f"messages[{index}]", message.get("role"), _blocks(message)
        if role not in ("user", "assistant"):
            yield f"{where}: the role {role!r} is not allowed here"
        elif role == previous:
            yield f"{where}: roles must take turns and begin with user" + ("" if index else " (the first is assistant)")
        previous = str(role)
        if not blocks:
            yield f"{where}: content is empty"
        for block in blocks:
            yield from _anthropic_block(block, str(role), where)
        results = [block.get("tool_use_id") for block in blocks if block.get("type") == "tool_result"]
        if missing := [identity for identity in waiting if identity not in results]:
            yield f"{where}: calls without a result directly behind them: {', '.join(missing)}"
        if results != [identity for identity in waiting if identity in results]:
            yield f"{where}: results without a call in the message before, twice, or not in call order"
        kinds = [block.get("type") == "tool_result" for block in blocks]
        if kinds != sorted(kinds, reverse=True):
            yield f"{where}: tool results must come first"
        waiting = [str(block.get("id")) for block in blocks if block.get("type") == "tool_use"]
        for identity in waiting:
            if identity in seen:
                yield f"{where}: the id {identity} was used before"
            seen.add(identity)
    if messages and previous == "assistant":
        yield "the conversation must end with a user message"


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _anthropic_block(block: Mapping[str, Any], role: str, where: str) -> Iterator[str]:
    kind = block.get("type")
    allowed = {
        "user": ("text", "image", "tool_result"),
        "assistant": ("text", "tool_use", "thinking", "redacted_thinking"),
    }
    if kind not in allowed.get(role, ()):
        yield f"{where}: a block of type {kind!r} is not allowed for {role}"
    elif kind == "text" and not str(block.get("text") or "").strip():
        yield f"{where}: text blocks must not be empty"
    elif kind == "thinking" and not block.get("signature"):
        yield f"{where}: a thinking block without its signature"
    elif kind == "tool_use":
        yield from _name(block.get("name"), where)
        if not isinstance(block.get("input"), dict):
            yield f"{where}: the input of a call must be an object"
        if not isinstance(block.get("id"), str) or not _ANTHROPIC_ID.fullmatch(block["id"]):
            yield f"{where}: the call id {block.get('id')!r} does not match {_ANTHROPIC_ID.pattern}"
    elif kind == "tool_result" and isinstance(block.get("content"), list):
        for inner in block["content"]:
            yield from _anthropic_block(inner, "user", where)
