"""Snapshots: a cluster written to a folder and read back is the same cluster, without its secrets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from holmes.core.errors import UsageError
from holmes.kube.cluster import Cluster, Gap, Lines, LogWindow, Object, Page, Table
from holmes.kube.related import name_of
from holmes.kube.snapshot import SnapshotCluster, SnapshotClusters
from holmes.kube.snapshot_writer import Limits, Written, write_snapshot
from support.shop import CATALOG, FORBIDDEN, NOW, log_lines, obj, pod, shop


async def gather(cluster: Cluster, kind: str, *args: Any, **more: Any) -> tuple[list[Object], list[Gap]]:
    items: list[Object] = []
    gaps: list[Gap] = []
    pages: AsyncIterator[Page | Gap] = cluster.list(kind, *args, **more)
    async for page in pages:
        if isinstance(page, Gap):
            gaps.append(page)
        else:
            items += page.items
    return items, gaps


def listed(cluster: Cluster, kind: str, *args: Any, **more: Any) -> list[str]:
    items, gaps = asyncio.run(gather(cluster, kind, *args, **more))
    assert not gaps
    return [name_of(item) for item in items]


def write(cluster: Cluster, folder: Path, **more: Any) -> Written:
    written = asyncio.run(write_snapshot(cluster, folder, **{"mask": lambda text: text, **more}))
    assert isinstance(written, Written)
    return written


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(shop(), tmp_path / "saved")
    return tmp_path / "saved"


def test_what_was_written_reads_back(folder: Path) -> None:
    there, back = shop(), SnapshotCluster.load(folder)
    assert back.now == NOW
    for kind in ("pods", "deployments", "nodes", "events", "widgets", "namespaces"):
        assert sorted(listed(back, kind)) == sorted(listed(there, kind))
    assert asyncio.run(back.get("pod", CATALOG, "shop")) == asyncio.run(there.get("pod", CATALOG, "shop"))
    assert asyncio.run(back.table("pods", "shop")) == asyncio.run(there.table("pods", "shop"))
    previous = asyncio.run(back.logs(CATALOG, "shop", LogWindow("app", previous=True)))
    assert isinstance(previous, Lines)
    assert previous.lines == ["loading 0", "loading 1", "loading 2"]


def test_the_folder_is_plain_and_the_same_each_time(folder: Path, tmp_path: Path) -> None:
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert "snapshot.json" in files
    assert "kinds.json" in files
    assert "objects/shop/pods.json" in files
    assert "objects/shop/deployments.apps.json" in files
    assert "objects/_cluster/nodes.json" in files
    assert "tables/shop/pods.json" in files
    assert f"logs/shop/{CATALOG}/app.previous.log" in files
    assert (folder / "objects/shop/pods.json").read_text().count("\n") > 100
    write(shop(), tmp_path / "again")
    for name in files:
        assert (folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_secret_values_are_never_written(tmp_path: Path) -> None:
    class Careless(SnapshotCluster):
        """A reader that forgot to hide them."""

        async def list(
            self, kind: str, namespace: str | None = None, selector: str = "", fields: str = ""
        ) -> AsyncIterator[Page | Gap]:
            if kind == "secrets":
                applied = {"kubectl.kubernetes.io/last-applied-configuration": "hunter2"}
                values = {"data": {"p": "aHVudGVyMg=="}, "stringData": {"p": "hunter2"}}
                yield Page([obj("Secret", "password", "shop", metadata={"annotations": applied}, **values)])
                return
            async for page in super().list(kind, namespace, selector, fields):
                yield page

    write(Careless(shop()._store), tmp_path / "saved")
    everything = "".join(path.read_text() for path in (tmp_path / "saved").rglob("*") if path.is_file())
    assert "hunter2" not in everything
    assert "aHVudGVyMg" not in everything
    assert "(hidden, " in everything


def test_a_snapshot_edited_by_hand_gives_no_secret_values(folder: Path) -> None:
    path = folder / "objects/shop/secrets.json"
    path.write_text(json.dumps([obj("Secret", "password", "shop", data={"p": "aHVudGVyMg=="})]))
    secret = asyncio.run(SnapshotCluster.load(folder).get("secret", "password", "shop"))
    assert isinstance(secret, dict)
    assert secret["data"] == {"p": "(hidden, 7 bytes)"}


def test_text_is_masked_with_its_key_in_sight(tmp_path: Path) -> None:
    def mask(text: str) -> str:
        return text.replace("PASSWORD: hunter2", "PASSWORD: <hidden>").replace("tok-123", "<token>")

    secretive = pod("secretive", "prod", "secretive")
    secretive["spec"]["containers"][0]["env"] = [{"name": "PASSWORD", "value": "hunter2"}]
    secretive["status"]["containerStatuses"][0]["ready"] = True
    cluster = SnapshotCluster.from_objects([secretive], now=NOW, logs={"prod/secretive/app": ["login with tok-123"]})
    write(cluster, tmp_path / "saved", mask=mask)
    everything = "".join(path.read_text() for path in (tmp_path / "saved").rglob("*") if path.is_file())
    assert "hunter2" not in everything
    assert "tok-123" not in everything
    back = asyncio.run(SnapshotCluster.load(tmp_path / "saved").get("pod", "secretive", "prod"))
    assert isinstance(back, dict)
    assert back["spec"]["containers"][0]["env"] == [{"name": "PASSWORD", "value": "<hidden>"}]


def test_gaps_stay_gaps(tmp_path: Path) -> None:
    gone = Gap("logs of x", "forbidden", "jane cannot get pods/log")
    cluster = SnapshotCluster.from_objects(
        [pod("silent", "prod", "silent")],
        now=NOW,
        gaps={"objects/*/secrets": FORBIDDEN, "logs/prod/silent/app": gone},
    )
    written = write(cluster, tmp_path / "saved")
    assert written.gaps["objects/*/secrets"] == FORBIDDEN
    back = SnapshotCluster.load(tmp_path / "saved")
    assert asyncio.run(gather(back, "secrets")) == ([], [FORBIDDEN])
    assert asyncio.run(gather(back, "secrets", "prod")) == ([], [FORBIDDEN])
    assert asyncio.run(back.get("secret", "x", "prod")) == FORBIDDEN
    assert asyncio.run(back.table("secrets", "prod")) == FORBIDDEN
    assert asyncio.run(back.logs("silent", "prod", LogWindow())) == gone


def test_one_namespace_with_the_cluster_wide_objects(tmp_path: Path) -> None:
    write(shop(), tmp_path / "saved", namespace="prod")
    back = SnapshotCluster.load(tmp_path / "saved")
    assert back.namespace == "prod"
    assert "of namespace prod" in back.name
    assert listed(back, "pods") == ["web-6d5e4f3c2-bbbbb"]
    assert listed(back, "nodes") == ["node-1"]
    items, (gap,) = asyncio.run(gather(back, "pods", "shop"))
    assert not items
    assert "holds namespace prod only" in gap.message


def test_logs_are_bounded_and_the_sick_pods_come_first(tmp_path: Path) -> None:
    sick = pod("zz-sick", "prod", "x", ready=False)
    healthy = [pod(f"ok-{n}", "prod", "x") for n in range(4)]
    lines = {f"prod/{name_of(each)}/app": log_lines(50) for each in [sick, *healthy]}
    cluster = SnapshotCluster.from_objects([*healthy, sick], now=NOW, logs=lines)
    written = write(cluster, tmp_path / "saved", limits=Limits(log_lines=10, log_pods=2))
    assert written.logs == 2
    assert "3 of 5 pods have no log here" in written.gaps["logs/*"].message
    back = SnapshotCluster.load(tmp_path / "saved")
    kept = asyncio.run(back.logs("zz-sick", "prod", LogWindow()))
    assert isinstance(kept, Lines)
    assert kept.lines == [f"request {n} served" for n in range(40, 50)]


def test_log_windows() -> None:
    def lines(**window: Any) -> tuple[list[str], bool]:
        found = asyncio.run(shop().logs(CATALOG, "shop", LogWindow(**window)))
        assert isinstance(found, Lines)
        return found.lines, found.truncated

    assert lines(tail=1) == (["request 299 served"], True)
    assert lines(since_time="2025-06-01T11:44:59Z", timestamps=True)[0] == [
        "2025-06-01T11:44:59.000000001Z request 299 served"
    ]
    assert len(lines(since_seconds=905)[0]) == 5
    assert lines(tail=3, limit_bytes=25) == (["request 297 served"], True)
    missing = asyncio.run(shop().logs("nope", "shop", LogWindow()))
    assert isinstance(missing, Gap)
    assert missing.reason == "not_found"


def test_selectors_as_the_server_applies_them() -> None:
    cluster = shop()
    assert listed(cluster, "pods", None, "app in (catalog,cart),app!=web") == listed(cluster, "pods", "shop")[:2]
    assert listed(cluster, "pods", None, "!app") == []
    assert listed(cluster, "pods", "shop", "", f"metadata.name={CATALOG}") == [CATALOG]
    assert listed(cluster, "pods", None, "", "status.phase!=Running") == []
    assert len(listed(cluster, "pods", None, "", "spec.nodeName=node-1,metadata.namespace=shop")) == 3
    assert listed(cluster, "events", "shop", "", f"involvedObject.name={CATALOG},type=Warning") == ["e1"]
    _, (gap,) = asyncio.run(gather(cluster, "pods", None, "a=(b"))
    assert gap.reason == "error"
    assert "no label selector" in gap.message


def test_tables_are_filtered_like_lists(folder: Path) -> None:
    for cluster in (shop(), SnapshotCluster.load(folder)):
        table = asyncio.run(cluster.table("pods", None, "", "app=web"))
        assert isinstance(table, Table)
        assert [name for _, name in table.names] == ["web-6d5e4f3c2-bbbbb", "web-5c4d3b2a1-aaaaa"]
        one = asyncio.run(cluster.table("deploy", "shop", "catalog"))
        assert isinstance(one, Table)
        assert one.rows[0][:2] == ("catalog", "1/2")
        missing = asyncio.run(cluster.table("deploy", "shop", "nope"))
        assert isinstance(missing, Gap)


def test_raw_paths_come_from_the_objects() -> None:
    def items(path: str) -> list[str]:
        answer = asyncio.run(shop().raw(path))
        assert isinstance(answer, dict)
        return [name_of(item) for item in answer["items"]]

    assert items("/apis/metrics.k8s.io/v1beta1/nodes") == ["node-1"]
    assert len(items("/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods")) == 2
    assert items("/api/v1/namespaces/prod/pods?labelSelector=app%3Dweb") == ["web-6d5e4f3c2-bbbbb"]
    one = asyncio.run(shop().raw("/apis/apps/v1/namespaces/shop/deployments/web"))
    assert isinstance(one, dict)
    assert one["kind"] == "Deployment"
    for path in ("/apis/custom.metrics.k8s.io/v1/pods", "/logs/x", "/version"):
        assert isinstance(asyncio.run(shop().raw(path)), Gap)


@pytest.mark.parametrize("name", ["../../secret", "..", "a/../../b", "/etc/passwd"])
def test_no_name_leaves_the_folder(folder: Path, name: str) -> None:
    (folder.parent / "secret").mkdir(exist_ok=True)
    (folder.parent / "secret" / "pods.json").write_text("[]")
    (folder.parent / "secret" / "x.log").write_text("outside")
    cluster = SnapshotCluster.load(folder)
    assert listed(cluster, "pods", name) == []
    assert isinstance(asyncio.run(cluster.logs("secret", name, LogWindow("x"))), Gap)
    assert isinstance(asyncio.run(cluster.logs(CATALOG, "shop", LogWindow(f"../../../{name}/x"))), Gap)


def test_damaged_and_foreign_folders_say_so(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"snapshot\.json is missing"):
        SnapshotCluster.load(tmp_path)
    with pytest.raises(UsageError, match="not empty"):
        write(shop(), folder)
    (folder / "objects/shop/pods.json").write_text('[\n {"a": 1')
    _, (gap,) = asyncio.run(gather(SnapshotCluster.load(folder), "pods", "shop"))
    assert "pods.json" in gap.what
    about = json.loads((folder / "snapshot.json").read_text())
    (folder / "snapshot.json").write_text(json.dumps({**about, "schema": "holmes.snapshot/v9"}))
    with pytest.raises(UsageError, match="v9 is not known"):
        SnapshotCluster.load(folder)


def test_clusters_gives_the_one_context(folder: Path) -> None:
    clusters = SnapshotClusters(SnapshotCluster.load(folder))
    assert isinstance(asyncio.run(clusters.get("")), SnapshotCluster)
    other = asyncio.run(clusters.get("prod-eu"))
    assert isinstance(other, Gap)
    assert "a snapshot stands in for the cluster" in other.message


def test_a_large_snapshot_is_read_on_demand(tmp_path: Path) -> None:
    pods = [pod(f"pod-{n:05}", f"ns-{n % 5}", "app") for n in range(2000)]
    write(SnapshotCluster.from_objects(pods, now=NOW), tmp_path / "saved", limits=Limits(log_pods=0))
    cluster = SnapshotCluster.load(tmp_path / "saved")
    read = cluster._store._objects  # type: ignore[attr-defined]
    assert not read
    assert isinstance(asyncio.run(cluster.get("pod", "pod-00001", "ns-1")), dict)
    assert set(read) == {("pods", "ns-1")}
    assert len(listed(cluster, "pods")) == 2000
