"""``holmes analyzer``: what a scan looks for."""

from __future__ import annotations

from typing import Any

from holmes.cli import options as opt

app = opt.new_app(no_args_is_help=True)


@app.callback()
def analyzer() -> None:
    """Analyzers: the functions that find faults without a model."""


@app.command("list")
def list_analyzers(output: opt.OutputFormat = opt.Output.TEXT, json_output: opt.Json = False) -> None:
    """List all analyzers and the faults that each finds."""
    from holmes.cli.output import print_rows

    rows = _rows()
    if json_output or output in (opt.Output.JSON, opt.Output.JSONL):
        print_rows(rows, output)
        return
    for row in rows:
        print(f"{row['name']}: {row['title']}")
        for cause, meaning in row["finds"].items():
            print(f"    {cause}: {meaning}")


def _rows() -> list[dict[str, Any]]:
    """The docstrings in their parts; a plugin's need not have any but the title."""
    from holmes.analyzers.docs import describe
    from holmes.analyzers.registry import load_all
    from holmes.core.errors import UsageError

    rows = []
    for item in load_all():
        row: dict[str, Any] = {"name": item.name, "title": item.text.partition("\n")[0], "module": item.module}
        try:
            told = describe(item)
            row |= {
                "finds": dict(told.causes),
                "from": told.parts["From"],
                "look_alikes": told.parts["Look-alikes"],
                "remedy": told.parts["Remedy"],
            }
        except UsageError:
            row |= {"finds": {}, "from": "", "look_alikes": "", "remedy": ""}
        rows.append(row)
    return rows
