"""Finds secrets in bytes: one pass of one RE2 union, then a closer look where it hit."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import quote

from holmes.core import secret_blocks as blocks
from holmes.core.secret_beside import COMPARED, FLAG, KEYED, NAMED, QUOTED, Beside
from holmes.core.secret_blocks import Found, Hit, MoreNeeded, Window
from holmes.core.secret_keys import is_random
from holmes.core.secret_kinds import SHAPES, TELLING, TOKENS, Shape, Token

if TYPE_CHECKING:
    import re2

_MEMORY = 16 << 20  # bytes that RE2 may use for its automaton
_TOKEN_START = 6  # characters after a prefix that make the union hit: a line break may have cut off the rest
_LONGEST_ENCODED = 1 << 20
_DEEPEST = 2  # base64 in base64
_REACH = 200  # bytes before a mark in which its secret begins
_BASE64_RUN = re.compile(rb"[A-Za-z0-9+/_-]+={0,2}")
_BASE64_CHARS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-"

Judge = Callable[[Window, int], Found]


class Rule:
    """A pattern of the union, and what looks closer where it hit."""

    def __init__(self, pattern: str, judge: Judge) -> None:
        self.pattern = pattern
        self.judge = judge

    @cached_property
    def compiled(self) -> re.Pattern[bytes]:
        """The same for Python's re, which is quicker at one place."""
        return re.compile(self.pattern.encode("utf-8"))

    @cached_property
    def range(self) -> tuple[bytes, bytes]:
        """The lowest and the highest two bytes that a match can begin with."""
        lowest, highest = _compiled(self.pattern).possiblematchrange(2)
        return lowest, highest


class Finder:
    """Knows all kinds of secrets and the literal values of our own credentials.

    ``find`` costs about 2 ns a byte where nothing hits, 10 to 20 µs where something does.
    """

    def __init__(self, literals: Iterable[str] = ()) -> None:
        self._literals = sorted({form for text in literals for form in _forms(text)}, key=len, reverse=True)
        self._beside = Beside(self._kind_of)
        self._able: dict[bytes, list[Rule]] = {}

    def find(self, window: Window, start: int, stop: int) -> tuple[list[Hit], int]:
        """Secrets that begin in ``start:stop``, in order, and up to where that is decided.

        What is decided may end behind ``stop`` (a secret reaches over it) or before (more is needed to judge).
        """
        hits: list[Hit] = []
        position, search = start, self._union.search
        while position < stop:
            found = search(window.data, position)
            at = found.start() if found else stop
            if at >= stop:
                break
            try:
                here, resume = self._judge(window, at)
                if here and here[-1].end == len(window.data):
                    window.wait(at)
            except MoreNeeded:
                return hits, max(at, position)
            hits += here if here and here[0].start >= position else [hit for hit in here if hit.start >= position]
            position = max(resume, at + 1, here[-1].end if here else 0)
        return hits, max(position, stop)

    def _judge(self, window: Window, at: int) -> Found:
        first = window.data[at : at + 2]
        for rule in self._able.get(first) or self._find_able(first):
            if rule.compiled.match(window.data, at):
                return rule.judge(window, at)
        return Found([], at + 1)

    @cached_property
    def _rules(self) -> tuple[Rule, ...]:
        rules = [
            Rule(r"\[MASKED:[a-z0-9-]+:[0-9a-f]+\]", _masked_already),
            Rule(r"-----? ?BEGIN[ A-Z0-9]*PRIVATE KEY|PuTTY-User-Key-File-", blocks.private_key),
            *(Rule(f"{token.prefix}{token.charset}{{{_TOKEN_START}}}", _TokenJudge(token)) for token in TOKENS),
            *(
                Rule(shape.mark or shape.pattern.replace("(?P<s>", "(?:"), _ShapeJudge(shape, self._kind_of))
                for shape in SHAPES
            ),
            Rule(r"\b(?:stringData|data):[ ]*(?:[&!#][^\n]*)?\n", blocks.yaml_secret),
            Rule(r"\b(?:stringData|data)\\*\"\s*:\s*\{", blocks.json_secret),
            Rule(r"\b(?:stringData|data):map\[", blocks.go_secret),
            Rule(NAMED, self._beside.named),
            Rule(FLAG, self._beside.flag),
            Rule(QUOTED, self._beside.quoted),
            Rule(COMPARED, self._beside.compared),
            Rule(KEYED, self._beside.keyed),
            Rule("|".join(sorted({part for word in TELLING for part in _in_base64(word)})), self._encoded),
        ]
        if self._literals:
            rules.insert(0, Rule("|".join(map(re.escape, self._literals)), self._own))
        return tuple(rules)

    @cached_property
    def _union(self) -> re2._Regexp:
        return _compiled("|".join(f"(?:{rule.pattern})" for rule in self._rules))

    def _find_able(self, first: bytes) -> list[Rule]:
        """The rules whose matches can begin with two bytes."""
        able = [rule for rule in self._rules if rule.range[0] <= first <= rule.range[1]]
        return self._able.setdefault(first, able)

    @cached_property
    def _exact(self) -> tuple[tuple[str, ...], re.Pattern[bytes]]:
        tokens = [(token.kind, f"{token.prefix}{token.charset}{{{token.least},}}") for token in TOKENS]
        shapes = [(shape.kind, shape.pattern) for shape in SHAPES if "(?P<s>" not in shape.pattern]
        kinds, patterns = zip(*tokens, *shapes, strict=True)
        return kinds, re.compile("|".join(f"({pattern})" for pattern in patterns).encode())

    def _kind_of(self, value: bytes) -> str:
        """The kind of a secret that shows itself, "" when it does not."""
        kinds, pattern = self._exact
        found = pattern.fullmatch(value)
        return kinds[found.lastindex - 1] if found and found.lastindex else ""

    def _own(self, window: Window, at: int) -> Found:
        for form in self._literals:
            text = form.encode("utf-8")
            if window.data.startswith(text, at):
                return Found([Hit("own-credential", at, at + len(text))], at + len(text))
        return Found([], at + 1)

    def _encoded(self, window: Window, at: int) -> Found:
        """Base64 whose text has a secret in it."""
        data = window.data
        start = _run_start(data, at)
        run = _BASE64_RUN.match(data, start, start + _LONGEST_ENCODED)
        if run is None:
            return Found([], at + 4)
        if run.end() == len(data):
            window.wait(start)
        text = _decoded(run.group())
        if text is None or window.depth >= _DEEPEST:
            return Found([], run.end())
        hits, _ = self.find(Window(text, True, window.depth + 1), 0, len(text))
        return Found([Hit("encoded-secret", *run.span())] if hits else [], run.end())


