"""The checks of ``holmes doctor``, each a line: what, state, detail, remedy."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from holmes.app.wiring import Base, base, model, toolset_status
from holmes.core.config import Config, ModelRetry, load_config
from holmes.core.errors import ConfigError, HolmesError, ModelError
from holmes.core.messages import Message
from holmes.kube.cluster import Gap
from holmes.llm.base import LLM, Request

PATIENCE = 30.0  # seconds for the model's answer


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was checked."""

    what: str
    state: Literal["fine", "broken", "off"]
    detail: str
    remedy: str = ""


async def checkup(
    path: Path | None, env: Mapping[str, str], overrides: Mapping[str, Any], *, ask_model: bool
) -> AsyncGenerator[Line, None]:
    """Check everything; a broken configuration ends it, for all else stands on it."""
    yield _installation()
    try:
        config, warnings = load_config(path, env, overrides)
    except ConfigError as error:
        for problem in error.problems:
            yield Line("configuration", "broken", str(problem), error.remedy)
        return
    for warning in warnings:
        yield Line("configuration", "broken", str(warning), "take the key out, or write it as it is known")
    if not warnings:
        file = config.document.file if config.document and config.document.value else "no file, all defaults"
        yield Line("configuration", "fine", file)
    ground = base(config, env)
    try:
        yield _state(ground)
        yield await _model(config, env, ask_model)
        yield await _cluster(ground, named=bool(config.context or config.kubeconfig))
        async for line in _toolsets(config, env):
            yield line
    finally:
        await ground.clusters.close()


def _installation() -> Line:
    python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    if _clashes():
        return Line(
            "installation",
            "broken",
            "HolmesGPT is installed in the same environment and has a package of the same name",
            "install holmes-sre in an environment of its own: pipx install holmes-sre",
        )
    from holmes import __version__

    return Line("installation", "fine", f"holmes-sre {__version__}, {python}")


def _clashes() -> bool:
    from importlib.metadata import distributions

    return any((each.metadata["Name"] or "").lower() == "holmesgpt" for each in distributions())


def _state(ground: Base) -> Line:
    from holmes.core.journal import Journal
    from holmes.core.paths import private_folder

    try:
        private_folder(ground.home)
        with Journal.open(ground.home / "journal.db") as journal:
            count = len(journal.runs(1000))
    except HolmesError as error:
        return Line("state", "broken", f"{error.where}: {error.message}", error.remedy)
    free = shutil.disk_usage(ground.home).free // 1_000_000
    return Line("state", "fine", f"{ground.home}, {count} investigations, {free:,} MB free")


async def _model(config: Config, env: Mapping[str, str], ask: bool) -> Line:
    config = replace(config, model_retry=ModelRetry(tries=1))  # a check says what it saw, at once
    try:
        llm = model(config, env, lambda seconds, reason: None, lambda text: None)
    except HolmesError as error:
        return Line("model", "broken", error.message, error.remedy)
    if not ask:
        return Line("model", "fine", f"{llm.name} (not asked)")
    return await _asked(llm)


async def _asked(llm: LLM) -> Line:
    started = time.monotonic()
    request = Request([Message("user", "Answer with the single word: ready")])
    try:
        turn = await llm.complete(request, None, time.monotonic() + PATIENCE)
    except ModelError as error:
        return Line("model", "broken", f"{llm.name}: {error.message}", error.remedy)
    finally:
        await llm.close()
    seconds = time.monotonic() - started
    if not turn.message.content.strip():
        return Line("model", "broken", f"{llm.name} answered nothing", "try another model")
    return Line("model", "fine", f"{llm.name} answered in {seconds:.1f} s, window {llm.window:,} tokens")


async def _cluster(ground: Base, *, named: bool) -> Line:
    cluster = await ground.clusters.get()
    if isinstance(cluster, Gap):
        nothing_there = cluster.reason == "not_found" and not named
        return Line("cluster", "off" if nothing_there else "broken", f"{cluster.what}: {cluster.message}")
    version = await cluster.raw("/version")
    if isinstance(version, Gap):
        return Line("cluster", "broken", f"{cluster.name}: {version.message}")
    pods = await cluster.table("pods")
    if isinstance(pods, Gap):
        return Line("cluster", "broken", f"{cluster.name}: {pods.message}", "ask for a role that may list pods")
    return Line("cluster", "fine", f"{cluster.name} {version.get('gitVersion', '')}, {len(pods.rows)} pods")


async def _toolsets(config: Config, env: Mapping[str, str]) -> AsyncIterator[Line]:
    rows, problems = await toolset_status(config, env, refresh=True)
    for problem in problems:
        yield Line("toolset file", "off" if problem.warning else "broken", str(problem))
    for row in rows:
        name = f"toolset {row['name']}"
        if row["status"] == "enabled":
            yield Line(name, "fine", f"{len(row['tools'])} tools")
        elif row["status"] == "failed":
            wanted = row["where"] or row["origin"] != "built-in"  # one that is only on by default is no fault
            yield Line(name, "broken" if wanted else "off", row["reason"], row["remedy"])
