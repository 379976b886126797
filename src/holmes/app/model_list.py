"""What ``holmes model list`` shows: the models that are configured, which one would be used, the known providers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from holmes.core.config import Config
from holmes.core.errors import HolmesError
from holmes.llm.catalogue import catalogue
from holmes.llm.choice import OFFLINE, choose, known_models, named
from holmes.llm.exchange import for_people
from holmes.llm.models import ModelEntry, ModelList
from holmes.llm.providers import LITELLM, Provider, known

_MAIN = ("bedrock", "vertex_ai", "gemini", "watsonx")  # of LiteLLM's providers, the ones to name


@dataclass(frozen=True, slots=True)
class Listed:
    """``rows`` are data for programs; ``used`` is the name of the model that would be used, "" when none can be."""

    used: str
    why: str
    rows: list[dict[str, Any]]


def model_list(config: Config, env: Mapping[str, str]) -> Listed:
    """All that can be chosen. ConfigError when the model list cannot be read at all."""
    models = known_models(env)
    entry: ModelEntry | None = None
    try:
        choice = choose(config, env, models)
        entry, used = choice.entry, choice.entry.name if choice.entry else OFFLINE
        source = config.sources.get("model", "the configuration")
        why = choice.reason.removeprefix(f"model {used}, ") or f"named by {source}"
    except HolmesError as error:
        used, why = "", f"{error.message} → {error.remedy}" if error.remedy else error.message
    rows = [*_models(config, env, models, entry), *_providers(env)]
    for row in rows:
        row["used"] = row["kind"] == "model" and row["name"] == used
    return Listed(used, why, rows)


def _models(
    config: Config, env: Mapping[str, str], models: ModelList, used: ModelEntry | None
) -> Iterator[dict[str, Any]]:
    roles = {config.fast_model: "summaries"} | dict.fromkeys(config.fallback_models, "fallback")
    if used is not None and used.name not in models.entries:
        yield _model(used, env, roles.get(used.name, ""))
    for alias, entry in models.entries.items():
        yield _model(used if used and used.name == alias else entry, env, roles.get(alias, ""))
    for alias, problems in models.disabled.items():
        yield _row("model", alias, role=roles.get(alias, ""), problem="; ".join(map(str, problems)))
    for name, role in roles.items():
        if name and name not in {*models.entries, *models.disabled, used.name if used else ""}:
            yield _by_role(name, role, config, env, models)
    yield _row("model", OFFLINE, key="none needed")


def _by_role(name: str, role: str, config: Config, env: Mapping[str, str], models: ModelList) -> dict[str, Any]:
    try:
        entry = named(name, config, env, models)
    except HolmesError as error:
        return _row("model", name, role=role, problem=error.message)
    return _model(entry, env, role) if entry else _row("model", name, role=role, key="none needed")


def _model(entry: ModelEntry, env: Mapping[str, str], role: str) -> dict[str, Any]:
    facts, provider = entry.facts, entry.provider
    prices = facts.prices
    return _row(
        "model",
        entry.name,
        model=entry.model if entry.model != "openai/" else "the first that the server lists",
        role=role,
        key="configured" if entry.api_key else key_state(provider, env),
        address=for_people(entry.api_base or provider.base(env)),
        window=facts.window,
        window_known=facts.known or entry.max_context is not None,
        output=facts.output,
        prices={"prompt": prices.prompt, "completion": prices.completion} if prices else None,
    )


def _providers(env: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    defaults = catalogue()["defaults"]
    for provider in known().values():
        usual = defaults.get(provider.name, "")
        address = for_people(provider.base(env)) or f"{provider.base_names[0]} is not set"
        yield _row("provider", f"{provider.name}/", model=usual, key=key_state(provider, env), address=address)
    others = f"and {len(LITELLM) - len(_MAIN)} more, with LiteLLM"
    names = ", ".join(f"{name}/" for name in _MAIN)
    key = "their own variables" if _litellm() else "not installed: pip install 'holmes-sre[litellm]'"
    yield _row("provider", names, model=others, key=key)


def key_state(provider: Provider, env: Mapping[str, str]) -> str:
    """Which variable holds the provider's key, and whether it is set; never the key."""
    found = next((name for name in provider.key_names if env.get(name, "").strip()), "")
    if found:
        return f"{found} is set"
    if provider.local:
        return "none needed"
    return f"{provider.key_names[0]} is not set" if provider.key_names else "its own variables"


def _row(kind: str, name: str, **more: Any) -> dict[str, Any]:
    empty = {"model": "", "role": "", "key": "", "address": "", "window": None, "window_known": False}
    return {"kind": kind, "name": name, **empty, "output": None, "prices": None, "problem": "", **more}


def _litellm() -> bool:
    from importlib.util import find_spec

    return find_spec("litellm") is not None
