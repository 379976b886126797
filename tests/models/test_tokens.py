"""Token estimates: near enough, and linear in any text."""

from __future__ import annotations

import time

import pytest

from holmes.core.messages import ImagePart, Message, ToolCall
from holmes.llm.base import Request, ToolSchema
from holmes.llm.tokens import IMAGE_TOKENS, estimate_message, estimate_request, estimate_text, estimate_tools


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("", 0, 0),
        ("The quick brown fox jumps over the lazy dog.", 10, 15),
        ("数据库连接失败", 5, 12),
        ("データベース接続エラー", 6, 15),
        ("Ошибка подключения к базе данных", 8, 26),
        ("😀😀😀", 3, 9),
        ("2026-01-01T10:00:00Z ERROR checkout db connection refused 10.0.0.1:5432\n", 25, 40),
        ('{"name":"checkout-5d9c7b8f6-abcde","namespace":"prod","ready":false,"restarts":12}', 25, 45),
        ("lone \ud800 surrogate", 3, 9),
    ],
)
def test_estimates_are_near(text: str, low: int, high: int) -> None:
    assert low <= estimate_text(text) <= high


@pytest.mark.parametrize("unit", ["x", "aB3/", "数据", "e\u0301", "\x00"])
def test_long_lines_without_spaces_are_counted_at_once(unit: str) -> None:
    text = unit * (5_000_000 // len(unit.encode()))
    start = time.perf_counter()
    count = estimate_text(text)
    assert time.perf_counter() - start < 0.25  # 20 ms on an idle machine
    assert count > 1_000_000


def test_a_request_is_the_sum_of_its_parts() -> None:
    tools = [ToolSchema("bash", "Run a command.", {"type": "object", "properties": {}})]
    messages = [
        Message("user", "why", images=(ImagePart("https://x/y.png"),)),
        Message("assistant", tool_calls=(ToolCall("a", "bash", {"command": "kubectl get pods"}),)),
    ]
    parts = [estimate_message(message) for message in messages]
    assert estimate_request(Request(messages, tools)) == sum(parts) + estimate_tools(tools)
    assert parts[0] > IMAGE_TOKENS
    assert parts[1] > estimate_message(Message("assistant"))
