"""From the configuration to an engine: the one place where everything is put together."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holmes.agent.engine import Parts
from holmes.agent.opening import kubernetes_opening, nothing
from holmes.agent.prompt import PromptInputs, components
from holmes.agent.safeguards import Limits
from holmes.agent.summaries import Summaries
from holmes.app.clusters import clusters_for
from holmes.app.definitions import definitions
from holmes.app.own_secrets import masker_for
from holmes.core.config import Config
from holmes.core.env import holmes_home
from holmes.core.errors import ModelRefused, Problem, StoreError, UsageError
from holmes.core.http import DefaultHttp
from holmes.core.journal import Journal
from holmes.core.local_results import LocalResults
from holmes.core.paths import private_folder
from holmes.core.principal import Principal
from holmes.core.process import ChildProcess
from holmes.kube.cluster import Clusters, Gap
from holmes.llm.base import LLM
from holmes.llm.default import DefaultLLM, OnWait, Retry
from holmes.tools.manager import ToolsetManager
from holmes.tools.tool import Services, ToolContext

Say = Callable[[str], None]


@dataclass
class Setup:
    """An engine's parts, and what has to be closed once it is done."""

    parts: Parts
    env: Mapping[str, str]
    journal: Journal
    _close: list[Callable[[], None]] = field(default_factory=list)

    def problem(self) -> str:
        """What the state folder could not keep; "" when all was kept."""
        return str(self.journal.problem or "")

    def close(self) -> None:
        """Let go of files."""
        for close in self._close:
            close()


@dataclass(frozen=True)
class Base:
    """What toolsets, engines and ``doctor`` all stand on."""

    home: Path
    http: DefaultHttp
    process: ChildProcess
    clusters: Clusters
    services: Services


def base(config: Config, env: Mapping[str, str], snapshot: Path | None = None) -> Base:
    """The seams to the outside world; ``snapshot`` is a folder that stands in for the cluster."""
    http, process = DefaultHttp(env), ChildProcess()
    clusters = clusters_for(config, env, snapshot)
    services = Services(env, clusters, process, http, config.prerequisite_timeout)
    return Base(holmes_home(env), http, process, clusters, services)


def wire(
    config: Config,
    env: Mapping[str, str],
    *,
    llm: LLM,
    say: Say = lambda text: None,
    keep: bool = True,
    refresh: bool = False,
    snapshot: Path | None = None,
) -> Setup:
    """Put an engine's parts together. UsageError and ConfigError say what is wrong with the configuration."""
    keep = keep and config.history.keep
    ground = base(config, env, snapshot)
    masker = masker_for(config, env)
    journal = _journal(ground.home, keep, say)
    manager, problems = toolsets(config, env, ground, keep=keep)
    for problem in problems:
        say(str(problem))
    each_call: Any = None  # sink and results are each call's own
    now = _clock(ground.clusters, snapshot)
    world = ToolContext(
        run_id="",
        call_id="",
        principal=Principal(),
        env=env,
        clusters=ground.clusters,
        process=ground.process,
        http=ground.http,
        sink=each_call,
        results=each_call,
        deadline=0.0,
        clock=now,
        namespace=config.namespace,
    )
    parts = Parts(
        llm=llm,
        manager=manager,
        results=LocalResults(private_folder(ground.home / "runs") if keep and _usable(ground.home) else None, masker),
        journal=journal,
        masker=masker,
        world=world,
        cluster=_cluster_name(config, ground.clusters),
        prompt=PromptInputs(
            additions=config.system_prompt_additions, switches=components(config.prompt_enabled, config.prompts)
        ),
        limits=Limits(config.max_steps, config.max_seconds, config.max_tokens, config.max_cost),
        shown=_shown(config, llm),
        tool_timeout=config.tool_timeout,
        now=now,
        summaries=summaries(config, env, llm),
        refresh_toolsets=refresh,
        opening=kubernetes_opening(ground.clusters) if config.opening_evidence else nothing,
    )
    tidy = [lambda: prune(journal, ground.home, config)] if keep and journal.path else []
    return Setup(parts, env, journal, [*tidy, journal.close])


def toolsets(
    config: Config, env: Mapping[str, str], ground: Base, *, keep: bool = True, all_plugins: bool = False
) -> tuple[ToolsetManager, list[Problem]]:
    """The manager of all toolsets, and what is wrong with the files that they come from."""
    found, problems = definitions(config, env, all_plugins=all_plugins)
    cache = ground.home / "cache" / "toolsets.json" if keep else None
    if cache is not None:
        try:
            private_folder(cache.parent)
        except StoreError:
            cache = None
    return ToolsetManager(found, ground.services, cache), problems


def model(config: Config, env: Mapping[str, str], on_wait: OnWait, say: Say) -> LLM:
    """The model to use, by the order that docs/models.md gives; said in one line when nobody named it."""
    from holmes.llm.choice import choose, known_models, named
    from holmes.llm.fallback import FallbackLLM

    models = known_models(env)
    chosen = choose(config, env, models)
    if chosen.reason:
        say(chosen.reason)
    if chosen.entry is None:
        return offline()
    entries = [chosen.entry, *(named(name, config, env, models) for name in config.fallback_models)]
    retry = Retry(config.model_retry.tries, config.model_retry.wait, config.model_retry.cap)
    made = [DefaultLLM(each, DefaultHttp(env), env, retry=retry, on_wait=on_wait) for each in entries if each]
    for each in made:
        _check_price(config, each)
    return FallbackLLM(made, lambda: offline(last_resort=True))


