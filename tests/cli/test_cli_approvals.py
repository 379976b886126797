"""A person at the terminal decides: through a pseudo-terminal, as a person types."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest

from holmes.cli.approvals import visible

QUESTION = "or type why not: "
# Asks as often as there are commands. Each time it first waits until somebody opens and closes the fifo.
PROGRAM = """
import asyncio, json, sys
from holmes.cli.approvals import TerminalApprovals, somebody_there
from holmes.cli.terminal import Terminal

async def main():
    approvals = TerminalApprovals(Terminal.of(sys.stderr, {}))
    fifo, *commands = sys.argv[1:]
    for command in commands:
        print("READY", flush=True)
        open(fifo).read()
        decision = await approvals.decide({"description": json.loads(command), "reason": "tee writes files"})
        print("DECIDED", decision.approved, repr(decision.note), flush=True)
    print("LEAVING", somebody_there(), flush=True)

asyncio.run(main())
"""
# Is cancelled while it waits.
CANCELLED = """
import asyncio, pathlib, sys
from holmes.cli.approvals import TerminalApprovals
from holmes.cli.terminal import Terminal

async def main():
    approvals = TerminalApprovals(Terminal.of(sys.stderr, {}))
    asking = asyncio.create_task(approvals.decide({"description": "x", "reason": "y"}))
    await asyncio.to_thread(pathlib.Path(sys.argv[1]).read_text)
    asking.cancel()
    try:
        await asking
    except asyncio.CancelledError:
        print("CANCELLED", flush=True)

asyncio.run(main())
print("LEFT", flush=True)
"""


class Person:
    """Somebody in front of the program."""

    def __init__(self, program: str, folder: Path, env: dict[str, str], *commands: str) -> None:
        self.fifo = folder / "fifo"
        os.mkfifo(self.fifo)
        self.child = pexpect.spawn(
            sys.executable, ["-c", program, str(self.fifo), *commands], env=env, encoding="utf-8", timeout=20
        )

    def let_it_ask(self) -> None:
        self.fifo.open("w").close()

    def wait_for_question(self) -> str:
        """What is shown before it."""
        self.child.expect_exact("READY")
        self.let_it_ask()
        self.child.expect_exact(QUESTION)
        return str(self.child.before)

    def answer(self, line: str) -> str:
        """Answer the next question; what was decided."""
        self.wait_for_question()
        self.child.sendline(line)
        self.child.expect(r"DECIDED (\w+ .*?)\r\n")
        return str(self.child.match[1])


@pytest.fixture
def person(env: dict[str, str], tmp_path: Path) -> Iterator[Callable[..., Person]]:
    made: list[Person] = []

    def make(*commands: str, program: str = PROGRAM) -> Person:
        made.append(Person(program, tmp_path, env, *commands))
        return made[-1]

    yield make
    for each in made:
        each.child.close(force=True)


@pytest.mark.parametrize(
    ("typed", "decided"),
    [
        ("y", "True ''"),
        ("YES", "True ''"),
        (" y ", "True ''"),
        ("n", "False ''"),
        ("no", "False ''"),
        ("", "False ''"),
        ("not on Friday", "False 'not on Friday'"),
        ("不要", "False '不要'"),
        ("yy", "False 'yy'"),
    ],
)
def test_an_answer(typed: str, decided: str, person: Any) -> None:
    assert person('"systemctl restart web"').answer(typed) == decided


def test_what_is_approved_is_what_is_seen(person: Any) -> None:
    shown = person('"rm -rf /data\\u001b[2K\\r\\u202ekubectl get pods\\nnext line"').wait_for_question()
    assert r"  rm -rf /data\x1b[2K\r\u202ekubectl get pods" in shown
    assert "  next line" in shown
    assert "tee writes files" in shown


def test_yes_to_all_asks_no_more(person: Any) -> None:
    asked = person('"one"', '"two"', '"three"')
    assert asked.answer("n") == "False ''"
    assert asked.answer("a") == "True ''"
    asked.child.expect_exact("READY")
    asked.let_it_ask()
    asked.child.expect(r"DECIDED (\w+ .*?)\r\n")
    assert asked.child.match[1] == "True ''"
    assert QUESTION not in asked.child.before


def test_the_end_of_input_is_no(person: Any) -> None:
    asked = person('"one"')
    asked.wait_for_question()
    asked.child.sendeof()
    asked.child.expect_exact("DECIDED False ''")
    asked.child.expect_exact("LEAVING True")


def test_what_was_typed_before_the_question_is_no_answer(person: Any) -> None:
    asked = person('"one"')
    asked.child.expect_exact("READY")
    asked.child.sendline("y")
    asked.child.expect_exact("y\r\n")  # the echo: it has arrived
    asked.let_it_ask()
    asked.child.expect_exact(QUESTION)
    asked.child.sendline("n")
    asked.child.expect_exact("DECIDED False ''")


def test_the_question_can_be_taken_back(person: Any) -> None:
    asked = person(program=CANCELLED)
    asked.child.expect_exact(QUESTION)
    asked.let_it_ask()
    asked.child.expect_exact("CANCELLED")
    asked.child.expect_exact("LEFT")  # no thread is left that waits for a line
    asked.child.expect(pexpect.EOF)


def test_without_a_terminal_it_is_no(env: dict[str, str], tmp_path: Path) -> None:
    nothing = tmp_path / "nothing"
    nothing.touch()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(nothing), '"one"'],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
        start_new_session=True,
    )
    assert done.stdout == "READY\nDECIDED False ''\nLEAVING False\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text\nsecond line", "plain text\nsecond line"),
        ("检查 🦀", "检查 🦀"),
        ("\x00\x07\x1b\t\r", r"\x00\x07\x1b\t\r"),
        ("\u202e\u200b\u2028\ud800", r"\u202e\u200b\u2028\ud800"),
        ("a\u00a0b", r"a\xa0b"),
    ],
)
def test_nothing_hides(text: str, shown: str) -> None:
    assert visible(text) == shown
