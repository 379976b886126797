"""The answer on standard output, in the format that was asked for."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from holmes.agent.run import Entry
from holmes.cli.options import Output
from holmes.cli.terminal import Terminal
from holmes.core.errors import UsageError
from holmes.core.events import Record, ToolCallingResult
from holmes.core.messages import Message
from holmes.core.report import Report, holmes_gpt_result


def print_report(report: Report, output: Output, env: Mapping[str, str]) -> None:
    """Write the report once, whole."""
    match output:
        case Output.JSON:
            _write(json.dumps(report.as_data(), ensure_ascii=False, indent=2))
        case Output.HTML:
            from holmes.report.page import to_html

            _write(to_html(report))
        case Output.TEXT if Terminal.of(sys.stdout, env).colour:
            from rich.console import Console
            from rich.markdown import Markdown

            from holmes.report.markdown import to_markdown

            Console().print(Markdown(to_markdown(report)))
        case _:
            from holmes.report.markdown import to_markdown

            _write(to_markdown(report))


def print_jsonl(entry: Entry) -> None:
    """One event as a line of JSON; journal records are not for clients."""
    if not isinstance(entry.event, Record):
        line = {"event": entry.event.kind, "seq": entry.seq, "data": entry.event.as_data()}
        _write(json.dumps(line, ensure_ascii=False, default=str))


def write_json_file(
    path: Path, report: Report, messages: Sequence[Message], calls: Sequence[ToolCallingResult]
) -> None:
    """The whole result with HolmesGPT's keys."""
    data = holmes_gpt_result(report, messages, calls)
    try:
        path.write_text(json.dumps(data, ensure_ascii=False, indent=2, default=str))
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", where=str(path)) from error


def _write(text: str) -> None:
    sys.stdout.write(text.rstrip("\n") + "\n")
    sys.stdout.flush()
