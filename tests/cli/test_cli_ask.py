"""``holmes ask`` as a whole process, against a model on loopback."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from holmes.cli.session import approval_mode, check
from holmes.core.errors import UsageError
from support.openai_server import OpenAIServer

READ = [("bash", {"command": "echo evidence-of-dns"})]
NEEDS_A_PERSON = [("bash", {"command": "frobnicate --all"})]


def question_of(server: OpenAIServer) -> str:
    return str(server.bodies[0]["messages"][-1]["content"])


def test_the_answer_alone_is_on_standard_output(holmes: Any, model: Any) -> None:
    server = model([READ, "It is DNS: `evidence-of-dns` [E1]."])
    done = holmes("ask", "why is web down?")
    assert (done.returncode, done.stdout) == (0, "It is DNS: `evidence-of-dns` [E1].\n")
    assert "✓ E1 echo evidence-of-dns" in done.stderr
    assert "why is web down?" in question_of(server)
    assert server.refused == []


def test_words_without_quotes_are_one_question(holmes: Any, model: Any) -> None:
    server = model(["Fine."])
    assert holmes("ask", "-n", "why", "is", "web", "down").stdout == "Fine.\n"
    assert "why is web down" in question_of(server)


@pytest.mark.parametrize("option", ["-pf", "--prompt-file"])
def test_a_question_from_a_file(option: str, holmes: Any, model: Any, tmp_path: Path) -> None:
    server = model(["Fine."])
    (tmp_path / "question.txt").write_text("why is web down?")
    assert holmes("ask", option, "question.txt").stdout == "Fine.\n"
    assert "why is web down?" in question_of(server)


def test_what_is_piped_in_is_evidence(holmes: Any, model: Any) -> None:
    server = model(["The log says `out of memory` [E1]."])
    done = holmes("ask", "why?", given="web: out of memory\n")
    assert (done.returncode, done.stdout) == (0, "The log says `out of memory` [E1].\n")
    assert "web: out of memory" in question_of(server)


@pytest.mark.parametrize("arguments", [["-o", "json"], ["--json"]])
def test_json(arguments: list[str], holmes: Any, model: Any) -> None:
    model(["Fine."])
    data = json.loads(holmes("ask", "why?", *arguments).stdout)
    assert (data["schema"], data["answer"], data["model"]) == ("holmes.report/v1", "Fine.", "openai/test-model")


def test_events_as_lines(holmes: Any, model: Any) -> None:
    model([READ, "Fine."])
    lines = [json.loads(line) for line in holmes("ask", "why?", "-o", "jsonl").stdout.splitlines()]
    kinds = [line["event"] for line in lines]
    assert kinds[-1] == "ai_answer_end"
    assert {"start_tool_calling", "tool_calling_result", "token_count"} < set(kinds)
    assert "record" not in kinds
    numbers = [line["seq"] for line in lines if line["seq"]]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("by", ["option", "variable"])
def test_the_whole_result_in_a_file(by: str, holmes: Any, model: Any, tmp_path: Path) -> None:
    model([READ, "Fine."])
    file = tmp_path / "result.json"
    if by == "option":
        done = holmes("ask", "why?", "--json-output-file", str(file))
    else:
        done = holmes("ask", "why?", more={"HOLMES_JSON_OUTPUT_FILE": str(file)})
    assert done.stdout.startswith("Fine.\n")
    data = json.loads(file.read_text())
    assert data["result"] == "Fine."
    assert [call["tool_name"] for call in data["tool_calls"]] == ["bash"]
    assert data["num_llm_calls"] == 2


def test_a_file_that_cannot_be_written_costs_no_model_call(holmes: Any, model: Any) -> None:
    server = model(["Fine."])
    done = holmes("ask", "why?", "--json-output-file", "no-folder/result.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no-folder/result.json: cannot be written" in done.stderr
    assert server.requests == []


@pytest.mark.parametrize("arguments", [["ask"], ["ask", ""], ["ask", " \n"], ["ask", "-n"]])
def test_an_empty_question(arguments: list[str], holmes: Any) -> None:
    done = holmes(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("holmes: the question is empty\n  → ask something: ")


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ([], 4),
        (["--approve", "ask"], 4),
        (["--approve", "never"], 0),
        (["--bash-always-deny"], 0),
    ],
)
def test_a_refused_call_shows_in_the_exit_code(flags: list[str], code: int, holmes: Any, model: Any) -> None:
    server = model([NEEDS_A_PERSON, "I could not look."])
    done = holmes("ask", "why?", *flags, start_new_session=True)  # nobody at a terminal
    assert done.returncode == code
    assert "frobnicate --all" in done.stdout  # to copy
    assert "a person would have to approve it" in str(server.bodies[1]["messages"][-1]["content"])


def test_always_runs_what_needs_a_person(holmes: Any, model: Any) -> None:
    server = model([NEEDS_A_PERSON, "There is no such program."])
    assert holmes("ask", "why?", "--bash-always-allow").returncode == 0
    assert "approve" not in str(server.bodies[1]["messages"][-1]["content"])


def test_a_limit_is_3(holmes: Any, model: Any) -> None:
    model([READ, "So far: DNS."])
    done = holmes("ask", "why?", "--max-steps", "1")
    assert done.returncode == 3
    assert "So far: DNS." in done.stdout


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ({"status": 401, "message": "Incorrect API key provided \x1b[2J", "code": "invalid_api_key"}, "OPENAI_API_KEY"),
        ({"body": "<html>login</html>", "type": "text/html"}, "web page"),
    ],
)
def test_a_model_that_cannot_be_used_is_1(reply: Any, said: str, holmes: Any, model: Any, env: Any) -> None:
    model(lambda body: reply)
    settings = Path(env["HOLMES_HOME"]) / "config.yaml"
    settings.parent.mkdir()
    settings.write_text("model_retry: {tries: 1}\n")
    done = holmes("ask", "why?")
    assert (done.returncode, done.stdout) == (1, "")
    assert "holmes: " in done.stderr
    assert said in done.stderr
    assert not [sign for sign in ("Traceback", "\x1b", "sk-no-real-key") if sign in done.stderr]


def test_a_namespace_after_n_is_taken_for_what_it_is(holmes: Any) -> None:
    done = holmes("ask", "why is web down?", "-n", "prod")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean --namespace prod ?" in done.stderr


GIVEN = {
    "prompt": None,
    "no_interactive": False,
    "json_output_file": None,
    "approve": None,
    "bash_always_allow": False,
    "bash_always_deny": False,
}


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["why is web down?", "prod"], True),
        (["prod", "why is web down?"], True),
        (["为什么web挂了", "prod-1"], True),
        (["why", "down"], False),
        (["prod"], False),
        (["why is web down?"], False),
        (["why", "is", "web", "down?"], False),
    ],
)
def test_when_n_was_meant_otherwise(words: list[str], hint: bool) -> None:
    check({**GIVEN, "prompt": words})
    if hint:
        with pytest.raises(UsageError, match="did you mean --namespace prod"):
            check({**GIVEN, "prompt": words, "no_interactive": True})
    else:
        check({**GIVEN, "prompt": words, "no_interactive": True})


def test_contradicting_approvals(holmes: Any) -> None:
    both = {**GIVEN, "bash_always_allow": True, "bash_always_deny": True}
    with pytest.raises(UsageError, match="--bash-always-allow or --bash-always-deny, not both"):
        approval_mode(both)
    done = holmes("ask", "why?", "--approve", "never", "--bash-always-allow")
    assert done.returncode == 2
    assert "not both" in done.stderr
    done = holmes("ask", "why?", "--approve", "always", "--bash-always-allow", "--max-steps", "x")
    assert "--max-steps" in done.stderr  # the same thing twice is no contradiction


def test_flags_of_the_field_are_accepted(holmes: Any, model: Any) -> None:
    model(["Fine."])
    done = holmes("ask", "why?", "-i", "--fast-mode", "--enable-todos", "-vv", "--no-echo", "--log-costs")
    assert (done.returncode, done.stdout) == (0, "Fine.\n")
    assert "100 tokens in, 20 out" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_prints_what_was_found(
    number: signal.Signals, model: Any, env: dict[str, str], command: list[str]
) -> None:
    asked_again = threading.Event()

    def stall(body: Any) -> Any:
        asked_again.set()
        return {"stall": "headers"}

    model([READ, stall])
    program = subprocess.Popen(
        [*command, "ask", "why?", "-o", "json"],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert asked_again.wait(20)
    program.send_signal(number)
    out, err = program.communicate(timeout=20)
    assert program.returncode == 130
    report = json.loads(out)
    assert (report["status"], report["cut_short_by"]) == ("cut_short", "interrupted")
    assert [item["reference"] for item in report["evidence"]] == ["E1"]
    assert "Traceback" not in err


def test_an_interruption_before_anything_was_found(model: Any, env: dict[str, str], command: list[str]) -> None:
    asked = threading.Event()

    def stall(body: Any) -> Any:
        asked.set()
        return {"stall": "stream", "content": "half an ans"}

    model([stall])
    program = subprocess.Popen(
        [*command, "ask", "why?"],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert asked.wait(20)
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=20)
    assert (program.returncode, out) == (130, "")
    assert "interrupted" in err
    assert "Traceback" not in err
