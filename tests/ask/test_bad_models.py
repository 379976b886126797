"""Models that cannot be used, and questions that cannot be asked: one clear message, the right exit code."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from support.subprocesses import holmes


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_server_that_is_down(ask: Any) -> None:
    port = closed_port()
    done, _ = ask([], base=f"http://127.0.0.1:{port}/v1")
    assert done.code == 1
    assert f"127.0.0.1:{port}" in done.err and "→" in done.err
    assert done.out == ""


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ({"status": 401, "message": "Incorrect API key provided"}, ["OPENAI_API_KEY"]),
        ({"status": 404, "message": "The model does not exist", "code": "model_not_found"}, ["scripted"]),
        ({"body": "<html>Welcome to the proxy</html>", "type": "text/html"}, ["web page"]),
    ],
)
def test_a_server_that_refuses(ask: Any, reply: dict[str, Any], words: list[str]) -> None:
    done, _ = ask([reply, reply, reply])
    assert done.code == 1
    assert all(word in done.err for word in words), done.err


def test_what_was_found_is_printed_when_the_model_goes_away(ask: Any) -> None:
    down = {"status": 503, "message": "overloaded"}
    done, _ = ask([{"calls": [{"name": "pods", "arguments": {}}]}, down, down, down])
    assert done.code == 3
    assert "OOMKilled" in done.out and "503" in done.out


def test_an_unknown_bare_name_lists_the_known_ones(tmp_path: Path) -> None:
    done = holmes("ask", "why?", "-n", "--model", "gpt-4oo", home=tmp_path)
    assert done.code in (1, 2)
    assert "gpt-4o" in done.err


def test_litellm_is_asked_for_in_one_line(tmp_path: Path) -> None:
    done = holmes("ask", "why?", "-n", "--model", "gemini/gemini-2.5-pro", home=tmp_path, env={"GEMINI_API_KEY": "x"})
    assert done.code == 1
    assert "pip install 'holmes-sre[litellm]'" in done.err


@pytest.mark.parametrize("question", ["", "   "])
def test_an_empty_question(ask: Any, question: str) -> None:
    done, bodies = ask([], question=question)
    assert done.code == 2
    assert "empty" in done.err
    assert not bodies


def test_fifty_megabytes_on_a_pipe_become_a_result(ask: Any) -> None:
    text = b"a quiet line of a log\n" * 2_300_000 + b"ERROR pool exhausted\n"
    search = {"calls": [{"name": "read_result", "arguments": {"handle": "E1", "grep": "pool exhausted"}}]}
    done, bodies = ask([search, {"content": "The pool: `pool exhausted` [E1]."}], stdin=text)
    assert done.code == 0, done.err
    assert len(str(bodies[0])) < 100_000
    assert "ERROR pool exhausted" in str(bodies[1]["messages"][-1]["content"])


def test_an_unreadable_file(ask: Any, tmp_path: Path) -> None:
    done, _ = ask([], "--file", str(tmp_path / "absent.log"))
    assert done.code == 2
    assert "absent.log" in done.err


def test_a_call_that_needs_a_person_is_refused_with_the_command(ask: Any) -> None:
    script = [
        {"calls": [{"name": "bash", "arguments": {"command": "kubectl delete pod pod-a"}}]},
        {"content": "not done"},
    ]
    done, bodies = ask(script)
    assert done.code == 4
    assert "kubectl delete pod pod-a" in done.out
    assert "Not run" in str(bodies[1]["messages"][-1]["content"])
    done, _ = ask(script, "--approve", "never")
    assert done.code == 0


def test_events_as_json_lines(ask: Any) -> None:
    done, _ = ask(
        [{"calls": [{"name": "pods", "arguments": {}}]}, {"content": "It is `OOMKilled` [E1]."}], "-o", "jsonl"
    )

    kinds = [json.loads(line)["event"] for line in done.out.splitlines()]
    assert kinds[0] == "token_count" and kinds[-1] == "ai_answer_end"
    assert "start_tool_calling" in kinds and "tool_calling_result" in kinds
