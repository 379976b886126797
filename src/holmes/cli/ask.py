"""``holmes ask``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from holmes.cli import options as opt

app = opt.new_app()


@app.command()
def ask(
    prompt: Annotated[list[str] | None, typer.Argument(help="The question", show_default=False)] = None,
    prompt_file: Annotated[
        Path | None, typer.Option("--prompt-file", "-pf", help="Read the question from a file")
    ] = None,
    file: Annotated[list[Path] | None, typer.Option("--file", "-f", help="Attach a file (repeatable)")] = None,
    no_interactive: Annotated[bool, opt.flag("--no-interactive", "Answer once, then leave", short="-n")] = False,
    interactive: Annotated[bool, opt.flag("--interactive", "The default", short="-i", hidden=True)] = False,
    approve: Annotated[opt.Approve | None, typer.Option(help="Calls that need a person")] = None,
    bash_always_allow: Annotated[bool, opt.flag("--bash-always-allow", "The same as --approve always")] = False,
    bash_always_deny: Annotated[bool, opt.flag("--bash-always-deny", "The same as --approve never")] = False,
    max_steps: Annotated[int | None, typer.Option(help="Model calls at most [100]", min=1)] = None,
    max_seconds: Annotated[float | None, typer.Option(help="Seconds at most [900 without a terminal]", min=1)] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Tokens at most", min=1)] = None,
    max_cost: Annotated[float | None, typer.Option(help="US dollars at most", min=0)] = None,
    system_prompt_additions: Annotated[str | None, typer.Option(help="Text to add to the system prompt")] = None,
    show_tool_output: Annotated[bool, opt.flag("--show-tool-output", "Show what each tool gave")] = False,
    log_costs: Annotated[bool, opt.flag("--log-costs", "Show tokens and costs")] = False,
    echo: Annotated[bool, typer.Option("--echo/--no-echo", help="Repeat the question")] = True,
    json_output_file: Annotated[
        Path | None, typer.Option(envvar="HOLMES_JSON_OUTPUT_FILE", help="Write the whole result as JSON")
    ] = None,
    refresh_toolsets: Annotated[bool, opt.flag("--refresh-toolsets", "Check all toolsets anew")] = False,
    resume: Annotated[
        str | None, typer.Option(metavar="RUN", help="Go on with an earlier run (its id, or last)", show_default=False)
    ] = None,
    record: Annotated[Path | None, typer.Option(help="Record the run for holmes replay")] = None,
    no_history: Annotated[bool, opt.flag("--no-history", "Keep nothing of this run")] = False,
    fast_mode: Annotated[bool, opt.flag("--fast-mode", "Accepted, without effect", hidden=True)] = False,
    enable_todos: Annotated[
        bool, opt.flag("--enable-todos", "Accepted, without effect", short="--extended-planning", hidden=True)
    ] = False,
    output: opt.OutputFormat = opt.Output.TEXT,
    json: opt.Json = False,
    model: opt.Model = None,
    fast_model: opt.FastModel = None,
    api_key: opt.ApiKey = None,
    api_base: opt.ApiBase = None,
    config: opt.ConfigFile = None,
    custom_toolsets: opt.CustomToolsets = None,
    context: opt.Context = None,
    kubeconfig: opt.Kubeconfig = None,
    namespace: opt.Namespace = None,
    snapshot: opt.Snapshot = None,
    verbose: opt.Verbose = 0,
) -> None:
    """Ask a question about your systems. The answer cites the results that show it."""
    given: dict[str, Any] = dict(locals())
    from holmes.cli.session import run_ask

    raise typer.Exit(run_ask(given))
