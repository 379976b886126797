"""``holmes snapshot``: a cluster in a folder, to be looked at later or elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from holmes.cli import options as opt

app = opt.new_app(help="A cluster in a folder, to be looked at later or elsewhere.", no_args_is_help=True)
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The snapshot's folder")]


@app.command()
def create(
    folder: Folder,
    namespace: Annotated[str | None, typer.Option("--namespace", help="Only this namespace [all]")] = None,
    context: opt.Context = None,
    kubeconfig: opt.Kubeconfig = None,
    config: opt.ConfigFile = None,
) -> None:
    """Save a live cluster: objects, tables, events and logs, masked, without any Secret's values.

    A snapshot that is in the folder already is replaced. Exit 5: nothing could be looked at.
    """
    from holmes.cli.snapshots import run_create

    raise typer.Exit(run_create(folder, namespace, config, {"context": context, "kubeconfig": kubeconfig}))


@app.command()
def show(folder: Folder, output: opt.OutputFormat = opt.Output.TEXT, json: opt.Json = False) -> None:
    """Say of which cluster and time a snapshot is, what it holds, and what is missing."""
    from holmes.cli.snapshots import run_show

    run_show(folder, as_json=json or output is opt.Output.JSON)
