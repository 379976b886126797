"""What ``holmes scan`` does once its options are parsed."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holmes.analyzers.run import ScanResult, scan
from holmes.app.clusters import absent_namespace, clusters_for
from holmes.app.own_secrets import masker_for
from holmes.cli.scan import ScanOutput
from holmes.cli.scan_text import print_scan, scan_markdown
from holmes.cli.terminal import Terminal
from holmes.core.config import load_config
from holmes.core.env import environment
from holmes.core.text import clean
from holmes.kube.cluster import Clusters, Gap

BLIND = 5


def run_scan(
    path: Path | None,
    overrides: Mapping[str, Any],
    snapshot: Path | None,
    namespace: str | None,
    timeout: float,
    output: ScanOutput,
) -> int:
    """Scan, write the result to standard output, and give the exit code."""
    env = environment()
    config, warnings = load_config(path, env, overrides)
    for warning in warnings:
        print(f"holmes: {warning}", file=sys.stderr)
    clusters = clusters_for(config, env, snapshot)
    result = asyncio.run(_scanned(clusters, namespace, time.monotonic() + timeout))
    masker = masker_for(config, env)

    def safe(text: str) -> str:
        return clean(masker.mask(text))

    match output:
        case ScanOutput.JSON:
            print(json.dumps(masker.mask_tree(result.as_data()), ensure_ascii=False, indent=2))
        case ScanOutput.MARKDOWN:
            print(scan_markdown(result, safe))
        case ScanOutput.TEXT:
            print_scan(result, safe, Terminal.of(sys.stdout, env))
    return BLIND if result.blind else int(bool(result.faults))


async def _scanned(clusters: Clusters, namespace: str | None, deadline: float) -> ScanResult:
    """The faults; what there is no cluster or namespace for is a result as well."""
    try:
        cluster = await clusters.get()
        if isinstance(cluster, Gap):
            return ScanResult("the cluster", "", datetime.now(UTC), gaps=(cluster,))
        result = await scan(cluster, namespace, deadline)
        if not namespace or result.looked_at or result.gaps:
            return result
        absent = await absent_namespace(cluster, namespace)
        return replace(result, gaps=(absent,), missing=True) if absent else result
    finally:
        await clusters.close()
