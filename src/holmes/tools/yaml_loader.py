"""Toolsets from YAML: HolmesGPT's schema, every problem at once as file:line, and each costs only its own toolset."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, get_args

from holmes.core.env import MODEL_KEYS
from holmes.core.env_references import resolve_env
from holmes.core.errors import Problem
from holmes.core.yaml_marks import Document
from holmes.tools.parameter_schema import read_parameters
from holmes.tools.toolset_definition import (
    PrerequisiteCommand,
    Prerequisites,
    ToolDefinition,
    ToolsetDefinition,
    ToolsetType,
)
from holmes.tools.transformers import complaints
from holmes.tools.yaml_entry import Entry

__all__ = ["ToolsetDefinition", "load_toolsets"]
_NEW_NAMES = {"coralogix/logs": "coralogix", "runbook": "skills"}
_GONE_NAMES = ("kubectl-run",)
_TYPES: tuple[ToolsetType, ...] = get_args(ToolsetType)
_TOOLSET_KEYS = (
    "enabled description docs_url icon_url installation_instructions llm_instructions experimental expose_remotely "
    "subtype type status_refresh_interval_seconds tags approval_required_tools transformers prerequisites tools config"
).split()
_TOOL_KEYS = "name description user_description parameters command script icon_url transformers".split()
_OLD_KEYS = {
    "restricted_tools": "use approval_required_tools",
    "additional_instructions": "use llm_instructions, or a pipe in the command",
    "transformer_configs": "use transformers",
    "is_default": "leave it out",
}
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def load_toolsets(document: Document, env: Mapping[str, str]) -> tuple[list[ToolsetDefinition], list[Problem]]:
    """The toolsets of a document, and everything that is wrong with it.

    The document has ``toolsets`` and ``mcp_servers`` (other keys are somebody else's), or is itself a mapping of
    names to toolsets. A toolset with problems is among the results, so that it stays visible.
    """
    problems = [replace(problem, warning=True) for problem in document.duplicates]
    value = document.value
    if value is None:
        return [], problems
    if not isinstance(value, dict):
        Entry(document, (), problems).wrong_type("names of toolsets, each with its settings below it")
        return [], problems
    sections = [key for key in ("toolsets", "mcp_servers") if key in value]
    found: list[ToolsetDefinition] = []
    for key in sections or [""]:
        section = Entry(document, (key,) if key else (), problems)
        for name in section.names():
            definition = _toolset(section, name, env, problems, mcp=key == "mcp_servers")
            if definition is not None:
                found.append(definition)
    found = _one_owner(found, problems)
    return found, sorted(problems, key=_line)


def _line(problem: Problem) -> tuple[str, int]:
    file, _, line = problem.where.rpartition(":")
    return file, int(line) if line.isdigit() else 0


def _toolset(
    section: Entry, name: str, env: Mapping[str, str], all_problems: list[Problem], *, mcp: bool
) -> ToolsetDefinition | None:
    problems: list[Problem] = []
    entry = Entry(section.document, (*section.path, name), problems)
    if name in _GONE_NAMES:
        entry.warn(f"{name} does not exist any more; it is ignored")
        all_problems += problems
        return None
    if name in _NEW_NAMES:
        entry.warn(f"{name} is now called {_NEW_NAMES[name]}")
    definition = ToolsetDefinition(_NEW_NAMES.get(name, name), entry.where())
    if isinstance(entry.value, bool):
        definition = replace(definition, enabled=entry.value, written=frozenset(["enabled"]))
    elif isinstance(entry.value, dict):
        definition = _filled(definition, entry, env, mcp=mcp)
    elif entry.value is not None:
        entry.wrong_type("keys and values")
    all_problems += problems
    return replace(definition, problems=tuple(problem for problem in problems if not problem.warning))


def _filled(definition: ToolsetDefinition, entry: Entry, env: Mapping[str, str], *, mcp: bool) -> ToolsetDefinition:
    kind: ToolsetType = "mcp" if mcp else _type_of(entry)
    settings = _resolved(entry, env)
    if kind == "custom":
        entry.name_unknown(_TOOLSET_KEYS, _OLD_KEYS)
    resolved = Entry(entry.document, entry.path, entry.problems, settings)
    definition = replace(
        definition,
        type=kind,
        enabled=resolved.flag("enabled", True),
        experimental=resolved.flag("experimental"),
        expose_remotely=resolved.flag("expose_remotely"),
        description=resolved.text("description"),
        docs_url=resolved.text("docs_url"),
        icon_url=resolved.text("icon_url"),
        installation_instructions=resolved.text("installation_instructions"),
        llm_instructions=resolved.text("llm_instructions"),
        subtype=resolved.text("subtype"),
        status_refresh_interval_seconds=resolved.number("status_refresh_interval_seconds"),
        tags=resolved.texts("tags"),
        approval_required_tools=resolved.texts("approval_required_tools"),
        transformers=_transformers(resolved),
        config=resolved.mapping("config"),
        settings=settings,
        written=frozenset(str(key) for key in settings),
        prerequisites=_prerequisites(entry, env),
        tools=_tools(entry, env),
    )
    _check_approvals(definition, entry)
    _check_instructions(definition, entry)
    return definition


def _type_of(entry: Entry) -> ToolsetType:
    word = entry.text("type") or "custom"
    for known in _TYPES:
        if word == known:
            return known
    near = get_close_matches(word, _TYPES, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    entry.problem(f"type: expected one of {', '.join(_TYPES)}, found {word}{hint}", "type")
    return "custom"


def _resolved(entry: Entry, env: Mapping[str, str]) -> dict[str, Any]:
    """The entry with the environment filled in; commands take their variables when they run."""
    settings: dict[str, Any] = {}
    for key, value in entry.value.items():
        if key in ("tools", "prerequisites"):
            settings[str(key)] = value
            continue
        settings[str(key)], unset = resolve_env(entry.part(str(key)), env)
        entry.problems += [replace(problem, message=f"{entry.label()}{key}: {problem.message}") for problem in unset]
    return settings


def _transformers(entry: Entry) -> tuple[Mapping[str, Any], ...]:
    """Both ways of writing them: ``{name: ..., config: {...}}`` and ``{type: ..., option: value}``."""
    found: list[Mapping[str, Any]] = []
    for part in entry.items("transformers"):
        if part.is_mapping():
            for complaint in complaints(part.value):
                (part.warn if complaint.warning else part.problem)(complaint.message, *complaint.keys)
            found.append(part.value)
    return tuple(found)


def _prerequisites(entry: Entry, env: Mapping[str, str]) -> Prerequisites:
    found = Prerequisites()
    for part in entry.items("prerequisites"):
        if not part.is_mapping():
            continue
        part.name_unknown(["command", "expected_output", "env", "enabled", "disabled_reason"])
        kinds = [key for key in ("env", "enabled", "command") if key in part.value]
        if len(kinds) != 1:
            part.problem("a prerequisite has one of command, env and enabled")
        elif kinds == ["env"]:
            found = replace(found, env=(*found.env, *part.texts("env")))
        elif kinds == ["enabled"]:
            reason = part.text("disabled_reason")
            if not part.flag("enabled", True) and found.enabled:
                found = replace(found, enabled=False, disabled_reason=reason)
        else:
            template = _template(part, "command", {}, env)
            if template is not None and template.undeclared:
                names = ", ".join(template.undeclared)
                part.problem(f"command: a prerequisite has no parameters, but it asks for {names}", "command")
            elif template is not None:
                command = PrerequisiteCommand(template, part.text("expected_output"))
                found = replace(found, commands=(*found.commands, command))
    return found


def _template(entry: Entry, key: str, parameters: Mapping[str, Any], env: Mapping[str, str]) -> Any:
    """The template of a command, None when it is wrong (and said)."""
    from holmes.tools.rendering import CommandTemplate, TemplateProblem

    source = entry.text(key)
    if not source:
        return None
    try:
        template = CommandTemplate(source, parameters)
    except TemplateProblem as problem:
        line = f" in its line {problem.line}" if "\n" in source.strip() else ""
        entry.problem(f"{key}: {problem}{line}", key)
        return None
    for name in template.needed:
        if name not in env:
            entry.problem(f"{key}: the environment variable {name} is not set", key)
    for name in sorted(template.variables | template.environment):
        if MODEL_KEYS.fullmatch(name):
            entry.warn(f"{key}: {name} is a language model's key; no tool gets it", key)
    return template


def _tools(entry: Entry, env: Mapping[str, str]) -> tuple[ToolDefinition, ...]:
    found: dict[str, ToolDefinition] = {}
    for part in entry.items("tools"):
        tool = _tool(part, env) if part.is_mapping() else None
        if tool is not None and tool.name in found:
            part.problem(f"name: this toolset has a tool {tool.name} already", "name")
        elif tool is not None:
            found[tool.name] = tool
    return tuple(found.values())


def _tool(entry: Entry, env: Mapping[str, str]) -> ToolDefinition | None:
    entry.name_unknown(_TOOL_KEYS, _OLD_KEYS)
    name, description = entry.text("name", required=True), entry.text("description", required=True)
    if name and not _TOOL_NAME.fullmatch(name):
        entry.problem(f"name: a tool's name has letters, digits, _ and -, 64 at most; found {name}", "name")
    parameters = read_parameters(entry)
    keys = [key for key in ("command", "script") if key in entry.value]
    if len(keys) != 1:
        entry.problem("a tool has one of command and script" if not keys else "a tool has command or script, not both")
        return None
    entry.text(keys[0], required=True)
    template = _template(entry, keys[0], parameters.properties, env)
    if template is None or not name:
        return None
    hazards = template.hazards()
    for hazard in hazards:
        entry.warn(f"{name}: {hazard}; such calls need approval", keys[0])
    return ToolDefinition(
        name,
        description,
        parameters.with_placeholders(sorted(template.undeclared, key=template.source.find)),
        template,
        entry.text("user_description"),
        _transformers(entry),
        entry.text("icon_url"),
        tuple(hazards),
    )


def _check_approvals(definition: ToolsetDefinition, entry: Entry) -> None:
    """A misspelt name here would let a tool run that a person wanted to look at."""
    names = [tool.name for tool in definition.tools]
    for index, pattern in enumerate(definition.approval_required_tools):
        if names and not any(fnmatchcase(name, pattern) for name in names):
            near = get_close_matches(pattern, names, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            entry.problem(
                f"approval_required_tools: no tool is called {pattern}{hint}", "approval_required_tools", index
            )


def _check_instructions(definition: ToolsetDefinition, entry: Entry) -> None:
    if "{" not in definition.llm_instructions:
        return
    from holmes.tools.rendering import TemplateProblem, render_text

    try:
        render_text(definition.llm_instructions, {"tool_names": [], "config": definition.config})
    except TemplateProblem as problem:
        entry.problem(f"llm_instructions: {problem}", "llm_instructions")


def _one_owner(found: Sequence[ToolsetDefinition], problems: list[Problem]) -> list[ToolsetDefinition]:
    """Each name of a tool has one owner: the first toolset that has it."""
    owners: dict[str, ToolsetDefinition] = {}
    result = []
    for definition in found:
        for tool in definition.tools:
            owner = owners.setdefault(tool.name, definition)
            if owner is not definition:
                problem = Problem(
                    definition.where, f"{definition.name}: {owner.name} ({owner.where}) has a tool {tool.name} already"
                )
                problems.append(problem)
                definition = replace(definition, problems=(*definition.problems, problem))
        result.append(definition)
    return result
