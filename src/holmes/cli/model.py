"""``holmes model``: which models there are, which one is used, and whether they can be."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holmes.cli import options as opt

if TYPE_CHECKING:
    from holmes.app.model_trials import Trial

app = opt.new_app(help="Models: which there are, which is used, and whether they can be.", no_args_is_help=True)

_YES_NO = {True: "yes", False: "no", None: "–"}


@app.command("list")
def list_models(
    config: opt.ConfigFile = None,
    model: opt.Model = None,
    output: opt.OutputFormat = opt.Output.TEXT,
    json_output: opt.Json = False,
) -> None:
    """List models and providers, and say which model would be used and why."""
    from holmes.app.model_list import model_list
    from holmes.cli.output import print_rows, write
    from holmes.core.text import clean

    listed = model_list(*_loaded(config, {"model": model}))
    if json_output or output in (opt.Output.JSON, opt.Output.JSONL):
        print_rows(listed.rows, opt.Output.JSON if json_output else output)
        return
    rows = [
        (
            "→" if row["used"] else "❌" if row["problem"] else "",
            row["name"] + (f" ({row['role']})" if row["role"] else ""),
            row["model"],
            _window(row["window"], row["window_known"]),
            row["key"],
            row["address"],
        )
        for row in listed.rows
    ]
    write(clean(f"Would be used: {listed.used or 'none'}, {listed.why}\n"))
    write(clean(_table([("", "name", "model", "window", "key", "address"), *rows])))
    for row in listed.rows:
        if row["problem"]:
            write(clean(f"{row['name']}: {row['problem']}"))


@app.command()
def test(
    name: Annotated[list[str] | None, typer.Argument(help="Which models [the one that would be used]")] = None,
    config: opt.ConfigFile = None,
    api_key: opt.ApiKey = None,
    api_base: opt.ApiBase = None,
    max_seconds: Annotated[float, typer.Option(help="Seconds for all together", min=1)] = 120,
    output: opt.OutputFormat = opt.Output.TEXT,
    json_output: opt.Json = False,
) -> None:
    """Try whether models answer, call tools and keep to a schema; five short requests each.

    Exit 1 if one is unusable: it does not answer, or calls no tool.
    """
    from holmes.app.model_trials import try_models
    from holmes.cli.output import print_rows

    loaded, env = _loaded(config, {"api_key": api_key, "api_base": api_base})
    trials = asyncio.run(try_models(loaded, env, name or [], max_seconds, _say))
    if json_output or output in (opt.Output.JSON, opt.Output.JSONL):
        rows = [{**asdict(trial), "usable": trial.usable} for trial in trials]
        print_rows(rows, opt.Output.JSON if json_output else output)
    else:
        _print(trials)
    raise typer.Exit(int(not all(trial.usable for trial in trials)))


def _loaded(config: Any, overrides: dict[str, Any]) -> tuple[Any, Any]:
    from holmes.core.config import load_config
    from holmes.core.env import environment

    env = environment()
    loaded, warnings = load_config(config, env, overrides)
    for warning in warnings:
        _say(str(warning))
    return loaded, env


def _say(text: str) -> None:
    if text:
        print(f"holmes: {text}", file=sys.stderr)


def _print(trials: Iterable[Trial]) -> None:
    from holmes.cli.output import write
    from holmes.core.text import clean

    header = ("", "model", "answers", "calls a tool", "two at once", "JSON schema", "window", "prices", "seconds")
    rows = [
        (
            "✅" if trial.usable else "❌",
            trial.name,
            *(_YES_NO[each] for each in (trial.answers, trial.calls_tool, trial.parallel, trial.json_schema)),
            _window(trial.window, trial.window_known) or "–",
            f"${trial.prices.prompt:g} / ${trial.prices.completion:g}"
            if trial.prices
            else "unknown"
            if trial.window
            else "–",
            "–" if trial.seconds is None else f"{trial.seconds:.1f}",
        )
        for trial in trials
    ]
    lines = [_table([header, *rows])]
    for trial in trials:
        for fault in trial.faults:
            lines.append(f"{trial.name}, {fault.what}: {fault.message}")
            lines += [f"   → {fault.remedy}"] if fault.remedy else []
        if trial.answers and not trial.window_known:
            lines.append(f"{trial.name}, window: {trial.window:,} tokens is a guess")
            lines.append("   → set max_context_size, or custom_args.max_context_size in the model list")
    write(clean("\n".join(lines)))


def _prices(trial: Trial) -> str:
    if trial.prices is None:
        return "unknown" if trial.window else "–"
    return f"${trial.prices.prompt:g} / ${trial.prices.completion:g}"


def _window(tokens: int | None, known: bool) -> str:
    return "" if tokens is None else f"{tokens:,}{'' if known else ' ?'}"


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Columns side by side; a sign is two columns wide, whatever its length."""
    widths = [max(len(row[column]) for row in rows) for column in range(1, len(rows[0]))]
    lines = []
    for sign, *cells in rows:
        lead = f"{sign} " if sign in ("✅", "❌") else f"{sign:<3}"
        padded = "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
        lines.append(f"{lead}{padded}".rstrip())
    return "\n".join(lines)
