"""Programs that talk to a cluster get the run's own: context, namespace and credentials of this run, nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from holmes.tools.tool import ToolContext

PROGRAMS = frozenset(["kubectl", "oc", "helm", "flux", "istioctl", "argocd"])
_MENTIONED = re.compile(rf"(?<![\w.-])({'|'.join(sorted(PROGRAMS))})(?![\w.-])")


def mentioned(text: str) -> set[str]:
    """The cluster programs that a command's text names."""
    return set(_MENTIONED.findall(text))


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """What a child gets: variables, why it must not run ("" when it may), and why the cluster cannot be reached."""

    env: Mapping[str, str] = field(default_factory=dict)
    refusal: str = ""
    gap: str = ""


async def cluster_access(programs: Iterable[str], ctx: ToolContext, folder: Path) -> ClusterAccess:
    """The run's own kubeconfig, written into ``folder``, for the cluster programs among ``programs``.

    A snapshot stands in for the cluster: these programs would look at another one. Without any cluster they get an
    empty kubeconfig and say so themselves.
    """
    names = ", ".join(sorted(PROGRAMS.intersection(programs)))
    if not names:
        return ClusterAccess()
    make = getattr(ctx.clusters, "child_kubeconfig", None)
    if make is None:
        cluster = await ctx.clusters.get()
        where = getattr(cluster, "name", "") or str(cluster)
        return ClusterAccess(
            refusal=f"{names} would not see the cluster of this run ({where}). Use the Kubernetes tools."
        )
    made = await make(folder)
    if isinstance(made, Path):
        return ClusterAccess({"KUBECONFIG": str(made)})
    return ClusterAccess({"KUBECONFIG": "/dev/null"}, gap=str(made))
