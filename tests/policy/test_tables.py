"""The tables of commands and their verdicts."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from holmes.tools.policy.explain import explain
from holmes.tools.policy.judge import decide
from holmes.tools.policy.settings import PolicySettings

HERE = Path(__file__).parent
# The tables are written for the user root in a folder of the project.
SETTINGS = PolicySettings(
    cwd=str(HERE.parent.parent),
    home="/root",
    read_roots=(str(HERE.parent.parent), "/var/log"),
    env={"HOME": "/root", "PWD": str(HERE.parent.parent), "USER": "root"},
)


def table(name: str) -> Any:
    return yaml.load((HERE / name).read_text(), Loader=yaml.CSafeLoader)


def lines(group: str | list[str]) -> list[str]:
    return group.splitlines() if isinstance(group, str) else group


EVERYDAY = [command for group in table("everyday.yaml").values() for command in lines(group)]
RISKY = [
    (command, verdict)
    for verdict, groups in table("risky.yaml").items()
    for group in groups.values()
    for command in lines(group)
]


def test_the_tables_are_large() -> None:
    assert len(set(EVERYDAY)) >= 200
    assert len(set(RISKY)) >= 400


def test_everyday_commands_run_unasked() -> None:
    refused = {
        command: verdict.reason
        for command in EVERYDAY
        if (verdict := decide(command, SETTINGS).verdict).decision != "allow"
    }
    assert len(refused) <= len(EVERYDAY) * 0.02, refused


@pytest.mark.parametrize("wanted", ["ask", "deny"])
def test_risky_commands_have_their_verdict(wanted: str) -> None:
    wrong = {
        command: f"{verdict.decision}: {verdict.reason}"
        for command, expected in RISKY
        if expected == wanted and (verdict := decide(command, SETTINGS).verdict).decision != wanted
    }
    assert not wrong


def test_every_verdict_has_a_reason_and_a_rule() -> None:
    for command, _ in RISKY:
        verdict = decide(command, SETTINGS).verdict
        assert verdict.reason and verdict.rule and verdict.show == command, command


def test_only_what_is_allowed_is_written_anew() -> None:
    assert all(decide(command, SETTINGS).script == "" for command, _ in RISKY)
    assert decide("kubectl get pods", SETTINGS).script


def test_explain_gives_json_types() -> None:
    told = explain("kubectl get pods -n prod | grep -v Running", SETTINGS)
    assert told["command"] == "kubectl get pods -n prod | grep -v Running"
    assert told["parse"] == [["kubectl", "get", "pods", "-n", "prod"], ["grep", "-v", "Running"]]
    assert (told["verdict"], told["rule"]) == ("allow", "known reads")
    assert "kubectl get pods" in told["runs"]
    told = explain("rm -rf /", SETTINGS)
    assert (told["verdict"], told["rule"], told["runs"]) == ("ask", "unknown program", "")


def test_judging_takes_less_than_a_millisecond() -> None:
    for command in EVERYDAY:
        decide(command, SETTINGS)
    began = time.process_time()
    for command in EVERYDAY:
        decide(command, SETTINGS)
    assert (time.process_time() - began) / len(EVERYDAY) < 0.001  # 0.2 ms on a quiet machine
