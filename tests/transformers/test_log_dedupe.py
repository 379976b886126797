"""log_dedupe: kinds of lines with counts and times."""

from __future__ import annotations

import time

from holmes.tools.log_dedupe import folded


def stamp(second: int) -> str:
    return f"2026-01-02T10:{second // 60 % 60:02}:{second % 60:02}Z"


def log(count: int = 600) -> list[str]:
    lines = [f"{stamp(second)} INFO handled request {second * 7919} in {second % 90} ms" for second in range(count)]
    for second in range(100, count, 100):
        lines[second] = f"{stamp(second)} ERROR upstream 10.0.0.{second // 100}:8080 timed out after {second} ms"
    lines[250] = f"{stamp(250)} WARN config reloaded"
    return lines


def test_each_kind_comes_once_with_count_and_times() -> None:
    text = folded("\n".join(log()))
    head, *body = text.splitlines()
    assert head == "600 lines of 3 kinds from 2026-01-02T10:00:00Z to 2026-01-02T10:09:59Z."
    assert body == [
        "    594x from 2026-01-02T10:00:00Z to 2026-01-02T10:09:59Z: INFO handled request <n> in <n> ms",
        "         first: 2026-01-02T10:00:00Z INFO handled request 0 in 0 ms",
        "      5x from 2026-01-02T10:01:40Z to 2026-01-02T10:08:20Z: ERROR upstream <ip> timed out after <n> ms",
        "         first: 2026-01-02T10:01:40Z ERROR upstream 10.0.0.1:8080 timed out after 100 ms",
        "      1x 2026-01-02T10:04:10Z WARN config reloaded",
    ]


def test_what_it_shows_of_lines_stands_in_the_log() -> None:
    lines = log()
    shown = [line.partition(": ")[2] for line in folded("\n".join(lines)).splitlines() if "first: " in line]
    assert len(shown) == 2
    assert set(shown) <= set(lines)


def test_equal_lines_need_no_example() -> None:
    text = folded("\n".join([f"{stamp(second)} connection refused" for second in range(50)]))
    assert text.splitlines()[1:] == [
        "     50x from 2026-01-02T10:00:00Z to 2026-01-02T10:00:49Z: connection refused",
    ]


def test_a_short_log_stays_as_it_is() -> None:
    text = "\n".join(log()[:19])
    assert folded(text) == text
    assert folded(text, min_lines=10) != text


def test_of_too_many_kinds_errors_are_shown_first_and_the_rest_is_counted() -> None:
    # Words, not numbers: each line is a kind of its own.
    words = [f"step {first}{second} done" for first in "abcdefghij" for second in "klmnopqrstuvwxyzABCD"]
    lines = [*words, "ERROR disk is full", *["tick"] * 30]
    body = folded("\n".join(lines), max_templates=5).splitlines()
    assert "      1x ERROR disk is full" in body
    assert any(line.endswith("tick") and "30x" in line for line in body)
    assert body[-1] == "... and 197 more kinds (197 lines)"
    assert len(body) == 7


def test_lines_without_times_and_very_long_lines() -> None:
    text = folded("\n".join(["Traceback (most recent call last):", "x" * 100_000, *["ok"] * 30]))
    assert text.splitlines()[0] == "32 lines of 3 kinds."
    assert len(text) < 2_000


def test_a_large_log_takes_a_moment() -> None:
    text = "\n".join(log(60_000))
    started = time.perf_counter()
    assert len(folded(text)) < 2_000
    assert time.perf_counter() - started < 5
