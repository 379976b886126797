"""Reading on in a stored result: lines, grep and statistics, as text for a model, whatever the size of the result.

Each answer has at most about 20,000 characters and takes under a second on 200 MB; memory stays bounded. The work is
done in a thread. Paths come from ``RunResults.path``. StoreError when the file cannot be read.
"""

from __future__ import annotations

import asyncio
import bisect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from holmes.core.errors import StoreError

MOST_CHARACTERS = 20_000  # of an answer
_MOST_OF_LINE = 2_000  # characters of one line
_AROUND = 300  # characters shown before and after a match in a longer line
_BLOCK = 256 << 10
_LONGEST_LINE = 4 << 20  # bytes; a longer line is searched in parts
_MOST_COUNTED = 20_000  # matching lines
_SECOND_LOOK = 64 << 20  # bytes of a file that is searched again without regard to case


class Grep(NamedTuple):
    """The answer of ``grep``: how many lines match (of the first 20,000), and the text to show."""

    matches: int
    text: str


async def lines(path: Path, first: int, last: int) -> str:
    """The lines ``first`` to ``last`` (from 1, both included) with their numbers."""
    return await asyncio.to_thread(_lines, path, first, last)


async def grep(path: Path, pattern: str, *, context: int = 0, ignore_case: bool = False, limit: int = 50) -> Grep:
    """The first ``limit`` lines that match an RE2 pattern, numbered, with ``context`` lines around each.

    An invalid pattern is searched as plain text, one that matches nowhere again without regard to case (up to 64 MB);
    the answer says so.
    """
    return await asyncio.to_thread(_grep, path, pattern, context, ignore_case, limit)


async def stats(path: Path) -> str:
    """Size, lines, time span, lines that look like errors, and the most frequent line patterns with their counts."""
    from holmes.core.result_stats import statistics

    with _opened(path) as file:
        return await asyncio.to_thread(statistics, file)


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise StoreError(f"the result cannot be read: {error.strerror}", where=str(path)) from error


def _lines(path: Path, first: int, last: int) -> str:
    first = max(first, 1)
    shown: list[str] = []
    room = MOST_CHARACTERS
    with _opened(path) as file:
        number = _seek(file, path, first)
        for line in file:
            if number > last or room <= 0:
                break
            if number >= first:
                shown.append(f"{number}: {_cut(line)}")
                room -= len(shown[-1])
            number += 1
        else:
            if number <= first:
                return f"There are only {number - 1:,} lines."
    if not shown:
        return f"No lines from {first} to {last}."
    if room <= 0 and number <= last:
        shown.append(
            f"... stopped here, {MOST_CHARACTERS:,} characters are the most of one answer; go on at line {number}"
        )
    return "\n".join(shown)


def _seek(file: BinaryIO, path: Path, line: int) -> int:
    """Go to the beginning of a line at or before ``line``; its number."""
    try:
        marks = [
            (int(before), int(offset)) for before, offset in json.loads(path.with_suffix(".json").read_bytes())["marks"]
        ]
    except (OSError, ValueError, KeyError, TypeError):
        marks = []
    place = bisect.bisect_left(marks, (line - 1, 0)) - 1
    if place < 0:
        return 1
    before, offset = marks[place]
    file.seek(offset)
    file.readline()
    return before + 2


def _cut(line: bytes, at: int = 0) -> str:
    """A line as text, of a long one the part around byte ``at``."""
    line = line.rstrip(b"\n")
    if len(line) <= _MOST_OF_LINE:
        return line.decode("utf-8", "replace")
    start = max(0, at - _AROUND) if at else 0
    end = min(len(line), at + _AROUND if at else _MOST_OF_LINE)
    part = line[start:end].decode("utf-8", "ignore")
    before = f"(+{start:,}) ... " if start else ""
    after = f" ... (+{len(line) - end:,} bytes of this line)" if end < len(line) else ""
    return f"{before}{part}{after}"


class _Match(NamedTuple):
    number: int  # of the line
    offset: int  # of the line in the file
    text: str


