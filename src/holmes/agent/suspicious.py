"""Finds text in results that talks to the model: instructions, forged markers, forged approvals, hidden commands.

What is found changes nothing of what may run (the gate decides that); it is told in the report. The phrases stand in
``suspicious_phrases.txt``. Ordinary logs, manifests and documentation should pass: each phrase wants the words that
make an order of it.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from holmes.core.text import one_line

_MOST = 5  # quotes of one text
_WIDTH = 140  # characters of a quote
_BLOBS = 40  # base64 texts that are looked into

_GAP = r"[\s\"'`*_,.:;()>#|-]+"
_ANY_WORDS = rf"(?:[\w-]+{_GAP}){{0,4}}"
_REPEATED = {"": "", "?": "?", "*": "{0,3}"}
# What a log puts before each line: times, levels, streams, the source in brackets.
_PREFIX = re.compile(
    r"^(?:[ \t>|#*/-]*(?:\[?\d{2,4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d)?[\d.,]*(?:Z|[+-]\d\d:?\d\d)?\]?"
    r"|\[?\d\d:\d\d:\d\d[\d.,]*\]?|[IWEF]\d{4}|\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL)\]?:?"
    r"|std(?:out|err) [FP]|\[[\w./-]{1,40}\]|[\w.-]{1,40}\[\d{1,7}\]:)(?=[ \t]|$))+[ \t]*",
    re.M | re.I,
)
_ESCAPED = re.compile(r"\\[ntr]|\\(?=[\"'])")
_BLOB = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{24,2000}={0,2}(?![A-Za-z0-9+/])")
_SHELL = re.compile(r"\s*(?:sudo |bash |sh |curl |wget |rm -|kubectl |nc |python3? |touch |cat /|chmod |/bin/|#!)")
_PICTURE = re.compile(r"!(?=\[.{0,500}?\]\s?[(\[])", re.S)
_TAG = re.compile(r"<(?=\s*(?:img|image|picture|iframe|video|audio|object|embed|link|script|style)\b)", re.I)
_DEFINITION = re.compile(r"^( {0,3})\[(?=[^\]\n]+\]:\s*\S)", re.M)


def suspicious(text: str) -> list[str]:
    """Short quotes of what talks to the model, five at most; [] for ordinary text. About 1 ms for 20,000 characters."""
    plain = _plain(text)
    found: list[str] = []
    told = 0  # what a quote shows already
    for start, end in _spans(plain):
        if start >= told:
            told = end + 60
            found.append(one_line(plain[max(0, start - 20) : told], _WIDTH))
        if len(found) == _MOST:
            break
    return found or _decoded(text)


def without_pictures(markdown: str) -> str:
    """Markdown in which nothing is loaded by whoever shows it: a picture's address could carry data out."""
    return _DEFINITION.sub(r"\1\\[", _TAG.sub(r"\\<", _PICTURE.sub("", markdown)))


def _plain(text: str) -> str:
    """One way to write it: no log prefixes, no escapes, no look-alike widths of letters."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    if "\\" in text:
        text = _ESCAPED.sub(lambda match: "\n" if len(match[0]) > 1 else "", text)
    return _PREFIX.sub("", text)


def _spans(plain: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in _phrases().finditer(plain))


def _decoded(text: str) -> list[str]:
    """Quotes of orders and commands that stand in base64."""
    found: list[str] = []
    for blob in list(_BLOB.finditer(text))[:_BLOBS]:
        try:
            inner = base64.b64decode(blob[0] + "=" * (-len(blob[0]) % 4), validate=True).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError):
            continue
        if inner.strip().isprintable() and (_SHELL.match(inner) or next(_spans(inner), None)):
            found.append(one_line(f"{blob[0][:40]} (base64: {inner})", _WIDTH))
    return found[:_MOST]


@cache
def _phrases() -> Any:
    from importlib.resources import files

    import re2

    sets: dict[str, str] = {}
    patterns: list[str] = []
    for line in files("holmes.agent").joinpath("suspicious_phrases.txt").read_text("utf-8").splitlines():
        name, equals, words = line.partition(" = ")
        if equals and name.isidentifier():
            sets[name] = _alternatives(words)
        elif line.startswith("/"):
            patterns.append(line[1:].replace("~", _GAP))
        elif line and not line.startswith("#"):
            patterns.append(_pattern(line, sets))
    options = re2.Options()
    options.max_mem = 64 << 20
    options.case_sensitive = False
    options.never_capture = True
    return re2.compile("|".join(patterns), options)


def _pattern(line: str, sets: Mapping[str, str]) -> str:
    """The regular expression of a row of words; the last one is never optional."""
    *words, last = line.split()
    parts = [_ANY_WORDS if word == "..." else _word(word, sets) for word in words]
    return rf"\b{''.join(parts)}(?:{_alternatives(last, sets)})\b"


def _word(word: str, sets: Mapping[str, str]) -> str:
    body = word.rstrip("?*")
    return rf"(?:(?:{_alternatives(body, sets)}){_GAP}){_REPEATED[word[len(body) :]]}"


def _alternatives(words: str, sets: Mapping[str, str] | None = None) -> str:
    filled = re.sub(r"\{([a-z]+)\}", lambda match: (sets or {})[match[1]], words)
    return filled if sets is None else re.sub(r"(?<![\[\\])_", lambda match: _GAP, filled)
