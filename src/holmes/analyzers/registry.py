"""Which analyzers there are: built-ins by name, and those of plugins through entry points ``holmes.analyzers``.

A plugin's entry point names a module of the form that ``base`` describes. Nothing is loaded before it is asked for.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType

from holmes.analyzers.base import Analyze
from holmes.core.errors import UsageError

GROUP = "holmes.analyzers"
BUILT_IN = (
    "holmes.analyzers.pods.oom_killed",
    "holmes.analyzers.pods.panic",
    "holmes.analyzers.pods.crash_loop",
    "holmes.analyzers.pods.start_error",
    "holmes.analyzers.pods.init_failing",
    "holmes.analyzers.pods.image_pull",
    "holmes.analyzers.pods.config_reference",
    "holmes.analyzers.pods.failed_mount",
    "holmes.analyzers.pods.probes",
    "holmes.analyzers.pods.unschedulable",
    "holmes.analyzers.pods.evicted",
    "holmes.analyzers.pods.resource_use",
    "holmes.analyzers.pods.upstream_errors",
    "holmes.analyzers.pods.log_errors",
    "holmes.analyzers.workloads.failed_create",
    "holmes.analyzers.workloads.rollout",
    "holmes.analyzers.workloads.job_failed",
    "holmes.analyzers.workloads.cronjob",
    "holmes.analyzers.workloads.hpa",
    "holmes.analyzers.workloads.pdb",
    "holmes.analyzers.workloads.scaled_to_zero",
    "holmes.analyzers.network.service_selector",
    "holmes.analyzers.network.service_port",
    "holmes.analyzers.network.service_endpoints",
    "holmes.analyzers.network.ingress",
    "holmes.analyzers.network.network_policy",
    "holmes.analyzers.storage.pvc",
    "holmes.analyzers.nodes.node_condition",
    "holmes.analyzers.objects.stuck_terminating",
)


@dataclass(frozen=True, slots=True)
class Analyzer:
    """A loaded analyzer; ``text`` is its module's docstring, ``kinds`` what it needs, ``logs`` if it reads logs."""

    name: str
    analyze: Analyze
    kinds: tuple[str, ...]
    logs: bool
    text: str
    module: str


def analyzer_names() -> list[str]:
    """All names, built-ins first, without loading any."""
    return [module.rpartition(".")[2] for module in BUILT_IN] + sorted(plugin_modules())


def plugin_modules() -> dict[str, str]:
    """Module paths of plugins by analyzer name; a plugin cannot take a built-in's name."""
    built_in = {module.rpartition(".")[2] for module in BUILT_IN}
    return {point.name: point.value for point in entry_points(group=GROUP) if point.name not in built_in}


def load_all(modules: Iterable[str] = ()) -> list[Analyzer]:
    """Load these modules; without any, all built-ins and plugins. UsageError names one that has not the right form."""
    return [load(module) for module in list(modules) or [*BUILT_IN, *plugin_modules().values()]]


def load(module_path: str) -> Analyzer:
    """Load one module; UsageError when it cannot be loaded or has not the right form."""
    try:
        module = import_module(module_path)
    except ImportError as error:
        raise UsageError(
            f"analyzer {module_path} cannot be loaded: {error}", remedy="reinstall or remove the package that brings it"
        ) from error
    return _read(module, module_path)


def _read(module: ModuleType, path: str) -> Analyzer:
    name = path.rpartition(".")[2]
    function, kinds = getattr(module, name, None), getattr(module, "KINDS", None)
    if not callable(function) or not isinstance(kinds, tuple):
        raise UsageError(
            f"{path} is no analyzer: it needs a function {name}(facts) and a tuple KINDS",
            remedy="see holmes.analyzers.base for the form",
        )
    text = inspect.cleandoc(module.__doc__ or "")
    return Analyzer(name, function, kinds, bool(getattr(module, "LOGS", False)), text, path)
