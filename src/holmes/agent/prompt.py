"""The prompt: Jinja2 components, each of which can be switched off.

The system prompt is byte-stable between turns and runs of one configuration, so that providers can cache it; what
changes (time, cluster, attached files, opening evidence) goes into the user's message.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from holmes.core.errors import UsageError
from holmes.core.text import one_line
from holmes.llm.tokens import estimate_text

if TYPE_CHECKING:
    import jinja2

SYSTEM_COMPONENTS = (
    "intro",
    "todowrite_instructions",
    "toolset_instructions",
    "skills_catalogue",
    "evidence_rules",
    "style_guide",
    "system_prompt_additions",
)
USER_COMPONENTS = ("files", "time_and_cluster")
COMPONENTS = SYSTEM_COMPONENTS + USER_COMPONENTS
CATALOGUE_LINE = 20  # tokens of each toolset that can be loaded


@dataclass(frozen=True, slots=True)
class PromptInputs:
    """What the system prompt is made of beside its templates."""

    instructions: Sequence[tuple[str, str]] = ()  # toolset, what it tells the model
    failed: Sequence[tuple[str, str]] = ()  # toolset, why it cannot be used
    catalogue: Sequence[tuple[str, str]] = ()  # toolsets to load: name, description
    skills: Sequence[tuple[str, str]] = ()  # name, description
    additions: str = ""
    switches: Mapping[str, bool] = field(default_factory=dict)  # component -> on; absent means on


def components(config_enabled: Callable[[str], bool], named: Iterable[str] = ()) -> dict[str, bool]:
    """Which components are on, as the configuration has it (``Config.prompt_enabled``).

    ``named`` are the names that it uses (``Config.prompts``). UsageError lists those that are not known, and the known.
    """
    unknown = [name for name in named if name not in (*COMPONENTS, "*")]
    if unknown:
        raise UsageError(
            f"there is no prompt component {', '.join(unknown)}", remedy=f"known ones: {', '.join(COMPONENTS)}"
        )
    return {name: config_enabled(name) for name in COMPONENTS}


def system_prompt(inputs: PromptInputs) -> str:
    """The system prompt."""
    values: dict[str, Any] = {
        "instructions": [(name, text.strip()) for name, text in inputs.instructions if text.strip()],
        "failed": [(name, one_line(reason, 200)) for name, reason in inputs.failed],
        "catalogue": [_catalogue_line(*each) for each in inputs.catalogue],
        "skills": inputs.skills,
        "additions": inputs.additions,
    }
    parts = (_render(name, values) for name in SYSTEM_COMPONENTS if inputs.switches.get(name, True))
    return "\n\n".join(part for part in parts if part)


def user_message(
    question: str,
    now: datetime,
    cluster: str = "",
    namespace: str = "",
    files: Sequence[tuple[str, str]] = (),
    evidence: str = "",
    on: Mapping[str, bool] | None = None,
) -> str:
    """The question with what changes from turn to turn: attached files, opening evidence, time and cluster."""
    values: dict[str, Any] = {
        "files": [(name, text.rstrip(), _marker(text)) for name, text in files],
        "now": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "cluster": cluster,
        "namespace": namespace,
    }
    rendered = {name: _render(name, values) for name in USER_COMPONENTS if (on or {}).get(name, True)}
    parts = (rendered.get("files", ""), question, evidence, rendered.get("time_and_cluster", ""))
    return "\n\n".join(part for part in parts if part)


def _catalogue_line(name: str, description: str) -> str:
    """One line of few tokens: what does not fit is left out at a word's end."""
    words = one_line(description, 200).split()
    while words and estimate_text(f"- {name}: {' '.join(words)}") > CATALOGUE_LINE:
        words.pop()
    return f"{name}: {' '.join(words).rstrip(',;:')}" if words else name


def _marker(text: str) -> str:
    """What no text can hold of itself, so that it cannot forge its own end."""
    return hashlib.blake2s(text.encode("utf-8", "replace"), digest_size=6).hexdigest()


def _render(name: str, values: Mapping[str, Any]) -> str:
    return _templates().get_template(f"{name}.jinja2").render(values).strip()


@cache
def _templates() -> jinja2.Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("holmes.agent", "prompts"),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # prompts are plain text
    )
