"""Earlier investigations, out of a real journal."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from holmes.core.events import AnswerEnd, ErrorEvent, Record, StartToolCalling
from holmes.core.journal import Journal
from holmes.core.report import Report

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
REPORT = Report("why?", "answered", "It is DNS [E1].", "r1", "openai/test", WHEN, WHEN)


@pytest.fixture
def journal(env: dict[str, str]) -> Any:
    """A journal whose clock stands still; each run is a second younger than the one before."""
    now = [WHEN.timestamp()]

    def clock() -> float:
        now[0] += 1
        return now[0]

    with Journal.open(Path(env["HOLMES_HOME"]) / "journal.db", clock) as opened:
        yield opened


def keep(journal: Journal, run: str, question: str, *events: Any, status: str = "answered") -> None:
    journal.start_run(run, question, model="openai/test")
    for event in events:
        journal.append(run, event.kind, event.as_data())
    journal.finish_run(run, status)


def answer(run: str, text: str) -> AnswerEnd:
    return AnswerEnd(text, replace(REPORT, run_id=run, answer=text).as_data())


def test_nothing_yet(holmes: Any, env: dict[str, str]) -> None:
    done = holmes("history", "list")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("No investigations yet.")
    assert not Path(env["HOLMES_HOME"]).exists()  # looking makes nothing
    assert json.loads(holmes("history", "list", "--json").stdout) == []
    shown = holmes("history", "show")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr.startswith("holmes: there is no run yet")


def test_the_newest_comes_first(holmes: Any, journal: Journal) -> None:
    keep(journal, "r1", "why is\nweb \x1b[2Jdown?", answer("r1", "It is DNS."))
    keep(journal, "r2", "为什么" + "很慢" * 60, ErrorEvent("no model"), status="failed")
    done = holmes("history", "list", more={"PYTHONIOENCODING": "latin-1"})
    assert (done.returncode, done.stderr) == (0, "")
    second, first = done.stdout.splitlines()
    assert first == "r1  2026-01-02 03:04  answered   why is web down?"
    assert second.startswith("r2  2026-01-02 03:04  failed     为什么")
    assert second.endswith("…")
    assert holmes("history", "list", "--limit", "1").stdout.splitlines() == [second]


def test_times_are_local_for_people_and_utc_for_programs(holmes: Any, journal: Journal) -> None:
    keep(journal, "r1", "why?", answer("r1", "It is DNS."))
    assert "2026-01-02 04:04" in holmes("history", "list", more={"TZ": "UTC-1"}).stdout
    (row,) = json.loads(holmes("history", "list", "-o", "json", more={"TZ": "UTC-1"}).stdout)
    assert row == {
        "run_id": "r1",
        "started": "2026-01-02T03:04:06+00:00",
        "status": "answered",
        "model": "openai/test",
        "question": "why?",
    }
    assert json.loads(holmes("history", "list", "-o", "jsonl").stdout) == row


def test_show_gives_the_last_report(holmes: Any, journal: Journal) -> None:
    keep(journal, "r1", "why?", answer("r1", "It is DNS."), answer("r1", "It is still DNS."))
    keep(journal, "r2", "what?", answer("r2", "Nothing."))
    assert holmes("history", "show", "r1").stdout == "It is still DNS.\n"
    assert holmes("history", "show").stdout == "Nothing.\n"
    assert json.loads(holmes("history", "show", "r1", "--json").stdout)["answer"] == "It is still DNS."
    assert holmes("history", "show", "r1", "-o", "html").stdout.startswith("<!doctype html>")


def test_show_gives_all_events_as_lines(holmes: Any, journal: Journal) -> None:
    keep(journal, "r1", "why?", Record("message", {}), StartToolCalling("1", "kubectl_get"), answer("r1", "DNS."))
    lines = [json.loads(line) for line in holmes("history", "show", "r1", "-o", "jsonl").stdout.splitlines()]
    assert [(line["event"], line["seq"]) for line in lines] == [("start_tool_calling", 2), ("ai_answer_end", 3)]


def test_an_answer_counts_though_an_error_came_after_it(holmes: Any, journal: Journal) -> None:
    keep(journal, "r1", "why?", answer("r1", "So far: DNS."), ErrorEvent("interrupted"), status="cut_short")
    assert holmes("history", "show").stdout == "So far: DNS.\n"


@pytest.mark.parametrize(
    ("events", "why"),
    [([ErrorEvent("wrong key")], "wrong key"), ([Record("message", {})], "its end is not in the journal")],
)
def test_a_run_without_an_answer_says_why(events: list[Any], why: str, holmes: Any, journal: Journal) -> None:
    keep(journal, "r1", "why?", *events, status="failed")
    done = holmes("history", "show", "r1")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"holmes: run r1 has no answer: {why}\n")


def test_an_unknown_run(holmes: Any, journal: Journal) -> None:
    done = holmes("history", "show", "nope")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "holmes: there is no run nope\n  → holmes history list shows what there is\n"


def test_a_damaged_journal_is_named(holmes: Any, env: dict[str, str]) -> None:
    file = Path(env["HOLMES_HOME"]) / "journal.db"
    file.parent.mkdir()
    file.write_bytes(b"this is no database" * 100)
    done = holmes("history", "list")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"holmes: {file}: ")
    assert "Traceback" not in done.stderr
