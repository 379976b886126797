"""``holmes doctor``: what works, what does not, and what to do about it."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from holmes.cli import options as opt

if TYPE_CHECKING:
    from holmes.app.checkup import Line

app = opt.new_app()

_SIGNS = {"fine": "✅", "broken": "❌", "off": "➖"}


@app.command()
def doctor(
    config: opt.ConfigFile = None,
    custom_toolsets: opt.CustomToolsets = None,
    model: opt.Model = None,
    api_key: opt.ApiKey = None,
    api_base: opt.ApiBase = None,
    context: opt.Context = None,
    kubeconfig: opt.Kubeconfig = None,
    offline: Annotated[bool, opt.flag("--offline", "Do not ask the model anything")] = False,
) -> None:
    """Check configuration, model, cluster and data sources. Exit 1 when something is broken."""
    from holmes.app.checkup import checkup
    from holmes.core.env import environment

    overrides = {
        "model": model,
        "api_key": api_key,
        "api_base": api_base,
        "context": context,
        "kubeconfig": kubeconfig,
        "custom_toolsets": custom_toolsets,
    }

    async def run() -> bool:
        fine = True
        async for line in checkup(config, environment(), overrides, ask_model=not offline):
            print_line(line)
            fine = fine and line.state != "broken"
        return fine

    if not asyncio.run(run()):
        print("Something is broken; see above.", file=sys.stderr)
        raise typer.Exit(1)


def print_line(line: Line) -> None:
    """One thing that was checked, and what to do about it."""
    from holmes.cli.output import write
    from holmes.core.text import clean

    write(clean(f"{_SIGNS[line.state]} {line.what}: {line.detail}"))
    if line.remedy:
        write(clean(f"   → {line.remedy}"))
