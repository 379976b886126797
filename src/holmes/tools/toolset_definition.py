"""A toolset as its YAML file describes it: HolmesGPT's schema, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from holmes.core.errors import Problem

if TYPE_CHECKING:
    from holmes.tools.rendering import CommandTemplate
    from holmes.tools.tool import JsonSchema

ToolsetType = Literal["custom", "http", "database", "mongodb", "mcp"]


@dataclass(frozen=True, slots=True)
class Prerequisites:
    """What has to be so before a toolset can be used; looked at in this order."""

    env: tuple[str, ...] = ()  # variables that must be set; empty is set
    enabled: bool = True
    disabled_reason: str = ""
    commands: tuple[PrerequisiteCommand, ...] = ()


@dataclass(frozen=True, slots=True)
class PrerequisiteCommand:
    """A command that must succeed, and print ``expected_output`` when that is given."""

    template: CommandTemplate
    expected_output: str = ""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """One tool. ``hazards`` say where a placeholder is more than data: then each such call needs approval."""

    name: str
    description: str
    parameters: JsonSchema
    template: CommandTemplate
    user_description: str = ""
    transformers: tuple[Mapping[str, Any], ...] = ()
    icon_url: str = ""
    hazards: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolsetDefinition:
    """One toolset.

    ``settings`` is the whole entry with ``{{ env.NAME }}`` filled in, for plugins of the other types (http, mcp,
    database, mongodb). ``written`` are the keys that the file has. With ``problems`` it cannot be used.
    """

    name: str
    where: str  # file:line
    type: ToolsetType = "custom"
    enabled: bool = True
    description: str = ""
    docs_url: str = ""
    icon_url: str = ""
    installation_instructions: str = ""
    llm_instructions: str = ""
    experimental: bool = False
    expose_remotely: bool = False
    subtype: str = ""
    status_refresh_interval_seconds: float | None = None
    tags: tuple[str, ...] = ()
    approval_required_tools: tuple[str, ...] = ()  # globs
    transformers: tuple[Mapping[str, Any], ...] = ()
    prerequisites: Prerequisites = Prerequisites()
    tools: tuple[ToolDefinition, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    written: frozenset[str] = frozenset()
    problems: tuple[Problem, ...] = ()
