"""fast_model: which model writes the summaries, over real sockets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holmes.agent.engine import Engine
from holmes.app.wiring import model, offline, summaries, wire
from holmes.core.config import load_config
from holmes.core.errors import ModelRefused
from holmes.llm.scripted import ScriptedLLM
from support.openai_server import OpenAIServer

TOOLSET = """
toolsets:
  demo:
    description: a log
    tools:
      - name: logs
        description: the log
        command: seq 1 2000
        transformers: [{name: llm_summarize}]
"""


async def ask(tmp_path: Path, config_text: str, env: dict[str, str], **overrides: Any) -> str:
    file = tmp_path / "config.yaml"
    file.write_text(f"opening_evidence: false\n{config_text}\n{TOOLSET}")
    env = {"PATH": "/usr/bin:/bin", "HOLMES_HOME": str(tmp_path), **env}
    config, _ = load_config(file, env, overrides)
    llm = model(config, env, lambda seconds, why: None, lambda text: None)
    setup = wire(config, env, llm=llm, keep=False)
    async with Engine(setup.parts) as holmes:
        report = await (await holmes.start("why?")).wait()
    setup.close()
    return report.answer


def tool_message(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"])


@pytest.mark.anyio
async def test_the_fast_model_writes_them(tmp_path: Path) -> None:
    fast = ["the numbers from 1 to 2000"]
    with OpenAIServer([[("logs",)], "All is well."]) as main, OpenAIServer(fast) as other:
        listed = {"main": ("big", main.url), "quick": ("small", other.url)}
        entries = [f"{name}: {{model: openai/{model}, api_base: {url}}}" for name, (model, url) in listed.items()]
        (tmp_path / "model_list.yaml").write_text("\n".join(entries))
        assert (await ask(tmp_path, "model: main\nfast_model: quick", {})).startswith("All is well.")
    assert [body["model"] for body in other.bodies] == ["small"]
    assert "tools" not in other.bodies[0]
    assert "the numbers from 1 to 2000" in tool_message(main.bodies[1])


@pytest.mark.anyio
async def test_without_one_the_model_itself_writes_them(tmp_path: Path) -> None:
    with OpenAIServer([[("logs",)], "1 to 2000", "All is well."]) as main:
        await ask(tmp_path, f"model: openai/big\napi_base: {main.url}", {})
    assert "tools" not in main.bodies[1]
    assert "1 to 2000\nNote: summarised" in tool_message(main.bodies[2])


@pytest.mark.anyio
async def test_an_unknown_fast_model_is_said_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ModelRefused, match="unknown model gtp-fast"):
        await ask(tmp_path, "model: gpt-4o\nfast_model: gtp-fast", {})


def test_the_offline_analysis_summarises_nothing(tmp_path: Path) -> None:
    config, _ = load_config(None, {"HOLMES_HOME": str(tmp_path)}, {"model": "offline", "fast_model": "openai/small"})
    assert summaries(config, {}, offline()) is None
    assert summaries(config, {}, ScriptedLLM([])) is not None
