"""``holmes toolset``: data sources, whether they can be used, and why not."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from holmes.cli import options as opt

app = opt.new_app(help="Data sources: what there is, and whether it can be used.", no_args_is_help=True)

_SIGNS = {"enabled": "✅", "failed": "❌", "disabled": "➖"}


@app.command("list")
def list_toolsets(
    config: opt.ConfigFile = None,
    custom_toolsets: opt.CustomToolsets = None,
    output: opt.OutputFormat = opt.Output.TEXT,
    json_output: opt.Json = False,
) -> None:
    """List all toolsets with their status; checks what is not known to be fine."""
    from holmes.cli.output import print_rows

    rows = _status(config, custom_toolsets, refresh=False)
    if json_output or output in (opt.Output.JSON, opt.Output.JSONL):
        print_rows(rows, opt.Output.JSON if json_output else output)
    else:
        _print(rows)


@app.command()
def refresh(config: opt.ConfigFile = None, custom_toolsets: opt.CustomToolsets = None) -> None:
    """Check all enabled toolsets anew; exit 1 when one failed."""
    rows = _status(config, custom_toolsets, refresh=True)
    _print(rows)
    raise typer.Exit(int(any(row["status"] == "failed" for row in rows)))


@app.command()
def test(
    name: Annotated[list[str], typer.Argument(help="Which toolsets")],
    config: opt.ConfigFile = None,
    custom_toolsets: opt.CustomToolsets = None,
) -> None:
    """Check single toolsets, disabled ones too, and list their tools; exit 1 when one failed."""
    rows = _status(config, custom_toolsets, refresh=True, only=name)
    _print(rows, tools=True)
    raise typer.Exit(int(any(row["status"] != "enabled" for row in rows)))


def _status(
    config: Path | None, custom: Sequence[Path] | None, *, refresh: bool, only: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    from holmes.app.wiring import toolset_status
    from holmes.core.config import load_config
    from holmes.core.env import environment

    env = environment()
    loaded, warnings = load_config(config, env, {"custom_toolsets": custom})
    for warning in warnings:
        print(f"holmes: {warning}", file=sys.stderr)
    rows, problems = asyncio.run(toolset_status(loaded, env, refresh=refresh, only=only))
    for problem in problems:
        print(f"holmes: {problem}", file=sys.stderr)
    return rows


def _print(rows: Sequence[dict[str, Any]], *, tools: bool = False) -> None:
    from holmes.cli.output import write
    from holmes.core.text import clean

    width = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        detail = row["reason"] or row["description"]
        lines = [f"{_SIGNS[row['status']]} {row['name']:<{width}}  {row['status']:<8}  {row['origin']:<8}  {detail}"]
        if row["remedy"]:
            lines.append(f"   {'':<{width}}  → {row['remedy']}")
        lines += [f"   {'':<{width}}  its tool {tool} is taken over by {by}" for tool, by in row["replaced"].items()]
        if tools:
            lines += [f"     {tool}" for tool in row["tools"]]
        write(clean("\n".join(lines)))
