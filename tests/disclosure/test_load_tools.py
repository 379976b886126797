"""load_tools: what the model asks for comes behind what it has."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holmes.agent.engine import Engine, RunOptions, schema
from holmes.app.recording import Recorder, recorded
from holmes.app.replay import replay_parts
from holmes.core.http import DefaultHttp
from holmes.core.messages import Message, ToolCall
from holmes.core.process import ChildProcess
from holmes.llm.base import Request
from holmes.llm.scripted import ScriptedLLM
from holmes.llm.tokens import estimate_tools
from holmes.tools.disclosure import MOST, Disclosure, Shelf
from holmes.tools.executor import Bound
from holmes.tools.manager import Definition, ToolsetManager
from holmes.tools.tool import FunctionTool, Services, Tool
from support.engines import NoClusters, parts

pytestmark = pytest.mark.anyio


def call(name: str, **args: Any) -> ToolCall:
    return ToolCall("", name, args)


def load(*names: str) -> ToolCall:
    return call("load_tools", toolsets=list(names))


async def script(engine_with: Callable, definitions: Sequence[Definition], *steps: Any) -> list[Request]:
    llm = ScriptedLLM([*steps, "done"])
    async with engine_with(llm, definitions) as holmes:
        await (await holmes.start("why is checkout slow?")).wait()
    return llm.requests


def declared(request: Request) -> list[str]:
    return [tool.name for tool in request.tools]


def last_result(request: Request) -> str:
    assert request.messages[-1].role == "tool"
    return request.messages[-1].content


async def test_the_tools_of_a_toolset_come_behind_the_others(engine_with: Callable, forty: list) -> None:
    first, second, third = await script(
        engine_with, forty, load("vendor03/metrics", "vendor01/metrics"), call("vendor03_metrics_2", query="cart")
    )
    names = declared(second)
    assert names[: len(first.tools)] == declared(first)
    assert names[len(first.tools) :] == [f"vendor{n}_metrics_{i}" for n in ("03", "01") for i in range(1, 9)]
    assert second.messages[0] == first.messages[0]
    assert "vendor03_metrics_2 found cart" in last_result(third)
    wire = [json.dumps(schema) for schema in (first.tools[0].parameters, second.tools[0].parameters)]
    assert wire[0] == wire[1]


async def test_the_answer_names_the_tools_and_brings_the_instructions(engine_with: Callable, forty: list) -> None:
    answer = last_result((await script(engine_with, forty, load("vendor03/metrics")))[1])
    assert "Loaded vendor03/metrics: vendor03_metrics_1, vendor03_metrics_2" in answer
    assert "Ask vendor03/metrics by service name." in answer


async def test_an_unknown_toolset_gets_the_close_names_and_the_others_are_loaded(
    engine_with: Callable, forty: list
) -> None:
    requests = await script(engine_with, forty, load("vendor07/metric", "vendor01/metrics"))
    assert "There is no toolset vendor07/metric. Did you mean vendor07/metrics" in last_result(requests[1])
    assert "vendor01_metrics_1" in declared(requests[1])
    nothing = last_result((await script(engine_with, forty, load("zzzz")))[1])
    assert "There are: vendor00/metrics, vendor01/metrics," in nothing
    assert "error" in nothing.splitlines()[0]


async def test_loading_twice_adds_nothing(engine_with: Callable, forty: list) -> None:
    requests = await script(
        engine_with, forty, load("vendor03/metrics"), load("vendor03/metrics", "bash"), load("vendor03_metrics_1")
    )
    assert declared(requests[3]) == declared(requests[1])
    assert "vendor03/metrics was loaded already." in last_result(requests[2])
    assert "bash was loaded already." in last_result(requests[2])


async def test_a_call_of_a_tool_that_is_not_loaded_just_works(engine_with: Callable, forty: list) -> None:
    requests = await script(engine_with, forty, call("vendor30_metrics_5", query="cart"))
    assert "vendor30_metrics_5 found cart" in last_result(requests[1])
    assert declared(requests[1])[-8:] == [f"vendor30_metrics_{number}" for number in range(1, 9)]


async def test_wrong_arguments_of_a_tool_that_is_not_loaded_show_its_schema(engine_with: Callable, forty: list) -> None:
    requests = await script(engine_with, forty, call("vendor30_metrics_5", search="cart"))
    assert "query" in last_result(requests[1])
    assert "vendor30_metrics_5" in declared(requests[1])


async def test_one_conversation_does_not_load_for_another(engine_with: Callable, forty: list) -> None:
    llm = ScriptedLLM([load("vendor01/metrics"), "done", "done", "done"])
    async with engine_with(llm, forty) as holmes:
        first = await holmes.start("why?")
        await first.wait()
        await (await holmes.start("why?")).wait()
        await (await holmes.start("and now?", RunOptions(run_id=first.id))).wait()
    assert "vendor01_metrics_1" not in declared(llm.requests[2])
    assert declared(llm.requests[3]) == declared(llm.requests[1]), "what was loaded stays in its conversation"


async def test_a_toolset_that_goes_over_128_tools_is_reached_by_single_tools(
    engine_with: Callable, toolset: Callable
) -> None:
    huge = toolset("huge", 200)
    requests = await script(
        engine_with, [toolset("bash", 1), huge], load("huge"), load("huge_150"), call("huge_151", query="cart")
    )
    answer = last_result(requests[1])
    assert "No room is left to load huge: at most 128 tools" in answer
    assert "- huge_1: Look up" in answer
    assert '"required": ["query"]' in answer
    assert declared(requests[2])[-1] == "huge_150"
    assert "huge_151 found cart" in last_result(requests[3])
    assert declared(requests[3])[-1] == "huge_151"


def shelf(name: str, tools: Sequence[FunctionTool], **more: Any) -> Shelf:
    return Shelf(name, tuple(Bound(tool, name) for tool in tools), **more)


def size(tools: Sequence[Tool]) -> int:
    return estimate_tools(map(schema, tools))


def test_never_more_than_128_are_declared_whatever_is_asked_for(tool: Callable) -> None:
    shelves = [shelf(f"set{n}", [tool(f"set{n}_{i}") for i in range(10)], named=n < 3) for n in range(30)]
    tools = Disclosure(shelves, size, limit=1_000_000)
    for each in shelves:
        known, _ = tools.load(each.name)
        assert known
    assert len(list(tools.declared())) <= MOST
    assert tools.load("set29") == (True, tools.load("set29")[1])
    assert "No room is left" in tools.load("set29")[1]
    for each in shelves:
        for bound in each.tools:
            assert tools.get(bound.tool.name) is bound
            tools.use(bound)
    assert len(list(tools.declared())) == MOST


def test_a_small_window_has_a_limit_in_tokens(tool: Callable) -> None:
    shelves = [shelf(f"set{n}", [tool(f"set{n}_{i}") for i in range(10)]) for n in range(10)]
    tools = Disclosure(shelves, size, room=500, limit=2_700)
    for each in shelves:
        tools.load(each.name)
    assert size([bound.tool for bound in tools.declared() if bound.tool.name != "load_tools"]) <= 2_700
    assert "set0_1" in [bound.tool.name for bound in tools.declared()]


def test_only_appends(tool: Callable) -> None:
    shelves = [shelf(f"set{n}", [tool(f"set{n}_{i}") for i in range(5)], named=n == 2) for n in range(20)]
    tools = Disclosure(shelves, size)
    before = [bound.tool.name for bound in tools.declared()]
    for name in ("set7_3", "set4", "set7", "nonsense", "set2"):
        tools.load(name)
        after = [bound.tool.name for bound in tools.declared()]
        assert after[: len(before)] == before
        assert len(set(after)) == len(after)
        before = after
    assert before[-9:] == ["set4_0", "set4_1", "set4_2", "set4_3", "set4_4", "set7_0", "set7_1", "set7_2", "set7_4"]


def test_hidden_tools_and_old_names_load_their_toolset(tool: Callable) -> None:
    many = [shelf(f"set{n}", [tool(f"set{n}_{i}") for i in range(9)]) for n in range(9)]
    old = shelf("old", [tool("new_name", aliases=("old_name",)), tool("secret", hidden=True)])
    for name in ("old_name", "secret"):
        tools = Disclosure([*many, old], size)
        bound = tools.get(name)
        assert bound is not None
        tools.use(bound)
        assert [each.tool.name for each in tools.declared()] == ["load_tools", "new_name"]


def test_a_conversation_that_goes_on_remembers_what_it_had_loaded(tool: Callable) -> None:
    shelves = [shelf(f"set{n}", [tool(f"set{n}_{i}") for i in range(9)]) for n in range(9)]
    calls = (load("set4", "gone"), call("set6_1", query="x"), call("unknown"))
    history = [Message("user", "why?"), Message("assistant", tool_calls=calls)]
    tools = Disclosure(shelves, size)
    for message in history:
        tools.recall(message.tool_calls)
    names = [bound.tool.name for bound in tools.declared()]
    assert names == ["load_tools", *(f"set{n}_{i}" for n in (4, 6) for i in range(9))]


async def test_a_recorded_run_that_loaded_tools_comes_back(forty: list, tmp_path: Path) -> None:
    steps = [load("vendor03/metrics"), call("vendor20_metrics_1", query="cart"), "All is well."]
    services = Services({}, NoClusters(), ChildProcess(), DefaultHttp({}))
    made = replace(parts(ScriptedLLM(steps)), manager=ToolsetManager(forty, services))
    reports = []
    for playing in (recorded(made, Recorder(tmp_path / "run"), "why?", RunOptions()), None):
        async with Engine(playing or replay_parts(tmp_path / "run", {}).parts) as holmes:
            reports.append(await (await holmes.start("why?")).wait())
    assert reports[1].answer == reports[0].answer
    assert [item.tool for item in reports[1].evidence] == ["load_tools", "vendor20_metrics_1"]


async def test_what_was_loaded_is_there_again_after_a_restart(forty: list) -> None:
    services = Services({}, NoClusters(), ChildProcess(), DefaultHttp({}))
    before = ScriptedLLM([load("vendor03/metrics"), call("vendor20_metrics_1", query="cart"), "All is well."])
    made = replace(parts(before), manager=ToolsetManager(forty, services))
    async with Engine(made) as holmes:
        run = await holmes.start("why?")
        await run.wait()
    after = ScriptedLLM(["Still well."])
    async with Engine(replace(made, llm=after, manager=ToolsetManager(forty, services))) as holmes:
        await (await holmes.start("and now?", RunOptions(run_id=run.id, resume=True))).wait()
    assert declared(after.requests[0]) == declared(before.requests[-1])
