"""What the first request costs, however many tools there are."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holmes.agent.prompt import CATALOGUE_LINE
from holmes.llm.base import Request
from holmes.llm.scripted import ScriptedLLM
from holmes.llm.tokens import estimate_request, estimate_text, estimate_tools
from holmes.tools.disclosure import ROOM
from holmes.tools.manager import Definition

pytestmark = pytest.mark.anyio

ENGINE_TOOLS = ["TodoWrite", "read_result"]


async def first_request(engine_with: Callable, definitions: list[Definition], window: int = 128_000) -> Request:
    llm = ScriptedLLM(["done"], window=window)
    async with engine_with(llm, definitions) as holmes:
        await (await holmes.start("why is checkout slow?")).wait()
    return llm.requests[0]


def declared(request: Request) -> list[str]:
    return [tool.name for tool in request.tools]


def catalogue(request: Request) -> list[str]:
    return [line for line in request.messages[0].content.splitlines() if line.startswith("- vendor")]


async def test_300_tools_in_40_toolsets_take_6000_tokens_at_most(engine_with: Callable, forty: list) -> None:
    assert len(forty) == 40
    request = await first_request(engine_with, forty)
    assert estimate_request(request) <= 6_000
    assert declared(request) == [
        *ENGINE_TOOLS, *(f"kubernetes_core_{number}" for number in range(1, 5)), "kubernetes_logs_1", "bash_1",
        "load_tools",
    ]  # fmt: skip


async def test_each_other_toolset_is_one_short_line(engine_with: Callable, forty: list) -> None:
    lines = catalogue(await first_request(engine_with, forty))
    assert len(lines) == 37
    assert lines[0].startswith("- vendor00/metrics: What vendor00/metrics has recorded")
    assert all(estimate_text(line) <= CATALOGUE_LINE for line in lines)


async def test_what_is_listed_brings_its_instructions_later(engine_with: Callable, forty: list) -> None:
    prompt = (await first_request(engine_with, forty)).messages[0].content
    assert "Ask bash by service name." in prompt
    assert "Ask vendor00" not in prompt


async def test_few_tools_are_all_declared_and_nothing_is_listed(engine_with: Callable, toolset: Callable) -> None:
    request = await first_request(engine_with, [toolset("kubernetes/core", 3), toolset("vendor/metrics", 3)])
    assert "vendor_metrics_3" in declared(request)
    assert "load_tools" not in declared(request)
    assert "load_tools" not in request.messages[0].content


async def test_toolsets_that_the_user_named_are_declared_while_they_fit(
    engine_with: Callable, toolset: Callable
) -> None:
    named = [toolset(f"vendor{number}", 3, where=f"config.yaml:{number}") for number in range(9)]
    request = await first_request(engine_with, [toolset("kubernetes/core", 4), toolset("other"), *named])
    shown = [tool for tool in request.tools if tool.name != "load_tools"]
    assert estimate_tools(shown) <= ROOM
    assert "vendor0_1" in declared(request)
    assert "vendor8_1" not in declared(request)
    assert "other_1" not in declared(request)
    assert [line.partition(":")[0] for line in catalogue(request)][-1] == "- vendor8"


async def test_a_small_window_declares_less(engine_with: Callable, toolset: Callable) -> None:
    named = [toolset(f"vendor{number}", 3, where="config.yaml:1") for number in range(9)]
    small = await first_request(engine_with, named, window=8_192)
    assert len(small.tools) < len((await first_request(engine_with, named)).tools)
    assert estimate_request(small) < 8_192 // 2


async def test_a_toolset_without_a_description_is_listed_with_its_tools(
    engine_with: Callable, toolset: Callable
) -> None:
    request = await first_request(engine_with, [toolset("vendor", 30, description="")])
    assert catalogue(request)[0].startswith("- vendor: vendor_1, vendor_2, vendor_3")


async def test_the_default_set_is_never_left_out(engine_with: Callable, toolset: Callable) -> None:
    request = await first_request(engine_with, [toolset("vendor"), toolset("kubernetes/core", 40)])
    assert "kubernetes_core_40" in declared(request)
    assert "vendor_1" not in declared(request)


async def test_the_prefix_is_the_same_bytes_for_every_conversation(engine_with: Callable, forty: list) -> None:
    first, second = await first_request(engine_with, forty), await first_request(engine_with, forty)
    assert first.tools == second.tools
    assert first.messages[0] == second.messages[0]
