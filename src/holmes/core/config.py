"""The configuration: command line over environment over ``config.yaml`` over defaults.

Core judges Holmes' own part. ``toolsets`` and ``mcp_servers`` stay raw: each plugin judges its own part and says
file:line by ``Config.document``. The keys of alert sources and destinations are in ``Config.raw``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from holmes.core.config_values import (
    FLAG,
    FLAGS,
    MAPPING,
    PATH,
    PATHS,
    PERCENT,
    POSITIVE,
    REPOSITORIES,
    SECONDS,
    SECRET,
    TEXT,
    TEXTS,
    Key,
    choice,
    describe_found,
    key,
    whole,
)
from holmes.core.env import holmes_home
from holmes.core.env_references import resolve_env
from holmes.core.errors import ConfigError, Problem
from holmes.core.secret import Secret, without_user_info

if TYPE_CHECKING:
    from holmes.core.yaml_marks import Document

Approve = Literal["never", "ask", "always"]
COMMAND_LINE = "command line"

# HolmesGPT's keys for alert sources and destinations: their plugins judge them.
FOREIGN_KEYS = tuple(
    f"{source}_{name}"
    for source, names in {
        "alertmanager": "url username password alertname label file",
        "jira": "url username api_key query",
        "github": "url owner pat repository query",
        "pagerduty": "api_key user_email incident_key",
        "opsgenie": "api_key team_integration_key query",
        "slack": "token channel",
    }.items()
    for name in names.split()
)
FOREIGN_SECRETS = frozenset(
    name for name in FOREIGN_KEYS if name.endswith(("_password", "_api_key", "_pat", "_token", "_integration_key"))
)
# A place for YAML anchors, and three keys that HolmesGPT keeps for itself.
IGNORED_KEYS = frozenset(["anchors", "custom_toolsets_from_cli", "additional_toolsets", "should_try_robusta_ai"])


@dataclass(frozen=True, slots=True)
class ModelRetry:
    """Asking a model again after 429, 5xx, a reset or a timeout."""

    tries: int = field(default=5, metadata=key(whole(1)))  # the first one included
    wait: float = field(default=1.0, metadata=key(SECONDS))  # before the second try; doubles from there
    cap: float = field(default=60.0, metadata=key(SECONDS))  # no wait is longer, whatever the provider asks for


@dataclass(frozen=True, slots=True)
class ResultLimits:
    """How much of one tool result the model sees: the smaller of tokens and percent of the model's window."""

    max_tokens: int = field(default=8000, metadata=key(whole(1), "TOOL_MAX_ALLOCATED_CONTEXT_WINDOW_TOKENS"))
    max_percent: float = field(default=15.0, metadata=key(PERCENT, "TOOL_MAX_ALLOCATED_CONTEXT_WINDOW_PCT"))


@dataclass(frozen=True, slots=True)
class History:
    """What is kept of past runs."""

    keep: bool = field(default=True, metadata=key(FLAG))
    days: int = field(default=30, metadata=key(whole(1)))
    max_mb: int = field(default=2000, metadata=key(whole(1)))


