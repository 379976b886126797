"""``holmes doctor``: what works, what does not, and what to do about it."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from holmes.cli import options as opt

app = opt.new_app()

_SIGN = {"fine": "✅", "broken": "❌", "off": "➖"}


@app.command()
def doctor(
    config: opt.ConfigFile = None,
    custom_toolsets: opt.CustomToolsets = None,
    model: opt.Model = None,
    api_key: opt.ApiKey = None,
    api_base: opt.ApiBase = None,
    context: opt.Context = None,
    kubeconfig: opt.Kubeconfig = None,
    offline: Annotated[bool, typer.Option(help="Do not ask the model anything")] = False,
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
    broken = False

    async def run() -> None:
        nonlocal broken
        async for line in checkup(config, environment(), overrides, ask_model=not offline):
            broken = broken or line.state == "broken"
            print(f"{_SIGN[line.state]} {line.what}: {line.detail}", flush=True)
            if line.remedy:
                print(f"   → {line.remedy}", flush=True)

    asyncio.run(run())
    if broken:
        print("Something is broken; see above.", file=sys.stderr)
    raise typer.Exit(int(broken))
