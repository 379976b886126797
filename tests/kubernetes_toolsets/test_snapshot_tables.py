"""Tables made from objects: what people look at first, in the server's words."""

from __future__ import annotations

from typing import Any

import pytest

from holmes.kube.tables import make_table
from support.shop import NOW, ago, event, obj


@pytest.mark.parametrize(
    ("kind", "rest", "columns", "row"),
    [
        (
            "Node",
            {"spec": {"unschedulable": True}, "status": {"conditions": [{"type": "Ready", "status": "False"}]}},
            ["Name", "Status", "Version", "Age"],
            ["x", "NotReady,SchedulingDisabled", "<none>", "2d"],
        ),
        (
            "Service",
            {"spec": {"type": "ClusterIP", "clusterIP": "10.0.0.1", "ports": [{"port": 80}], "selector": {"a": "b"}}},
            ["Name", "Type", "Cluster-IP", "Port(s)", "Age", "Selector"],
            ["x", "ClusterIP", "10.0.0.1", "80/TCP", "2d", "a=b"],
        ),
        (
            "Job",
            {"spec": {"completions": 3}, "status": {"conditions": [{"type": "Failed", "status": "True"}]}},
            ["Name", "Status", "Completions", "Age", "Containers", "Images"],
            ["x", "Failed", "0/3", "2d", "<none>", "<none>"],
        ),
        (
            "CronJob",
            {"spec": {"schedule": "* * * * *"}, "status": {"lastScheduleTime": ago(seconds=30)}},
            ["Name", "Schedule", "Suspend", "Last Schedule", "Age"],
            ["x", "* * * * *", "False", "30s", "2d"],
        ),
        ("Namespace", {"status": {"phase": "Terminating"}}, ["Name", "Status", "Age"], ["x", "Terminating", "2d"]),
        (
            "Certificate",
            {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
            ["Name", "Status", "Age"],
            ["x", "Ready=False", "2d"],
        ),
    ],
)
def test_columns(kind: str, rest: dict[str, Any], columns: list[str], row: list[str]) -> None:
    table = make_table(kind, [obj(kind, "x", **rest)], NOW)
    assert list(table.columns) == columns
    assert list(table.rows[0]) == row


def test_events_tell_when_and_of_what() -> None:
    table = make_table("Event", [event("e", "shop", ("Pod", "web-1"), "BackOff", "it failed")], NOW)
    assert list(table.rows[0]) == ["e", "5m", "Warning", "BackOff", "pod/web-1", "it failed"]
    assert table.names == (("shop", "e"),)
