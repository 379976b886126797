"""``holmes doctor``: each thing that can be broken, with its remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def lines(done: Any) -> dict[str, str]:
    """What was checked, and the line that says how it is."""
    return {line[2:].partition(":")[0]: line for line in done.stdout.splitlines() if not line.startswith(" ")}


@pytest.fixture
def settings(env: dict[str, str]) -> Path:
    """The configuration file, yet to be written."""
    home = Path(env["HOLMES_HOME"])
    home.mkdir()
    return home / "config.yaml"


def test_all_is_well(holmes: Any, model: Any, cluster: Any) -> None:
    server = model(["ready"])
    done = holmes("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    found = lines(done)
    assert [line for line in found.values() if not line.startswith("✅")] == []
    assert found["model"].startswith("✅ model: openai/test-model answered in ")
    assert found["cluster"] == "✅ cluster: c v1.34.0, 2 pods"
    assert "0 investigations" in found["state"]
    assert {"installation", "configuration", "toolset bash", "toolset kubernetes/core"} <= set(found)
    assert len(server.requests) == 1


def test_a_model_need_not_be_asked(holmes: Any, model: Any) -> None:
    server = model([])
    done = holmes("doctor", "--offline")
    assert lines(done)["model"] == "✅ model: openai/test-model (not asked)"
    assert server.requests == []


def test_no_model_and_no_cluster_are_said_and_are_no_fault_of_their_own(holmes: Any, env: dict[str, str]) -> None:
    done = holmes("doctor")
    found = lines(done)
    assert found["model"].startswith("✅ model: offline")
    assert found["cluster"].startswith("➖ cluster: ")
    assert env["KUBECONFIG"] in found["cluster"]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ({"status": 401, "message": "Incorrect API key \x1b[2J\x1b]0;owned\x07"}, "❌ model: openai/test-model: "),
        ({"status": 503, "message": "busy"}, "❌ model: openai/test-model: "),
        ({"content": "  "}, "❌ model: openai/test-model answered nothing"),
    ],
)
def test_a_broken_model(reply: Any, said: str, holmes: Any, model: Any) -> None:
    server = model(lambda body: reply)
    done = holmes("doctor")
    assert done.returncode == 1
    assert done.stderr == "Something is broken; see above.\n"
    assert lines(done)["model"].startswith(said)
    assert "\x1b" not in done.stdout
    assert "owned" not in done.stdout
    assert "sk-no-real-key" not in done.stdout
    assert len(server.requests) == 1  # a check tries once


def test_an_unknown_model(holmes: Any) -> None:
    done = holmes("doctor", "--model", "gtp-4.1")
    assert done.returncode == 1
    assert lines(done)["model"] == "❌ model: unknown model gtp-4.1"
    assert "   → known: gpt-4.1" in done.stdout


def test_every_fault_of_the_configuration(holmes: Any, settings: Path) -> None:
    settings.write_text("max_steps: many\nmax_cost: no\n")
    done = holmes("doctor")
    assert done.returncode == 1
    faults = [line for line in done.stdout.splitlines() if line.startswith("❌ configuration: ")]
    assert [f"{settings}:{number}: max_" in line for number, line in enumerate(faults, 1)] == [True, True]
    assert "model" not in lines(done)  # all else stands on it


def test_an_unknown_key_is_broken(holmes: Any, settings: Path) -> None:
    settings.write_text("max_stepz: 5\n")
    done = holmes("doctor", "--offline")
    assert done.returncode == 1
    assert f"❌ configuration: {settings}:1: unknown key max_stepz; did you mean max_steps?" in done.stdout
    assert "✅ model: " in done.stdout


def test_a_context_that_was_named_and_is_not_there(holmes: Any, cluster: Any) -> None:
    done = holmes("doctor", "--context", "stagin")
    assert done.returncode == 1
    assert lines(done)["cluster"].startswith("❌ cluster: context stagin: ")
    assert "did you mean staging?" in done.stdout


def test_an_api_server_that_is_down(holmes: Any, env: dict[str, str], cluster: Any) -> None:
    file = Path(env["KUBECONFIG"])
    file.write_text(file.read_text().replace("http://127.0.0.1:", "http://127.0.0.1:9/#"))
    done = holmes("doctor")
    assert done.returncode == 1
    assert lines(done)["cluster"].startswith("❌ cluster: c: ")


def test_a_failed_toolset(holmes: Any, tmp_path: Path) -> None:
    file = tmp_path / "tools.yaml"
    file.write_text(
        """
toolsets:
  weather:
    description: The weather
    prerequisites: [{command: no-such-program-here --version}]
    tools: [{name: rain, description: Whether it rains, command: no-such-program-here}]
"""
    )
    done = holmes("doctor", "-t", str(file))
    assert done.returncode == 1
    assert "no-such-program-here" in lines(done)["toolset weather"]


def test_a_state_folder_that_cannot_be_used(holmes: Any, env: dict[str, str]) -> None:
    Path(env["HOLMES_HOME"]).write_text("a file")
    done = holmes("doctor", "--config", "/dev/null")
    assert done.returncode == 1
    assert lines(done)["state"].startswith("❌ state: ")
    assert "HOLMES_HOME" in done.stdout


def test_the_other_package_of_this_name(holmes: Any, tmp_path: Path) -> None:
    metadata = tmp_path / "site" / "holmesgpt-0.45.0.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Metadata-Version: 2.1\nName: holmesgpt\nVersion: 0.45.0\n")
    done = holmes("doctor", "--offline", more={"PYTHONPATH": str(tmp_path / "site")})
    assert done.returncode == 1
    assert lines(done)["installation"].startswith("❌ installation: HolmesGPT is installed")