def _compiled(pattern: str) -> re2._Regexp:
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    options.max_mem = _MEMORY
    return re2.compile(pattern.encode("utf-8"), options)


def _masked_already(window: Window, at: int) -> Found:
    return Found([], window.data.index(b"]", at))


class _TokenJudge:
    """Looks at a token whose prefix was seen: whole, cut by a line break, or cut short."""

    def __init__(self, token: Token) -> None:
        self.token = token
        self._pattern = re.compile(f"{token.prefix}({token.charset}+)".encode())
        self._rest = f"{token.charset}"

    def __call__(self, window: Window, at: int) -> Found:
        token, data = self.token, window.data
        found = self._pattern.match(data, at)
        if found is None:
            return Found([], at + 1)
        size, end = len(found.group(1)), found.end()
        if token.random and not is_random(found.group().decode("ascii"), 8):
            return Found([], end)
        if size >= token.least:
            hits = [Hit(token.kind, at, end)]
            return Found(hits + _aws_secret(data, end) if token.kind == "aws-access-key-id" else hits, end)
        if end == len(data):
            window.wait(at)
        rest = self._continued(window, at, end, token.least - size)
        if rest:
            whole = found.group() + data[slice(*rest)]
            return Found([Hit(token.kind, at, end, whole), Hit(token.kind, *rest, whole)], rest[1])
        long_enough = size >= 0.6 * token.least and not token.random
        return Found([Hit(token.kind, at, end)] if long_enough else [], end)

    def _continued(self, window: Window, at: int, end: int, missing: int) -> tuple[int, int] | None:
        """The rest of the token on the next line, alone or behind what loggers put first."""
        data = window.data
        if not data.startswith(b"\n", end):
            return None
        if data.find(b"\n", end + 1) < 0:
            window.wait(at)
        rest = rb"(%b{%d})(?![A-Za-z0-9_-])" % (self._rest.encode(), missing)
        found = re.compile(rb"\n(?:[^\n]{0,100}?[ \t\"])??" + rest).match(data, end)
        return found.span(1) if found else None


