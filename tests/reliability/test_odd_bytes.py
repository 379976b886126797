"""Bytes that are no text, and text that would drive a terminal: from tools, from models, from the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

TOOLS = r"""
toolsets:
  odd:
    description: tools with odd output
    tools:
      - {name: latin1, description: not UTF-8, script: "printf 'caf\\351 \\377\\360 end'"}
      - {name: nul, description: NUL, script: "printf 'a\\000b end'"}
      - {name: colours, description: ANSI, script: "printf '\\033[31mred\\033[0m\\033[2J\\033[1;1H end'"}
      - {name: link, description: OSC 8, script: "printf '\\033]8;;http://evil\\033\\\\click\\033]8;;\\033\\\\ end'"}
      - {name: title, description: OSC 0, script: "printf '\\033]0;owned\\007 end'"}
      - {name: surrogate, description: CESU-8, script: "printf '\\355\\240\\200 end'"}
      - {name: crlf, description: CRLF, script: "printf 'one\\r\\ntwo\\rthree end'"}
      - {name: hidden, description: bidi and zero width, script: "printf 'a\\342\\200\\256b\\342\\200\\213c end'"}
      - {name: emoji, description: a long line, script: "printf 'x'; printf '\\360\\237\\230\\200%.0s' {1..60000}"}
"""
CLEAN = {
    "latin1": "caf\ufffd \ufffd\ufffd end",
    "nul": "ab end",
    "colours": "red end",
    "link": "click end",
    "title": " end",
    "surrogate": "\ufffd\ufffd\ufffd end",
    "crlf": "one\ntwo\nthree end",
    "hidden": "abc end",
}
LOUD = "\x1b]0;owned\x07\x1b[2JIt \x1b[31mwas\x1b[0m \x00 caf\ud800 \u202eend"


def quiet(text: str) -> bool:
    return all(character.isprintable() or character in "\n\t" for character in text)


@pytest.fixture
def odd(tmp_path: Path) -> list[str]:
    (tmp_path / "odd.yaml").write_text(TOOLS)
    return ["-t", str(tmp_path / "odd.yaml"), "--show-tool-output"]


def test_what_tools_write_becomes_text(ask: Any, odd: list[str]) -> None:
    asked = ask([[(name, {}) for name in CLEAN], "fine"], *odd)
    assert asked.code == 0, asked.err
    for text, (name, expected) in zip(asked.results(), CLEAN.items(), strict=True):
        assert text.split("\n", 1)[1].rpartition("\n[end")[0] == expected.lstrip("\n"), name
    assert quiet(asked.err) and quiet(asked.out)


def test_a_cut_never_splits_a_character(ask: Any, odd: list[str]) -> None:
    asked = ask([[("emoji", {})], [("read_result", {"handle": "E1", "lines": "1-1"})], "fine"], *odd)
    assert asked.code == 0, asked.err
    for text in asked.results():
        assert "😀" in text and "\ufffd" not in text
        assert not any("\ud800" <= character <= "\udfff" for character in text)


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_what_a_model_writes_cannot_drive_the_terminal(ask: Any, dialect: str) -> None:
    asked = ask([{"content": LOUD, "calls": [("mark", {"what": LOUD})], "reasoning": LOUD}, LOUD], dialect=dialect)
    assert asked.code == 0, asked.err
    assert quiet(asked.out) and quiet(asked.err)
    assert "end" in asked.out and "�" in asked.out


def test_json_output_is_json_whatever_a_model_writes(ask: Any) -> None:
    data = ask([LOUD], "-o", "json")
    assert "caf�" in json.loads(data.out)["answer"]


@pytest.mark.parametrize(
    "error", [{"status": 401, "message": LOUD}, {"status": 503, "body": LOUD.replace("\ud800", "")}]
)
def test_what_a_provider_says_cannot_drive_the_terminal(ask: Any, error: Any) -> None:
    asked = ask([error] * 3)
    assert asked.code == 1
    assert quiet(asked.err) and "owned" not in asked.err


def test_a_question_that_is_not_utf_8(ask: Any, tmp_path: Path) -> None:
    (tmp_path / "latin1.log").write_bytes(b"caf\xe9 is down \xff\x00\x1b[2J")
    asked = ask(["fine"], "--file", str(tmp_path / "latin1.log"), question=os.fsdecode(b"why is caf\xe9 down?"))
    assert asked.code == 0, asked.err
    sent = asked.bodies[0]["messages"][-1]["content"]
    assert "why is caf\ufffd down?" in sent and "caf\ufffd is down" in sent
    assert "\x1b" not in sent and "\x00" not in sent
