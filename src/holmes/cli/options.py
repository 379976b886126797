"""Options that several commands share, so that each means one thing everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

# Typer carries its own click and exports this one member of the family; its base stands for all wrong usage.
_WRONG_USAGE: type[typer.BadParameter] = typer.BadParameter.__mro__[1]


class Output(StrEnum):
    """How a result is written to standard output."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"
    JSONL = "jsonl"
    HTML = "html"


class Approve(StrEnum):
    """What happens to calls that need a person."""

    NEVER = "never"
    ASK = "ask"
    ALWAYS = "always"


class App(typer.Typer):
    """A Typer application that gives its exit code back and lets errors through: ``holmes.__main__`` prints them."""

    def __call__(self, arguments: Sequence[str], prog_name: str) -> int:
        """Parse and run; the exit code."""
        command = typer.main.get_command(self)
        try:
            with command.make_context(prog_name, list(arguments)) as context:
                command.invoke(context)
        except typer.Exit as leave:
            return leave.exit_code
        except typer.Abort:  # Ctrl-C or Ctrl-D where something was asked
            return 130
        except _WRONG_USAGE as error:
            error.show()
            return error.exit_code
        return 0


def new_app(**settings: Any) -> App:
    """An application without rich: its help starts twice as fast."""
    return App(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        **settings,
    )


def flag(name: str, text: str, *, short: str = "", hidden: bool = False) -> Any:
    """A switch that is off unless given, without a ``--no-`` twin."""
    names = [name, short] if short else [name]
    return typer.Option(*names, help=text, show_default=False, hidden=hidden)


ConfigFile = Annotated[Path | None, typer.Option("--config", help="Configuration file [~/.holmes/config.yaml]")]
Model = Annotated[
    str | None, typer.Option("--model", help="Model: openai/NAME, anthropic/NAME, an alias, ..., or offline")
]
FastModel = Annotated[str | None, typer.Option("--fast-model", help="Model for summaries")]
ApiKey = Annotated[str | None, typer.Option("--api-key", help="Key of the model's provider")]
ApiBase = Annotated[str | None, typer.Option("--api-base", help="Base URL of the model's provider")]
Context = Annotated[str | None, typer.Option("--context", help="Context of the kubeconfig")]
Kubeconfig = Annotated[Path | None, typer.Option("--kubeconfig", help="Path of the kubeconfig")]
Snapshot = Annotated[Path | None, typer.Option("--snapshot", help="Folder of a saved cluster, in place of a live one")]
Namespace = Annotated[str | None, typer.Option("--namespace", help="Namespace to look at first")]
CustomToolsets = Annotated[
    list[Path] | None, typer.Option("--custom-toolsets", "-t", help="File with more toolsets (repeatable)")
]
OutputFormat = Annotated[Output, typer.Option("--output", "-o", help="Format of standard output")]
Json = Annotated[bool, flag("--json", "The same as -o json")]
Verbose = Annotated[
    int, typer.Option("--verbose", "-v", count=True, show_default=False, help="Say more on standard error (repeatable)")
]
