"""``holmes history``: earlier investigations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from holmes.cli import options as opt
from holmes.core.errors import UsageError

if TYPE_CHECKING:
    from holmes.core.journal import Journal
    from holmes.core.report import Report

app = opt.new_app(help="Earlier investigations.", no_args_is_help=True)


@app.command("list")
def list_runs(
    limit: Annotated[int, typer.Option(help="How many at most", min=1)] = 20,
    output: opt.OutputFormat = opt.Output.TEXT,
    json_output: opt.Json = False,
) -> None:
    """List investigations, newest first."""
    with _journal() as journal:
        runs = journal.runs(limit)
    if json_output or output in (opt.Output.JSON, opt.Output.JSONL):
        rows = [
            {
                "run_id": run.run_id,
                "started": run.started.isoformat(),
                "status": run.status,
                "model": run.model,
                "question": run.question,
            }
            for run in runs
        ]
        print(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    if not runs:
        print('No investigations yet. Start one with: holmes ask "..."')
    for run in runs:
        question = " ".join(run.question.split())
        print(f"{run.run_id}  {run.started:%Y-%m-%d %H:%M}  {run.status:<9}  {question[:80]}")


@app.command()
def show(
    run_id: Annotated[str | None, typer.Argument(help="Which one; the newest when left out")] = None,
    output: opt.OutputFormat = opt.Output.TEXT,
    json_output: opt.Json = False,
) -> None:
    """Show the last report of an investigation."""
    from holmes.cli.output import print_report
    from holmes.core.env import environment

    with _journal() as journal:
        wanted = run_id or next((run.run_id for run in journal.runs(1)), "")
        report = _last_report(journal, wanted)
    print_report(report, opt.Output.JSON if json_output else output, environment())


def _last_report(journal: Journal, run_id: str) -> Report:
    from holmes.core.report import Report

    entries = list(journal.read(run_id)) if run_id else []
    for entry in reversed(entries):
        if entry.kind == "ai_answer_end":
            return Report.from_data(entry.payload["report"])
    if entries:
        raise UsageError(f"run {run_id} ended without an answer", remedy="holmes history list shows the others")
    raise UsageError(f"there is no run {run_id or 'yet'}", remedy="holmes history list shows what there is")


@contextmanager
def _journal() -> Iterator[Journal]:
    from holmes.core.env import environment, holmes_home
    from holmes.core.journal import Journal

    path = holmes_home(environment()) / "journal.db"
    with Journal.open(path if path.exists() else None) as journal:
        yield journal
