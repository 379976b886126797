"""The command table. A face is loaded only when it is called: ``holmes --help`` imports nothing of ours."""

from __future__ import annotations

import gc
import io
import os
import sys

# name: (module with an ``app`` that takes arguments and a name and gives the exit code, one line for the help)
COMMANDS = {
    "ask": ("holmes.cli.ask", "Ask a question about your systems; the answer cites what it saw"),
    "scan": ("holmes.cli.scan", "Find faults in a cluster or a snapshot, without any model"),
    "snapshot": ("holmes.cli.snapshot", "Save a cluster to a folder and show what is in one"),
    "analyzer": ("holmes.cli.analyzer", "List what a scan looks for"),
    "demo": ("holmes.cli.demo", "Investigate a recorded incident: no key, no cluster, no network"),
    "toolset": ("holmes.cli.toolset", "List, refresh and test data sources"),
    "model": ("holmes.cli.model", "List models, and test whether they can be used"),
    "history": ("holmes.cli.history", "List and show earlier investigations"),
    "replay": ("holmes.cli.replay", "Show a recorded investigation again, without model and network"),
    "policy": ("holmes.cli.policy", "Explain what the policy makes of a command"),
    "audit": ("holmes.cli.audit", "Show who decided what about which call"),
    "config": ("holmes.cli.config", "Make and show the configuration"),
    "doctor": ("holmes.cli.doctor", "Check configuration, model, cluster and data sources"),
    "version": ("holmes.cli.version", "Print the version"),
}
INTERRUPTED = 130
NO_READER = 141  # what a shell shows for a program that SIGPIPE ended, as kubectl and the Unix filters do


def main() -> None:
    """Entry point of the ``holmes`` command: errors of ours are one message on stderr, never a traceback."""
    gc.set_threshold(50_000)  # imports make many objects that live on: looking at them again and again costs 10 %
    _set_encoding()
    try:
        code = _flushed(run(sys.argv[1:]))
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        _forget_stdout()
        code = NO_READER
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Do what the command line says; the exit code."""
    if not arguments and _at_terminal():
        arguments = ["ask"]  # on a terminal, bare ``holmes`` opens a conversation
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    name, *rest = arguments
    if name in ("--version", "-V"):
        name = "version"
    if name not in COMMANDS:
        print(unknown(name, rest), file=sys.stderr)
        return 2
    return _call(name, rest)


def _call(name: str, rest: list[str]) -> int:
    from importlib import import_module

    from holmes.core.errors import HolmesError, UsageError

    try:
        code: int = import_module(COMMANDS[name][0]).app(rest, f"holmes {name}")
        return code
    except HolmesError as error:
        from holmes.core.text import clean  # a server's own words may be in it

        print(f"holmes: {clean(str(error))}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1


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


def unknown(name: str, rest: list[str]) -> str:
    """What to say to a command that does not exist."""
    from difflib import get_close_matches
    from shlex import quote

    question = " ".join([name, *rest])
    if " " in name or (not name.isascii() and not name.startswith("-")):
        return f"holmes: to ask a question, write: holmes ask {quote(question)}"
    if near := get_close_matches(name, COMMANDS, n=1):
        return f"holmes: there is no command {name}. Did you mean: holmes {near[0]} ?"
    if len(rest) > 1 and not any(word.startswith("-") for word in (name, *rest)):
        return f"holmes: there is no command {name}. To ask a question, write: holmes ask {quote(question)}"
    return f"holmes: there is no command {name}. holmes --help lists the commands."


def _at_terminal() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def _set_encoding() -> None:
    """No character ends the program. What is not for a terminal is UTF-8: JSON and HTML say that they are."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        encoding = None if sys.stdout.isatty() else "utf-8"
        sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")


def _flushed(code: int) -> int:
    """The exit code once standard output has taken everything."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _forget_stdout()
        print(f"holmes: standard output cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    return code


def _forget_stdout() -> None:
    """Let what is still buffered go nowhere, so that the interpreter does not complain at its end."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
