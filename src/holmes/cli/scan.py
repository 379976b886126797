"""``holmes scan``."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from holmes.cli import options as opt

app = opt.new_app()


class ScanOutput(StrEnum):
    """How the faults are written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


@app.command()
def scan(
    namespace: Annotated[str | None, typer.Option("--namespace", help="Only this namespace [all]")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds at most", min=1)] = 30.0,
    output: Annotated[ScanOutput, typer.Option("--output", "-o", help="Format of standard output")] = ScanOutput.TEXT,
    json: opt.Json = False,
    snapshot: opt.Snapshot = None,
    context: opt.Context = None,
    kubeconfig: opt.Kubeconfig = None,
    config: opt.ConfigFile = None,
) -> None:
    """Look for faults by program, without any model.

    Exit 0: no fault found. 1: faults found. 5: nothing could be looked at.
    """
    from holmes.cli.scanning import run_scan

    overrides = {"context": context, "kubeconfig": kubeconfig}
    chosen = ScanOutput.JSON if json else output
    raise typer.Exit(run_scan(config, overrides, snapshot, namespace, timeout, chosen))
