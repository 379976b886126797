"""What ``holmes snapshot`` does once its options are parsed."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from holmes.app.clusters import absent_namespace, clusters_for, open_snapshot
from holmes.app.own_secrets import masker_for
from holmes.app.snapshots import Contents, contents, save
from holmes.cli.scan_text import gap_lines
from holmes.cli.scanning import BLIND
from holmes.cli.terminal import Terminal
from holmes.core.config import load_config
from holmes.core.env import environment
from holmes.kube.cluster import Clusters, Gap
from holmes.kube.snapshot_writer import Mask

_GAPS = 20  # lines


def run_create(folder: Path, namespace: str | None, path: Path | None, overrides: Mapping[str, Any]) -> int:
    """Save the cluster, say what was saved, and give the exit code."""
    env = environment()
    config, warnings = load_config(path, env, overrides)
    errors = Terminal.of(sys.stderr, env)
    for warning in warnings:
        errors.print(f"holmes: {warning}")
    errors.status("… reading the cluster")
    try:
        masker = masker_for(config, env)
        gaps = asyncio.run(_saved(clusters_for(config, env), folder, namespace, masker.mask))
    finally:
        errors.clear()
    if gaps:
        errors.print("holmes: nothing could be saved:")
        for line in _some(gap_lines([Gap(gap.what, gap.reason, masker.mask(gap.message)) for gap in gaps])):
            errors.print(f"  · {line}")
        return BLIND
    saved = asyncio.run(contents(folder))
    shown = shlex.quote(str(folder))
    print(f"Saved to {folder}")
    _print(saved)
    print(f'\nLook into it: holmes scan --snapshot {shown}\nAsk about it:  holmes ask --snapshot {shown} "..."')
    return 0


def run_show(folder: Path, *, as_json: bool) -> None:
    """Print what a snapshot holds; UsageError when the folder has none."""
    open_snapshot(folder)
    found = asyncio.run(contents(folder))
    if as_json:
        print(json.dumps(found.as_data(), ensure_ascii=False, indent=2))
    else:
        _print(found)


async def _saved(clusters: Clusters, folder: Path, namespace: str | None, mask: Mask) -> list[Gap]:
    try:
        cluster = await clusters.get()
        if isinstance(cluster, Gap):
            return [cluster]
        absent = await absent_namespace(cluster, namespace) if namespace else None
        return [absent] if absent else await save(cluster, folder, mask=mask, namespace=namespace)
    finally:
        await clusters.close()


def _print(found: Contents) -> None:
    about = found.about
    version = str(about.version.get("gitVersion") or "")
    places = "all" if about.namespaces is None else ", ".join(about.namespaces)
    objects = sum(found.objects.values())
    print(f"cluster:    {about.cluster}{f', Kubernetes {version}' if version else ''}")
    print(f"context:    {about.context or '-'}")
    print(f"time:       {about.captured_at:%Y-%m-%d %H:%M:%S} UTC")
    print(f"namespaces: {places}")
    print(f"objects:    {objects}, and {found.logs} logs, {_size(found.size)}")
    for resource, number in sorted(found.objects.items(), key=lambda pair: (-pair[1], pair[0])):
        print(f"  {number:>7}  {resource}")
    if about.gaps:
        print("not saved:")
    for line in _some(gap_lines(list(about.gaps.values()))):
        print(f"  · {line}")


def _some(lines: Sequence[str]) -> Sequence[str]:
    more = len(lines) - _GAPS
    return lines if more <= 0 else [*lines[:_GAPS], f"and {more} more; holmes snapshot show DIR -o json has all"]


def _size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} KB"
