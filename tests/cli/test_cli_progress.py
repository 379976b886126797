"""What a person sees while an investigation runs."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

from holmes.cli.progress import Progress, usage_line
from holmes.cli.terminal import Terminal, columns
from holmes.core.events import (
    AiMessage,
    AnswerDelta,
    AnswerEnd,
    AnswerReset,
    Compacted,
    ErrorEvent,
    Event,
    EvidenceVerified,
    Record,
    StartToolCalling,
    TodoUpdated,
    TokenCount,
    ToolCallingResult,
)

Watch = Callable[..., list[str]]
USAGE = {
    "usage": {"prompt_tokens": 12_345, "completion_tokens": 678, "cached_tokens": 0},
    "costs": {"total_cost": 0.01234},
}


def finished(call: str = "1", status: str = "success", **more: Any) -> ToolCallingResult:
    result = {"status": status, "reference": "E1", "invocation": "kubectl get pods", "elapsed_seconds": 1.25, **more}
    return ToolCallingResult(call, "kubectl_get", "kubectl_get pods", result)


@pytest.fixture
def watch(window: Any) -> Watch:
    """The screen after these events."""

    def show(*events: Event, size: int = 80, **settings: Any) -> list[str]:
        screen = window(size)
        progress = Progress(Terminal.of(screen.stream, {}), **settings)
        for event in events:
            progress.show(event)
        return screen.lines()

    return show


def log(*events: Event, **settings: Any) -> str:
    """What a log file gets."""
    stream = io.StringIO()
    progress = Progress(Terminal.of(stream, {}), **settings)
    for event in events:
        progress.show(event)
    progress.clear()
    return stream.getvalue()


def test_a_question_is_being_thought_about(watch: Watch) -> None:
    assert watch(Record("message", {})) == ["… thinking"]


def test_running_calls_are_named(watch: Watch) -> None:
    events = [StartToolCalling("1", "kubectl_get"), StartToolCalling("2", "fetch_pod_logs")]
    assert watch(*events) == ["… kubectl_get, fetch_pod_logs"]
    assert watch(*events, finished("1")) == ["✓ E1 kubectl get pods (1.2 s)", "… fetch_pod_logs"]
    assert watch(*events, finished("1"), finished("2"))[-1] == "… thinking"


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({}, "✓ E1 kubectl get pods (1.2 s)"),
        ({"status": "no_data"}, "∅ E1 kubectl get pods (1.2 s)"),
        ({"status": "error", "error": "forbidden"}, "✗ E1 kubectl get pods (1.2 s) forbidden"),
        ({"status": "approval_required"}, "? E1 kubectl get pods (1.2 s)"),
        ({"reference": "", "invocation": None}, "✓ – kubectl_get pods (1.2 s)"),
        ({"invocation": "kubectl get pods \\\n  -o wide"}, "✓ E1 kubectl get pods \\ -o wide (1.2 s)"),
    ],
)
def test_a_finished_call_is_one_line(more: dict[str, Any], line: str, watch: Watch) -> None:
    assert watch(finished(**more))[0] == line
    assert log(finished(**more)) == f"{line}\n"


def test_a_failed_call_is_red() -> None:
    stream = io.StringIO()
    progress = Progress(Terminal(stream, live=False, colour=True))
    progress.show(finished(status="error", error="forbidden"))
    progress.show(finished())
    red, plain = stream.getvalue().splitlines()
    assert red.startswith("\x1b[31m")
    assert "\x1b" not in plain


@pytest.mark.parametrize("size", [30, 60])
@pytest.mark.parametrize("what", ["kubectl get pods " + "-l app=checkout " * 20, "检查容器" * 40])
def test_a_long_call_is_cut_and_its_end_is_still_seen(size: int, what: str, watch: Watch) -> None:
    line, _ = watch(finished(status="error", invocation=what, error="no"), size=size)
    assert line.startswith("✗ E1 ")
    assert line.endswith("… (1.2 s) no")
    assert columns(line) < size


def test_a_long_error_leaves_room_for_the_call(watch: Watch) -> None:
    line, _ = watch(finished(status="error", error="because " * 50), size=60)
    assert line.startswith("✗ E1 kubectl get pods (1.2 s) because")
    assert len(line) < 60


def test_output_of_tools_on_demand() -> None:
    event = finished(data="NAME  READY\nweb   0/1")
    assert "READY" not in log(event)
    assert log(event, show_output=True).splitlines()[1:] == ["    NAME  READY", "    web   0/1"]
    assert log(finished(data=None), show_output=True).count("\n") == 1


def test_hostile_words_do_not_drive_the_terminal(watch: Watch) -> None:
    hostile = "\x1b[2J\x1b[1;1H\x1b]0;owned\x07fine\rline\x9b5n"
    events = [
        AiMessage(hostile),
        finished(invocation=hostile, status="error", error=hostile, data=hostile),
        TodoUpdated(({"status": "pending", "content": hostile},)),
        Compacted(hostile),
        StartToolCalling("2", hostile),
        AnswerDelta(hostile),
    ]
    for event in events:
        written = log(event, show_output=True)
        assert not [character for character in written if not (character.isprintable() or character == "\n")]
    assert watch(AiMessage("first"), *events, size=60)[0] == "first"  # nothing went up and wiped it


def test_the_last_words_of_the_answer_are_seen_while_it_is_written(watch: Watch) -> None:
    assert watch(AnswerDelta("The pod"), AnswerDelta(" is out of memory.")) == ["The pod is out of memory."]
    (line,) = watch(AnswerDelta("## Root cause\n"), AnswerDelta("检查 " * 30), size=20)
    assert line.startswith("…")
    assert line.endswith("检查 检查")
    (line,) = watch(AnswerDelta("long words " * 50), AnswerDelta("at the end"), size=30)
    assert line.startswith("…")
    assert line.endswith("at the end")


@pytest.mark.parametrize("piece", ["", "\n", " \n\n "])
def test_a_piece_without_words(piece: str, watch: Watch) -> None:
    assert watch(AnswerDelta(piece)) == [""]


@pytest.mark.parametrize("end", [AnswerReset(), AnswerEnd("text")])
def test_what_was_taken_back_does_not_come_again(end: Event, watch: Watch) -> None:
    assert watch(AnswerDelta("old words "), end, AnswerDelta("new words")) == ["new words"]


def test_words_beside_calls_and_notices(watch: Watch) -> None:
    assert watch(AiMessage("I look at the pods.\nThen at logs.\n")) == ["I look at the pods.", "Then at logs.", ""]
    assert log(AiMessage("  \n"), AiMessage("", "thoughts")) == ""


def test_the_task_list(watch: Watch) -> None:
    todos = [
        {"status": "completed", "content": "look"},
        {"status": "in_progress", "content": "think " * 30},
        {"status": "pending", "content": "tell"},
        {"status": "failed", "content": "guess"},
        {"status": "else", "content": "wait"},
    ]
    lines = watch(TodoUpdated(tuple(todos)), size=30)
    assert [line[0] for line in lines if line] == ["☑", "◐", "☐", "☒", "☐"]
    assert lines[1].endswith("…")
    assert len(lines[1]) < 30


def test_tokens_are_for_the_verbose() -> None:
    assert log(TokenCount(USAGE)) == ""
    assert log(TokenCount(USAGE), verbose=1) == "  12,345 tokens in, 678 out, $0.0123\n"


def test_usage_in_words() -> None:
    unknown = {"usage": {**USAGE["usage"], "cached_tokens": 1000}, "costs": {"total_cost": None}}
    assert usage_line(unknown) == "12,345 tokens in, 1,000 of them cached, 678 out, price unknown"


def test_a_wait_is_said() -> None:
    stream = io.StringIO()
    Progress(Terminal.of(stream, {})).waiting(3.6, "the provider is busy")
    assert stream.getvalue() == "  the provider is busy; trying again in 4 s\n"


def test_a_shortened_history_is_said() -> None:
    assert log(Compacted("shortened from 90k to 20k tokens")) == "  shortened from 90k to 20k tokens\n"


@pytest.mark.parametrize("event", [ErrorEvent("bad"), EvidenceVerified({}), AnswerEnd("the answer")])
def test_what_others_show_is_not_shown_twice(event: Event) -> None:
    assert log(event) == ""


def test_a_log_file_gets_no_status_lines() -> None:
    assert log(Record("message", {}), StartToolCalling("1", "kubectl_get"), AnswerDelta("The pod")) == ""
