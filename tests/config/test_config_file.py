"""What stands in config.yaml and what is said about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from holmes.core.config import Config, load_config
from holmes.core.errors import ConfigError, Problem


def read(tmp_path: Path, text: str, env: dict[str, str] | None = None) -> tuple[Config, list[Problem]]:
    file = tmp_path / "config.yaml"
    file.write_text(text, encoding="utf-8")
    return load_config(file, env or {}, {})


def refused(tmp_path: Path, text: str, env: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text, env)
    return [str(problem).replace(f"{tmp_path}/", "") for problem in caught.value.problems]


def test_a_missing_default_file_gives_the_defaults(tmp_path: Path) -> None:
    config, problems = load_config(None, {"HOLMES_HOME": str(tmp_path)}, {})
    assert (config.max_steps, config.opening_evidence, config.approve, problems) == (100, True, None, [])
    assert config.model_retry.tries == 5
    assert config.history.keep


def test_the_default_file_is_in_the_state_folder(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("model: openai/m\n")
    assert load_config(None, {"HOLMES_HOME": str(tmp_path)}, {})[0].model == "openai/m"


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.yaml: cannot be read: No such file") as caught:
        load_config(tmp_path / "gone.yaml", {}, {})
    assert "--config" in caught.value.remedy


def test_a_folder_in_place_of_the_default_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").mkdir()
    with pytest.raises(ConfigError, match="Is a directory"):
        load_config(None, {"HOLMES_HOME": str(tmp_path)}, {})


@pytest.mark.parametrize("text", ["", "# nothing\n", "toolsets:\nmax_steps:\nhistory:\n"])
def test_empty_files_and_empty_keys_are_defaults(tmp_path: Path, text: str) -> None:
    config, problems = read(tmp_path, text)
    assert (config.max_steps, dict(config.toolsets), problems) == (100, {}, [])


def test_each_kind_of_value_is_typed(tmp_path: Path) -> None:
    text = """\
model: openai/gpt
fallback_models: [a, b]
api_version: 2024-02-01
max_seconds: 90
max_cost: "1.5"
opening_evidence: off
approve: never
prompts: {intro: false}
model_retry: {tries: 2, wait: 0.1}
results: {max_tokens: 500}
history: {keep: false, days: 3, max_mb: 10}
skill_repos: [{url: "https://git.example/x"}]
"""
    config, problems = read(tmp_path, text)
    assert problems == []
    assert config.fallback_models == ("a", "b")
    assert config.api_version == "2024-02-01"
    assert (config.max_seconds, config.max_cost) == (90.0, 1.5)
    assert config.opening_evidence is False
    assert config.approve == "never"
    assert (config.model_retry.tries, config.model_retry.wait, config.model_retry.cap) == (2, 0.1, 60.0)
    assert (config.results.max_tokens, config.results.max_percent) == (500, 15.0)
    assert (config.history.keep, config.history.days, config.history.max_mb) == (False, 3, 10)
    assert config.skill_repos == ({"url": "https://git.example/x"},)
    assert not config.prompt_enabled("intro")
    assert config.prompt_enabled("style_guide")


def test_all_that_is_wrong_is_said_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = """\
modle: x
max_steps: ten
max_cost: -1
toolsets: [bash]
history:
  days: 0
  dais: 3
model_retry: 5
approve: perhaps
api_key: "{{ env.NOT_THERE }}"
custom_toolsets: [a.yaml, {b: c}]
max_seconds: .inf
opening_evidence: maybe
max_steps: eleven
"""
    assert refused(tmp_path, text) == [
        "config.yaml:1: unknown key modle; did you mean model?",
        "config.yaml:3: max_cost: expected a number above 0, found the number -1",
        "config.yaml:4: toolsets: expected names, each with its settings below it, found a list",
        "config.yaml:6: history.days: expected a whole number from 1, found the number 0",
        "config.yaml:7: unknown key history.dais; did you mean days?",
        "config.yaml:8: model_retry: expected keys and values (tries, wait, cap), found the number 5",
        'config.yaml:9: approve: expected one of never, ask, always, found the text "perhaps"',
        "config.yaml:10: the environment variable NOT_THERE is not set",
        "config.yaml:11: custom_toolsets: expected a list of paths, found a list with keys and values in it",
        "config.yaml:12: max_seconds: expected seconds, a number above 0, found the number inf",
        'config.yaml:13: opening_evidence: expected true or false, found the text "maybe"',
        "config.yaml:14: the key max_steps stands here twice; the last one counts",
        'config.yaml:14: max_steps: expected a whole number from 1, found the text "eleven"',
    ]


def test_unknown_and_double_keys_alone_are_warnings(tmp_path: Path) -> None:
    config, problems = read(tmp_path, "modle: x\nmax_steps: 3\nmax_steps: 4\nzzzz: 1\n")
    assert config.max_steps == 4
    assert [problem.warning for problem in problems] == [True, True, True]
    assert problems[-1].message == "unknown key zzzz"


@pytest.mark.parametrize(
    ("text", "words"), [("- a\n", "found a list"), ("just words\n", 'found the text "just words"')]
)
def test_a_file_without_keys_is_refused(tmp_path: Path, text: str, words: str) -> None:
    assert refused(tmp_path, text) == [f"config.yaml:1: expected keys and values, {words}"]


def test_bad_yaml_is_refused_at_its_line(tmp_path: Path) -> None:
    assert refused(tmp_path, "model: x\n\tmax_steps: 1\n")[0].startswith("config.yaml:2: not valid YAML")


def test_parts_of_plugins_are_not_judged(tmp_path: Path) -> None:
    text = "toolsets:\n  bash:\n    enabled: 17\n    key: '{{ env.NOT_THERE }}'\nmcp_servers:\n  a: nonsense\n"
    config, problems = read(tmp_path, text)
    assert problems == []
    assert config.toolsets["bash"] == {"enabled": 17, "key": "{{ env.NOT_THERE }}"}
    assert config.mcp_servers == {"a": "nonsense"}
    assert config.document is not None
    assert config.document.where("toolsets", "bash", "enabled").endswith("config.yaml:3")


def test_keys_of_alert_sources_and_destinations_are_known(tmp_path: Path) -> None:
    text = """\
anchors: {x: &x 1}
alertmanager_url: http://am
alertmanager_label: [team=a]
jira_api_key: "{{ env.JIRA }}"
opsgenie_api_key: "{{ env.NOT_THERE }}"
slack_channel: alerts
should_try_robusta_ai: true
"""
    config, problems = read(tmp_path, text, {"JIRA": "tok"})
    assert config.raw["alertmanager_label"] == ["team=a"]
    assert config.raw["jira_api_key"].reveal() == "tok"
    assert config.raw["slack_channel"] == "alerts"
    assert "opsgenie_api_key" not in config.raw
    assert [(p.warning, p.message) for p in problems] == [(True, "the environment variable NOT_THERE is not set")]


def test_paths_are_relative_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "etc"
    folder.mkdir()
    (folder / "c.yaml").write_text(
        "custom_toolsets: [tools/a.yaml, /abs/b.yaml]\nkubeconfig: k\ncustom_skill_paths: s\n"
    )
    monkeypatch.chdir(tmp_path)
    config, _ = load_config(Path("etc/c.yaml"), {}, {})
    assert config.custom_toolsets == (folder / "tools/a.yaml", Path("/abs/b.yaml"))
    assert config.kubeconfig == folder / "k"
    assert config.custom_skill_paths == (folder / "s",)
