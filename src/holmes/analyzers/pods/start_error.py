"""A container cannot be started at all.

Finds:
    bad-command: the command of the container does not exist in the image or may not be executed.
    start-error: the runtime cannot create or start the container for another reason.
From: waiting state (RunContainerError, CreateContainerError), last state (StartError), their messages, the command.
Look-alikes: a program that starts and then ends with 127 or 126 (see crash_loop).
Remedy: correct command and args, or use the image that has the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from holmes.analyzers.base import WORKLOADS, Facts
from holmes.analyzers.troubles import Trouble, troubles
from holmes.analyzers.words import cut, quoted
from holmes.core.findings import Finding

KINDS = ("Pod", *WORKLOADS, "Event")
LOGS = False

_EXEC = re.compile(r'exec: "(?P<program>[^"]+)"|exec (?P<path>/\S+?):|no command specified')
_NOT_FOUND = ("no such file or directory", "executable file not found", "no command specified", "not a directory")
_NOT_ALLOWED = ("permission denied", "exec format error")


def start_error(facts: Facts) -> Iterator[Finding]:
    """Containers that the runtime cannot start."""
    for trouble in troubles(facts, "start"):
        message = _message(trouble)
        image = trouble.case.spec.get("image")
        words = [*(trouble.case.spec.get("command") or []), *(trouble.case.spec.get("args") or [])]
        evidence = [
            trouble.state(),
            quoted("message", message),
            f"spec: image {image}, command {words}" if words else f"spec: image {image}, no command of its own",
        ]
        commands = ["describe pod {pod}"]
        if problem := _command_problem(message):
            program = _program(message, words)
            yield trouble.finding(
                "bad-command",
                f"{trouble.who} cannot start: {program} {problem} in image {image}.",
                evidence,
                f"Correct command/args of container {trouble.name}, or use an image that has {program}.",
                confidence=0.95,
                commands=commands,
            )
        else:
            yield trouble.finding(
                "start-error",
                f"{trouble.who} cannot be started: {cut(message, 200) or 'the runtime gives no reason'}.",
                evidence,
                "Mend what the message names (mounts, devices, security settings), then let the pod be made again.",
                confidence=0.85 if message else 0.6,
                commands=commands,
            )


def _message(trouble: Trouble) -> str:
    """The runtime's words: of the waiting state, or of the last try where that only says "back-off"."""
    waiting = str(trouble.case.waiting.get("message") or "")
    ended = str(trouble.case.ended.get("message") or "")
    return ended or ("" if waiting.startswith("back-off") else waiting)


def _command_problem(message: str) -> str:
    text = message.lower()
    if not _EXEC.search(message):
        return ""
    if any(words in text for words in _NOT_FOUND):
        return "does not exist"
    if any(words in text for words in _NOT_ALLOWED):
        return "cannot be executed"
    return ""


def _program(message: str, words: list[str]) -> str:
    found = _EXEC.search(message)
    name = (found["program"] or found["path"]) if found else None
    return str(name or next(iter(words), "the command"))
