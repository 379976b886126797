"""``holmes ask`` in a process of its own, against a strict server over a real socket that follows a script.

Every test fails when the server refused a request for its form, whatever else it looks at.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support.anthropic_server import AnthropicServer
from support.model_server import ModelServer
from support.openai_server import OpenAIServer
from support.subprocesses import Done, holmes

TOOLS = """
toolsets:
  shop:
    description: the shop
    tools:
      - {name: pods, description: pods of the shop, command: "echo pod-a OOMKilled exit 137"}
      - {name: nodes, description: nodes, command: "echo node-1 Ready"}
      - {name: hang, description: never ends, script: "echo started; sleep 1234.5"}
      - {name: killed, description: dies, script: "echo before; kill -9 $$"}
      - name: mark
        description: notes what it was given
        parameters: {what: {type: string, description: a word, required: false}}
        script: |
          echo "got {{ what }}" >> "${MARKS}"; echo "marked {{ what }}"
      - name: log
        description: a long log
        parameters: {number: {type: integer, description: which}}
        script: "echo pod-a OOMKilled; seq -f 'line %g of the log {{ number }} with some words in it' 20000"
      - name: lines
        description: lines of a log
        parameters:
          count: {type: integer, description: how many, minimum: 1}
          kind: {type: string, description: of what, enum: [pod, node]}
          previous: {type: boolean, description: of the container before, required: false}
        command: "echo {{ count }} lines of {{ kind }} {{ previous }}"
"""
SETTINGS = "tool_timeout: 1\nmodel_retry: {tries: 3, wait: 0.02, cap: 0.3}\nmodel_timeout: 20\n"


@dataclass(frozen=True)
class Asked:
    """One question: how the command ended, and what the model was sent."""

    done: Done
    bodies: list[dict[str, Any]]
    seconds: float
    marks: list[str] = field(default_factory=list)  # what the tool ``mark`` was really given

    @property
    def code(self) -> int:
        return self.done.code

    @property
    def out(self) -> str:
        return self.done.out

    @property
    def err(self) -> str:
        return self.done.err

    def results(self, request: int = -1) -> list[str]:
        """The tool results of a request, in order, in either dialect."""
        found = []
        for message in self.bodies[request]["messages"]:
            if message["role"] == "tool":
                found.append(message["content"])
            elif message["role"] == "user" and isinstance(message["content"], list):
                found += [block["content"] for block in message["content"] if block["type"] == "tool_result"]
        return found


Ask = Callable[..., Asked]


def server_for(dialect: str, script: Any) -> ModelServer:
    return AnthropicServer(script) if dialect == "anthropic" else OpenAIServer(script)


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Ask one question of a model that follows the script.

    ``settings`` is added to config.yaml, ``dialect`` is openai or anthropic, ``env`` comes on top.
    """
    (tmp_path / "tools.yaml").write_text(TOOLS)

    def run(
        script: Any,
        *arguments: str,
        question: str | None = "why?",
        dialect: str = "openai",
        settings: str = "",
        env: dict[str, str] | None = None,
        url: Callable[[str], str] = str,
    ) -> Asked:
        replaced = {line.partition(":")[0] for line in settings.splitlines()}
        kept = [line for line in SETTINGS.splitlines() if line.partition(":")[0] not in replaced]
        (tmp_path / "config.yaml").write_text("\n".join([*kept, settings]))
        marks = tmp_path / "marks"
        with server_for(dialect, script) as server:
            name = "ANTHROPIC" if dialect == "anthropic" else "OPENAI"
            own = {f"{name}_BASE_URL": url(server.url), f"{name}_API_KEY": "sk-test", "MARKS": str(marks)}
            started = time.monotonic()
            done = holmes(
                *[
                    "ask",
                    *([question] if question is not None else []),
                    "-n",
                    "--config",
                    str(tmp_path / "config.yaml"),
                ],
                *["-t", str(tmp_path / "tools.yaml"), "--model", f"{dialect}/scripted", *arguments],
                home=tmp_path,
                env={**own, **(env or {})},
            )
            seconds = time.monotonic() - started
        assert server.refused == [], "a provider would have refused the request"
        read = marks.read_text().splitlines() if marks.exists() else []
        return Asked(done, server.bodies, seconds, read)

    return run


def calls(*wanted: Any, **more: Any) -> dict[str, Any]:
    """A reply that calls tools, each a name or (name, arguments)."""
    made = [(each, {}) if isinstance(each, str) else each for each in wanted]
    return {"calls": [{"name": name, "arguments": arguments} for name, arguments in made], **more}