def _grep(path: Path, pattern: str, context: int, ignore_case: bool, limit: int) -> Grep:
    notes: list[str] = []
    with _opened(path) as file:
        count, found, total = _search(file, pattern, ignore_case, limit, notes)
        if not count and not ignore_case and path.stat().st_size <= _SECOND_LOOK:
            count, found, total = _search(file, pattern, True, limit, [])
            if count:
                notes.append("nothing matches as written; these match without regard to case")
        if not count:
            advice = ' ("or" is written | here, not \\|)' if "\\|" in pattern else ""
            return Grep(0, "\n".join([f"No line of {total:,} matches {pattern!r}{advice}.", *notes]))
        shown = _with_context(file, found, min(max(context, 0), 50))
    most = "at least " if count >= _MOST_COUNTED else ""
    rest = f"; the first {len(found):,} are shown" if count > len(found) else ""
    text = _bounded(shown)
    return Grep(count, "\n".join([text, f"({most}{count:,} matching lines of {total:,}{rest})", *notes]))


def _search(
    file: BinaryIO, pattern: str, ignore_case: bool, limit: int, notes: list[str]
) -> tuple[int, list[_Match], int]:
    """How many lines match, the first of them, and the number of lines in all."""
    import re2

    options = re2.Options()
    options.case_sensitive = not ignore_case
    options.log_errors = False
    options.never_nl = True
    try:
        searched = re2.compile(b"(?m)" + pattern.encode("utf-8", "replace"), options)
    except re2.error as error:
        reason = error.args[0] if error.args else "not valid"
        notes.append(f"not a valid RE2 pattern ({_text(reason)}), searched as plain text")
        searched = re2.compile(re2.escape(pattern.encode("utf-8", "replace")), options)
    count, total, found = 0, 0, list[_Match]()
    file.seek(0)
    for offset, block in _blocks(file):
        position = counted = 0
        lines_before = total
        while count < _MOST_COUNTED and (match := searched.search(block, position)):
            start = block.rfind(b"\n", 0, match.start()) + 1
            end = block.find(b"\n", match.end())
            end = len(block) if end < 0 else end
            if match.start() == len(block) > 0:
                break  # an empty match behind the last newline is on no line
            count += 1
            if len(found) < limit:
                lines_before += block.count(b"\n", counted, start)
                counted = start
                found.append(_Match(lines_before + 1, offset + start, _cut(block[start:end], match.start() - start)))
            position = end + 1
            if position > len(block):
                break
        total += block.count(b"\n")
    return count, found, total + (file.tell() > 0 and not _ends_with_newline(file))


def _text(reason: object) -> str:
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)


def _ends_with_newline(file: BinaryIO) -> bool:
    file.seek(-1, 2)
    return file.read(1) == b"\n"


def _blocks(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The file in blocks of whole lines with their offsets; a line of over 4 MB is cut, at a space if possible."""
    offset, rest = 0, b""
    while piece := file.read(_BLOCK):
        block = rest + piece
        cut = block.rfind(b"\n") + 1
        if not cut and len(block) >= _LONGEST_LINE:
            cut = block.rfind(b" ") + 1 or block.rfind(b",") + 1 or len(block)
        rest = block[cut:]
        if cut:
            yield offset, block[:cut]
            offset += cut
    if rest:
        yield offset, rest


def _with_context(file: BinaryIO, found: list[_Match], context: int) -> list[str]:
    """The found lines as ``12: text`` and the lines around as ``11- text``, groups parted by ``--``."""
    numbered = {match.number: f"{match.number}: {match.text}" for match in found}
    for match in found if context else ():
        reach = 1024 * context
        start = max(0, match.offset - reach)
        file.seek(start)
        before = file.read(match.offset - start).split(b"\n")[:-1]
        for distance, line in enumerate(reversed(before[-context:]), 1):
            numbered.setdefault(match.number - distance, f"{match.number - distance}- {_cut(line)}")
        file.seek(match.offset)
        for distance, line in enumerate(file.read(reach + _MOST_OF_LINE).split(b"\n")[1 : context + 1], 1):
            if line or file.tell() > match.offset + reach:
                numbered.setdefault(match.number + distance, f"{match.number + distance}- {_cut(line)}")
    shown: list[str] = []
    previous = 0
    for number in sorted(numbered):
        if context and previous and number > previous + 1:
            shown.append("--")
        shown.append(numbered[number])
        previous = number
    return shown


def _bounded(shown: list[str]) -> str:
    room = MOST_CHARACTERS
    for place, line in enumerate(shown):
        room -= len(line) + 1
        if room < 0:
            return "\n".join(
                [*shown[: max(place, 1)], f"... {len(shown) - max(place, 1)} more lines of this answer left out"]
            )
    return "\n".join(shown)
