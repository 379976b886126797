"""Which model is to be used.

``--model``, then MODEL, then the configuration (these three come as ``Config.model``), then the first of the model
list, then a base URL alone, then the provider whose key is set, then the offline analysis.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from holmes.core.config import COMMAND_LINE, Config
from holmes.core.errors import ConfigError, ModelRefused, Problem
from holmes.llm.catalogue import catalogue, lookup
from holmes.llm.models import ModelEntry, ModelList, load_model_list, model_list_path
from holmes.llm.providers import LITELLM, find, known

OFFLINE = "offline"
_ANY = "openai/"  # whatever the server has
_SHOWN = 12  # known names in a message


@dataclass(frozen=True, slots=True)
class Choice:
    """The model to use, None for the offline analysis; ``reason`` is one line for the user when nobody named it."""

    entry: ModelEntry | None
    reason: str = ""


def choose(config: Config, env: Mapping[str, str], models: ModelList | None = None) -> Choice:
    """The model of an investigation.

    Raises ModelRefused for a name that nobody knows, and ConfigError for a disabled alias, an unreadable model list
    or a variable that cannot be read.
    """
    models = known_models(env) if models is None else models
    if config.model.strip():
        entry = named(config.model.strip(), config, env, models)
        return Choice(entry)
    choice = next(_unnamed(config, env, models), None)
    return choice or Choice(
        None, "no model is configured, so the offline analysis answers (set OPENAI_API_KEY, or give --model)"
    )


def known_models(env: Mapping[str, str]) -> ModelList:
    """The user's model list, empty when there is none."""
    path = model_list_path(env)
    if path is None:
        return ModelList()
    from holmes.core.yaml_marks import load_file

    return load_model_list(load_file(path), env)


def named(name: str, config: Config, env: Mapping[str, str], models: ModelList) -> ModelEntry | None:
    """The model of that name (an alias, ``provider/name``, a bare known name), None for "offline"; see choose."""
    if name == OFFLINE:
        return None
    if name in models.entries:
        return _completed(models.entries[name], config, env)
    if name in models.disabled:
        raise ConfigError(models.disabled[name], remedy=f"correct the entry {name} of {models.file}")
    first, slash, rest = name.partition("/")
    strange = first not in known() and first not in LITELLM if slash else not lookup(name).known
    if strange:
        openai = find("openai")
        base = config.api_base or openai.base(env)
        if base != openai.base_url:
            return _completed(ModelEntry(f"openai/{name}", api_base=base), config, env)
        if not slash:
            raise _unknown(name, models)
        import difflib

        if close := difflib.get_close_matches(first, [*known(), *LITELLM], 1, 0.75):
            raise ModelRefused(f"unknown provider {first}/", remedy=f"did you mean {close[0]}/{rest}?")
    return _completed(ModelEntry(name, api_base=config.api_base), config, env)


def _unknown(name: str, models: ModelList) -> ModelRefused:
    import difflib

    names = list(dict.fromkeys([*models.entries, *catalogue()["models"]]))
    close = difflib.get_close_matches(name, names, 3, 0.5)
    shown = [*close, *(other for other in names if other not in close)]
    listed = ", ".join(shown[:_SHOWN]) + (", ..." if len(shown) > _SHOWN else "")
    remedy = f"known: {listed}; or PROVIDER/NAME, or --api-base for a server of your own"
    return ModelRefused(f"unknown model {name}", remedy=remedy)


def _unnamed(config: Config, env: Mapping[str, str], models: ModelList) -> Iterator[Choice]:
    if models.disabled and not models.entries:
        raise ConfigError(models.problems, remedy=f"correct {models.file}, or name a model with --model")
    for alias, entry in models.entries.items():
        unusable = f" (not usable: {', '.join(models.disabled)})" if models.disabled else ""
        yield Choice(_completed(entry, config, env), f"model {alias}, the first of {models.file}{unusable}")
    home = find("openai").base_url
    base = config.api_base or find("openai").base(env)
    if base.rstrip("/") != home:
        entry = ModelEntry(_ANY, api_base=base)
        yield Choice(_completed(entry, config, env), f"the first model that {base} lists")
    for provider, model in catalogue()["defaults"].items():
        if config.api_key or find(provider).key(env):
            variable = next((name for name in find(provider).key_names if env.get(name)), "api_key")
            entry = _completed(ModelEntry(f"{provider}/{model}"), config, env)
            yield Choice(entry, f"model {provider}/{model}, because {variable} is set")


def _completed(entry: ModelEntry, config: Config, env: Mapping[str, str]) -> ModelEntry:
    """The entry with what the command line, the configuration and HolmesGPT's variables add.

    An entry of the model list takes key and address from the command line only: those of the configuration belong to
    the configuration's model, and must not be sent elsewhere.
    """

    def reached(key: str, own: str, given: str) -> str:
        wins = config.sources.get(key) == COMMAND_LINE or not (own or entry.alias)
        return given if given and wins else own

    parameters = dict(entry.parameters)
    for key, read in (("temperature", float), ("thinking", json.loads)):
        value = _variable(env, key.upper(), read)
        if key not in parameters and value is not None:
            parameters[key] = value
    headers = _variable(env, "EXTRA_HEADERS", json.loads)
    if headers is not None and not isinstance(headers, dict):
        raise ConfigError([Problem("EXTRA_HEADERS", "must be a JSON object")])
    return replace(
        entry,
        api_key=reached("api_key", entry.api_key, config.api_key.reveal() if config.api_key else ""),
        api_base=reached("api_base", entry.api_base, config.api_base),
        api_version=reached("api_version", entry.api_version, config.api_version),
        max_context=config.max_context_size or entry.max_context,
        max_output=config.max_output_tokens or entry.max_output,
        effort=entry.effort or env.get("REASONING_EFFORT", ""),
        timeout=config.model_timeout if entry.timeout is None else entry.timeout,
        headers={str(name): str(value) for name, value in {**(headers or {}), **entry.headers}.items()},
        parameters=parameters,
    )


def _variable(env: Mapping[str, str], name: str, read: Any) -> Any:
    """A variable as a number or JSON; None when it is not set, empty, "none" or "null"."""
    text = env.get(name, "").strip()
    if text.lower() in ("", "none", "null"):
        return None
    try:
        return read(text)
    except ValueError as error:
        raise ConfigError([Problem(name, f"cannot be read: {text!r} ({error})")]) from error
