"""The page docs/analyzers.md, made from the docstrings: ``python -m holmes.analyzers.docs > docs/analyzers.md``."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from holmes.analyzers.registry import BUILT_IN, Analyzer, load_all
from holmes.core.errors import UsageError

PARTS = ("Finds", "From", "Look-alikes", "Remedy")
_PART = re.compile(rf"^({'|'.join(PARTS)}):[ \n]", re.MULTILINE)
_CAUSE = re.compile(r"^([a-z0-9-]+): ")

_INTRO = """\
# Analyzers

An analyzer is a plain function that looks at objects, events and the ends of logs, and says which faults they show:
what, where, by which fact, and what usually helps. No model is needed. `holmes scan` prints what they find, the
tools `scan` and `inspect` give it to any model, and the offline model is made of them.

* Every finding has **evidence**: lines copied from the data (a state, an exit code, an event, a log line).
* Findings of the pods of one workload are **one** finding about that workload.
* What follows from a fault (a Service without endpoints because its pods crash) is told **below** it. The most upstream
  cause comes first, then the worst, then the surest.
* `info` is no fault: something worth knowing, such as a workload that is scaled to zero.
* What could not be looked at (forbidden, unreachable, too late) is listed as a **gap**, never taken for healthy.
* Logs are read only where a finding needs them: the last 50 lines of containers that end, are not ready or fail, and of
  one pod of each healthy workload when there are at most 30 of them.

An analyzer of your own is a module with a function of its name; a package brings it by an entry point of the group
`holmes.analyzers`. `holmes/analyzers/base.py` describes the form.

This page is made from the docstrings of the analyzers: `python -m holmes.analyzers.docs > docs/analyzers.md`.
"""


@dataclass(frozen=True, slots=True)
class Description:
    """A docstring in its parts; ``causes`` are the names of the findings with what they mean."""

    title: str
    causes: Mapping[str, str]
    parts: Mapping[str, str]


def describe(analyzer: Analyzer) -> Description:
    """Read the docstring; UsageError names a part that is missing."""
    title, _, body = analyzer.text.partition("\n")
    pieces = _PART.split(body)[1:]
    parts = dict(zip(pieces[::2], pieces[1::2], strict=True))
    missing = [name for name in PARTS if name not in parts]
    if missing:
        raise UsageError(f"the docstring of {analyzer.module} has no part {missing[0]}")
    causes: dict[str, str] = {}
    for line in _logical_lines(parts["Finds"]):
        found = _CAUSE.match(line)
        if not found:
            raise UsageError(f'the docstring of {analyzer.module}: "{line}" is not of the form "cause: when"')
        causes[found[1]] = line[found.end() :]
    return Description(title, causes, {name: " ".join(text.split()) for name, text in parts.items()})


def _logical_lines(text: str) -> list[str]:
    """Lines of a part; those that go on are indented further than the first."""
    lines = [line for line in text.split("\n") if line.strip()]
    indent = min(len(line) - len(line.lstrip()) for line in lines)
    found: list[str] = []
    for line in lines:
        if len(line) - len(line.lstrip()) > indent and found:
            found[-1] += f" {line.strip()}"
        else:
            found.append(line.strip())
    return found


def render_docs() -> str:
    """The whole page."""
    groups: dict[str, list[Analyzer]] = {}
    for analyzer in load_all(BUILT_IN):
        groups.setdefault(analyzer.module.split(".")[-2], []).append(analyzer)
    causes = sum(len(describe(item).causes) for items in groups.values() for item in items)
    count = sum(map(len, groups.values()))
    sections = [_section(name, items) for name, items in groups.items()]
    return "\n".join([_INTRO, f"{count} analyzers know {causes} causes.\n", *sections])


def _section(name: str, analyzers: Sequence[Analyzer]) -> str:
    rows = [f"## {name.capitalize()}\n", "| analyzer | finds | from | look-alikes | remedy |", "|---|---|---|---|---|"]
    for analyzer in analyzers:
        text = describe(analyzer)
        causes = "<br>".join(f"`{cause}`: {_cell(meaning)}" for cause, meaning in text.causes.items())
        cells = [
            f"**{analyzer.name}**<br>{_cell(text.title)}",
            causes,
            *(_cell(text.parts[part]) for part in PARTS[1:]),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join([*rows, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(render_docs())
