"""What the end of a command means: success, an answer by exit code, nothing found, or a failure with its cause."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from typing import Any

from holmes.core.process import Exit
from holmes.core.results import StructuredToolResult

# Exit codes that are answers.
_ANSWERS = {
    "grep": (1,),
    "egrep": (1,),
    "fgrep": (1,),
    "rg": (1,),
    "diff": (1,),
    "cmp": (1,),
    "pgrep": (1,),
    "pidof": (1,),
    "which": (1,),
    "type": (1,),
    "command": (1,),
    "test": (1,),
    "[": (1,),
    "systemctl": (1, 2, 3, 4),
}
_PIPE_FAILED = re.compile(
    r"stage \S+ of the pipe failed with exit code \d+\s*\Z"
)  # what tools/policy/serialise.py says
_FOLLOW_PROGRAMS = ("kubectl", "oc", "docker", "podman", "crictl", "journalctl", "tail", "flux", "dmesg", "argocd")
_FOLLOW_FLAG = re.compile(r"--follow(=.*)?|--follow-new|--watch(-only)?|-[a-zA-Z]*[fFwW][a-zA-Z]*")


def outcome(
    end: Exit, commands: Sequence[Sequence[str]], command: str, last_words: str = "", gap: str = ""
) -> StructuredToolResult:
    """The result of a command whose output is in the sink.

    ``last_words`` is the end of that output; ``gap`` says why the cluster cannot be reached.
    """
    gaps = (gap,) if gap and end.code else ()
    common: dict[str, Any] = {"invocation": command, "return_code": end.code, "gaps": gaps}
    if end.cause == "timeout" and end.size and any(map(_follows, commands)):
        return StructuredToolResult.success(notes=("it would go on; stopped at its timeout",), **common)
    if end.cause:
        return StructuredToolResult.failure(_cause(end), **common)
    if end.code == 0 and end.size:
        return StructuredToolResult.success(**common)
    if end.code == 0:
        return StructuredToolResult.nothing("The command succeeded and printed nothing.", **common)
    last = commands[-1] if commands else ("",)
    name = last[0].rpartition("/")[2]
    answers = end.code in _ANSWERS.get(name, ()) or (last[:3] == ("kubectl", "auth", "can-i") and end.code == 1)
    if answers and not _PIPE_FAILED.search(last_words):
        if not end.size:
            return StructuredToolResult.nothing(f"{name} found nothing (exit code {end.code}).", **common)
        return StructuredToolResult.success(notes=(f"{name} ended with exit code {end.code}",), **common)
    return StructuredToolResult.failure(_failed(end), **common)


def _follows(words: Sequence[str]) -> bool:
    return words[0].rpartition("/")[2] in _FOLLOW_PROGRAMS and any(map(_FOLLOW_FLAG.fullmatch, words[1:]))


def _cause(end: Exit) -> str:
    if end.cause == "timeout":
        kept = "what it printed until then is kept" if end.size else "it had printed nothing"
        return f"It did not end in time and was stopped; {kept}. Narrow it, or give a longer timeout (300 s at most)."
    if end.cause == "memory limit":
        return (
            "It needed too much memory and was stopped. Narrow it: fewer objects, a time range, a filter at the source."
        )
    if end.cause == "not found":
        return "bash is not installed here; use the other tools."
    return _failed(end) if end.code > 128 else f"It did not run: {end.cause}."


def _failed(end: Exit) -> str:
    silent = "" if end.size else ", and it printed nothing"
    if end.code == 137:
        return f"A program was killed (exit code 137): out of memory, or somebody killed it{silent}."
    if end.code == 127:
        return "A program is not installed here (exit code 127)."
    if 128 < end.code < 128 + signal.NSIG:
        return f"A program was ended by signal {end.code - 128} (exit code {end.code}){silent}."
    return f"Exit code {end.code}{silent}."
