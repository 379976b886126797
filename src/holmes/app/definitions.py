"""Every toolset that could be used: built-ins, the configuration, custom files, plugins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holmes.core.config import Config
from holmes.core.env_references import resolve_env
from holmes.core.errors import ConfigError, Problem
from holmes.core.yaml_marks import Document, load, load_file
from holmes.tools.manager import Definition, Origin

if TYPE_CHECKING:
    from holmes.tools.tool import Services, Toolset
    from holmes.tools.toolset_definition import ToolsetDefinition


def definitions(
    config: Config, env: Mapping[str, str], *, all_plugins: bool = False
) -> tuple[list[Definition], list[Problem]]:
    """All definitions, and everything wrong with the files that they come from. A problem costs only its toolset.

    Installed plugins are looked up when the configuration names something that is not built in, or for a full list:
    the look-up reads the metadata of every installed package.
    """
    problems: list[Problem] = []
    found = {each.name: each for each in built_ins()}
    if all_plugins or any(name not in found for name in config.toolsets):
        found |= {each.name: each for each in plugins() if each.name not in found}
    entries = config.document.part("toolsets") if config.document and config.toolsets else None
    own: dict[str, Any] = {}
    for name, entry in config.toolsets.items():
        settings = entry if isinstance(entry, dict) else {}
        where = config.document.where("toolsets", name) if config.document else name
        if name in found and "tools" not in settings:
            filled, unset = resolve_env(entries.part(name), env) if entries else (entry, [])
            found[name] = configured(found[name], filled, where)
            if unset and not found[name].problem:
                found[name] = replace(found[name], problem="; ".join(map(str, unset)))
        else:
            own[name] = entry
    if own and entries is not None:
        part = Document(
            {"toolsets": own}, entries.file, {("toolsets", *key): line for key, line in entries.lines.items()}
        )
        _add(found, problems, part, env, "config")
    for path in config.custom_toolsets:
        try:
            document = load_file(Path(path))
        except ConfigError as error:
            problems += error.problems
            continue
        _add(found, problems, document, env, "custom")
    return list(found.values()), problems


def configured(definition: Definition, entry: Any, where: str) -> Definition:
    """A built-in as the configuration wants it; a wrong type makes it a failed toolset, not a stop."""
    if entry is None:
        return definition
    if isinstance(entry, bool):
        return replace(definition, enabled=entry, where=where)
    if not isinstance(entry, dict):
        return replace(definition, enabled=True, where=where, problem=f"{where}: expected keys and values")
    unknown = [key for key in entry if key not in ("enabled", "config", "approval_required_tools", "transformers")]
    config, transformers = entry.get("config") or {}, entry.get("transformers") or []
    enabled = entry.get("enabled", True)
    problem = ""
    if not isinstance(config, dict):
        problem = f"{where}: config: expected keys and values"
    elif not isinstance(enabled, bool):
        problem = f"{where}: enabled: expected true or false"
    elif unknown:
        problem = f"{where}: unknown key {', '.join(unknown)}; known: enabled, config"
    elif wrong := _wrong_transformers(transformers):
        problem = f"{where}: transformers: {wrong}"
    return replace(
        definition,
        enabled=bool(enabled),
        config=config,
        where=where,
        problem=problem,
        transformers=() if problem else tuple(transformers),
    )


def _wrong_transformers(specs: Any) -> str:
    """What is wrong with them, "" when they can be used."""
    if not specs:
        return ""
    from holmes.tools.transformers import complaints

    if not isinstance(specs, list) or not all(isinstance(spec, dict) for spec in specs):
        return "expected a list of keys and values"
    return "; ".join(each.message for spec in specs for each in complaints(spec) if not each.warning)


def built_ins() -> Iterator[Definition]:
    """The manifests that lie beside the built-in toolsets."""
    from importlib.resources import files

    for folder in sorted(files("holmes.toolsets").iterdir(), key=lambda each: each.name):
        manifest = folder.joinpath("manifest.yaml") if folder.is_dir() else None
        if manifest is not None and manifest.is_file():
            for entry in load(manifest.read_text("utf-8"), f"{folder.name}/manifest.yaml").value:
                yield Definition(
                    entry["name"],
                    entry["factory"],
                    entry["description"],
                    enabled=bool(entry.get("default", False)),
                    tags=tuple(entry.get("tags", ())),
                    quick=bool(entry.get("quick", True)),
                )


def plugins() -> Iterator[Definition]:
    """Toolsets of installed packages: entry points of the group ``holmes.toolsets``; off unless configured."""
    from importlib.metadata import entry_points

    for point in entry_points(group="holmes.toolsets"):
        distribution = point.dist.name if point.dist else "a package"
        yield Definition(point.name, point.value, f"from {distribution}", "plugin", enabled=False, where=distribution)


def _add(
    found: dict[str, Definition], problems: list[Problem], document: Document, env: Mapping[str, str], origin: Origin
) -> None:
    from holmes.tools.yaml_loader import load_toolsets

    loaded, wrong = load_toolsets(document, env)
    problems += wrong
    for each in loaded:
        known = found.get(each.name)
        if known is not None and known.origin in ("config", "custom"):
            problems.append(Problem(each.where, f"the toolset {each.name} is already defined at {known.where}"))
            continue
        found[each.name] = _from_yaml(each, origin, found)


def _from_yaml(each: ToolsetDefinition, origin: Origin, known: Iterable[str]) -> Definition:
    problem = "; ".join(str(problem) for problem in each.problems)
    if not problem and each.type not in _FACTORIES:
        problem = f"{each.where}: this version has no toolsets of type {each.type}"
    elif not problem and each.type == "custom" and not each.tools:
        near = get_close_matches(each.name, list(known), 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        problem = f"{each.where}: there is no built-in toolset {each.name}, and it defines no tools{hint}"
    return Definition(
        each.name,
        lambda config, services: _FACTORIES[each.type](each, services),
        each.description or (f"The SQL database {each.name}, read only" if each.type == "database" else ""),
        origin,
        each.enabled,
        each.settings,
        each.tags,
        each.where,
        problem=problem,
        transformers=() if each.type == "custom" else each.transformers,
    )


def _yaml_toolset(each: ToolsetDefinition, services: Services) -> Toolset:
    from holmes.tools.yaml_toolset import YAMLToolset

    return YAMLToolset(each, services)


def _database(each: ToolsetDefinition, services: Services) -> Toolset:
    from holmes.toolsets.database.sql import make_database

    return make_database(each.name, each.config, services, each.llm_instructions)


def _http(each: ToolsetDefinition, services: Services) -> Toolset:
    from holmes.toolsets.http.http import make_http

    return make_http(each, services)


_FACTORIES: Mapping[str, Callable[[ToolsetDefinition, Services], Toolset]] = {
    "custom": _yaml_toolset,
    "database": _database,
    "http": _http,
}
