"""``holmes replay``: a recorded investigation again, without model, tools and network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from holmes.cli import options as opt

app = opt.new_app()


@app.command()
def replay(
    recording: Annotated[Path, typer.Argument(help="A file that holmes ask --record wrote")],
    output: opt.OutputFormat = opt.Output.TEXT,
    json: opt.Json = False,
    verbose: opt.Verbose = 0,
) -> None:
    """Show a recorded investigation again. Where the program now asks something else, it says where it parts."""
    from holmes.cli.replaying import run_replay

    raise typer.Exit(run_replay(recording, opt.Output.JSON if json else output, verbose))
