"""``holmes toolset``: which data sources there are, and why one cannot be used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

BUILT_IN = {"bash", "kubernetes/core", "kubernetes/logs", "kubernetes/live-metrics"}
WEATHER = """
toolsets:
  weather:
    description: The weather
    prerequisites: [{{command: "{check}"}}]
    tools:
      - name: rain
        description: Whether it rains
        command: echo yes
"""


@pytest.fixture
def weather(tmp_path: Path) -> Any:
    """A file with a toolset whose prerequisite is this command."""

    def write(check: str) -> str:
        file = tmp_path / "weather.yaml"
        file.write_text(WEATHER.format(check=check))
        return str(file)

    return write


def rows(done: Any) -> dict[str, Any]:
    return {row["name"]: row for row in json.loads(done.stdout)}


def test_list(holmes: Any, weather: Any) -> None:
    done = holmes("toolset", "list", "-t", weather("true"))
    assert (done.returncode, done.stderr) == (0, "")
    found = {line.split()[1]: line for line in done.stdout.splitlines()}
    assert set(found) >= BUILT_IN | {"weather"}
    assert found["bash"].startswith("✅ bash ")
    assert found["kubernetes/live-metrics"].startswith("➖ ")
    assert found["weather"].split()[:4] == ["✅", "weather", "enabled", "custom"]


def test_list_for_programs(holmes: Any, weather: Any) -> None:
    found = rows(holmes("toolset", "list", "-t", weather("true"), "--json"))
    assert found["weather"]["tools"] == ["rain"]
    assert (found["bash"]["status"], found["bash"]["origin"]) == ("enabled", "built-in")
    lines = holmes("toolset", "list", "-o", "jsonl").stdout.splitlines()
    assert {json.loads(line)["name"] for line in lines} >= BUILT_IN


def test_what_failed_says_why_and_costs_nothing_else(holmes: Any, weather: Any) -> None:
    done = holmes("toolset", "list", "-t", weather("no-such-program-here"))
    assert done.returncode == 0
    (line,) = [line for line in done.stdout.splitlines() if " weather " in line]
    assert line.startswith("❌ weather")
    assert "no-such-program-here" in line
    assert "✅ bash" in done.stdout


def test_refresh_has_an_exit_code(holmes: Any, weather: Any, cluster: Any) -> None:
    assert holmes("toolset", "refresh").returncode == 0
    assert holmes("toolset", "refresh", "-t", weather("false")).returncode == 1


def test_one_toolset_is_checked_with_its_tools(holmes: Any, weather: Any) -> None:
    done = holmes("toolset", "test", "weather", "-t", weather("true"))
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["✅", "rain"]
    assert holmes("toolset", "test", "weather", "-t", weather("false")).returncode == 1


def test_a_disabled_toolset_can_be_tested(holmes: Any) -> None:
    done = holmes("toolset", "test", "kubernetes/live-metrics")
    assert "➖" not in done.stdout


def test_an_unknown_toolset(holmes: Any) -> None:
    done = holmes("toolset", "test", "bahs")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("holmes: there is no toolset bahs\n  → known: bash, ")


def test_the_configuration_counts(holmes: Any, env: dict[str, str]) -> None:
    file = Path(env["HOLMES_HOME"]) / "config.yaml"
    file.parent.mkdir()
    file.write_text("toolsets:\n  bash: {enabled: false}\n  kubernetes/logs: {enabled: maybe}\nstrange: 1\n")
    done = holmes("toolset", "list", "--json")
    found = rows(done)
    assert found["bash"]["status"] == "disabled"
    assert found["kubernetes/logs"]["status"] == "failed"
    assert f"{file}:3" in found["kubernetes/logs"]["reason"]
    assert f"{file}:4: unknown key strange" in done.stderr


def test_a_file_that_cannot_be_read(holmes: Any) -> None:
    done = holmes("toolset", "list", "-t", "nowhere.yaml")
    assert "nowhere.yaml: cannot be read: No such file or directory" in done.stderr
    assert "✅ bash" in done.stdout


def test_a_tool_that_is_taken_over_is_said(holmes: Any, tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(
        """
toolsets:
  mine:
    description: My own
    tools: [{name: fetch_pod_logs, description: Logs my way, command: echo log}]
"""
    )
    done = holmes("toolset", "list", "-t", str(file))
    assert "its tool fetch_pod_logs is taken over by mine" in done.stdout


def test_no_text_of_a_file_drives_the_terminal(holmes: Any, tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(
        """
toolsets:
  mine:
    description: "My \\e[2J own"
    tools: [{name: rain, description: Rain, command: echo yes}]
"""
    )
    done = holmes("toolset", "list", "-t", str(file))
    assert "My  own" in done.stdout
    assert "\x1b" not in done.stdout
