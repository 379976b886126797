"""``holmes history``: earlier investigations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from holmes.cli import options as opt
from holmes.core.errors import HolmesError, UsageError

if TYPE_CHECKING:
    from holmes.core.journal import Entry, Journal
    from holmes.core.report import Report

app = opt.new_app(help="Earlier investigations.", no_args_is_help=True)


@app.command("list")
def list_runs(
    limit: Annotated[int, typer.Option(help="How many at most", min=1)] = 20,
    output: opt.OutputFormat = opt.Output.TEXT,
    json_output: opt.Json = False,
) -> None:
    """List investigations, newest first."""
    from holmes.cli.output import print_rows, write
    from holmes.core.text import clean, one_line

    with open_journal() as journal:
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
        print_rows(rows, opt.Output.JSON if json_output else output)
        return
    if not runs:
        write('No investigations yet. Start one with: holmes ask "..."')
    for run in runs:
        started = run.started.astimezone()
        write(f"{run.run_id}  {started:%Y-%m-%d %H:%M}  {run.status:<9}  {one_line(clean(run.question), 80)}")


@app.command()
def show(
    run_id: Annotated[str | None, typer.Argument(help="Which one; the newest when left out")] = None,
    output: opt.OutputFormat = opt.Output.TEXT,
    json_output: opt.Json = False,
) -> None:
    """Show the last report of an investigation; with -o jsonl all its events."""
    from holmes.cli.output import print_event, print_report
    from holmes.core.env import environment

    with open_journal() as journal:
        wanted = run_id or next((run.run_id for run in journal.runs(1)), "")
        entries = list(journal.read(wanted)) if wanted else []
    if not entries:
        raise UsageError(f"there is no run {wanted or 'yet'}", remedy="holmes history list shows what there is")
    if output is opt.Output.JSONL and not json_output:
        for entry in entries:
            print_event(entry.kind, entry.seq, entry.payload)
        return
    print_report(_last_report(wanted, entries), opt.Output.JSON if json_output else output, environment())


@app.command()
def delete(run_id: Annotated[list[str], typer.Argument(help="Which ones")]) -> None:
    """Forget investigations: their journal entries and stored results."""
    import shutil

    from holmes.core.env import environment, holmes_home

    runs = holmes_home(environment()) / "runs"
    with open_journal() as journal:
        known = {wanted for wanted in run_id if journal.delete(wanted)}
    for wanted in known:
        shutil.rmtree(runs / wanted, ignore_errors=True)
    if unknown := [wanted for wanted in run_id if wanted not in known]:
        raise UsageError(f"there is no run {', '.join(unknown)}", remedy="holmes history list shows what there is")


def _last_report(run_id: str, entries: Sequence[Entry]) -> Report:
    from holmes.core.report import Report

    for entry in reversed(entries):
        if entry.kind == "ai_answer_end":
            return Report.from_data(entry.payload["report"])
    errors = [entry.payload["description"] for entry in entries if entry.kind == "error"]
    why = errors[-1] if errors else "its end is not in the journal"
    raise HolmesError(f"run {run_id} has no answer: {why}", remedy="holmes history list shows the others")


@contextmanager
def open_journal() -> Iterator[Journal]:
    """The journal of the state folder, an empty one when there is none."""
    from holmes.core.env import environment, holmes_home
    from holmes.core.journal import Journal

    path = holmes_home(environment()) / "journal.db"
    with Journal.open(path if path.exists() else None) as journal:
        yield journal
