"""``holmes ask`` in a process of its own, against a strict scripted server over a real socket."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from support.openai_server import OpenAIServer
from support.subprocesses import Done, holmes

SLEEP = f"sleep 1234.{os.getpid()}"  # nobody else has this one
TOOLS = """
toolsets:
  trouble:
    description: tools that misbehave
    tools:
      - {name: pods, description: fine, command: "echo pod-a OOMKilled exit 137"}
      - {name: hang, description: never ends, script: "trap '' TERM; echo started; SLEEP"}
      - {name: latin1, description: not UTF-8, script: "printf 'caf\\\\351 \\\\377\\\\376 \\\\033[31mred\\\\033[0m'"}
      - {name: killed, description: dies, script: "echo before; kill -9 $$"}
      - {name: grandchild, description: leaves one behind, script: "echo done; SLEEP & exit 0"}
      - {name: big, description: 200 MB, script: "yes 'a line of a large log' | head -c 200000000; echo THE END"}
      - {name: absent, description: no such program, command: no-such-program-at-all}
"""

Ask = Callable[..., tuple[Done, list[dict[str, Any]]]]


@pytest.fixture
def sleeper() -> str:
    """The command line of the tools that hang."""
    return SLEEP


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Runs one question against a script; gives how it ended and the request bodies."""
    (tmp_path / "tools.yaml").write_text(TOOLS.replace("SLEEP", SLEEP))
    (tmp_path / "config.yaml").write_text(
        "tool_timeout: 1.5\nmodel_retry: {tries: 2, wait: 0.05, cap: 0.1}\nmodel_timeout: 20\n"
    )

    def run(
        script: Sequence[Any], *arguments: str, question: str | None = "why?", stdin: bytes | None = None, **more: Any
    ) -> tuple[Done, list[dict[str, Any]]]:
        with OpenAIServer(script) as server:
            env = {"OPENAI_BASE_URL": more.pop("base", server.url), "OPENAI_API_KEY": more.pop("key", server.key)}
            done = holmes(
                "ask",
                *([question] if question is not None else []),
                "-n",
                "--config",
                str(tmp_path / "config.yaml"),
                "-t",
                str(tmp_path / "tools.yaml"),
                "--model",
                more.pop("model", "openai/scripted"),
                *arguments,
                home=tmp_path,
                env=env,
                stdin=stdin,
            )
            return done, server.bodies

    return run
