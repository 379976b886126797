"""What a long text consists of: its line patterns with their counts, its time span, its errors."""

from __future__ import annotations

import re
from collections import Counter
from typing import BinaryIO

_BLOCK = 256 << 10
_ENDS = 20_000  # bytes in which the first and the last time are looked for
_MOST_OF_LINE = 4096  # bytes of a line that tell its pattern
_MOST_KINDS = 50_000  # different lines in memory; beyond that rare ones are forgotten
_KEPT_KINDS = 10_000
_SHOWN = 20
_WIDTH = 300

# Without these bytes lines that differ in numbers and hex ids alone are equal, at the speed of bytes.translate.
_VARIABLE = b"0123456789abcdefABCDEF"

_TIME = (
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
    r"|\d{4}/\d\d/\d\d \d\d:\d\d:\d\d|\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d(?: [+-]\d{4})?"
    r"|(?<=\b[IWEF])\d{4} \d\d:\d\d:\d\d\.\d+"
)
_TIMES = re.compile(_TIME)
_PARTS = re.compile(
    rf"(?P<time>{_TIME})|(?P<uuid>[0-9a-fA-F]{{8}}-(?:[0-9a-fA-F]{{4}}-){{3}}[0-9a-fA-F]{{12}})"
    r"|(?P<ip>\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b)"
    r"|(?P<n>\b\d+(?:\.\d+)?(?=(?:[num]?s|[mhdw%]|[KMGT]?i?B)?(?![\w.])))|(?P<id>\b\w*\d\w*)"
)
_NO_ERROR = re.compile(r"(?i:\blevel\W{1,4}(?:info|debug|trace|notice))|\b(?:INFO|DEBUG|TRACE)\b|^I\d{4} ")
_ERRORS = re.compile(
    r"(?i:\b(?:error|err|fatal|panic|crit(?:ical)?|exception|traceback|severe|fail(?:ed|ure|s)?|oom|killed|denied|refused"
    r"|unreachable|timed? ?out|timeout)\b)|^[EF]\d{4} "
)


def statistics(file: BinaryIO) -> str:
    """The statistics of a file of lines, as a short text."""
    counts: Counter[bytes] = Counter()
    samples: dict[bytes, bytes] = {}
    exact = True
    beginning = end = rest = b""
    lines = size = 0
    while piece := file.read(_BLOCK):
        size += len(piece)
        beginning = beginning or piece[:_ENDS]
        end = piece[-_ENDS:] if len(piece) >= _ENDS else (end + piece)[-_ENDS:]
        block = rest + piece
        cut = block.rfind(b"\n") + 1
        if not cut:
            rest = block if len(block) < _MOST_OF_LINE else block[:_MOST_OF_LINE]
            continue
        rest = block[cut:]
        lines += _count(block[: cut - 1], counts, samples)
        if len(counts) > _MOST_KINDS:
            exact = False
            counts = Counter(dict(counts.most_common(_KEPT_KINDS)))
            samples = {kind: samples[kind] for kind in counts}
    if rest:
        lines += _count(rest, counts, samples)
    return _report(counts, samples, lines, size, _span(beginning, end), exact)


def _count(block: bytes, counts: Counter[bytes], samples: dict[bytes, bytes]) -> int:
    lines = block.split(b"\n")
    if len(max(lines, key=len)) > _MOST_OF_LINE:
        lines = [line[:_MOST_OF_LINE] for line in lines]
        block = b"\n".join(lines)
    kinds = block.translate(None, _VARIABLE).split(b"\n")
    counts.update(kinds)
    new = set(kinds).difference(samples)
    if new:
        line_of = dict(zip(kinds, lines, strict=True))
        samples.update((kind, line_of[kind]) for kind in new)
    return len(lines)


def _report(counts: Counter[bytes], samples: dict[bytes, bytes], lines: int, size: int, span: str, exact: bool) -> str:
    patterns: Counter[str] = Counter()
    errors = 0
    for kind, count in counts.items():
        line = samples[kind].decode("utf-8", "replace")
        patterns[line_pattern(line)] += count
        errors += count if looks_like_error(line) else 0
    about = "" if exact else "about "
    head = [f"{lines:,} lines, {size:,} bytes", *([span] if span else []), f"{about}{errors:,} lines look like errors"]
    shown = [f"{count:>9,}  {pattern}" for pattern, count in patterns.most_common(_SHOWN)]
    more = len(patterns) - len(shown)
    title = f"most frequent line patterns{'' if exact else ' (rare ones left out)'}:"
    return "\n".join([*head, title, *shown, *([f"... and {more:,} more patterns"] if more > 0 else [])])


def line_pattern(line: str) -> str:
    """The line with a name in place of each part that varies."""
    pattern = _PARTS.sub(lambda found: f"<{found.lastgroup}>", line[:1000])
    return pattern[:_WIDTH] + ("..." if len(pattern) > _WIDTH or len(line) > 1000 else "")


def looks_like_error(line: str) -> bool:
    """Whether a line reports an error, by its words and its level."""
    return bool(_ERRORS.search(line)) and not _NO_ERROR.search(line)


def times_in(line: str) -> list[str]:
    """The times in a line, as they are written."""
    return _TIMES.findall(line)


def _span(beginning: bytes, end: bytes) -> str:
    first = _TIMES.search(beginning.decode("utf-8", "replace"))
    last = _TIMES.findall(end.decode("utf-8", "replace"))
    return f"from {first.group()} to {last[-1]}" if first and last else ""
