"""Which model is used, and how a model list is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from holmes.core.config import COMMAND_LINE, Config
from holmes.core.errors import ConfigError, ModelRefused
from holmes.core.secret import Secret
from holmes.core.yaml_marks import load
from holmes.llm.catalogue import HOSTED_WINDOW, LOCAL_WINDOW, catalogue, lookup
from holmes.llm.choice import choose, known_models
from holmes.llm.models import ModelEntry, ModelList, load_model_list, model_list_path

LIST = """\
fast:
  model: openai/gpt-4o-mini
  api_key: "{{ env.FAST_KEY }}"
  temperature: 0.2
  max_tokens: 1000
  drop_params: true
  extra_headers: {X-Team: "{{ env.TEAM }}"}
  custom_args:
    max_context_size: 64000
big:
  model: azure/gpt-4o
  base_url: https://x.openai.azure.com
  api_version: "2024-10-21"
  thinking: {type: adaptive}
  reasoning_effort: high
  input_cost_per_token: 0.000001
  output_cost_per_token: 0.000002
"""


def listed(text: str = LIST, env: dict | None = None) -> ModelList:
    return load_model_list(load(text, "model_list.yaml"), {"FAST_KEY": "k", "TEAM": ""} if env is None else env)


def chosen(config: Config, env: dict | None = None, models: ModelList | None = None) -> ModelEntry:
    entry = choose(config, env or {}, models or ModelList()).entry
    assert entry is not None
    return entry


def test_a_model_list_is_read_with_everything_that_holmesgpt_takes() -> None:
    models = listed()
    fast, big = models.entries.values()
    assert (fast.name, fast.api_key, fast.max_context, fast.max_output) == ("fast", "k", 64000, 1000)
    assert fast.parameters == {"temperature": 0.2}
    assert fast.headers == {"X-Team": ""}  # set but empty is not unset
    assert (big.provider.name, big.name_on_wire, big.api_base) == ("azure", "gpt-4o", "https://x.openai.azure.com")
    assert (big.effort, big.parameters) == ("high", {"thinking": {"type": "adaptive"}})
    assert big.prices is not None
    assert (big.prices.prompt, big.prices.completion) == pytest.approx((1.0, 2.0))
    assert "'k'" not in repr(fast)


def test_an_unset_variable_disables_only_its_own_alias() -> None:
    models = listed(env={"TEAM": "sre"})
    assert list(models.entries) == ["big"]
    assert [str(problem) for problem in models.problems] == [
        "model_list.yaml:3: the environment variable FAST_KEY is not set"
    ]
    with pytest.raises(ConfigError, match=r"model_list\.yaml:3"):
        choose(Config(model="fast"), {}, models)
    choice = choose(Config(), {}, models)
    assert choice.entry is not None
    assert choice.entry.name == "big"
    assert "not usable: fast" in choice.reason


def test_a_list_without_any_usable_model_is_an_error_unless_a_model_is_named() -> None:
    models = listed("fast: {model: gpt-4o, api_key: '{{ env.NOWHERE }}'}", {})
    with pytest.raises(ConfigError, match="NOWHERE is not set"):
        choose(Config(), {"OPENAI_API_KEY": "k"}, models)
    assert chosen(Config(model="gpt-4o"), {}, models).model == "gpt-4o"


def test_openais_own_address_is_no_server_of_ones_own() -> None:
    env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "https://api.openai.com/v1/"}
    assert chosen(Config(), env).model == f"openai/{catalogue()['defaults']['openai']}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: {temperature: 1}", "model_list.yaml:1: a: the key model is missing"),
        ("a: gpt-4o", "model_list.yaml:1: a: must be a mapping"),
        (
            "a:\n  model: x\n  custom_args:\n    max_context_size: many",
            "model_list.yaml:4: a.custom_args.max_context_size",
        ),
        ("a:\n  model: x\n  max_tokens: -1", "model_list.yaml:3: a.max_tokens: must be a number of tokens"),
        ("a:\n  model: x\n  timeout: soon", "model_list.yaml:3: a.timeout: must be a number"),
        ("a:\n  model: [x]", "model_list.yaml:2: a.model: must be text"),
    ],
)
def test_wrong_entries_are_located(text: str, words: str) -> None:
    models = listed(text)
    assert models.entries == {}
    assert any(words in str(problem) for problem in models.problems)


def test_a_list_that_is_no_mapping_is_an_error_and_an_empty_one_is_none() -> None:
    with pytest.raises(ConfigError, match="must be a mapping"):
        listed("- a")
    assert listed("").entries == {}


def test_where_the_list_is_looked_for(tmp_path: Path) -> None:
    own, home = tmp_path / "own.yaml", tmp_path / "home"
    home.mkdir()
    env = {"HOLMES_HOME": str(home), "MODEL_LIST_FILE_LOCATION": str(own)}
    assert model_list_path(env) is None
    (home / "model_list.yaml").write_text("at-home: {model: gpt-4o}")
    assert list(known_models(env).entries) == ["at-home"]
    own.write_text("named: {model: gpt-4o}")
    assert list(known_models(env).entries) == ["named"]


def test_the_order_of_the_choice() -> None:
    env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://own:1/v1", "ANTHROPIC_API_KEY": "k"}
    assert chosen(Config(model="gpt-4o"), env, listed()).model == "gpt-4o"
    assert chosen(Config(), env, listed()).name == "fast"
    assert chosen(Config(), env).model == "openai/"
    del env["OPENAI_BASE_URL"]
    assert chosen(Config(), env).model == f"openai/{catalogue()['defaults']['openai']}"
    del env["OPENAI_API_KEY"]
    assert chosen(Config(), env).model == f"anthropic/{catalogue()['defaults']['anthropic']}"
    nothing = choose(Config(), {}, ModelList())
    assert nothing.entry is None
    assert "offline" in nothing.reason


def test_a_reason_is_given_only_when_nobody_named_the_model() -> None:
    env = {"ANTHROPIC_API_KEY": "k"}
    assert choose(Config(model="gpt-4o"), env, ModelList()).reason == ""
    assert "ANTHROPIC_API_KEY is set" in choose(Config(), env, ModelList()).reason
    assert "first of model_list.yaml" in choose(Config(), env, listed()).reason
    offline = choose(Config(model="offline"), env, listed())
    assert (offline.entry, offline.reason) == (None, "")


def test_an_unknown_model_lists_the_known_ones_nearest_first() -> None:
    with pytest.raises(ModelRefused) as caught:
        choose(Config(model="gtp-4o"), {}, listed())
    assert caught.value.remedy.startswith("known: gpt-4o, ")
    with pytest.raises(ModelRefused, match="unknown provider opnai/") as caught:
        choose(Config(model="opnai/gpt-4o"), {}, ModelList())
    assert caught.value.remedy == "did you mean openai/gpt-4o?"
    with pytest.raises(ModelRefused) as caught:
        choose(Config(model="fats"), {}, listed())
    assert caught.value.remedy.startswith("known: fast, ")


@pytest.mark.parametrize(
    ("model", "base", "provider", "name"),
    [
        ("gpt-4o", "", "openai", "gpt-4o"),
        ("claude-sonnet-5-5", "", "anthropic", "claude-sonnet-5-5"),
        ("openai/my-model", "http://x", "openai", "my-model"),
        ("my-model", "http://x", "openai", "my-model"),
        ("Qwen/Qwen3-8B", "http://x", "openai", "Qwen/Qwen3-8B"),
        ("openrouter/anthropic/claude-sonnet-5.5", "", "openrouter", "anthropic/claude-sonnet-5.5"),
        ("ollama/qwen3:8b", "", "ollama", "qwen3:8b"),
        ("bedrock/anthropic.claude-sonnet-5", "", "bedrock", "anthropic.claude-sonnet-5"),
        ("bedrock/anthropic.claude-sonnet-5", "http://x", "bedrock", "anthropic.claude-sonnet-5"),
        ("vertex_ai/gemini-3-pro", "", "vertex_ai", "gemini-3-pro"),
    ],
)
def test_a_name_finds_its_provider(model: str, base: str, provider: str, name: str) -> None:
    for config, env in ((Config(model=model, api_base=base), {}), (Config(model=model), {"OPENAI_BASE_URL": base})):
        entry = chosen(config, env)
        assert (entry.provider.name, entry.name_on_wire) == (provider, name)


def test_keys_and_addresses_of_the_configuration_do_not_leak_to_the_model_list() -> None:
    config = Config(api_key=Secret("mine"), api_base="http://mine", model="big")
    big = chosen(config, {}, listed())
    assert (big.api_key, big.api_base) == ("", "https://x.openai.azure.com")
    given = Config(api_key=Secret("mine"), model="fast", sources={"api_key": COMMAND_LINE})
    assert chosen(given, {}, listed()).api_key == "mine"
    assert chosen(Config(api_key=Secret("mine"), model="gpt-4o")).api_key == "mine"


def test_variables_of_holmesgpt_are_taken() -> None:
    env = {"TEMPERATURE": "0.5", "REASONING_EFFORT": "low", "EXTRA_HEADERS": '{"X-A": "1"}', "THINKING": "none"}
    entry = chosen(Config(model="gpt-4o", max_context_size=9000, max_output_tokens=700), env)
    assert (entry.parameters, entry.effort, entry.headers) == ({"temperature": 0.5}, "low", {"X-A": "1"})
    assert (entry.facts.window, entry.facts.output) == (9000, 700)
    with pytest.raises(ConfigError, match="TEMPERATURE"):
        choose(Config(model="gpt-4o"), {"TEMPERATURE": "warm"}, ModelList())


@pytest.mark.parametrize(
    "name",
    ["gpt-4o", "gpt-4o-2024-11-20", "openrouter/openai/gpt-4o", "azure/gpt-4o"],
)
def test_facts_are_found_under_every_spelling(name: str) -> None:
    assert lookup(name).window == 128_000
    assert lookup(name).known


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("anthropic.claude-sonnet-5", "claude-sonnet-5"),
        ("anthropic/claude-sonnet-5.5", "claude-sonnet-5-5"),
        ("claude-opus-4-5@20251101", "claude-opus-4-5"),
    ],
)
def test_claude_is_found_under_every_spelling(name: str, known: str) -> None:
    assert lookup(name) == lookup(known)


def test_unknown_models_get_careful_guesses() -> None:
    assert ModelEntry("ollama/x").facts.window == LOCAL_WINDOW
    assert ModelEntry("x", api_base="http://x").facts.window == LOCAL_WINDOW
    hosted = ModelEntry("groq/x").facts
    assert (hosted.window, hosted.known, hosted.prices) == (HOSTED_WINDOW, False, None)
    small = ModelEntry("ollama/x", max_context=8192).facts
    assert small.output == 2048


def test_the_catalogue_is_sound() -> None:
    data = catalogue()
    for provider, model in data["defaults"].items():
        assert data["models"][model]["provider"] == provider
    for name, model in data["models"].items():
        assert lookup(name).output <= model["window"]
        assert model["prices"]["prompt"] <= model["prices"]["completion"]
