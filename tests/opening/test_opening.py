"""Opening evidence: the right objects, the decisive lines, within its tokens and seconds."""

from __future__ import annotations

import time
from typing import Any

import pytest

from holmes.agent.engine import RunOptions
from holmes.agent.opening import SECONDS, Found, kubernetes_opening
from holmes.kube.cluster import Gap
from holmes.kube.snapshot import SnapshotCluster, SnapshotClusters
from holmes.llm.scripted import ScriptedLLM
from holmes.llm.tokens import estimate_text
from support import thousand_pods
from support.engines import engine
from support.shop import NOW, shop
from support.tool_context import OneCluster

pytestmark = pytest.mark.anyio


async def look(cluster: Any, question: str, namespace: str = "") -> list[Found]:
    clusters = OneCluster(cluster) if isinstance(cluster, Gap) else SnapshotClusters(cluster)
    return list(await kubernetes_opening(clusters)(question, namespace))


@pytest.fixture(scope="module")
def large() -> SnapshotCluster:
    """5,000 pods: the thousand five times over."""
    objects = []
    for index in range(5):
        for item in thousand_pods.objects():
            metadata = dict(item["metadata"])
            if metadata.get("namespace"):
                metadata["namespace"] = f"{metadata['namespace']}-{index}"
            elif item["kind"] == "Namespace":
                metadata["name"] = f"{metadata['name']}-{index}"
            elif index:
                continue
            objects.append({**item, "metadata": metadata})
    return SnapshotCluster.from_objects(objects, now=NOW)


@pytest.mark.parametrize(
    "question",
    [
        "why does service-3 in team-07-2 crash?",
        "what is wrong in namespace team-07-2",
        "service-3 is broken, and so are service-4, service-5, service-6 and service-7",
        "is node-11 all right?",
    ],
)
async def test_tokens_and_seconds_hold_with_five_thousand_pods(large: SnapshotCluster, question: str) -> None:
    await look(large, question)  # the first look reads the tables
    started = time.monotonic()
    found = await look(large, question)
    assert found
    # Ten times what is allowed: a loaded machine must not fail the test, an unbounded look must.
    assert time.monotonic() - started < SECONDS * 10
    assert sum(estimate_text(each.result.text) for each in found) <= 1_200


async def test_the_decisive_line_is_there(large: SnapshotCluster) -> None:
    found = await look(large, "why does service-3 in team-07-2 crash?")
    assert found[0].tool == "inspect"
    assert found[0].args == {"kind": "Deployment", "name": "service-3", "namespace": "team-07-2"}
    assert "crash-loop" in found[0].result.text


async def test_a_healthy_object_is_said_to_be_healthy_and_why(large: SnapshotCluster) -> None:
    found = await look(large, "is service-4 in team-07-2 healthy?")
    text = found[0].result.text
    assert "no fault found" in text
    assert "4 of 4 pods ready" in text


async def test_a_namespace_alone_is_scanned() -> None:
    found = await look(shop(), "what is wrong in namespace shop?")
    assert [each.tool for each in found] == ["scan"]


@pytest.mark.parametrize("question", ["hello", "how do I write a Deployment?", "什么是 SLO?"])
async def test_nothing_named_nothing_looked_at(question: str) -> None:
    assert await look(shop(), question) == []


async def test_no_cluster_costs_nothing() -> None:
    started = time.monotonic()
    assert await look(Gap("kubeconfig", "not_found", "there is none"), "why is web down?") == []
    assert time.monotonic() - started < 0.5


async def test_what_is_forbidden_is_a_gap() -> None:
    gap = Gap("services in namespace shop", "forbidden", "services is forbidden")
    cluster = shop(gaps={"objects/shop/services": gap, "objects/*/services": gap})
    found = await look(cluster, "what is wrong in namespace shop?")
    assert any("services" in text for text in found[0].result.gaps)
    assert "not looked at" in found[0].result.text


async def test_the_model_sees_stored_results_that_it_can_cite() -> None:
    llm = ScriptedLLM(["It says `namespace shop` [E1]."])
    opening = kubernetes_opening(SnapshotClusters(shop()))
    async with engine(llm, opening=opening) as holmes:
        run = await holmes.start("what is wrong in namespace shop?", RunOptions())
        report = await run.wait()
    message = llm.requests[0].messages[-1]
    assert message.content.startswith("what is wrong in namespace shop?")
    assert "[E1 scan success #" in message.content
    assert message.evidence[0].data["schema"] == "holmes.scan/v1"
    assert report.evidence[0].tool == "scan"
