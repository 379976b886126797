"""``holmes model list``: what can be chosen, what would be, and why."""

from __future__ import annotations

from typing import Any

import pytest

MODELS = """
fast: {model: openai/gpt-4o-mini, api_key: sk-very-secret, max_tokens: 1000}
local: {model: llama_cpp/qwen, custom_args: {max_context_size: 16384}}
broken: {model: openai/gpt-4o, api_key: "{{ env.NOWHERE }}"}
"""


def by_name(done: Any) -> dict[str, Any]:
    return {row["name"]: row for row in done.json}


def test_without_anything_it_is_the_offline_analysis(run: Any) -> None:
    done = run("list")
    assert done.code == 0
    assert done.out.startswith("Would be used: offline, no model is configured")
    assert "OPENAI_API_KEY is not set" in done.out


def test_the_model_list_comes_first(run: Any) -> None:
    rows = by_name(run("list", "-o", "json", models=MODELS, OPENAI_API_KEY="sk-other"))
    assert [name for name, row in rows.items() if row["used"]] == ["fast"]
    fast, local, broken = rows["fast"], rows["local"], rows["broken"]
    assert (fast["model"], fast["key"], fast["output"]) == ("openai/gpt-4o-mini", "configured", 1000)
    assert (fast["window"], fast["window_known"], fast["prices"]["prompt"]) == (128_000, True, 0.15)
    assert (local["window"], local["window_known"], local["prices"]) == (16384, True, None)
    assert (local["key"], local["address"]) == ("none needed", "http://127.0.0.1:8080/v1")
    assert "NOWHERE is not set" in broken["problem"] and "model_list.yaml:4" in broken["problem"]
    assert rows["openai/"]["key"] == "OPENAI_API_KEY is set"
    assert rows["anthropic/"]["key"] == "ANTHROPIC_API_KEY is not set"


def test_the_table_says_the_same(run: Any) -> None:
    done = run("list", models=MODELS)
    head, _, *lines = done.out.splitlines()
    assert head.startswith("Would be used: fast, the first of ") and "not usable: broken" in head
    table = {line[3:].split()[0]: line for line in lines if line[:1] in "→ "}
    assert table["fast"].startswith("→ ")
    assert any(line.startswith("❌ broken") for line in lines)
    assert "NOWHERE is not set" in lines[-1] and lines[-1].startswith("broken: ")
    assert "128,000" in table["fast"]
    assert table["openai/"].index("OPENAI_API_KEY") == table["fast"].index("configured"), "columns are not aligned"


@pytest.mark.parametrize("arguments", [(), ("-o", "json"), ("--json",), ("-o", "jsonl")])
def test_no_key_is_ever_shown(run: Any, arguments: tuple[str, ...]) -> None:
    done = run("list", *arguments, models=MODELS, ANTHROPIC_API_KEY="sk-very-secret")
    assert done.code == 0 and "sk-very-secret" not in done.out


@pytest.mark.parametrize(
    ("arguments", "config", "env", "used", "why"),
    [
        (["--model", "gpt-4o"], {}, {"MODEL": "local"}, "gpt-4o", "command line"),
        ([], {"model": "fast"}, {"MODEL": "local"}, "local", "MODEL"),
        ([], {"model": "local"}, {}, "local", "config.yaml:1"),
        ([], {"model": "gtp-4o"}, {}, "none", "unknown model gtp-4o"),
        ([], {"model": "broken"}, {}, "none", "NOWHERE is not set"),
        (["--model", "offline"], {}, {}, "offline", "command line"),
    ],
)
def test_who_named_the_model(run: Any, arguments: Any, config: Any, env: Any, used: str, why: str) -> None:
    done = run("list", *arguments, models=MODELS, config=config, **env)
    assert done.code == 0, done.err
    assert done.out.startswith(f"Would be used: {used}, ") and why in done.out.splitlines()[0]


def test_models_with_a_part_of_their_own_are_listed_too(run: Any) -> None:
    config = {"model": "openai/gpt-4o", "fast_model": "fast", "fallback_models": ["anthropic/claude-sonnet-5", "nope"]}
    rows = by_name(run("list", "-o", "json", models=MODELS, config=config))
    assert rows["openai/gpt-4o"]["used"]
    assert rows["fast"]["role"] == "summaries"
    assert rows["anthropic/claude-sonnet-5"]["role"] == "fallback"
    assert "unknown model nope" in rows["nope"]["problem"]


def test_a_model_list_that_cannot_be_read(run: Any) -> None:
    done = run("list", models="- a\n- b\n")
    assert done.code == 2
    assert "model_list.yaml" in done.err
