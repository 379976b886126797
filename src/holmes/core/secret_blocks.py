"""Secrets of many lines: PEM, YAML block scalars, the data of Kubernetes Secrets."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

HOLD = 64 << 10  # bytes that a stream waits for the end of something
HOLD_OBJECT = 1600 << 10  # the same for a Kubernetes object; etcd takes 1.5 MB
_PEM_BODY = 16 << 10
_KIND_REACH = 4 << 10  # bytes around ``data`` in which the object's kind is looked for


class Hit(NamedTuple):
    """A place to mask; ``secret`` is the whole secret when this is one part of it."""

    kind: str
    start: int
    end: int
    secret: bytes = b""


class Found(NamedTuple):
    """What a closer look found, and where the search goes on."""

    hits: list[Hit]
    resume: int


class MoreNeeded(Exception):
    """Cannot be judged before the next piece has come."""


class Window(NamedTuple):
    """The bytes in sight; ``final`` when nothing follows them; ``depth`` counts the layers of base64 around them."""

    data: bytes
    final: bool
    depth: int = 0

    def wait(self, begin: int, limit: int = HOLD) -> None:
        """Raise MoreNeeded when more can come and no more than ``limit`` bytes wait for it."""
        if not self.final and len(self.data) - begin < limit:
            raise MoreNeeded


_PEM_BEGIN = re.compile(rb"-----? ?BEGIN[ A-Z0-9]*PRIVATE KEY(?: BLOCK)? ?-{0,5}")
_PEM_END = re.compile(rb"-----? ?END[ A-Z0-9]*PRIVATE KEY(?: BLOCK)? ?-{0,5}")
_PEM_LINES = re.compile(
    rb"(?:(?:\\+[nr]|[\s\"',])*(?:[A-Za-z0-9+/]{16,}={0,2}|(?:Proc-Type|DEK-Info|Comment|Version):[^\n\\]*))*"
    rb"(?:(?:\\+[nr]|[\s\"',])*[A-Za-z0-9+/]+={1,2})?"
)
_PUTTY = re.compile(rb"PuTTY-User-Key-File-\d[^\n]*(?:\n(?:[A-Za-z-]+: [^\n]*|[A-Za-z0-9+/=]+))*")
_NOT_BASE64 = bytes(set(range(256)) - set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="))


def private_key(window: Window, at: int) -> Found:
    """A private key from BEGIN to END; without END, as far as its lines go."""
    data = window.data
    putty = _PUTTY.match(data, at)
    if putty:
        if putty.end() == len(data):
            window.wait(at)
        return Found([Hit("private-key", at, putty.end())], putty.end())
    begin = _PEM_BEGIN.match(data, at)
    if begin is None:
        return Found([], at + 10)
    limit = begin.end() + _PEM_BODY
    word = data.find(b"END ", begin.end(), limit)
    end = _PEM_END.search(data, max(begin.end(), word - 6), limit) if word >= 0 else None
    if end is None:
        window.wait(at, _PEM_BODY + 4096)
    if end is not None:
        body = data[begin.end() : end.start()]
        if len(body.translate(None, _NOT_BASE64)) >= 0.6 * len(body):
            return Found([Hit("private-key", at, end.end())], end.end())
    lines = _PEM_LINES.match(data, begin.end())
    stop = lines.end() if lines else begin.end()
    return Found([Hit("private-key", at, stop)], stop)


_BLOCK_HEAD = re.compile(rb"[|>][+-]?\d?[+-]?[ \t]*(?:#[^\n]*)?\n")


def block_scalar(window: Window, at: int, indent: int) -> tuple[int, int] | None:
    """The text of a YAML block scalar whose ``|`` or ``>`` stands at ``at`` behind a key in column ``indent``."""
    data = window.data
    head = _BLOCK_HEAD.match(data, at)
    if head is None:
        return None
    end = head.end()
    for line_start, line_end, column in _lines(data, head.end()):
        if column <= indent and data[line_start:line_end].strip():
            break
        end = line_end
    else:
        window.wait(at)
    block = data[head.end() : end]
    start = head.end() + len(block) - len(block.lstrip())
    stop = head.end() + len(block.rstrip())
    return (start, stop) if start < stop else None


def _lines(data: bytes, position: int) -> Iterator[tuple[int, int, int]]:
    """Start, end (without the newline) and indentation of the lines from ``position`` on."""
    while position < len(data):
        newline = data.find(b"\n", position)
        end = len(data) if newline < 0 else newline
        line = data[position:end]
        yield position, end, len(line) - len(line.lstrip(b" "))
        position = end + 1


_YAML_KEY = re.compile(rb"([ ]*)(?:- )?(stringData|data):[ ]*(?:[&!#][^\n]*)?\n")
_YAML_ENTRY = re.compile(rb"[ ]*([\"']?)[A-Za-z0-9._-]+\1:[ ]*(?P<value>[^\n]*)")
_SECRET_TYPE = rb"Opaque|kubernetes\.io/|helm\.sh/|bootstrap\.kubernetes\.io/"
_YAML_KIND = re.compile(rb"[\"']?kind[\"']?:[ ]*[\"']?(?P<kind>\w+)|type:[ ]*[\"']?(?:%b)" % _SECRET_TYPE)


def yaml_secret(window: Window, at: int) -> Found:
    """The values under ``data:`` or ``stringData:`` of a Secret written as YAML."""
    data = window.data
    line_start = data.rfind(b"\n", 0, at) + 1
    key = _YAML_KEY.match(data, line_start)
    if key is None or key.end() <= at:
        return Found([], at + 5)
    column = key.start(2) - line_start
    values: list[tuple[int, int]] = []
    end = _yaml_values(window, at, key.end(), column, values)
    if not values:
        return Found([], key.end())
    if key.group(2) != b"stringData":
        kind = _yaml_kind(window, at, line_start, end, column)
        if kind != b"Secret" and (kind or not _all_encoded(data, values)):
            return Found([], key.end())
    return Found([Hit("kubernetes-secret", *span) for span in values], end)


def _yaml_values(window: Window, at: int, position: int, column: int, values: list[tuple[int, int]]) -> int:
    """Collect the spans of the values in a map deeper than ``column``; where the map ends."""
    data = window.data
    inner = -1
    skip_to, goes_on = position, False
    for line_start, line_end, indent in _lines(data, position):
        if line_start < skip_to or not data[line_start:line_end].strip():
            continue
        if line_end == len(data):  # may go on
            window.wait(at, HOLD_OBJECT)
        if inner < 0:
            inner = indent
        if indent < inner or inner <= column:
            return line_start
        entry = _YAML_ENTRY.match(data, line_start, line_end) if indent == inner else None
        if entry is None and (indent == inner or not goes_on):
            values.clear()  # a deeper map, a list: not the data of a Secret
            return line_start
        if entry is None:  # a folded value
            values[-1] = (values[-1][0], line_start + len(data[line_start:line_end].rstrip()))
            continue
        block = block_scalar(window, entry.start("value"), inner)
        found = [block] if block else _unquoted(data, entry.start("value"), line_end)
        values.extend(found)
        skip_to, goes_on = (block[1], False) if block else (skip_to, bool(found))
    window.wait(at, HOLD_OBJECT)
    return len(data)


def _unquoted(data: bytes, start: int, end: int) -> list[tuple[int, int]]:
    value = data[start:end].rstrip()
    end = start + len(value)
    if value[:1] in (b'"', b"'") and value[-1:] == value[:1] and len(value) > 1:
        start, end = start + 1, end - 1
    empty = start == end or value in (b"{}", b"null", b"~") or value.startswith(b"[MASKED:")
    return [] if empty else [(start, end)]


def _yaml_kind(window: Window, at: int, line_start: int, end: int, column: int) -> bytes:
    """The ``kind`` beside a key in ``column``: after the map, before it, or "" when it is out of sight."""
    data = window.data
    after = data[end : end + _KIND_REACH]
    if not window.final and end + _KIND_REACH > len(data):
        after = after[: after.rfind(b"\n") + 1]  # the last line may go on
    kind, inside = _first_kind(after.split(b"\n"), column)
    if kind:
        return kind
    if inside and end + _KIND_REACH > len(data):
        window.wait(at, HOLD_OBJECT)
    if column >= 2 and data.startswith(b"- ", line_start + column - 2):
        return b""
    before = data[max(0, line_start - _KIND_REACH) : line_start]
    return _first_kind(reversed(before.split(b"\n")), column)[0] if b"kind" in before else b""


def _first_kind(lines: Iterable[bytes], column: int) -> tuple[bytes, bool]:
    """The first ``kind`` in a column, and whether the lines are still inside the object at their end."""
    for line in lines:
        indent = len(line) - len(line.lstrip(b" -"))
        if line.startswith(b"---") or (indent < column and line.strip()):
            return b"", False
        kind = _YAML_KIND.match(line, column) if indent == column else None
        if kind:
            return kind.group("kind") or b"Secret", True
        if column >= 2 and line[column - 2 : column] == b"- ":
            return b"", False
    return b"", True


_JSON_KEY = re.compile(rb"(?P<name>stringData|data)(?P<quote>\\*\")\s*:\s*\{")
_JSON_PARTS = re.compile(
    rb"[{}]|\\*\"kind\\*\"\s*:\s*\\*\"(?P<kind>\w+)\\*\"|\\*\"type\\*\"\s*:\s*\\*\"(?P<type>%b)" % _SECRET_TYPE
)


def json_secret(window: Window, at: int) -> Found:
    """The values under ``data`` or ``stringData`` of a Secret written as JSON, inside a JSON string as well."""
    data = window.data
    key = _JSON_KEY.match(data, at)
    if key is None:
        return Found([], at + 5)
    quote, plain = re.escape(key.group("quote")), key.group("name") == b"data"
    text = rb"[A-Za-z0-9+/=]*" if plain else rb"(?:(?!%b)(?s:\\.|.))*" % quote
    name = rb"\s*%b[A-Za-z0-9._-]+%b\s*:\s*%b" % (quote, quote, quote)
    spans: list[tuple[int, int]] = []
    position = key.end()
    entry = re.compile(name + rb"(%b)%b\s*,?\s*" % (text, quote))
    while found := entry.match(data, position):
        spans.append(found.span(1))
        position = found.end()
    if not data.startswith(b"}", position):
        begun = re.compile(rb"\s*%b[A-Za-z0-9._-]*(?:%b[\s:]*)?\Z" % (quote, quote))
        if position < len(data) and not begun.match(data, position):
            cut = re.compile(name + rb"([A-Za-z0-9+/=]+)\Z").match(data, position)
            if cut is None:
                return Found([], key.end())
            spans.append(cut.span(1))
            position = len(data)
        window.wait(at, HOLD_OBJECT)
    values = [span for span in spans if span[0] < span[1] and not data.startswith(b"[MASKED:", span[0])]
    if plain and values:
        kind = _json_kind(window, at, position + 1)
        if kind != b"Secret" and (kind or not _all_encoded(data, values)):
            return Found([], key.end())
    return Found([Hit("kubernetes-secret", *span) for span in values], max(position, key.end()))


def _json_kind(window: Window, at: int, position: int) -> bytes:
    """The ``kind`` in the object that holds the map which ends at ``position``; "" when it is out of sight."""
    data = window.data
    after = data[position : position + _KIND_REACH]
    kind, inside = b"", after.count(b"}") <= after.count(b"{")
    if b"kind" in after or b"type" in after:
        kind, inside = _sibling_kind(_JSON_PARTS.finditer(after), b"}")
    if kind:
        return kind
    if inside and position + _KIND_REACH > len(data):
        window.wait(at, HOLD_OBJECT)
    before = data[max(0, at - _KIND_REACH) : at]
    return _sibling_kind(reversed(list(_JSON_PARTS.finditer(before))), b"{")[0] if b"kind" in before else b""


def _sibling_kind(parts: Iterable[re.Match[bytes]], out: bytes) -> tuple[bytes, bool]:
    """The first ``kind`` in the same object, and whether the parts are still inside it; ``out`` leaves an object."""
    depth = 0
    for part in parts:
        if part.group() in (b"{", b"}"):
            depth += -1 if part.group() == out else 1
        elif depth == 0:
            return part.group("kind") or b"Secret", True
        if depth < 0:
            return b"", False
    return b"", True


_GO_KEY = re.compile(rb"(?:stringData|data):map\[")
_GO_ENTRY = re.compile(rb"[A-Za-z0-9._-]+:([A-Za-z0-9+/=]*)(?:[ ]|(?=\]))")


def go_secret(window: Window, at: int) -> Found:
    """The values of ``data:map[...]``, as Go templates print a Secret."""
    data = window.data
    key = _GO_KEY.match(data, at)
    if key is None:
        return Found([], at + 5)
    values: list[tuple[int, int]] = []
    position = key.end()
    while found := _GO_ENTRY.match(data, position):
        values.append(found.span(1))
        position = found.end()
    if position == len(data):
        window.wait(at, HOLD_OBJECT)
    values = [span for span in values if span[0] < span[1]]
    if not values or not _all_encoded(data, values):
        return Found([], key.end())
    return Found([Hit("kubernetes-secret", *span) for span in values], position)


def _all_encoded(data: bytes, values: list[tuple[int, int]]) -> bool:
    """Whether every value is base64 of text, a PEM or something packed: the look of a Secret without its kind."""
    return all(_is_encoded(data[start:end]) for start, end in values)


def _is_encoded(value: bytes) -> bool:
    if len(value) < 4 or len(value) % 4:
        return False
    try:
        plain = base64.b64decode(value, validate=True)
    except binascii.Error:
        return False
    packed = plain.startswith(b"\x1f\x8b")
    return packed or (plain.isascii() and all(byte >= 32 or byte in b"\t\n\r" for byte in plain))
