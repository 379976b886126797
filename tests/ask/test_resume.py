"""Kill -9 in the middle of a run: nothing of it is lost, and it goes on."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from support.openai_server import OpenAIServer
from support.subprocesses import command, environment, holmes

pytestmark = pytest.mark.timeout(90)


def call(name: str) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": {}}]}


def killed_in_the_middle(tmp_path: Path) -> None:
    """A run that is killed while its second call hangs."""
    with OpenAIServer([call("pods"), call("hang")]) as server:
        arguments = ["ask", "why does pod-a restart?", "-n", "-t", str(tmp_path / "tools.yaml"), "--model", "openai/x"]
        env = environment(tmp_path, {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": server.key})
        process = subprocess.Popen(
            command(arguments), env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
        assert process.stderr is not None
        os.set_blocking(process.stderr.fileno(), False)
        deadline = time.monotonic() + 30
        while len(server.bodies) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        journal = tmp_path / ".holmes" / "journal.db"
        while b"hang" not in journal.with_name("journal.db-wal").read_bytes() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        process.stderr.close()
        process.stdout.close() if process.stdout else None


@pytest.mark.parametrize("question", [None, "and what should I do?"])
def test_a_killed_run_goes_on(ask: Any, tmp_path: Path, question: str | None) -> None:
    killed_in_the_middle(tmp_path)
    done, bodies = ask([{"content": "It was `OOMKilled` [E1]."}], "--resume", "last", question=question)
    assert done.code == 0, done.err
    assert "OOMKilled" in done.out
    messages = bodies[0]["messages"]
    results = [message["content"] for message in messages if message["role"] == "tool"]
    assert "OOMKilled exit 137" in results[0]
    assert "ancelled" in results[1], "the orphan is answered"
    assert "why does pod-a restart?" in messages[1]["content"]
    if question:
        assert question in messages[-1]["content"]


def test_a_finished_run_wants_a_question(ask: Any) -> None:
    ask([{"content": "All is well."}])
    done, bodies = ask([], "--resume", "last", question=None)
    assert done.code == 2
    assert "finished" in done.err and not bodies


def test_a_run_that_never_was(ask: Any) -> None:
    done, _ = ask([], "--resume", "20200101-000000-abcdef", question="why?")
    assert done.code == 2
    assert "there is no run 20200101-000000-abcdef" in done.err


def test_history_lists_shows_and_forgets(ask: Any, tmp_path: Path) -> None:
    ask([call("pods"), {"content": "It was `OOMKilled` [E1]."}])
    listed = holmes("history", "list", home=tmp_path)
    run = re.match(r"\S+", listed.out)
    assert run and "answered" in listed.out
    assert "OOMKilled" in holmes("history", "show", run.group(), home=tmp_path).out
    assert holmes("history", "delete", run.group(), home=tmp_path).code == 0
    assert run.group() not in holmes("history", "list", home=tmp_path).out
    assert not (tmp_path / ".holmes" / "runs" / run.group()).exists()
