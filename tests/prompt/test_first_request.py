"""The whole program's first request, put together as ``holmes ask`` does it: what it costs, and that it is stable."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from holmes.agent.engine import Engine
from holmes.app.wiring import wire
from holmes.core.config import load_config
from holmes.llm.scripted import ScriptedLLM
from holmes.llm.tokens import estimate_request, estimate_tools

pytestmark = pytest.mark.anyio
DEMO = Path(str(files("holmes") / "demo" / "snapshot"))


async def first(tmp_path: Path, question: str, **overrides: Any) -> ScriptedLLM:
    """Ask on the bundled snapshot with the default toolsets."""
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    config, _ = load_config(None, env, overrides)
    llm = ScriptedLLM(["done"])
    setup = wire(config, env, llm=llm, keep=False, snapshot=DEMO)
    try:
        async with Engine(setup.parts) as engine:
            await (await engine.start(question)).wait()
    finally:
        setup.close()
    return llm


async def test_the_first_request_is_small(tmp_path: Path) -> None:
    llm = await first(tmp_path, "what is an SLO?")
    request = llm.requests[0]
    names = [tool.name for tool in request.tools]
    assert {"kubectl_get", "kubectl_describe", "fetch_pod_logs", "inspect", "scan", "bash", "TodoWrite"} <= set(names)
    assert estimate_tools(request.tools) <= 1_800
    assert estimate_request(request) <= 3_000


async def test_opening_evidence_adds_no_more_than_it_may(tmp_path: Path) -> None:
    bare = estimate_request(
        (await first(tmp_path, "why is checkout in shop failing?", opening_evidence=False)).requests[0]
    )
    full = estimate_request((await first(tmp_path, "why is checkout in shop failing?")).requests[0])
    assert 100 < full - bare <= 1_200


async def test_two_runs_share_their_prefix_byte_for_byte(tmp_path: Path) -> None:
    one, two = await first(tmp_path, "what is an SLO?"), await first(tmp_path, "why is checkout in shop failing?")
    assert one.bodies[0]["messages"][0] == two.bodies[0]["messages"][0]
    assert one.bodies[0]["tools"] == two.bodies[0]["tools"]
