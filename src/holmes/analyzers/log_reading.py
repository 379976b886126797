"""What the end of a log says: the decisive line, and stack traces of the usual languages."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

_ERROR = re.compile(
    r"\b(fatal|panic|critical|emerg|error|err|exception|failed|failure|cannot|can't|could not|unable to|denied|refused|"
    r"not found|no such|not set|missing|invalid|required|timed? ?out|unreachable|abort(ed)?|segmentation fault|"
    r"killed)\b",
    re.IGNORECASE,
)
_KLOG = re.compile(r"[IWEF]\d{4} \d\d:\d\d:")
_LEVEL = re.compile(
    r"\blevel=\"?(\w+)|(?:^|[\s\[|])(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|FATAL|CRITICAL|SEVERE|PANIC)(?=[\s\]:|])"
)
_ERROR_LEVELS = frozenset("error err fatal panic critical alert emergency emerg severe".split())
_LOUD = re.compile(r"\b(fatal|panic|critical|emerg)\b", re.IGNORECASE)
_PANIC = re.compile(r"^(?:\S+ )?(panic: .+|fatal error: .+|thread '.*' panicked at .+)")
_GO_FRAME = re.compile(r"^\s+(/\S+\.go:\d+|\S+\.go:\d+)")
_GO_LIBRARY = re.compile(r"/(go|golang)/src/|^runtime/|/runtime/(panic|signal)")
_PYTHON = re.compile(r"^\s*Traceback \(most recent call last\):")
_PYTHON_FRAME = re.compile(r'^\s*File "(.+?)", line (\d+)')
_PYTHON_END = re.compile(r"^([A-Za-z_][\w.]*(Error|Exception|Exit|Interrupt|Warning)?)(: .*)?$")
_JVM = re.compile(r"Exception in thread|^\s*Caused by: |^([\w$]+\.)+[\w$]*(Exception|Error)(: |$)")
_JVM_FRAME = re.compile(r"^\s+at ([\w$.<>/]+\([^)]*\))")
_NODE = re.compile(r"^(?:Uncaught )?((?:[A-Z]\w*)?Error)(?: \[[A-Z_]+\])?: .+")
_NODE_FRAME = re.compile(r"^\s+at (.+:\d+:\d+\)?)")


@dataclass(frozen=True, slots=True)
class StackTrace:
    """A crash in the log: ``head`` says what, ``frame`` where ("" when none was seen), ``line`` is the frame's line."""

    language: str
    head: str
    frame: str = ""
    line: str = ""


def decisive_line(lines: Sequence[str]) -> str:
    """The line that most probably says why the program ended: its last loud line, else error line, else last line."""
    written = [line for line in lines if line.strip()]
    trace = stack_trace(written)
    if trace:
        return trace.head
    for pattern in (_LOUD, _ERROR):
        for line in reversed(written):
            if pattern.search(line):
                return line
    return written[-1] if written else ""


def is_error(line: str) -> bool:
    """Whether a line reports an error: by its level where it has one, else by its words."""
    level = level_of(line)
    return level == "error" if level else bool(_ERROR.search(line))


def level_of(line: str) -> Literal["error", "warning", "info", ""]:
    """The level that a line gives itself (JSON, klog, logfmt, or a word near its start), "" when there is none."""
    if line.startswith("{"):
        word = _json_level(line)
    elif _KLOG.match(line):
        word = {"I": "info", "W": "warning"}.get(line[0], "error")
    else:
        found = _LEVEL.search(line[:100])
        word = (found[1] or found[2]).lower() if found else ""
    if word in ("info", "debug", "trace", "notice", "verbose"):
        return "info"
    if word.startswith("warn"):
        return "warning"
    return "error" if word in _ERROR_LEVELS else ""


def _json_level(line: str) -> str:
    try:
        parsed = json.loads(line)
    except ValueError:
        return ""
    if not isinstance(parsed, dict):
        return ""
    return str(parsed.get("level") or parsed.get("severity") or parsed.get("lvl") or "").lower()


def stack_trace(lines: Sequence[str]) -> StackTrace | None:
    """The last crash that the lines show with a stack trace or a panic, None when there is none."""
    for start in range(len(lines) - 1, -1, -1):
        line = lines[start]
        rest = lines[start + 1 :]
        if found := _PANIC.match(line):
            return StackTrace("Rust" if "panicked at" in line else "Go", found[1], *_go_frame(rest))
        if _PYTHON.match(line) and (trace := _python(rest)):
            return trace
        if _JVM.search(line) and any(_JVM_FRAME.match(frame) for frame in rest[:3]):
            return StackTrace("Java", line.strip(), *_first(_JVM_FRAME, rest))
        if _NODE.match(line) and any(_NODE_FRAME.match(frame) for frame in rest[:3]):
            return StackTrace("JavaScript", line.strip(), *_first(_NODE_FRAME, rest))
    return None


def _go_frame(lines: Sequence[str]) -> tuple[str, str]:
    """The first frame that is neither of the runtime nor of the standard library, else the first one; and its line."""
    frames = [(found[1], line.strip()) for line in lines if (found := _GO_FRAME.match(line))]
    own = [frame for frame in frames if not _GO_LIBRARY.search(frame[0])]
    return next(iter(own or frames), ("", ""))


def _python(lines: Sequence[str]) -> StackTrace | None:
    frame, written = "", ""
    for line in lines:
        if found := _PYTHON_FRAME.match(line):
            frame, written = f"{found[1]}:{found[2]}", line.strip()
        elif _PYTHON_END.match(line.strip()) and not line.startswith((" ", "\t")):
            return StackTrace("Python", line.strip(), frame, written)
    return None


def _first(pattern: re.Pattern[str], lines: Sequence[str]) -> tuple[str, str]:
    return next(((found[1], line.strip()) for line in lines if (found := pattern.match(line))), ("", ""))