def _check_price(config: Config, llm: DefaultLLM) -> None:
    """UsageError when ``max_cost`` could not be kept because nobody knows what the model costs."""
    tells_costs = llm.entry.provider.name == "openrouter"
    if config.max_cost is not None and llm.prices is None and not tells_costs:
        raise UsageError(
            f"the limit of ${config.max_cost:g} cannot be kept: the price of {llm.name} is not known",
            remedy="give input_cost_per_token and output_cost_per_token in the model list, 0 for a server of your own, "
            "or use --max-tokens",
        )


def offline(*, last_resort: bool = False) -> LLM:
    """The offline analysis."""
    from holmes.llm.offline import OfflineLLM

    return OfflineLLM(last_resort=last_resort)


def summaries(config: Config, env: Mapping[str, str], llm: LLM) -> Summaries | None:
    """What writes summaries: ``fast_model``, else the model itself; None for the offline analysis."""
    from holmes.llm.choice import OFFLINE, known_models, named

    def make(name: str) -> LLM:
        wanted = name or config.fast_model
        if not wanted:
            return llm
        entry = named(wanted, config, env, known_models(env))
        if entry is None:
            raise ModelRefused(
                f"{OFFLINE} writes no summaries", remedy="name a language model, or leave fast_model out"
            )
        retry = Retry(config.model_retry.tries, config.model_retry.wait, config.model_retry.cap)
        small = DefaultLLM(entry, DefaultHttp(env), env, retry=retry)
        _check_price(config, small)
        return small

    if llm.name == OFFLINE:
        return None
    made = Summaries(make)
    if config.fast_model:
        made.model()  # a wrong name is said now, not in the middle of an investigation
    return made


async def toolset_status(
    config: Config, env: Mapping[str, str], *, refresh: bool, only: Sequence[str] | None = None
) -> tuple[list[dict[str, Any]], list[Problem]]:
    """Every toolset with its status, for ``holmes toolset`` and ``doctor``."""
    ground = base(config, env)
    manager, problems = toolsets(config, env, ground, all_plugins=True)
    if only is not None:
        manager.keep(only)
    loaded = await manager.open(refresh)
    try:
        replaced = manager.replaced()
        rows = [
            {
                "name": each.definition.name,
                "status": each.health.status,
                "origin": each.definition.origin,
                "description": each.definition.description,
                "reason": each.health.reason,
                "remedy": each.health.remedy,
                "where": each.definition.where,
                "tools": [tool.name for tool in each.toolset.tools()] if each.toolset else [],
                "replaced": {
                    tool.name: replaced[tool.name]
                    for tool in (each.toolset.tools() if each.toolset else ())
                    if tool.name in replaced and each.definition.origin == "built-in"
                },
            }
            for each in loaded
        ]
        return rows, [*problems, *manager.problems]
    finally:
        await manager.close()
        await ground.clusters.close()


def prune(journal: Journal, home: Path, config: Config, every: float = 86_400.0) -> None:
    """Forget runs beyond ``history.days`` and ``history.max_mb``, once in ``every`` seconds. Never fails a run."""
    mark = home / "cache" / "pruned"
    try:
        if mark.exists() and time.time() - mark.stat().st_mtime < every:
            return
        private_folder(mark.parent)
        mark.touch()
        for run_id in journal.prune(config.history.days, config.history.max_mb):
            shutil.rmtree(home / "runs" / run_id, ignore_errors=True)
    except (OSError, StoreError):
        return  # tidying up can wait for another day


def _journal(home: Path, keep: bool, say: Say) -> Journal:
    """The journal; one that cannot be opened is replaced by memory, said once."""
    if not keep:
        return Journal.open(None)
    try:
        return Journal.open(private_folder(home) / "journal.db")
    except StoreError as error:
        say(f"nothing is kept of this run: {error}")
        return Journal.open(None)


def _usable(home: Path) -> bool:
    try:
        private_folder(home / "runs")
    except StoreError:
        return False
    return True


def _shown(config: Config, llm: LLM) -> int:
    tokens = min(config.results.max_tokens, int(llm.window * config.results.max_percent / 100))
    return tokens * 3  # logs and tables have about three characters a token


def _cluster_name(config: Config, clusters: Clusters) -> Callable[[], Any]:
    async def name() -> str:
        if config.cluster_name:
            return config.cluster_name
        cluster = await clusters.get()
        return "" if isinstance(cluster, Gap) else cluster.name

    return name


def _clock(clusters: Clusters, snapshot: Path | None) -> Callable[[], datetime]:
    """The time of the data: a snapshot's is that of its capture."""
    if snapshot is not None:
        from holmes.kube.snapshot import SnapshotClusters

        assert isinstance(clusters, SnapshotClusters)
        captured = clusters.now
        return lambda: captured
    return lambda: datetime.now(UTC)
