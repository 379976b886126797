"""From the configuration to the clusters of a run: live ones, or a snapshot that stands in for them."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from holmes.core.config import COMMAND_LINE, Config
from holmes.core.errors import UsageError
from holmes.kube.cluster import Cluster, Clusters, Gap

_REMEDY = "name a folder that `holmes snapshot create` has written"


def clusters_for(config: Config, env: Mapping[str, str], snapshot: Path | None = None) -> Clusters:
    """The snapshot in that folder, else what the configuration and the kubeconfig name. Nothing is connected yet.

    UsageError says what is wrong with the folder, and that a snapshot and a context exclude each other.
    """
    if snapshot is None:
        from holmes.core.http import DefaultHttp
        from holmes.core.process import ChildProcess
        from holmes.kube.clusters import LiveClusters

        return LiveClusters(env, DefaultHttp(env), ChildProcess(), str(config.kubeconfig or ""), config.context)
    for name in ("context", "kubeconfig"):
        if config.sources.get(name) == COMMAND_LINE:
            raise UsageError("a snapshot stands in for the cluster", remedy=f"give --snapshot or --{name}, not both")
    return open_snapshot(snapshot)


def open_snapshot(folder: Path) -> Clusters:
    """The cluster that was saved in a folder; UsageError when there is none that can be read."""
    from holmes.kube.snapshot import SnapshotCluster, SnapshotClusters

    if not folder.is_dir():
        raise UsageError("there is no such folder", where=str(folder), remedy=_REMEDY)
    try:
        return SnapshotClusters(SnapshotCluster.load(folder))
    except UsageError as error:
        raise UsageError(error.message, where=error.where, remedy=_REMEDY) from error


async def absent_namespace(cluster: Cluster, namespace: str) -> Gap | None:
    """A Gap that names those there are when it is certain that there is no such namespace, else None."""
    found = await cluster.get("Namespace", namespace)
    if not isinstance(found, Gap) or found.reason != "not_found":
        return None
    table = await cluster.table("Namespace")
    names = [] if isinstance(table, Gap) else [name for _, name in table.names]
    near = get_close_matches(namespace, names, 3, 0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(names[:10])}"
    return Gap(f"namespace {namespace}", "not_found", f"it does not exist; {hint}")
