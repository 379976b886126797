"""``holmes demo``."""

from __future__ import annotations

import typer

from holmes.cli import options as opt

app = opt.new_app()


@app.command()
def demo(output: opt.OutputFormat = opt.Output.TEXT, json: opt.Json = False, verbose: opt.Verbose = 0) -> None:
    """Investigate an incident that was recorded on a real cluster: no key, no cluster, no network."""
    from holmes.cli.demonstration import run_demo

    raise typer.Exit(run_demo(opt.Output.JSON if json else output, verbose))