@dataclass(frozen=True, repr=False)
class Config:
    """Holmes' own settings. Each field is a key of the file; those of a group are written below its name.

    Times are in seconds, ``max_cost`` in US dollars; None means no limit, not set, or (``approve``) that the
    terminal decides. ``sources`` says where a value came from, by key (``history.days``); defaults are not in it.
    It has no repr: toolset configurations hold secrets.
    """

    model: str = field(default="", metadata=key(TEXT, "MODEL"))
    fast_model: str = field(default="", metadata=key(TEXT, "FAST_MODEL"))
    fallback_models: tuple[str, ...] = field(default=(), metadata=key(TEXTS))
    api_key: Secret | None = field(default=None, metadata=key(SECRET))
    api_base: str = field(default="", metadata=key(TEXT))
    api_version: str = field(default="", metadata=key(TEXT))
    max_context_size: int | None = field(default=None, metadata=key(whole(1), "OVERRIDE_MAX_CONTENT_SIZE"))  # tokens
    max_output_tokens: int | None = field(default=None, metadata=key(whole(1), "OVERRIDE_MAX_OUTPUT_TOKEN"))
    model_timeout: float = field(default=600.0, metadata=key(SECONDS, "LLM_REQUEST_TIMEOUT"))
    model_retry: ModelRetry = ModelRetry()

    max_steps: int = field(default=100, metadata=key(whole(1), "HOLMES_MAX_STEPS"))
    max_seconds: float | None = field(default=None, metadata=key(SECONDS, "HOLMES_MAX_SECONDS"))
    max_tokens: int | None = field(default=None, metadata=key(whole(1), "HOLMES_MAX_TOKENS"))
    max_cost: float | None = field(default=None, metadata=key(POSITIVE, "HOLMES_MAX_COST"))

    cluster_name: str = field(default="", metadata=key(TEXT, "CLUSTER_NAME"))
    context: str = field(default="", metadata=key(TEXT))
    kubeconfig: Path | None = field(default=None, metadata=key(PATH))
    namespace: str = field(default="", metadata=key(TEXT))

    approve: Approve | None = field(default=None, metadata=key(choice("never", "ask", "always"), "HOLMES_APPROVE"))
    opening_evidence: bool = field(default=True, metadata=key(FLAG, "HOLMES_OPENING_EVIDENCE"))
    prompts: Mapping[str, bool] = field(default_factory=dict, metadata=key(FLAGS, "ENABLED_PROMPTS"))
    system_prompt_additions: str = field(default="", metadata=key(TEXT))

    toolsets: Mapping[str, Any] = field(default_factory=dict, metadata=key(MAPPING))
    mcp_servers: Mapping[str, Any] = field(default_factory=dict, metadata=key(MAPPING))
    custom_toolsets: tuple[Path, ...] = field(default=(), metadata=key(PATHS, adds=True))
    custom_skill_paths: tuple[Path, ...] = field(default=(), metadata=key(PATHS, "CUSTOM_SKILL_PATHS"))
    skill_repos: tuple[Any, ...] = field(default=(), metadata=key(REPOSITORIES, "SKILL_REPOS"))
    tool_timeout: float = field(default=60.0, metadata=key(SECONDS))
    prerequisite_timeout: float = field(default=20.0, metadata=key(SECONDS, "HOLMES_TOOLSET_PREREQ_TIMEOUT_SECONDS"))
    results: ResultLimits = ResultLimits()
    history: History = History()

    raw: Mapping[str, Any] = field(default_factory=dict)
    document: Document | None = None
    sources: Mapping[str, str] = field(default_factory=dict)

    def prompt_enabled(self, component: str) -> bool:
        """Whether a component of the prompt is wanted; ``*`` in ``prompts`` speaks for those not named."""
        return self.prompts.get(component, self.prompts.get("*", True))


def declared_keys() -> dict[str, Key]:
    """Every key of our own by its dotted name, in the order of ``Config``."""
    return {name: field.metadata["key"] for name, field in _settings(Config)}


def load_config(
    path: Path | None, env: Mapping[str, str], overrides: Mapping[str, Any]
) -> tuple[Config, list[Problem]]:
    """Read the configuration.

    ``path`` is what the user named, None for ``HOLMES_HOME/config.yaml`` (which may be missing). ``overrides`` are
    the command line's values by dotted key; None and an empty list mean not given. Returns the configuration and its
    warnings; raises ConfigError with everything that is wrong at once.
    """
    loader = _Loader(_read(path, env), env, overrides)
    config = loader.config()
    if any(not problem.warning for problem in loader.problems):
        raise ConfigError(loader.problems)
    return config, loader.problems


def describe_config(config: Config) -> list[tuple[str, str, str]]:
    """Key, effective value and where it came from ("command line", a variable, "config.yaml:3", "default").

    Secrets are hidden; of toolsets and servers only the names are shown.
    """
    values = {name: _value_of(config, name) for name, _ in _settings(Config)} | dict(config.raw)
    return [(name, _shown(value), config.sources.get(name, "default")) for name, value in values.items()]


def _settings(owner: Any, prefix: str = "") -> Iterator[tuple[str, Field[Any]]]:
    for member in fields(owner):
        if "key" in member.metadata:
            yield prefix + member.name, member
        elif is_dataclass(member.default):
            yield from _settings(member.default, f"{member.name}.")


def _value_of(config: Any, name: str) -> Any:
    for part in name.split("."):
        config = getattr(config, part)
    return config


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        switched = all(isinstance(item, bool) for item in value.values())
        return ", ".join(f"{name}: {_shown(item)}" if switched else name for name, item in value.items()) or "-"
    if isinstance(value, list | tuple):
        return ", ".join(_shown(item.get("url", "-") if isinstance(item, dict) else item) for item in value) or "-"
    if isinstance(value, float):
        return f"{value:g}"
    return without_user_info(str(value)) if value not in (None, "") else "-"


def _read(path: Path | None, env: Mapping[str, str]) -> Document:
    from holmes.core.yaml_marks import Document, load_file

    file = holmes_home(env) / "config.yaml" if path is None else path.expanduser()
    try:
        document = load_file(file)
    except ConfigError as error:
        missing = isinstance(error.__cause__, FileNotFoundError)
        if missing and path is None:
            return Document({}, str(file))
        if missing:
            raise ConfigError(error.problems, remedy="name a file that exists, or leave --config out") from error
        raise
    if document.value is None:
        return replace(document, value={})
    if not isinstance(document.value, dict):
        found = describe_found(document.value)
        raise ConfigError([Problem(document.where(), f"expected keys and values, found {found}")])
    return document


