"""``holmes policy``: why a command would run, need a person, or never run."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from holmes.cli import options as opt

app = opt.new_app(help="The policy for commands.", no_args_is_help=True)

_STYLE = {"allow": "green", "ask": "yellow", "deny": "red"}


@app.callback()
def _group() -> None:
    """Keep ``explain`` a word of its own."""


@app.command()
def explain(
    command: Annotated[str, typer.Argument(help="The command in quotes; - reads one a line from standard input")],
    config: opt.ConfigFile = None,
    json_output: opt.Json = False,
) -> None:
    """Say what the policy makes of a command: its parts, the verdict, the reason and the rule. Nothing is run."""
    from holmes.tools.policy.explain import explain as explained

    settings = _settings(config)
    commands = (line.rstrip("\n") for line in sys.stdin) if command == "-" else [command]
    for each in commands:
        if command == "-" and not each.strip():
            continue
        found = explained(each, settings)
        if json_output:
            print(json.dumps(found, ensure_ascii=False), flush=True)
        else:
            _print(found)


def _settings(config: Any) -> Any:
    """The policy as the bash toolset of this configuration has it."""
    from holmes.core.config import load_config
    from holmes.core.env import environment
    from holmes.core.errors import UsageError
    from holmes.toolsets.bash.config import read_config

    env = environment()
    loaded, _ = load_config(config, env, {})
    entry = loaded.toolsets.get("bash") or {}
    try:
        return read_config(entry.get("config") or {} if isinstance(entry, dict) else {}).policy(env)
    except ValueError as error:
        raise UsageError(f"toolsets.bash.{error}") from error


def _print(found: dict[str, Any]) -> None:
    from holmes.cli.terminal import Terminal
    from holmes.core.env import environment

    terminal = Terminal.of(sys.stdout, environment())
    terminal.print(f"{found['verdict']}: {found['reason'] or 'it only reads'}", _STYLE[found["verdict"]])
    terminal.print(f"  rule: {found['rule']}" if found["rule"] else "  rule: every part is a known read")
    for words in found["parse"]:
        terminal.print(f"  part: {' '.join(words)}")
    if found["runs"]:
        terminal.print(f"  runs: {found['runs']}")
