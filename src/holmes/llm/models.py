"""Models to choose from: what it takes to reach one, and the model list that users keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holmes.core.env import holmes_home
from holmes.core.env_references import resolve_env
from holmes.core.errors import ConfigError, Problem
from holmes.llm.catalogue import HOSTED_WINDOW, LOCAL_WINDOW, Facts, Prices, lookup
from holmes.llm.providers import LITELLM, Provider, find, known

if TYPE_CHECKING:
    from holmes.core.yaml_marks import Document

SMALLEST_OUTPUT = 512
RESPONSES = "responses/"  # openai/responses/NAME, as LiteLLM has it: the Responses API whatever the model
LARGEST_OUTPUT = 32_000  # tokens that an answer may have unless configured: a runaway answer costs no more
DEFAULT_TIMEOUT = 600.0

# Keys of a model list that steer LiteLLM itself and mean nothing to a provider.
_LITELLM_ONLY = frozenset(
    [
        "additional_drop_params",
        "allowed_openai_params",
        "custom_llm_provider",
        "drop_params",
        "litellm_params",
        "max_retries",
        "mock_response",
        "model_info",
        "num_retries",
        "stream",
        "supports_vision",
    ]
)
_PRICES = {
    "input_cost_per_token": "prompt",
    "output_cost_per_token": "completion",
    "cache_read_input_token_cost": "cached",
    "cache_creation_input_token_cost": "cache_write",
}


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A model to use and how to reach it: from a model list, or made of a name.

    ``model`` is ``provider/name``, or a bare name from models.json, or any name when ``api_base`` is set;
    ``openai/`` with nothing behind it means the first model that the server lists. Numbers are tokens, ``timeout`` is
    in seconds. ``parameters`` are sent with each request as they are.
    """

    model: str
    alias: str = ""
    api_key: str = field(default="", repr=False)
    api_base: str = ""
    api_version: str = ""
    max_context: int | None = None
    max_output: int | None = None
    prices: Prices | None = None
    effort: str = ""  # used when a request asks for none
    parameters: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float | None = None
    text_calls: bool | None = None  # tool calls in the text are meant: yes, no, None: as models.json has it

    @property
    def name(self) -> str:
        """What people call it."""
        return self.alias or self.model

    @property
    def seconds(self) -> float:
        """How long one call may take."""
        return self.timeout or DEFAULT_TIMEOUT

    @property
    def provider(self) -> Provider:
        """Whose model it is."""
        return self._split()[0]

    @property
    def name_on_wire(self) -> str:
        """What the endpoint calls it."""
        return self._split()[1]

    def _split(self) -> tuple[Provider, str]:
        first, slash, rest = self.model.partition("/")
        if first == "openai":
            return find(first), rest.removeprefix(RESPONSES)
        if slash and (first in known() or first in LITELLM or not self.api_base):
            return find(first), rest
        if self.api_base:
            return find("openai"), self.model
        return find(lookup(self.model).provider or "openai"), self.model

    def wants_responses(self, env: Mapping[str, str]) -> bool:
        """Whether OpenAI's Responses API is the way: asked for by name, or a model that needs it, at OpenAI itself."""
        provider, name = self._split()
        if provider.name != "openai":
            return False
        if self.model.startswith(f"openai/{RESPONSES}"):
            return True
        at_home = (self.api_base or provider.base(env)).rstrip("/") == provider.base_url
        return at_home and lookup(name).wire == "responses"

    @property
    def facts(self) -> Facts:
        """Window, output cap and prices: as configured, else from models.json, else careful guesses."""
        provider, name = self._split()
        facts = lookup(name)
        window, output = facts.window, facts.output
        if not facts.known:
            window = LOCAL_WINDOW if provider.local or self.api_base else HOSTED_WINDOW
            output = window // 8
        window = self.max_context or window
        output = self.max_output or max(SMALLEST_OUTPUT, min(output, window // 4, LARGEST_OUTPUT))
        return replace(facts, window=window, output=output, provider=provider.name, prices=self.prices or facts.prices)


@dataclass(frozen=True, slots=True)
class ModelList:
    """A model list: entries by alias, in the order of the file; ``disabled`` says what is wrong with the others."""

    entries: Mapping[str, ModelEntry] = field(default_factory=dict)
    disabled: Mapping[str, tuple[Problem, ...]] = field(default_factory=dict)
    file: str = ""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything wrong with it."""
        return tuple(problem for problems in self.disabled.values() for problem in problems)


def model_list_path(env: Mapping[str, str]) -> Path | None:
    """MODEL_LIST_FILE_LOCATION if there is such a file, else model_list.yaml in HOLMES_HOME, else None."""
    candidates = [Path(env["MODEL_LIST_FILE_LOCATION"])] if env.get("MODEL_LIST_FILE_LOCATION") else []
    candidates.append(holmes_home(env) / "model_list.yaml")
    return next((path for path in candidates if path.is_file()), None)


def load_model_list(document: Document, env: Mapping[str, str]) -> ModelList:
    """Read HolmesGPT's model_list.yaml: ``alias: {model, api_key, api_base, ...}``.

    ``{{ env.NAME }}`` is filled in wherever it stands. A variable that is not set, or a wrong value, disables that
    alias only. ConfigError when the file is no mapping.
    """
    if document.value is None:
        return ModelList(file=document.file)
    if not isinstance(document.value, dict):
        raise ConfigError([Problem(document.where(), "must be a mapping of model names to their settings")])
    entries: dict[str, ModelEntry] = {}
    disabled: dict[str, tuple[Problem, ...]] = {}
    for key in document.value:
        alias, problems = str(key), list[Problem]()
        entry = _entry(alias, document.part(key), env, problems)
        if entry is None or problems:
            disabled[alias] = tuple(problems)
        else:
            entries[alias] = entry
    return ModelList(entries, disabled, document.file)


def _entry(alias: str, document: Document, env: Mapping[str, str], problems: list[Problem]) -> ModelEntry | None:
    settings, unset = resolve_env(document, env)
    problems += unset
    if not isinstance(settings, dict):
        problems.append(Problem(document.where(), f"{alias}: must be a mapping with the key model"))
        return None
    taken = _Settings(alias, settings, document, problems)
    model = taken.text("model")
    if not model:
        problems.append(Problem(document.where(), f"{alias}: the key model is missing"))
    custom = taken.mapping("custom_args")
    context = custom.get("max_context_size")
    if context is not None and not _is_count(context):
        taken.wrong("custom_args.max_context_size", "a number of tokens")
    prices: dict[str, Any] = {name: taken.price(key) for key, name in _PRICES.items()}
    output = taken.count("max_completion_tokens") or taken.count("max_tokens")
    entry = ModelEntry(
        model=model,
        alias=alias,
        api_key=taken.text("api_key"),
        api_base=taken.text("api_base") or taken.text("base_url"),
        api_version=taken.text("api_version"),
        max_context=int(str(context)) if _is_count(context) else None,
        max_output=output,
        prices=None if prices["prompt"] is None or prices["completion"] is None else Prices(**prices),
        effort=taken.text("reasoning_effort"),
        timeout=taken.number("timeout") or taken.number("request_timeout"),
        text_calls=taken.flag("text_calls"),
        headers={str(name): str(value) for name, value in taken.mapping("extra_headers").items()},
        parameters={**taken.mapping("extra_body"), **taken.rest()},
    )
    if model and entry.provider.wire != "litellm":
        parameters = {key: value for key, value in entry.parameters.items() if key not in _LITELLM_ONLY}
        entry = replace(entry, parameters=parameters)
    return entry


class _Settings:
    """Takes known keys out of an entry; what is left goes to the provider."""

    def __init__(self, alias: str, values: Mapping[str, Any], document: Document, problems: list[Problem]) -> None:
        self._alias = alias
        self._values = dict(values)
        self._document = document
        self._problems = problems

    def text(self, key: str) -> str:
        value = self._values.pop(key, None)
        if value is not None and not isinstance(value, str | int | float):
            self.wrong(key, "text")
            return ""
        return "" if value is None else str(value).strip()

    def number(self, key: str) -> float | None:
        value = self._values.pop(key, None)
        try:
            return None if value is None or isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            self.wrong(key, "a number")
            return None

    def flag(self, key: str) -> bool | None:
        value = self._values.pop(key, None)
        if value is not None and not isinstance(value, bool):
            self.wrong(key, "true or false")
        return value if isinstance(value, bool) else None

    def price(self, key: str) -> float | None:
        """Dollars per token, as dollars per million."""
        price = self.number(key)
        return None if price is None else price * 1_000_000

    def count(self, key: str) -> int | None:
        value = self._values.pop(key, None)
        if value is None:
            return None
        if not _is_count(value):
            self.wrong(key, "a number of tokens")
            return None
        return int(value)

    def mapping(self, key: str) -> dict[str, Any]:
        value = self._values.pop(key, None)
        if value is not None and not isinstance(value, dict):
            self.wrong(key, "a mapping")
        return value if isinstance(value, dict) else {}

    def rest(self) -> dict[str, Any]:
        self._values.pop("name", None)
        return {key: value for key, value in self._values.items() if value is not None}

    def wrong(self, key: str, wanted: str) -> None:
        where = self._document.where(*key.split("."))
        self._problems.append(Problem(where, f"{self._alias}.{key}: must be {wanted}"))


def _is_count(value: Any) -> bool:
    return not isinstance(value, bool) and str(value).isdigit() and int(value) > 0
