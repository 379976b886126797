"""Command line over environment over file over default, and how the sources are shown."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from holmes.core.config import Config, declared_keys, describe_config, load_config
from holmes.core.env_references import resolve_env
from holmes.core.errors import ConfigError
from holmes.core.secret import Secret
from holmes.core.yaml_marks import load


def config_of(tmp_path: Path, text: str, env: dict[str, str] | None = None, **overrides: object) -> Config:
    file = tmp_path / "config.yaml"
    file.write_text(text)
    dotted = {name.replace("__", "."): value for name, value in overrides.items()}
    return load_config(file, env or {}, dotted)[0]


def test_command_line_beats_environment_beats_file(tmp_path: Path) -> None:
    text, env = "model: file\n", {"MODEL": "env"}
    assert config_of(tmp_path, text).model == "file"
    assert config_of(tmp_path, text, env).model == "env"
    assert config_of(tmp_path, text, env, model="line").model == "line"
    assert config_of(tmp_path, text, env, model=None).model == "env"


def test_an_empty_variable_is_not_set(tmp_path: Path) -> None:
    assert config_of(tmp_path, "model: file\n", {"MODEL": ""}).model == "file"


def test_variables_are_typed(tmp_path: Path) -> None:
    env = {
        "HOLMES_MAX_STEPS": "7",
        "HOLMES_MAX_COST": "0.5",
        "HOLMES_OPENING_EVIDENCE": "0",
        "CUSTOM_SKILL_PATHS": "/a, /b",
        "SKILL_REPOS": json.dumps([{"url": "https://x"}]),
        "CLUSTER_NAME": "prod",
        "OVERRIDE_MAX_CONTENT_SIZE": "32000",
    }
    config = config_of(tmp_path, "", env)
    assert (config.max_steps, config.max_cost, config.opening_evidence) == (7, 0.5, False)
    assert config.custom_skill_paths == (Path("/a"), Path("/b"))
    assert config.skill_repos == ({"url": "https://x"},)
    assert (config.cluster_name, config.max_context_size) == ("prod", 32000)


def test_enabled_prompts_names_the_only_ones(tmp_path: Path) -> None:
    config = config_of(tmp_path, "prompts: {intro: false}\n", {"ENABLED_PROMPTS": "intro, style_guide"})
    assert [config.prompt_enabled(name) for name in ("intro", "style_guide", "skills")] == [True, True, False]
    assert not config_of(tmp_path, "", {"ENABLED_PROMPTS": "none"}).prompt_enabled("intro")


def test_wrong_values_outside_the_file_name_their_place(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        config_of(tmp_path, "", {"HOLMES_MAX_STEPS": "many", "SKILL_REPOS": "{"}, max_cost=-1)
    assert {problem.where for problem in caught.value.problems} == {"HOLMES_MAX_STEPS", "SKILL_REPOS", "command line"}


def test_a_value_that_does_not_count_is_not_judged(tmp_path: Path) -> None:
    assert config_of(tmp_path, "max_steps: ten\n", max_steps=3).max_steps == 3


def test_an_override_that_no_key_has_is_a_bug(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="no such key: stepps"):
        config_of(tmp_path, "", stepps=3)


def test_a_group_is_overridden_key_by_key(tmp_path: Path) -> None:
    config = config_of(tmp_path, "history: {days: 3}\n", history__keep=False)
    assert (config.history.keep, config.history.days) == (False, 3)


def test_toolset_files_of_the_command_line_are_added(tmp_path: Path) -> None:
    config = config_of(tmp_path, "custom_toolsets: a.yaml\n", custom_toolsets=[Path("b.yaml")])
    assert config.custom_toolsets == (tmp_path / "a.yaml", Path("b.yaml"))
    assert config.sources["custom_toolsets"] == "config.yaml:1, command line"
    assert config_of(tmp_path, "custom_toolsets: a.yaml\n", custom_toolsets=[]).custom_toolsets == (
        tmp_path / "a.yaml",
    )


def test_every_value_tells_where_it_came_from(tmp_path: Path) -> None:
    text = "api_key: sk-very-secret\nmax_steps: 9\n\napi_base: https://me:pw@host/v1\ntoolsets: {bash: {token: abc}}\n"
    config = config_of(tmp_path, text + "jira_api_key: sk-jira\n", {"MODEL": "m"}, max_seconds=5)
    shown = {key: (value, source) for key, value, source in describe_config(config)}
    assert shown["model"] == ("m", "MODEL")
    assert shown["max_steps"] == ("9", "config.yaml:2")
    assert shown["max_seconds"] == ("5", "command line")
    assert shown["max_tokens"] == ("-", "default")
    assert shown["history.keep"] == ("true", "default")
    assert shown["api_key"] == ("****", "config.yaml:1")
    assert shown["api_base"] == ("https://****@host/v1", "config.yaml:4")
    assert shown["toolsets"] == ("bash", "config.yaml:5")
    assert shown["jira_api_key"] == ("****", "config.yaml:6")
    assert all(isinstance(part, str) for row in describe_config(config) for part in row)


def test_nothing_prints_a_secret(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = config_of(tmp_path, "api_key: sk-hidden\ntoolsets: {x: {password: sk-hidden}}\njira_api_key: sk-hidden\n")
    assert config.api_key is not None
    assert config.api_key.reveal() == "sk-hidden"
    logging.getLogger("t").warning("%s %r", config.api_key, config)
    said = f"{config.api_key} {config.api_key!r} {config} {config.raw} {describe_config(config)} {caplog.text}"
    assert "sk-hidden" not in said
    with pytest.raises(TypeError):
        json.dumps(config.api_key)


def test_a_wrong_secret_is_not_quoted(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        config_of(tmp_path, "api_key: 123456\n")
    assert str(caught.value).endswith("config.yaml:1: api_key: expected text")


def test_secrets_compare_and_are_empty_like_text() -> None:
    assert Secret("a") == Secret("a")
    assert Secret("a") != "a"
    assert len({Secret("a"), Secret("a")}) == 1
    assert not Secret("")


def test_environment_references_in_strings(tmp_path: Path) -> None:
    env = {"KEY": "k", "EMPTY": "", "STEPS": "12", "TRICK": "{{ env.KEY }}"}
    text = (
        "api_key: '{{ env.KEY }}'\ncluster_name: 'a{{env.EMPTY}}b'\nmax_steps: '{{ env.STEPS }}'\n"
        "namespace: '{{ env.TRICK }}'\ncontext: '{{ other }}'\n"
    )
    config = config_of(tmp_path, text, env)
    assert config.api_key == Secret("k")
    assert (config.cluster_name, config.max_steps) == ("ab", 12)
    assert config.namespace == "{{ env.KEY }}"
    assert config.context == "{{ other }}"


def test_references_are_resolved_at_any_depth_and_all_unset_ones_named() -> None:
    document = load("a:\n  - x: '{{ env.ONE }}'\n  - '{{ env.TWO }} {{ env.THREE }}'\nb: 3\n", "f.yaml")
    value, problems = resolve_env(document, {"ONE": "1"})
    assert value["a"][0] == {"x": "1"}
    assert value["b"] == 3
    assert [str(problem) for problem in problems] == [
        "f.yaml:3: the environment variable TWO is not set",
        "f.yaml:3: the environment variable THREE is not set",
    ]


def test_every_key_and_variable_is_in_the_manual() -> None:
    manual = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
    missing = [name for name in declared_keys() if f"`{name}`" not in manual]
    missing += [key.variable for key in declared_keys().values() if key.variable and f"`{key.variable}`" not in manual]
    assert missing == []