class _Loader:
    """One reading of the configuration; collects problems instead of stopping at the first."""

    def __init__(self, document: Document, env: Mapping[str, str], overrides: Mapping[str, Any]) -> None:
        self.document = document
        self.env = env
        self.overrides = {name: value for name, value in overrides.items() if value not in (None, [], ())}
        self.base = Path(document.file).absolute().parent
        self.sources: dict[str, str] = {}
        self.problems = [replace(problem, warning=True) for problem in document.duplicates]

    def config(self) -> Config:
        """Everything, in the order of the file where it is about the file."""
        names = declared_keys()
        if unknown := self.overrides.keys() - names.keys():
            raise TypeError(f"no such key: {', '.join(sorted(unknown))}")
        groups = {name.partition(".")[0] for name in names if "." in name}
        top = [name for name in names if "." not in name] + sorted(groups)
        self._name_unknown(self.document.value, (), [*top, *FOREIGN_KEYS, *IGNORED_KEYS])
        for group in sorted(groups):
            self._check_group(group, [name.partition(".")[2] for name in names if name.startswith(f"{group}.")])
        values = {name: value for name, key in names.items() if (value := self._setting(name, key)) is not None}
        raw = self._foreign()
        self.problems.sort(key=lambda problem: _line(problem, self.document.file))
        return Config(
            **{name: value for name, value in values.items() if "." not in name},
            model_retry=ModelRetry(**_below("model_retry", values)),
            results=ResultLimits(**_below("results", values)),
            history=History(**_below("history", values)),
            raw=raw,
            document=self.document,
            sources=self.sources,
        )

    def _name_unknown(self, mapping: Mapping[Any, Any], path: tuple[str, ...], known: list[str]) -> None:
        import difflib

        for name in (str(name) for name in mapping if name not in known):
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            where = self.document.where(*path, name)
            self.problems.append(Problem(where, f"unknown key {'.'.join((*path, name))}{hint}", warning=True))

    def _check_group(self, group: str, known: list[str]) -> None:
        value = self.document.value.get(group)
        if isinstance(value, dict):
            self._name_unknown(value, (group,), known)
        elif value is not None:
            message = f"{group}: expected keys and values ({', '.join(known)}), found {describe_found(value)}"
            self.problems.append(Problem(self.document.where(group), message))

    def _setting(self, name: str, key: Key) -> Any:
        """The value that counts, None when nobody gave one."""
        given = self.overrides.get(name)
        if given is not None and not key.adds:
            return self._judge(name, key, given, COMMAND_LINE, COMMAND_LINE)
        if key.variable and (text := self.env.get(key.variable, "")):
            return self._judge(name, key, text, key.variable, key.variable, key.kind.split)
        written = self._from_file(name, key)
        if given is None:
            return written
        source = self.sources.pop(name, "")
        added = self._judge(name, key, given, COMMAND_LINE, f"{source}, {COMMAND_LINE}" if source else COMMAND_LINE)
        return (*(written or ()), *(added or ()))

    def _from_file(self, name: str, key: Key) -> Any:
        path = tuple(name.split("."))
        if _written(self.document.value, path) is None:
            return None
        part = self.document.part(*path)
        value = part.value
        if key.kind is not MAPPING:  # plugins resolve their own parts: one bad toolset must not stop the others
            value, unset = resolve_env(part, self.env)
            self.problems += unset
            if unset:
                return None
        value = self._judge(name, key, value, self.document.where(*path), self._line_of(*path))
        return _anchored(value, self.base)

    def _judge(self, name: str, key: Key, value: Any, where: str, source: str, split: Any = None) -> Any:
        try:
            typed = key.kind.read(split(value) if split else value)
        except (ValueError, OverflowError):
            found = "" if key.kind is SECRET else f", found {describe_found(value)}"
            self.problems.append(Problem(where, f"{name}: expected {key.kind.expected}{found}"))
            return None
        self.sources[name] = source
        return typed

    def _foreign(self) -> dict[str, Any]:
        """Keys of alert sources and destinations; one that cannot be resolved is left out with a warning."""
        found: dict[str, Any] = {}
        for name in FOREIGN_KEYS:
            if self.document.value.get(name) is None:
                continue
            value, unset = resolve_env(self.document.part(name), self.env)
            self.problems += [replace(problem, warning=True) for problem in unset]
            if not unset:
                found[name] = Secret(str(value)) if name in FOREIGN_SECRETS else value
                self.sources[name] = self._line_of(name)
        return found

    def _line_of(self, *path: str) -> str:
        return Path(self.document.where(*path)).name


def _written(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _below(group: str, values: Mapping[str, Any]) -> dict[str, Any]:
    prefix = f"{group}."
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}


def _anchored(value: Any, base: Path) -> Any:
    """Paths written in the file are relative to it."""
    if isinstance(value, Path):
        return base / value
    if isinstance(value, tuple) and any(isinstance(item, Path) for item in value):
        return tuple(base / item for item in value)
    return value


def _line(problem: Problem, file: str) -> tuple[bool, int]:
    where, _, line = problem.where.rpartition(":")
    return (False, int(line)) if where == file and line.isdigit() else (True, 0)
