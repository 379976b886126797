"""``holmes config``: make a configuration, and show what counts."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from holmes.cli import options as opt

app = opt.new_app(help="Make and show the configuration.", no_args_is_help=True)


@app.command()
def init(
    model: opt.Model = None,
    api_key: opt.ApiKey = None,
    api_base: opt.ApiBase = None,
    context: opt.Context = None,
    kubeconfig: opt.Kubeconfig = None,
    config: opt.ConfigFile = None,
    yes: Annotated[bool, opt.flag("--yes", "Ask nothing, and replace a file that is there", short="-y")] = False,
) -> None:
    """Ask for model and cluster, write a commented configuration, and try it. Exit 1 when it does not work.

    What is given here is not asked; without a terminal nothing is.
    """
    from holmes.cli.config_init import run_init

    raise typer.Exit(run_init(config, model, api_key, api_base, context, kubeconfig, yes))


@app.command()
def show(
    config: opt.ConfigFile = None,
    output: opt.OutputFormat = opt.Output.TEXT,
    json_output: opt.Json = False,
) -> None:
    """Show every key, the value that counts, and where it comes from. Secrets are hidden."""
    from holmes.cli.output import print_rows, write
    from holmes.core.config import describe_config, load_config
    from holmes.core.env import environment
    from holmes.core.text import clean

    loaded, warnings = load_config(config, environment(), {})
    for warning in warnings:
        print(f"holmes: {warning}", file=sys.stderr)
    described = describe_config(loaded)
    if json_output or output in (opt.Output.JSON, opt.Output.JSONL):
        rows = [{"key": key, "value": value, "source": source} for key, value, source in described]
        print_rows(rows, opt.Output.JSON if json_output else output)
        return
    wide, wider = (max(len(row[column]) for row in described) for column in (0, 1))
    for key, value, source in described:
        write(clean(f"{key:<{wide}}  {value:<{min(wider, 40)}}  {source}"))
