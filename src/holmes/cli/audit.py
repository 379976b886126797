"""``holmes audit``: who decided what about which call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holmes.cli import options as opt
from holmes.core.errors import UsageError

if TYPE_CHECKING:
    from holmes.core.journal import Journal

app = opt.new_app(help="Decisions about calls, as they were made.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Keep ``show`` a word of its own."""


@app.command()
def show(
    run_id: Annotated[str | None, typer.Argument(help="Of this run only", show_default=False)] = None,
    limit: Annotated[int, typer.Option(help="Newest runs at most", min=1)] = 20,
    output: opt.OutputFormat = opt.Output.TEXT,
    json_output: opt.Json = False,
) -> None:
    """Show each decision: time, run, actor, tool, verdict, rule, and what was to run. Oldest first."""
    from holmes.cli.history import open_journal
    from holmes.cli.output import print_rows, write
    from holmes.core.text import clean, one_line

    with open_journal() as journal:
        runs = [run_id] if run_id else [run.run_id for run in reversed(journal.runs(limit))]
        rows = [row for run in runs for row in decisions(journal, run)]
        if run_id and not rows and not any(True for _ in journal.read(run_id)):
            raise UsageError(f"there is no run {run_id}", remedy="holmes history list shows what there is")
    if json_output or output in (opt.Output.JSON, opt.Output.JSONL):
        print_rows(rows, opt.Output.JSON if json_output else output)
        return
    for row in rows:
        what = one_line(clean(row["show"] or f"{row['tool']} {row['args']}"), 90)
        write(f"{row['at']}  {row['run_id']}  {row['actor']:<7}  {row['verdict']:<5}  {row['rule']:<20}  {what}")


def decisions(journal: Journal, run_id: str) -> Iterator[dict[str, Any]]:
    """The decisions of a run."""
    for entry in journal.read(run_id):
        if entry.kind == "record" and entry.payload["what"] == "decision":
            yield {"at": f"{entry.at:%Y-%m-%dT%H:%M:%SZ}", "run_id": run_id, **entry.payload["data"]}