_AWS_PAIR = re.compile(rb"[\s,:;|\"'=/]{1,12}(?P<s>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])")


def _aws_secret(data: bytes, end: int) -> list[Hit]:
    """The secret key right behind its id: a line of a CSV file, a pair in a command."""
    pair = _AWS_PAIR.match(data, end)
    if pair is None or not is_random(pair.group("s").decode("ascii"), 40):
        return []
    return [Hit("aws-secret-key", *pair.span("s"))]


_PLACEHOLDER = re.compile(rb"(?i:\$.*|<.*|\{.*|%[a-z_]+%?|\[.*|[*x.-]+|.*\*\*\*.*|\(.*|redacted|masked|hidden)")


class _ShapeJudge:
    """Looks at a match of an irregular form."""

    def __init__(self, shape: Shape, kind_of: Callable[[bytes], str]) -> None:
        self.shape = shape
        self._kind_of = kind_of
        self._pattern = re.compile(shape.pattern.encode())
        self._group = "s" if "(?P<s>" in shape.pattern else 0

    def __call__(self, window: Window, at: int) -> Found:
        found = self._around(window.data, at) if self.shape.mark else self._pattern.match(window.data, at)
        if found is None:
            return Found([], at + 1)
        start, end = found.span(self._group)
        value = window.data[start:end]
        if b"[MASKED:" in found.group():
            return Found([], at + 1)
        if _PLACEHOLDER.fullmatch(value):
            return Found([], max(end, at + 1))
        if not self._plausible(value):
            return Found([], max(start, at + 1))
        kind = self._kind_of(value) if self._group else ""
        return Found([Hit(kind or self.shape.kind, start, end)], end)

    def _around(self, data: bytes, mark: int) -> re.Match[bytes] | None:
        """The match that has the mark in it."""
        begin = max(0, mark - _REACH)
        while found := self._pattern.search(data, begin, mark + _REACH):
            if found.end() > mark:
                return found if found.start() <= mark else None
            begin = found.end()
        return None

    def _plausible(self, value: bytes) -> bool:
        match self.shape.check:
            case "random":
                return is_random(value.decode("utf-8", "replace"))
            case "pair":
                return b":" in (_decoded(value) or b"")
            case "json":
                return (_decoded(value.split(b".")[0]) or b"").startswith(b"{")
        return True


def _run_start(data: bytes, at: int) -> int:
    """Where the run of base64 characters around ``at`` begins."""
    reach = 256
    while True:
        before = data[max(0, at - reach) : at]
        start = at - (len(before) - len(before.rstrip(_BASE64_CHARS)))
        if start > at - reach or reach >= _LONGEST_ENCODED:
            return start
        reach *= 4


def _decoded(run: bytes) -> bytes | None:
    """The text that base64 or base64url stands for, None when it is not text."""
    run = run.rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
    run = run[: len(run) - (len(run) % 4 == 1)]
    try:
        beginning = base64.b64decode(run[: min(64, len(run) // 4 * 4)])
        text = base64.b64decode(run + b"=" * (-len(run) % 4)) if _is_text(beginning) else None
    except binascii.Error:
        return None
    return text if text is not None and _is_text(text) else None


def _is_text(data: bytes) -> bool:
    return not any(byte < 32 and byte not in b"\t\n\r" for byte in data[:256]) and data.isascii()


def _forms(text: str) -> set[str]:
    """The spellings in which a literal occurs: as it is, in a URL, in JSON, in base64."""
    return {text, quote(text, safe=""), json.dumps(text)[1:-1], *_in_base64(text)}


def _in_base64(text: str) -> set[str]:
    """What base64 of any text shows where ``text`` stands in it: it depends on the place, in three ways."""
    plain = text.encode("utf-8", "surrogatepass")
    forms = set()
    for before, unclear in ((0, 0), (1, 2), (2, 3)):
        encoded = base64.b64encode(b"\0" * before + plain).decode("ascii")
        forms.add(encoded[unclear : (before + len(plain)) * 8 // 6])
    return forms
