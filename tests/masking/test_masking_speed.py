"""Masking is fast enough not to be felt. The floors are far below what is measured, for slow and busy machines."""

from __future__ import annotations

import time

from holmes.core.masking import Masker


def _line(number: int, extra: str) -> str:
    clock = f"12:{number // 60 % 60:02}:{number % 60:02}.{number % 1000:03}"
    request, pod = number * 2654435761 % (1 << 32), number * 40503 % 65536
    message = f'msg="request {request:x} failed upstream timeout"{extra} pod=web-{pod:x}'
    return f"2026-11-30T{clock}Z level=info svc=checkout-{number % 17} {message}"


def _log(lines: int, extra: str = "") -> str:
    return "\n".join(_line(number, extra) for number in range(lines))


def _speed(text: str) -> float:
    """Megabytes a second of the process, best of three."""
    masker = Masker()
    masker.mask(text[:2000])
    best = 1e9
    for _ in range(3):
        started = time.process_time()
        stream = masker.stream()
        for start in range(0, len(text), 65_536):
            stream.feed(text[start : start + 65_536])
        stream.finish()
        best = min(best, time.process_time() - started)
    return len(text) / best / 1e6


def test_ordinary_logs() -> None:
    assert _speed(_log(60_000)) > 100


def test_a_secret_in_every_line() -> None:
    assert _speed(_log(8_000, " token=ghp_" + "a1B2" * 9)) > 2
