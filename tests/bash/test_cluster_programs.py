"""Programs that talk to a cluster see the run's own, or do not run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holmes.core.yaml_marks import load
from holmes.kube.snapshot import SnapshotClusters
from holmes.tools.cluster_programs import cluster_access, mentioned
from holmes.tools.yaml_loader import load_toolsets
from holmes.tools.yaml_toolset import YAMLToolset
from support.shop import shop
from support.tool_context import NO_CLUSTER, OneCluster, acall, context, services

pytestmark = pytest.mark.anyio


class Live(OneCluster):
    async def child_kubeconfig(self, folder: Path) -> Any:
        path = folder / "kubeconfig"
        path.write_text("{}")
        return path


@pytest.mark.parametrize(
    ("text", "programs"),
    [
        ("kubectl get pods | jq .", {"kubectl"}),
        ("cat kubectl.log my-helm", set()),
        ("/usr/bin/helm list; oc whoami", {"helm", "oc"}),
    ],
)
def test_which_programs_are_named(text: str, programs: set[str]) -> None:
    assert mentioned(text) == programs


async def test_a_live_cluster_gives_its_own_kubeconfig(tmp_path: Path) -> None:
    access = await cluster_access({"kubectl"}, context(clusters=Live(shop())), tmp_path)
    assert access.env == {"KUBECONFIG": str(tmp_path / "kubeconfig")} and not access.refusal
    assert not (await cluster_access({"grep"}, context(clusters=Live(shop())), tmp_path)).env


async def test_without_a_cluster_the_program_says_so_itself(tmp_path: Path) -> None:
    access = await cluster_access({"kubectl"}, context(clusters=OneCluster(NO_CLUSTER)), tmp_path)
    assert access.env == {"KUBECONFIG": "/dev/null"} and str(NO_CLUSTER) == access.gap


async def test_a_snapshot_stands_in_for_the_cluster(tmp_path: Path) -> None:
    text = "toolsets: {own: {tools: [{name: pods, description: d, command: kubectl get pods}]}}"
    (definition,), problems = load_toolsets(load(text, "own.yaml"), {})
    assert not problems
    tool = YAMLToolset(definition, services()).tools()[0]
    result = await acall(tool, context(clusters=SnapshotClusters(shop())))
    assert "Not run: kubectl would not see the cluster of this run (shop-test" in result.error
