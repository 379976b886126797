"""`holmes analyzer list`: what a scan looks for."""

from __future__ import annotations

import json

from holmes.analyzers.registry import analyzer_names
from support.command import Command


def test_every_analyzer_is_listed_with_what_it_finds(holmes: Command) -> None:
    outcome = holmes("analyzer", "list")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    listed = [line.partition(":")[0] for line in lines if not line.startswith(" ")]
    assert listed == analyzer_names()
    assert any(line.startswith("    oom-killed: ") for line in lines)


def test_as_json(holmes: Command) -> None:
    rows = json.loads(holmes("analyzer", "list", "-o", "json").out)
    assert [row["name"] for row in rows] == analyzer_names()
    assert all(set(row) == {"name", "title", "module", "finds", "from", "look_alikes", "remedy"} for row in rows)
    found = {cause for row in rows for cause in row["finds"]}
    assert {"oom-killed", "service-port-name-missing", "job-failed"} <= found
