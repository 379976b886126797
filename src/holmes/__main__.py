"""The command table. A face is loaded only when it is called: ``holmes --help`` imports nothing of ours."""

from __future__ import annotations

import sys

# name: (module with a Typer ``app``, one line for the help)
COMMANDS = {
    "ask": ("holmes.cli.ask", "Ask a question about your systems; the answer cites what it saw"),
    "toolset": ("holmes.cli.toolset", "List, refresh and test data sources"),
    "history": ("holmes.cli.history", "List and show earlier investigations"),
    "replay": ("holmes.cli.replay", "Show a recorded investigation again, without model and network"),
    "doctor": ("holmes.cli.doctor", "Check configuration, model, cluster and data sources"),
    "version": ("holmes.cli.version", "Print the version"),
}


def main() -> None:
    """Entry point of the ``holmes`` command."""
    arguments = sys.argv[1:]
    if not arguments and sys.stdin.isatty() and sys.stdout.isatty():
        arguments = ["ask"]  # on a terminal, bare ``holmes`` opens a conversation
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return
    if arguments[0] in ("--version", "-V"):
        arguments = ["version"]
    name, rest = arguments[0], arguments[1:]
    if name not in COMMANDS:
        print(unknown(name), file=sys.stderr)
        sys.exit(2)
    from importlib import import_module

    app = import_module(COMMANDS[name][0]).app
    app(rest, prog_name=f"holmes {name}")


def usage() -> str:
    """The text of ``holmes --help``."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {text}" for name, (_, text) in COMMANDS.items()]
    return "\n".join(
        [
            "Usage: holmes COMMAND [ARGS]...",
            "",
            "  An SRE agent: it looks at live systems, read-only, and says what is wrong and what shows it.",
            "",
            "Commands:",
            *lines,
            "",
            'Start with: holmes ask "why is checkout failing?"',
            "More on a command: holmes COMMAND --help",
        ]
    )


def unknown(name: str) -> str:
    """What to say to a command that does not exist."""
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, n=1)
    if near:
        return f"holmes: there is no command {name}. Did you mean: holmes {near[0]} ?"
    if " " in name:
        return f'holmes: to ask a question, write: holmes ask "{name}"'
    return f"holmes: there is no command {name}. holmes --help lists the commands."


if __name__ == "__main__":
    main()
