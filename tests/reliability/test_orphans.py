"""Calls that nobody answered, because the process died while a person was asked: answered "cancelled", never run."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pexpect
import pytest

from support.openai_server import OpenAIServer
from support.subprocesses import environment

pytestmark = pytest.mark.timeout(90)
RISKY = ("bash", {"command": "frobnicate --all"})
QUESTION = "or type why not"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An environment with a program ``frobnicate`` that leaves a trace when it is run."""
    program = tmp_path / "bin" / "frobnicate"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho run >> {tmp_path}/marks\n")
    program.chmod(0o755)
    return {"PATH": f"{program.parent}:{os.environ['PATH']}", "TERM": "xterm"}


def at_the_approval(server: OpenAIServer, home: Path, env: dict[str, str]) -> Any:
    """``holmes ask`` at a terminal, up to the moment when the person is asked."""
    own = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k", "MARKS": str(home / "marks")}
    (home / "none.yaml").write_text("")
    arguments = ["why is pod-a down?", "--model", "openai/x", "--config", "none.yaml", "-t", "tools.yaml"]
    child = pexpect.spawn(
        sys.executable,
        ["-m", "holmes", "ask", *arguments],
        env=environment(home, {**env, **own}),
        cwd=str(home),
        encoding="utf-8",
        timeout=40,
        dimensions=(50, 100),
    )
    child.expect_exact(QUESTION)
    return child


@pytest.fixture
def killed(ask: Any, tmp_path: Path, env: dict[str, str]) -> None:
    """A run that was killed while a person was asked about its second and third call."""
    with OpenAIServer([[("pods", {})], [("nodes", {}), RISKY, ("mark", {"what": "a"})]]) as server:
        child = at_the_approval(server, tmp_path, env)
        child.kill(signal.SIGKILL)
        child.close(force=True)


@pytest.mark.parametrize(("dialect", "question"), [("openai", None), ("anthropic", "and what about node-1?")])
def test_a_pending_call_is_cancelled_and_never_run(
    ask: Any, killed: None, env: dict[str, str], dialect: str, question: str | None
) -> None:
    asked = ask(["fine"], "--resume", "last", question=question, dialect=dialect, env=env)
    assert asked.code == 0, asked.err
    pods, nodes, risky, mark = asked.results(0)
    assert "OOMKilled" in pods
    assert "ancelled" in risky and "not run" in risky
    assert [text for text in (nodes, mark) if "ancelled" in text or "success" in text] == [nodes, mark]
    assert "run" not in asked.marks, "what was pending was run later"
    assert question is None or question in str(asked.bodies[0]["messages"][-1])


def test_an_orphan_ten_turns_back(ask: Any, killed: None, env: dict[str, str]) -> None:
    steps = [[("lines", {"count": number, "kind": "pod"})] for number in range(1, 11)]
    first = ask([*steps, "so far so good"], "--resume", "last", question="look on", env=env)
    assert first.code == 0, first.err
    asked = ask(["fine"], "--resume", "last", question="anything else?", env=env)
    assert asked.code == 0, asked.err
    results = asked.results(0)
    assert len(results) == 14 and "ancelled" in results[2] and "10 lines of pod" in results[13]
    assert "run" not in asked.marks
    again = ask(["fine"], "--resume", "last", question="now with Claude?", dialect="anthropic", env=env)
    assert again.code == 0 and again.results(0) == results, again.err


def test_what_is_typed_instead_of_a_decision_is_a_no(ask: Any, tmp_path: Path, env: dict[str, str]) -> None:
    """Somebody types the next question where yes or no was asked."""
    with OpenAIServer([[RISKY, ("pods", {})], "It was `OOMKilled` [E2]."]) as server:
        child = at_the_approval(server, tmp_path, env)
        child.send("what about node-1?\r")
        child.expect_exact("Ask on")
        child.send("\r")
        child.expect(pexpect.EOF)
        child.close()
    risky, pods = [each["content"] for each in server.bodies[1]["messages"] if each["role"] == "tool"]
    assert server.refused == []
    assert "a person said no: what about node-1?" in risky and "OOMKilled" in pods
    assert not (tmp_path / "marks").exists()
