"""Where toolsets come from, and which of them can be used.

Built-ins have manifests (small YAML files beside their code); the rest comes from the configuration, from custom
files and from entry points. Python is loaded when a toolset is opened. A failed toolset stays visible with its reason.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from holmes.core.errors import Problem, UsageError
from holmes.tools.disclosure import Shelf, always_declared
from holmes.tools.executor import Bound
from holmes.tools.tool import Factory, Health, Services, Toolset

FRESH = 3600.0  # seconds that a cached "enabled" counts
Origin = Literal["built-in", "plugin", "config", "custom"]


@dataclass(frozen=True, slots=True)
class Definition:
    """A toolset that could be opened. ``factory`` is a callable or "module:function"."""

    name: str
    factory: Factory | str
    description: str = ""
    origin: Origin = "built-in"
    enabled: bool = True
    config: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    where: str = ""  # file:line; "" for what the user's configuration does not name
    quick: bool = False  # opening it costs nothing: never cached
    problem: str = ""  # why it cannot even be tried
    transformers: tuple[Mapping[str, Any], ...] = ()  # for the results of all its tools


@dataclass(slots=True)
class Loaded:
    """A definition with what came of it."""

    definition: Definition
    health: Health
    toolset: Toolset | None = None


class ToolsetManager:
    """Opens toolsets side by side under one deadline and keeps the statuses."""

    def __init__(self, definitions: Sequence[Definition], services: Services, cache: Path | None = None) -> None:
        self._definitions = definitions
        self._services = services
        self._cache = cache
        self.loaded: list[Loaded] = []
        self.problems: list[Problem] = []

    async def open(self, refresh: bool = False) -> list[Loaded]:
        """Open every enabled toolset. ``refresh`` checks again what the cache says is fine."""
        known = {} if refresh else self._read_cache()
        self.loaded = list(await asyncio.gather(*(self._load(each, known) for each in self._definitions)))
        self._write_cache(known)
        return self.loaded

    def keep(self, names: Sequence[str]) -> None:
        """Only these toolsets, disabled ones too; UsageError names what there is not."""
        known = {definition.name: definition for definition in self._definitions}
        if unknown := [name for name in names if name not in known]:
            raise UsageError(f"there is no toolset {', '.join(unknown)}", remedy=f"known: {', '.join(sorted(known))}")
        self._definitions = [replace(known[name], enabled=True) for name in names]

    async def close(self) -> None:
        """Close what is open."""
        for loaded in self.loaded:
            if loaded.toolset is not None:
                await loaded.toolset.close()

    def bound(self) -> list[Bound]:
        """All tools that can be called; a user's tool takes the name from a built-in one."""
        chosen: dict[str, tuple[Loaded, Bound]] = {}
        self.problems = []
        for loaded in sorted(self.loaded, key=lambda each: each.definition.origin != "built-in"):
            if loaded.toolset is None or loaded.health.status != "enabled":
                continue
            for tool in loaded.toolset.tools():
                other = chosen.get(tool.name)
                if other is not None and other[0].definition.origin != "built-in":
                    where = loaded.definition.where or loaded.definition.name
                    owner = other[0].definition
                    self.problems.append(
                        Problem(where, f"the tool {tool.name} is already defined by {owner.name} ({owner.where})")
                    )
                    continue
                definition = loaded.definition
                chosen[tool.name] = (loaded, Bound(tool, definition.name, definition.transformers))
        return [bound for _, bound in chosen.values()]

    def shelves(self) -> list[Shelf]:
        """The open toolsets with their tools, built-ins first: what a conversation may be told of."""
        tools: dict[str, list[Bound]] = {}
        for bound in self.bound():
            tools.setdefault(bound.toolset, []).append(bound)
        by_name = {loaded.definition.name: loaded for loaded in self.loaded}
        return [_shelf(by_name[name], tuple(bounds)) for name, bounds in tools.items()]

    def replaced(self) -> dict[str, str]:
        """Built-in tools whose name a user's toolset took: tool name -> that toolset."""
        owners = {bound.tool.name: bound.toolset for bound in self.bound()}
        return {
            tool.name: owners[tool.name]
            for loaded in self.loaded
            if loaded.definition.origin == "built-in" and loaded.toolset is not None
            for tool in loaded.toolset.tools()
            if owners.get(tool.name, loaded.definition.name) != loaded.definition.name
        }

    async def _load(self, definition: Definition, known: Mapping[str, Any]) -> Loaded:
        if not definition.enabled:
            return Loaded(definition, Health("disabled"))
        if definition.problem:
            return Loaded(definition, Health("failed", definition.problem))
        try:
            toolset = _factory(definition)(definition.config, self._services)
        except (ImportError, AttributeError) as error:
            return Loaded(definition, Health("failed", f"cannot be loaded: {error}"))
        except (TypeError, ValueError, KeyError) as error:
            return Loaded(definition, Health("failed", f"{definition.where or 'config'}: {error}"))
        entry = known.get(_key(definition))
        if entry and time.time() - entry < FRESH:
            return Loaded(definition, Health("enabled"), toolset)
        return Loaded(definition, await self._check(definition, toolset), toolset)

    async def _check(self, definition: Definition, toolset: Toolset) -> Health:
        try:
            async with asyncio.timeout(self._services.deadline):
                return await toolset.open()
        except TimeoutError:
            return Health(
                "failed",
                f"its check did not end within {self._services.deadline:g} s",
                f"look at the prerequisites of {definition.name}, or disable it",
            )

    def _read_cache(self) -> dict[str, float]:
        if self._cache is None:
            return {}
        try:
            data = json.loads(self._cache.read_text())
        except (OSError, ValueError):
            return {}
        return data if isinstance(data, dict) else {}

    def _write_cache(self, known: Mapping[str, float]) -> None:
        """Keep only good news: what failed is tried again next time."""
        if self._cache is None:
            return
        good = {
            _key(each.definition): known.get(_key(each.definition), time.time())
            for each in self.loaded
            if each.health.status == "enabled" and not each.definition.quick and each.definition.origin != "custom"
        }
        if good == known:
            return
        scratch = self._cache.with_suffix(f".{id(self)}.tmp")
        try:
            scratch.write_text(json.dumps(good))
            scratch.replace(self._cache)
        except OSError:
            scratch.unlink(missing_ok=True)  # a cache that cannot be written is no reason to fail


def _shelf(loaded: Loaded, tools: tuple[Bound, ...]) -> Shelf:
    definition = loaded.definition
    return Shelf(
        definition.name,
        tools,
        " ".join(definition.description.split()),
        loaded.toolset.instructions if loaded.toolset else "",
        always=always_declared(definition.name),
        named=bool(definition.where),
    )


def _key(definition: Definition) -> str:
    return f"{definition.name} {hash_of(definition.config)}"


def hash_of(value: Any) -> str:
    """A short stable hash of JSON types."""
    import hashlib

    return hashlib.blake2s(json.dumps(value, sort_keys=True, default=str).encode(), digest_size=8).hexdigest()


def _factory(definition: Definition) -> Factory:
    if callable(definition.factory):
        return definition.factory
    from importlib import import_module

    module, _, name = definition.factory.partition(":")
    factory: Factory = getattr(import_module(module), name)
    return factory
