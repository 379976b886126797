"""``holmes config``: make a configuration, try it, and show what counts."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest
import yaml

from holmes.cli.config_file import Settings, config_text, write_config
from holmes.core.config import load_config
from holmes.core.errors import StoreError


@pytest.fixture
def file(env: dict[str, str]) -> Path:
    return Path(env["HOLMES_HOME"]) / "config.yaml"


def written(file: Path) -> Any:
    return yaml.safe_load(file.read_text())


def test_without_anything_it_is_the_offline_model(holmes: Any, file: Path) -> None:
    done = holmes("config", "init")
    assert (done.returncode, done.stderr) == (0, "")
    assert written(file) == {"model": "offline"}
    assert f"Written: {file}" in done.stdout
    assert "✅ model: offline" in done.stdout
    assert "➖ cluster: " in done.stdout
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_key_that_a_variable_has_is_never_written(
    holmes: Any, model: Any, env: Any, file: Path, cluster: Any
) -> None:
    server = model(["ready"])
    del env["MODEL"]
    done = holmes("config", "init", "--model", "openai/gpt-4.1", "--context", "staging", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert written(file) == {
        "model": "openai/gpt-4.1",
        "api_key": "{{ env.OPENAI_API_KEY }}",
        "context": "staging",
    }
    assert env["OPENAI_API_KEY"] not in file.read_text() + done.stdout
    assert "✅ model: openai/gpt-4.1 answered in" in done.stdout
    assert "✅ cluster: c v1.34.0, 2 pods" in done.stdout
    assert server.headers[0]["authorization"] == f"Bearer {env['OPENAI_API_KEY']}"


def test_a_key_given_that_some_variable_has_becomes_a_reference(holmes: Any, file: Path) -> None:
    holmes(
        "config", "init", "--model", "anthropic/claude-x", "--api-key", "sk-team", more={"TEAM_KEY": "sk-team", **DEAD}
    )
    assert written(file)["api_key"] == "{{ env.TEAM_KEY }}"


DEAD = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}


def test_a_key_that_only_the_command_line_has_is_written(holmes: Any, file: Path) -> None:
    done = holmes("config", "init", "--model", "anthropic/claude-x", "--api-key", "sk-only-here", more=DEAD)
    assert written(file)["api_key"] == "sk-only-here"
    assert "sk-only-here" not in done.stdout + done.stderr


def test_another_key_than_the_variable_has_is_refused(holmes: Any, file: Path) -> None:
    done = holmes("config", "init", "--model", "openai/gpt-4.1", "--api-key", "b", more={"OPENAI_API_KEY": "a"})
    assert (done.returncode, done.stdout) == (2, "")
    assert "OPENAI_API_KEY is set" in done.stderr
    assert not file.exists()


def test_an_own_server(holmes: Any, model: Any, env: Any, file: Path) -> None:
    server = model(["ready"])
    for name in ("MODEL", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        del env[name]
    done = holmes("config", "init", "--api-base", server.url)
    assert done.returncode == 0, done.stdout
    assert written(file) == {"api_base": server.url}
    assert "✅ model: " in done.stdout


def test_what_does_not_work_is_said_and_kept(holmes: Any, file: Path, cluster: Any) -> None:
    done = holmes("config", "init", "--model", "openai/gpt-4.1", more={**DEAD, "OPENAI_API_KEY": "sk-none"})
    assert done.returncode == 1
    assert "❌ model: openai/gpt-4.1: cannot connect to 127.0.0.1:9" in done.stdout
    assert "✅ cluster: " in done.stdout
    assert "holmes doctor" in done.stderr
    assert written(file)["model"] == "openai/gpt-4.1"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--model", "gtp-4.1"], 1, "unknown model gtp-4.1"),
        (["--model", "opennai/gpt-4.1"], 1, "did you mean openai/gpt-4.1?"),
        (["--model", "azure/gpt-4o"], 2, "azure/gpt-4o needs a base URL"),
        (["--api-base", "localhost:8000"], 2, "write it with http:// or https://"),
        (["--context", "stagin"], 2, "did you mean staging?"),
        (["--kubeconfig", "nowhere"], 2, "nowhere does not exist"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    arguments: list[str], code: int, said: str, holmes: Any, file: Path, cluster: Any
) -> None:
    done = holmes("config", "init", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert not file.exists()


def test_a_file_that_is_there_is_replaced_only_with_yes(holmes: Any, file: Path) -> None:
    file.parent.mkdir()
    file.write_text("model: mine\n")
    done = holmes("config", "init")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{file}: is there already" in done.stderr
    assert file.read_text() == "model: mine\n"
    done = holmes("config", "init", "--yes")
    assert done.returncode == 0
    assert written(file) == {"model": "offline"}
    assert "config.yaml.old" in done.stdout
    assert file.with_name("config.yaml.old").read_text() == "model: mine\n"


def test_a_variable_that_beats_the_file_is_said(holmes: Any) -> None:
    done = holmes(
        "config", "init", "--model", "offline", more={"MODEL": "openai/gpt-4.1", "OPENAI_API_KEY": "k", **DEAD}
    )
    assert "MODEL is set to openai/gpt-4.1 and beats the file." in done.stdout


class Person:
    """Somebody who answers the questions."""

    def __init__(self, env: dict[str, str], *arguments: str) -> None:
        self.child = pexpect.spawn(
            sys.executable,
            ["-m", "holmes", "config", "init", *arguments],
            env={**env, "TERM": "xterm"},
            encoding="utf-8",
            timeout=20,
            dimensions=(50, 160),
        )

    def answer(self, question: str, line: str) -> None:
        self.child.expect_exact(question)
        self.child.sendline(line)

    def leave(self) -> tuple[int, str]:
        """The exit code, and what was on the screen since the last question."""
        self.child.expect(pexpect.EOF)
        self.child.close()
        return int(self.child.exitstatus), str(self.child.before)


@pytest.fixture
def asked(env: dict[str, str]) -> Iterator[Callable[..., Person]]:
    started: list[Person] = []

    def start(*arguments: str) -> Person:
        started.append(Person(env, *arguments))
        return started[-1]

    yield start
    for each in started:
        each.child.close(force=True)


def test_three_questions(asked: Any, model: Any, env: Any, file: Path, cluster: Any) -> None:
    model(["ready"])
    del env["OPENAI_API_KEY"], env["MODEL"]
    person = asked()
    person.answer("Model [http://127.0.0.1:", "azure/gpt-4o")
    person.child.expect_exact("azure/gpt-4o needs a base URL")
    person.answer("Model [http://127.0.0.1:", "openai/gpt-4.1")
    person.child.expect_exact("2/3")
    person.answer("Key", "sk-typed")
    person.child.expect_exact("3/3")
    person.child.expect_exact("1. staging")
    person.child.expect_exact("2. prod (current)")
    person.answer("Context", "3")
    person.answer("Context", "1")
    code, screen = person.leave()
    assert code == 0
    assert written(file) == {"model": "openai/gpt-4.1", "api_key": "sk-typed", "context": "staging"}
    assert "sk-typed" not in screen
    assert "✅ model: " in screen
    assert "2 pods" in screen


def test_enter_takes_what_is_there(asked: Any, model: Any, env: Any, file: Path, cluster: Any) -> None:
    model(["ready"])
    person = asked()
    person.answer("[openai/test-model]", "")
    person.answer("[whichever is current]", "")  # no key was asked: the variable has it
    assert person.leave()[0] == 0
    assert written(file) == {"model": "openai/test-model", "api_key": "{{ env.OPENAI_API_KEY }}"}


def test_an_own_server_and_no_cluster(asked: Any, model: Any, env: Any, file: Path) -> None:
    server = model(["ready"])
    for name in ("MODEL", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        del env[name]
    person = asked()
    person.answer("Model [offline]", f"127.0.0.1:{server.port}/v1 test-model")
    person.answer("Key", "")
    code, screen = person.leave()
    assert code == 0
    assert "No cluster: " in screen
    assert written(file) == {"model": "test-model", "api_base": server.url}


def test_what_is_given_is_not_asked(asked: Any, file: Path, cluster: Any) -> None:
    person = asked("--model", "offline", "--context", "staging")
    code, screen = person.leave()
    assert code == 0
    assert not [number for number in ("1/3", "2/3", "3/3") if number in screen]
    assert written(file) == {"model": "offline", "context": "staging"}


@pytest.mark.parametrize("answer", ["n", ""])
def test_no_keeps_the_file(answer: str, asked: Any, file: Path) -> None:
    file.parent.mkdir()
    file.write_text("model: mine\n")
    person = asked()
    person.answer("Replace it? [y/N]", answer)
    code, screen = person.leave()
    assert code == 2
    assert "nothing was changed" in screen
    assert file.read_text() == "model: mine\n"


def test_ctrl_c_writes_nothing(asked: Any, file: Path) -> None:
    person = asked()
    person.child.expect_exact("Model [offline]")
    person.child.sendintr()
    code, screen = person.leave()
    assert code == 130
    assert "Traceback" not in screen
    assert not file.exists()


SETTINGS = Settings("", "", "", "", "", None)


@pytest.mark.parametrize(
    "text", ["plain", 'quote " and \\', "arn:aws:eks:eu:1:cluster/x", "# no comment", "检查", "a: b"]
)
def test_any_value_comes_back(text: str, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    write_config(file, config_text(Settings(text, text, text, "", text, Path("kube config"))))
    config, warnings = load_config(file, {}, {})
    assert config.api_key is not None
    assert (config.model, config.api_base, config.api_key.reveal(), config.context) == (text,) * 4
    assert config.kubeconfig == Path("kube config").absolute()
    assert warnings == []


def test_every_key_that_is_commented_out_is_known(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    lines = config_text(SETTINGS).splitlines()
    keys = [
        line.removeprefix("# ") for line in lines if line.startswith("# ") and ": " in line[2:] and line[2].islower()
    ]
    keys += [line.removeprefix("# ") for line in lines if line.startswith(("# toolsets:", "#   "))]
    file.write_text("\n".join(keys))
    config, warnings = load_config(file, {"OPENAI_API_KEY": "k"}, {})
    assert warnings == []
    assert (config.max_steps, config.approve) == (100, "ask")
    assert config.toolsets == {"bash": {"config": {"allow": ["systemctl status"]}}}


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "holmes.yaml"
    real.parent.mkdir()
    real.write_text("model: mine\n")
    link = tmp_path / "config.yaml"
    link.symlink_to(real)
    write_config(link, "model: yours\n")
    assert link.is_symlink()
    assert real.read_text() == "model: yours\n"


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"the folder cannot be made|a folder is needed"):
        write_config(tmp_path / "file" / "below" / "config.yaml", "")


def test_show(holmes: Any, file: Path) -> None:
    file.parent.mkdir()
    file.write_text("api_key: sk-secret\nhistory:\n  days: 7\n")
    done = holmes("config", "show", more={"HOLMES_MAX_STEPS": "5"})
    assert (done.returncode, done.stderr) == (0, "")
    lines = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    assert lines["history.days"] == ["7", "config.yaml:3"]
    assert lines["max_steps"] == ["5", "HOLMES_MAX_STEPS"]
    assert lines["api_key"] == ["****", "config.yaml:1"]
    assert lines["tool_timeout"] == ["60", "default"]
    assert "sk-secret" not in done.stdout


@pytest.mark.parametrize("arguments", [["-o", "json"], ["--json"], ["-o", "jsonl"]])
def test_show_for_programs(arguments: list[str], holmes: Any) -> None:
    out = holmes("config", "show", *arguments).stdout
    rows = [json.loads(line) for line in out.splitlines()] if "jsonl" in arguments else json.loads(out)
    assert {"key": "history.days", "value": "30", "source": "default"} in rows


def test_show_says_what_is_wrong(holmes: Any, file: Path) -> None:
    file.parent.mkdir()
    file.write_text("max_stepz: 5\n")
    done = holmes("config", "show")
    assert done.returncode == 0
    assert "unknown key max_stepz; did you mean max_steps?" in done.stderr
    file.write_text("max_steps: many\nmax_cost: -1\n")
    done = holmes("config", "show")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{file}:1: max_steps: expected a whole number" in done.stderr
    assert f"{file}:2: max_cost: " in done.stderr


def test_nothing_is_left_beside_the_file(holmes: Any, file: Path) -> None:
    holmes("config", "init")
    assert {name for name in os.listdir(file.parent) if name.startswith("config")} == {"config.yaml"}
