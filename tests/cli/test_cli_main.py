"""The command table: what is loaded, what is said, and how the program ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from holmes import __main__ as entry
from holmes import __version__
from holmes.core.errors import ConfigError, HolmesError, ModelRefused, Problem, StoreError, UsageError

LOADED = """
import sys
sys.argv = ["holmes", *sys.argv[1:]]
from holmes.__main__ import main
try:
    main()
except SystemExit as leave:
    print(leave.code, *sorted(sys.modules), sep="\\n", file=sys.stderr)
"""


def loaded_by(env: dict[str, str], *arguments: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", LOADED, *arguments], env=env, capture_output=True, text=True)
    code, *modules = done.stderr.split()
    assert code == "0"
    return set(modules)


def test_help_lists_every_command(holmes: Any) -> None:
    done = holmes("--help")
    assert (done.returncode, done.stderr) == (0, "")
    for name, (_, text) in entry.COMMANDS.items():
        assert f"  {name} " in done.stdout
        assert text in done.stdout
    assert holmes("-h").stdout == holmes("help").stdout == done.stdout
    assert holmes().stdout == done.stdout  # nobody at a terminal: no conversation


def test_help_loads_nothing(env: dict[str, str]) -> None:
    modules = loaded_by(env, "--help")
    assert {name for name in modules if name.startswith("holmes")} == {"holmes", "holmes.__main__"}
    assert not modules & {"typer", "asyncio", "yaml", "dataclasses", "pathlib", "re", "json"}


def test_help_of_a_command_loads_its_options_alone(env: dict[str, str]) -> None:
    modules = loaded_by(env, "ask", "--help")
    assert "typer" in modules
    heavy = {"rich", "asyncio", "yaml", "httpx2", "sqlite3", "jinja2", "pydantic", "prompt_toolkit", "tree_sitter"}
    assert not modules & heavy
    assert not [name for name in modules if name.startswith(("holmes.agent", "holmes.app", "holmes.llm"))]


@pytest.mark.parametrize("name", entry.COMMANDS)
def test_every_command_has_a_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert import_module(entry.COMMANDS[name][0]).app(["--help"], f"holmes {name}") == 0
    assert f"Usage: holmes {name}" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["version"], ["--version"], ["-V"]])
def test_version(arguments: list[str], holmes: Any) -> None:
    assert holmes(*arguments).stdout == f"{__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["aks", "why?"], "Did you mean: holmes ask ?"),
        (["toolsets", "list"], "Did you mean: holmes toolset ?"),
        (["qqq"], "holmes --help lists the commands"),
        (["--no-such-flag"], "holmes --help lists the commands"),
        (["why is checkout failing?"], "holmes ask 'why is checkout failing?'"),
        (["why", "is", "checkout", "failing"], "holmes ask 'why is checkout failing'"),
        (["为什么checkout失败"], "holmes ask '为什么checkout失败'"),
    ],
)
def test_what_is_no_command(arguments: list[str], advice: str, holmes: Any) -> None:
    done = holmes(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("holmes: ")
    assert done.stderr.rstrip(".\n").endswith(advice)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("the question is empty"), 2),
        (ConfigError([Problem("config.yaml:3", "no such key"), Problem("config.yaml:5", "no number")]), 2),
        (ModelRefused("wrong key", remedy="set OPENAI_API_KEY", where="https://api"), 1),
        (StoreError("disk full"), 1),
        (HolmesError("the server said \x1b[2J\x1b]0;title\x07boo\u202e"), 1),
    ],
)
def test_our_errors_are_a_message(
    error: HolmesError, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def app(arguments: list[str], prog_name: str) -> int:
        raise error

    command = ModuleType("holmes_test_command")
    command.app = app  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, command.__name__, command)
    monkeypatch.setitem(entry.COMMANDS, "boom", (command.__name__, "raises"))
    assert entry.run(["boom"]) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("holmes: ")
    assert said.err.strip() == f"holmes: {error}".replace("\x1b[2J\x1b]0;title\x07boo\u202e", "boo")


def test_wrong_usage_of_a_command(holmes: Any) -> None:
    done = holmes("ask", "why?", "--max-steps", "many")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--max-steps" in done.stderr
    assert "Traceback" not in done.stderr
    assert holmes("ask", "why?", "-o", "xml").returncode == 2
    assert holmes("history", "shwo").returncode == 2


def test_a_missing_configuration_file_is_usage(holmes: Any) -> None:
    done = holmes("ask", "why?", "--config", "nowhere.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("holmes: nowhere.yaml: cannot be read: No such file or directory")


@pytest.mark.parametrize("arguments", [["--help"], ["history", "list"], ["ask", "--help"]])
def test_a_reader_that_is_gone_ends_it_silently(arguments: list[str], holmes: Any) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = holmes(*arguments, stdout=write)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (entry.NO_READER, "")


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="this system has no /dev/full")
def test_a_full_disk_behind_standard_output(holmes: Any) -> None:
    with Path("/dev/full").open("r+") as full:
        done = holmes("--help", stdout=full)
    assert done.returncode == 1
    assert done.stderr == "holmes: standard output cannot be written: No space left on device\n"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("arguments", ["", "--help", "history list", "version"])
def test_closed_streams_do_no_harm(closed: str, arguments: str, env: dict[str, str], command: list[str]) -> None:
    line = f"exec {' '.join(command)} {arguments} {closed}"
    done = subprocess.run(["sh", "-c", line], env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_is_130(env: dict[str, str], command: list[str], tmp_path: Path) -> None:
    fifo = tmp_path / "question"
    os.mkfifo(fifo)
    program = subprocess.Popen(
        [*command, "ask", "--prompt-file", str(fifo)],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with fifo.open("w"):  # opens once the program is at it
        program.send_signal(signal.SIGINT)
        out, err = program.communicate(timeout=20)
    assert (program.returncode, out, err) == (entry.INTERRUPTED, "", "")
