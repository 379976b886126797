"""``holmes ask`` with a person at the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pexpect
import pytest

NEEDS_A_PERSON = [("bash", {"command": "frobnicate --all"})]


class Conversation:
    """The command at a terminal."""

    def __init__(self, env: dict[str, str], *arguments: str) -> None:
        self.child = pexpect.spawn(
            sys.executable,
            ["-m", "holmes", *arguments],
            env={**env, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"},  # nobody answers terminal queries here
            encoding="utf-8",
            timeout=30,
            dimensions=(50, 100),
        )

    def see(self, text: str) -> None:
        self.child.expect_exact(text)

    def leave(self) -> int:
        """Wait for the end; the exit code."""
        self.child.expect(pexpect.EOF)
        self.child.close()
        return int(self.child.exitstatus)


@pytest.fixture
def talk(env: dict[str, str]) -> Iterator[Callable[..., Conversation]]:
    started: list[Conversation] = []

    def start(*arguments: str) -> Conversation:
        started.append(Conversation(env, *arguments))
        return started[-1]

    yield start
    for each in started:
        each.child.close(force=True)


def test_a_conversation(talk: Any, model: Any) -> None:
    server = model(["It is DNS.", "Since noon."])
    talking = talk("ask", "why is web down?")
    talking.see("? why is web down?")
    talking.see("It is DNS.")
    talking.see("Ask on")
    talking.child.send("since when?\r")
    talking.see("Since noon.")
    talking.see("Ask on")
    talking.child.send("\r")
    assert talking.leave() == 0
    later = [message["content"] for message in server.bodies[1]["messages"]]
    assert "why is web down?" in str(later)
    assert "It is DNS." in str(later)


def test_bare_holmes_opens_a_conversation(talk: Any, model: Any) -> None:
    model(["It is DNS."])
    talking = talk()
    talking.see("What is wrong?")
    talking.child.send("why?\r")
    talking.see("It is DNS.")
    talking.see("Ask on")
    talking.child.sendeof()
    assert talking.leave() == 0


def test_no_question_at_a_terminal_is_no_error(talk: Any, model: Any) -> None:
    server = model([])
    talking = talk("ask")
    talking.see("What is wrong?")
    talking.child.sendintr()
    assert talking.leave() == 0
    assert server.requests == []


def test_n_answers_once(talk: Any, model: Any) -> None:
    model([NEEDS_A_PERSON, "It is DNS."])
    talking = talk("ask", "why?", "-n")
    talking.see("It is DNS.")
    assert talking.leave() == 4  # and asked nobody


def test_a_person_says_yes_to_all_for_the_whole_conversation(talk: Any, model: Any) -> None:
    server = model([NEEDS_A_PERSON, "One.", [("bash", {"command": "frobnicate --more"})], "Two."])
    talking = talk("ask", "why?")
    talking.see("A person has to decide:")
    talking.see("frobnicate --all")
    talking.see("or type why not: ")
    talking.child.send("a\r")
    talking.see("One.")
    talking.see("Ask on")
    talking.child.send("and now?\r")
    talking.see("Two.")
    talking.see("Ask on")
    talking.child.send("\r")
    assert talking.leave() == 0
    assert "a person" not in str(server.bodies[3]["messages"][-1]["content"])


def test_a_person_says_why_not(talk: Any, model: Any) -> None:
    server = model([NEEDS_A_PERSON, "One."])
    talking = talk("ask", "why?")
    talking.see("or type why not: ")
    talking.child.send("not on Friday\r")
    talking.see("One.")
    talking.see("Ask on")
    talking.child.send("\r")
    assert talking.leave() == 4
    assert "a person said no: not on Friday" in str(server.bodies[1]["messages"][-1]["content"])


def test_ctrl_c_at_the_approval_ends_the_question(talk: Any, model: Any) -> None:
    model([NEEDS_A_PERSON])
    talking = talk("ask", "why?")
    talking.see("or type why not: ")
    talking.child.sendintr()
    talking.see("Ask on")
    talking.child.send("\r")
    assert talking.leave() == 130


def test_a_failed_question_does_not_end_the_conversation(talk: Any, model: Any) -> None:
    model([{"status": 401, "message": "no"}, "Better now."])
    talking = talk("ask", "why?")
    talking.see("holmes: ")
    talking.see("Ask on")
    talking.child.send("and now?\r")
    talking.see("Better now.")
    talking.see("Ask on")
    talking.child.send("\r")
    assert talking.leave() == 0
