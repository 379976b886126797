"""Whether the Kubernetes toolsets can be used at all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from holmes.kube.cluster import Gap
from holmes.tools.tool import Health, Services


def needs_cluster(services: Services) -> Callable[[], Awaitable[Health]]:
    """A check that passes as soon as the kubeconfig (or the snapshot) names a cluster; the network is not asked."""

    async def check() -> Health:
        cluster = await services.clusters.get("")
        return Health("failed", str(cluster)) if isinstance(cluster, Gap) else Health("enabled")

    return check
