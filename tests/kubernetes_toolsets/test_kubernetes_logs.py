"""fetch_pod_logs: all containers, the period, filters, limits, and why there are no lines."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from holmes.core.results import Status, StructuredToolResult
from holmes.kube.cluster import Cluster, Gap
from holmes.kube.snapshot import SnapshotCluster
from holmes.toolsets.kubernetes.logs import make_logs
from support.shop import CATALOG, CATALOG_2, ENDED, FORBIDDEN, NOW, log_lines, logs, objects, pod, shop
from support.tool_context import MemorySink, call, context, services

(FETCH,) = make_logs({}, services()).tools()


def run(cluster: Cluster | None = None, /, **args: Any) -> StructuredToolResult:
    return call(FETCH, context(cluster or shop()), **args)


def with_logs(lines: dict[str, list[str]], *pods: Any) -> SnapshotCluster:
    return SnapshotCluster.from_objects([*objects(), *pods], now=NOW, logs={**logs(), **lines}, cluster="shop-test")


def test_the_newest_lines_of_a_pod_and_of_the_instance_before() -> None:
    result = run(pod_name=CATALOG, namespace="shop", limit=2)
    assert result.status is Status.SUCCESS
    lines = result.text.splitlines()
    assert lines[0] == f"cluster shop-test (snapshot), namespace shop, pod {CATALOG}"
    assert lines[1] == "period 2025-06-01T11:40:00Z to 2025-06-01T12:00:00Z: 303 lines read, 4 shown"
    assert lines[2].startswith(f"=== {CATALOG} / app (previous instance, OOMKilled, exit code 137")
    assert lines[3:5] == ["app (previous)| 11:49:01 loading 1", "app (previous)| 11:49:02 loading 2"]
    assert lines[5] == f"=== {CATALOG} / app (restarts: 4)"
    assert lines[-2:] == ["app| 11:44:58 request 298 served", "app| 11:44:59 request 299 served"]
    assert result.invocation == f"kubectl logs -n shop {CATALOG} --all-containers --tail=2"


def test_earlier_lines_that_look_like_errors_are_shown_too() -> None:
    result = run(pod_name=CATALOG, namespace="shop", limit=5)
    assert "--- 1 of the 295 lines before look like errors, the last 1:" in result.text
    assert "ERROR: cache is full" in result.text


def test_a_workloads_name_picks_its_pods_the_sick_one_first() -> None:
    result = run(pod_name="deployment/catalog")
    assert [item["name"] for item in result.data["items"]] == [CATALOG, CATALOG, CATALOG_2]
    assert "pods of Deployment shop/catalog" in result.notes


def test_a_name_in_two_namespaces_is_asked_back() -> None:
    result = run(pod_name="web")
    assert result.status is Status.ERROR
    assert "give the namespace: prod, shop" in result.error


def test_previous_only_and_never() -> None:
    before = run(pod_name=CATALOG, previous=True)
    assert [item["previous"] for item in before.data["items"]] == [True]
    assert "--previous" in before.invocation
    assert [item["previous"] for item in run(pod_name=CATALOG, previous=False).data["items"]] == [False]
    never = run(pod_name=CATALOG_2, previous=True)
    assert never.status is Status.NO_DATA
    assert "it was never restarted" in never.text


@pytest.mark.parametrize(
    ("start", "end", "first", "last"),
    [
        ("2025-06-01T11:41:00Z", "2025-06-01T11:41:09Z", 60, 69),
        ("2025-06-01 11:41:00", "2025-06-01T13:41:09+02:00", 60, 69),
        ("-9", "2025-06-01T11:41:09Z", 60, 69),
        ("19m", "18m51s", 60, 69),
        ("19 minutes ago", "-1131", 60, 69),
        ("1748778060", "1748778069", 60, 69),
        ("15m3s", "now", 297, 299),
    ],
)
def test_periods(start: str, end: str, first: int, last: int) -> None:
    result = run(pod_name=CATALOG, previous=False, start_time=start, end_time=end)
    lines = [line.split()[2] for line in result.text.splitlines() if "request" in line]
    assert (int(lines[0]), int(lines[-1]), len(lines)) == (first, last, last - first + 1)


def test_a_period_without_lines_says_when_the_last_one_was() -> None:
    result = run(pod_name=CATALOG_2, start_time="5m")
    assert result.status is Status.NO_DATA
    assert "no lines in this period; the last line is of 2025-06-01T11:40:04Z" in result.text


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"start_time": "yesterday"}, "now is 2025-06-01T12:00:00Z"),
        ({"start_time": "5m", "end_time": "10m"}, "is after end_time"),
        ({"start_time": "2025-06-01T11:00:00Z", "end_time": "2025-06-01T10:00:00Z"}, "is after end_time"),
        ({"limit": "many"}, "no number"),
    ],
)
def test_times_and_numbers_that_cannot_be_read(args: dict[str, str], problem: str) -> None:
    result = run(pod_name=CATALOG, **args)
    assert result.status is Status.ERROR
    assert problem in result.error


def test_filters_count_what_they_leave() -> None:
    result = run(pod_name=CATALOG, previous=False, filter="REQUEST 1\\d\\d", exclude_filter="5 served", limit=3)
    assert '300 lines read, 90 match "REQUEST 1\\d\\d" without "5 served", 3 shown' in result.text
    assert result.text.splitlines()[-1].endswith("request 199 served")
    assert "grep -iE" in result.invocation


def test_a_filter_that_is_no_regular_expression_is_literal() -> None:
    lines = log_lines(3, "call(x) {n}")
    result = run(with_logs({f"shop/{CATALOG_2}/app": lines}), pod_name=CATALOG_2, filter="call(")
    assert "3 match" in result.text
    assert any("taken literally" in note for note in result.notes)


def test_a_slow_pattern_is_not_slow() -> None:
    lines = [f"2025-06-01T11:40:00Z {'a' * 5000}b" for _ in range(50)]
    result = run(with_logs({f"shop/{CATALOG_2}/app": lines}), pod_name=CATALOG_2, filter="(a+)+$")
    assert result.status is Status.NO_DATA


def test_nothing_matches() -> None:
    result = run(pod_name=CATALOG_2, filter="panic")
    assert result.status is Status.NO_DATA
    assert "none of 5 lines match" in result.text


def test_a_container_that_did_not_start_says_why() -> None:
    result = run(pod_name="web", namespace="shop")
    assert result.status is Status.NO_DATA
    assert "app: has not started (ImagePullBackOff: Back-off pulling image web:9)" in result.text
    waiting = pod("later", "prod", "later")
    waiting["status"] = {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available"}],
    }
    assert "not scheduled (0/1 nodes" in run(shop([waiting]), pod_name="later").text


def test_while_a_container_backs_off_its_log_is_that_of_the_one_that_ended() -> None:
    state = {"waiting": {"reason": "CrashLoopBackOff"}}
    crashing = pod("crash", "prod", "crash", ready=False, restartCount=2, state=state, lastState={"terminated": ENDED})
    result = run(with_logs({"prod/crash/app": ["FATAL no config"]}, crashing), pod_name="crash")
    assert [item["previous"] for item in result.data["items"]] == [False]
    assert "app (CrashLoopBackOff, OOMKilled, exit code 137, at 2025-06-01T11:50:00Z, restarts: 2)" in result.text
    assert "FATAL no config" in result.text


def test_all_containers_with_their_names_before_the_lines() -> None:
    two = pod("two", "prod", "two")
    two["spec"]["containers"].append({"name": "proxy"})
    two["spec"]["initContainers"] = [{"name": "setup"}]
    two["status"]["containerStatuses"].append({"name": "proxy", "state": {"running": {}}})
    two["status"]["initContainerStatuses"] = [{"name": "setup", "state": {"terminated": {"exitCode": 0}}}]
    cluster = with_logs({"prod/two/app": ["one"], "prod/two/proxy": ["two"], "prod/two/setup": ["done"]}, two)
    result = run(cluster, pod_name="two")
    assert "app| one" in result.text
    assert "proxy| two" in result.text
    assert "setup" in result.notes[0]
    assert "done" in run(cluster, pod_name="two", container="setup").text
    wrong = run(cluster, pod_name="two", container="web")
    assert 'has no container "web"; it has: app, proxy, setup' in wrong.error


def test_many_pods_are_read_in_part_and_share_the_lines() -> None:
    pods = [pod(f"many-{n}", "prod", "many") for n in range(8)]
    result = run(with_logs({f"prod/many-{n}/app": log_lines(200) for n in range(8)}, *pods), pod_name="many", limit=50)
    assert len(result.data["items"]) == 5
    assert "3 more pods were not read" in result.notes[-1]
    assert "1,000 lines read, 200 shown" in result.text


def test_lines_with_times_of_their_own_have_no_second_one() -> None:
    lines = log_lines(3, "2025/06/01 11:40:07 hello {n}")
    result = run(with_logs({f"shop/{CATALOG_2}/app": lines}), pod_name=CATALOG_2)
    assert result.text.splitlines()[-1] == "2025/06/01 11:40:07 hello 2"


def test_large_output_goes_to_the_sink() -> None:
    ctx = context(with_logs({f"shop/{CATALOG_2}/app": log_lines(2000, "x" * 300)}))
    result = call(FETCH, ctx, pod_name=CATALOG_2, limit=2000)
    assert isinstance(ctx.sink, MemorySink)
    assert ctx.sink.size > 500_000
    assert "2,000 shown" in result.text  # the helper puts the sink's text here
    assert len(str(result.data)) < 50_000


def test_very_long_lines_are_cut_and_say_so() -> None:
    result = run(with_logs({f"shop/{CATALOG_2}/app": ["y" * 100_000]}), pod_name=CATALOG_2)
    assert "(100,000 characters)" in result.text
    assert len(result.text) < 6_000


def test_refusals_are_errors() -> None:
    gap = Gap(f"logs of pod shop/{CATALOG_2}", "forbidden", "jane cannot get pods/log")
    result = run(shop(gaps={f"logs/shop/{CATALOG_2}/app": gap}), pod_name=CATALOG_2)
    assert result.status is Status.SUCCESS  # saved lines win over the gap
    bare = SnapshotCluster.from_objects(objects(), now=NOW, gaps={f"logs/shop/{CATALOG_2}/app": gap})
    result = run(bare, pod_name=CATALOG_2)
    assert result.status is Status.ERROR
    assert "jane cannot get pods/log" in result.error
    pods = shop(gaps={"objects/shop/pods": FORBIDDEN})
    assert "cannot list" in run(pods, pod_name="catalog", namespace="shop").error


def test_unknown_pods_and_missing_names() -> None:
    assert CATALOG in run(pod_name="catlog", namespace="shop").error
    assert '"pod_name" is missing' in run().error


def test_seconds_are_within_the_period() -> None:
    start = (NOW - timedelta(minutes=20)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert "5 lines read" in run(pod_name=CATALOG_2, start_time=start, end_time="-1196").text
