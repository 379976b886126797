"""``holmes model test``: against servers that do everything right, or one thing wrong."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from support.anthropic_server import AnthropicServer
from support.model_server import ModelServer
from support.openai_server import OpenAIServer

Body = dict[str, Any]
WRITTEN = '<tool_call>{"name": "pod_status", "arguments": {"pod": "web-1"}}</tool_call>'


def able(body: Body) -> Any:
    """Answers, calls tools, two at once, and keeps to a schema; in either dialect."""
    if "response_format" in body or "output_config" in body:
        return '{"healthy": true, "pods": 2}'
    if "tools" not in body:
        return "ready"
    if len(body["messages"]) > 1:
        return "web-1 is in CrashLoopBackOff."
    pods = ("web-1", "web-2") if "web-2" in str(body["messages"]) else ("web-1",)
    return {"calls": [("pod_status", {"pod": pod}) for pod in pods]}


def instead(reply: Any, when: Callable[[Body], bool]) -> Callable[[Body], Any]:
    """The able model, but for some requests."""
    return lambda body: reply if when(body) else able(body)


def has_tools(body: Body) -> bool:
    return "tools" in body


def has_results(body: Body) -> bool:
    return len(body["messages"]) > 1


def wants_two(body: Body) -> bool:
    return "tools" in body and "web-2" in str(body["messages"])


def wants_schema(body: Body) -> bool:
    return "response_format" in body


def always(body: Body) -> bool:
    return True


def asked(run: Any, server: ModelServer, *arguments: str, **more: Any) -> tuple[Any, list[Body]]:
    """Run ``holmes model test -o json`` against a server, named as its dialect wants; how it ended, and its rows."""
    provider = "anthropic" if server.dialect == "anthropic" else "openai"
    env = {f"{provider.upper()}_BASE_URL": server.url, f"{provider.upper()}_API_KEY": "sk-secret"}
    done = run("test", *(arguments or (f"{provider}/any",)), "-o", "json", **env, **more)
    assert "sk-secret" not in done.out + done.err
    assert server.refused == []
    return done, done.json if done.out else []


@pytest.mark.parametrize("kind", [OpenAIServer, AnthropicServer])
def test_a_model_that_does_everything(run: Any, kind: type[ModelServer]) -> None:
    with kind(able) as server:
        done, [row] = asked(run, server)
    assert done.code == 0, done.err
    assert all(row[key] is True for key in ("answers", "calls_tool", "parallel", "json_schema", "usable"))
    assert row["faults"] == [] and row["seconds"] >= 0
    assert len(server.bodies) == 5


@pytest.mark.parametrize(
    ("reply", "when", "key", "words", "usable"),
    [
        ("", always, "answers", "answered nothing", False),
        ("I cannot call tools.", has_tools, "calls_tool", "--enable-auto-tool-choice", False),
        (WRITTEN, has_tools, "calls_tool", "text_calls: true", False),
        ({"calls": [("pod_status", '{"pod": ')]}, has_tools, "calls_tool", "cannot be run", False),
        ({"status": 400, "message": "no tool role"}, has_results, "calls_tool", "no tool role", False),
        ({"calls": [("pod_status", {"pod": "web-2"})]}, wants_two, "parallel", "one call only", True),
        ("All is well.", wants_schema, "json_schema", "did not keep to the schema", True),
        ('{"healthy": "yes"}', wants_schema, "json_schema", "did not keep to the schema", True),
    ],
)
def test_one_thing_that_it_cannot_do(
    run: Any, reply: Any, when: Callable[[Body], bool], key: str, words: str, usable: bool
) -> None:
    with OpenAIServer(instead(reply, when)) as server:
        done, [row] = asked(run, server)
    assert done.code == (0 if usable else 1)
    assert (row[key], row["usable"]) == (False, usable)
    [fault] = row["faults"]
    assert words in fault["message"] + fault["remedy"] and fault["remedy"]


@pytest.mark.parametrize(
    ("reply", "words", "requests"),
    [
        ({"status": 401, "message": "Incorrect API key: sk-secret"}, "check OPENAI_API_KEY", 1),
        ({"status": 404, "message": "no such model"}, "--model", 1),
        ({"body": "<html>", "type": "text/html"}, "--api-base", 2),
        ({"status": 429, "message": "slow", "headers": {"Retry-After": "0"}}, "try again later", 2),
    ],
)
def test_a_model_that_cannot_be_reached_is_asked_nothing_more(run: Any, reply: Any, words: str, requests: int) -> None:
    with OpenAIServer(lambda body: reply) as server:
        done, [row] = asked(run, server)
    assert done.code == 1
    assert (row["answers"], row["calls_tool"], row["seconds"]) == (False, None, None)
    assert words in row["faults"][0]["remedy"]
    assert len(server.bodies) == requests


def test_a_silent_model_does_not_hold_it_up(run: Any) -> None:
    with OpenAIServer(lambda body: {"stall": "headers"}) as server:
        started = time.monotonic()
        done, [row] = asked(run, server, "openai/any", "--max-seconds", "1")
    assert time.monotonic() - started < 10
    assert done.code == 1
    assert "within the time allowed" in row["faults"][0]["message"]


def test_a_model_that_writes_its_calls_can_be_used_once_that_is_said(run: Any) -> None:
    with OpenAIServer(instead(WRITTEN, lambda body: has_tools(body) and not has_results(body))) as server:
        models = {"small": {"model": "openai/small", "api_base": server.url, "text_calls": True}}
        done, [row] = asked(run, server, "small", models=models)
    assert done.code == 0, done.out
    assert row["calls_tool"] is True


def test_several_models_each_with_what_is_wrong(run: Any) -> None:
    with OpenAIServer(able) as server:
        models = {"good": {"model": "openai/gpt-4o", "api_base": server.url}}
        models["broken"] = {"model": "gpt-4o", "api_key": "{{ env.NOWHERE }}"}
        done = run("test", "good", "broken", "gtp-4o", "offline", "-o", "json", models=models)
    assert done.code == 1
    good, broken, unknown, offline = done.json
    assert [row["usable"] for row in done.json] == [True, False, False, True]
    assert (good["name"], good["window_known"], good["prices"]["prompt"]) == ("good", True, 2.5)
    assert "NOWHERE" in broken["faults"][0]["message"] and "broken" in broken["faults"][0]["remedy"]
    assert "gpt-4o" in unknown["faults"][0]["remedy"] and unknown["answers"] is None
    assert (offline["name"], offline["faults"]) == ("offline", [])


def test_without_a_name_it_is_the_one_that_would_be_used(run: Any) -> None:
    with OpenAIServer(able, models=["qwen3"]) as server:
        done = run("test", OPENAI_BASE_URL=server.url)
    assert done.code == 0, done.out
    assert "the first model that" in done.err
    header, line, *remarks = done.out.splitlines()
    names = "model answers calls a tool two at once JSON schema window prices seconds"
    assert header.split() == names.split()
    assert line.split()[:6] == ["✅", "openai/qwen3", "yes", "yes", "yes", "yes"]
    assert "is a guess" in remarks[0] and "max_context_size" in remarks[1]
    nothing = run("test")
    assert nothing.code == 0 and "no model is configured" in nothing.err and "offline" in nothing.out


def test_a_fault_stands_below_the_table_with_its_remedy(run: Any) -> None:
    with OpenAIServer(lambda body: {"status": 401, "message": "no\x1b[2J"}) as server:
        done = run("test", "openai/gpt-4o", OPENAI_BASE_URL=server.url, OPENAI_API_KEY="sk-secret")
    _, line, fault, remedy = done.out.splitlines()
    assert line.startswith("❌ openai/gpt-4o") and fault.startswith("openai/gpt-4o, answers: http://127.0.0.1")
    assert remedy == "   → check OPENAI_API_KEY"
    assert "\x1b" not in done.out and json.dumps(done.out)
