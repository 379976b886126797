"""The answer on standard output, in the format that was asked for."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from holmes.cli.options import Output
from holmes.cli.terminal import Terminal
from holmes.core.errors import HolmesError, UsageError
from holmes.core.events import Record, ToolCallingResult
from holmes.core.messages import Message
from holmes.core.report import Report, holmes_gpt_result
from holmes.core.text import clean


def print_report(report: Report, output: Output, env: Mapping[str, str]) -> None:
    """Write the report once, whole."""
    match output:
        case Output.JSON:
            write(json.dumps(report.as_data(), ensure_ascii=False, indent=2))
        case Output.HTML:
            from holmes.report.page import to_html

            write(to_html(report))
        case Output.TEXT if Terminal.of(sys.stdout, env).colour:
            from holmes.report.markdown import to_markdown

            _print_coloured(clean(to_markdown(report)))
        case _:
            from holmes.report.markdown import to_markdown

            write(clean(to_markdown(report)))


def print_event(kind: str, seq: int, data: Mapping[str, Any]) -> None:
    """One event as a line of JSON; journal records are not for clients."""
    if kind != Record.kind:
        write(json.dumps({"event": kind, "seq": seq, "data": data}, ensure_ascii=False, default=str))


def print_rows(rows: Sequence[Mapping[str, Any]], output: Output) -> None:
    """A list as JSON: one array, or with ``jsonl`` one object a line."""
    if output is Output.JSONL:
        for row in rows:
            write(json.dumps(row, ensure_ascii=False))
    else:
        write(json.dumps(rows, ensure_ascii=False, indent=2))


def check_writable(path: Path) -> None:
    """UsageError when a file cannot be written: better said before the work than after it."""
    try:
        path.open("ab").close()
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", where=str(path)) from error


def write_json_file(
    path: Path, report: Report, messages: Sequence[Message], calls: Sequence[ToolCallingResult]
) -> None:
    """The whole result with HolmesGPT's keys."""
    data = holmes_gpt_result(report, messages, calls)
    try:
        path.write_text(json.dumps(data, ensure_ascii=False, indent=2, default=str), "utf-8", "backslashreplace")
    except OSError as error:
        raise HolmesError(f"cannot be written: {error.strerror}", where=str(path)) from error


def write(text: str) -> None:
    """Text on standard output, at once."""
    if sys.stdout is not None:
        sys.stdout.write(text.rstrip("\n") + "\n")
        sys.stdout.flush()


def _print_coloured(markdown: str) -> None:
    from markdown_it import MarkdownIt
    from rich.console import Console
    from rich.markdown import Markdown

    # A link shows where it leads. Without HTML, what looks like a tag (<none>) stays in the text.
    shown = Markdown(markdown, hyperlinks=False)
    shown.parsed = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).parse(markdown)
    Console(force_terminal=True).print(shown)
