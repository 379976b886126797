"""Tools that hang, flood, die or lie about their encoding: a result with a cause each time, and no leftovers."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from support.openai_server import OpenAIServer
from support.subprocesses import command, environment

pytestmark = pytest.mark.timeout(90)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments}]}


def result_of(body: dict[str, Any], index: int = -1) -> str:
    texts = [message["content"] for message in body["messages"] if message["role"] == "tool"]
    return str(texts[index])


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("hang", ["error", "started", "in time"]),
        ("latin1", ["success", "caf\ufffd", "red"]),
        ("killed", ["error", "before", "137"]),
        ("grandchild", ["success", "done"]),
        ("absent", ["error", "no-such-program-at-all"]),
    ],
)
def test_the_model_is_told_what_happened(ask: Any, sleeper: str, tool: str, expected: list[str]) -> None:
    started = time.monotonic()
    done, bodies = ask(
        [{"calls": [{"name": tool, "arguments": {}}, {"name": "pods", "arguments": {}}]}, {"content": "ok"}]
    )
    assert time.monotonic() - started < 40, "it hung"
    assert done.code == 0, done.err
    text = result_of(bodies[1], 0)
    for part in expected:
        assert part in text, text
    assert "\033" not in text
    assert "OOMKilled" in result_of(bodies[1], 1), "the other call was held up"
    assert not left_over(sleeper)


def test_a_flood_is_stored_and_can_be_searched(ask: Any) -> None:
    done, bodies = ask([call("big"), call("read_result", handle="E1", grep="THE END"), {"content": "ok"}])
    assert done.code == 0, done.err
    shown = result_of(bodies[1])
    assert len(shown) < 40_000
    assert "left out" in shown and 'read_result("E1"' in shown
    assert "THE END" in result_of(bodies[2])


def test_ctrl_c_keeps_what_was_found_and_leaves_nothing_behind(tmp_path: Path, ask: Any, sleeper: str) -> None:
    with OpenAIServer([call("pods"), call("hang")]) as server:
        arguments = ["ask", "why?", "-n", "-t", str(tmp_path / "tools.yaml"), "--model", "openai/scripted"]
        env = environment(tmp_path, {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": server.key})
        process = subprocess.Popen(
            command(arguments), env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        deadline = time.monotonic() + 30
        while len(server.bodies) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        while not left_over(sleeper) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 130, err.decode()
    assert "OOMKilled" in out.decode()
    assert b"Traceback" not in err
    assert not left_over(sleeper)


def left_over(words: str) -> list[str]:
    """Processes of this user with these words as their command line."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                line = Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
            except OSError:
                continue
            if line == words:
                found.append(entry)
    return found
