"""SQL cut into pieces as every server of its dialect cuts it; text that can be read in two ways is refused.

This is where a statement could show one face to a parser and another to the server: comments that run code, comments
that end elsewhere, strings that go on behind a backslash. So it is done here, strictly, and the parser gets a text in
which comments are blanks and literals say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

Kind = Literal["word", "quoted", "text", "number", "mark"]
_QUOTE = r"'(?:[^']|'')*'"
_ESCAPED = r"'(?:[^'\\]|''|\\.)*'"
_DOUBLE = r'"(?:[^"]|"")*"'
_NUMBER = r"(?:0[xX][0-9a-fA-F]+|[0-9][0-9_]*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?)(?![\w.])"
_BLOCK = r"/\*(?!!|\+|M!)(?:(?!\*/|/\*).)*\*/"
_LINE = r"--[^\r\n]*(?:\r?\n|\Z)"
# In MySQL "--" begins a comment only before a blank: 1--1 is 2 there.
_MYSQL_LINE = r"(?:--(?=[ \t\r\n]|\Z)|\#)[^\r\n]*(?:\r?\n|\Z)"
_MARK = r"(?!--|/\*)[-+*/%<>=!~^&|@?:;,.()\[\]]"

_KINDS: Mapping[str, Kind] = {kind: kind for kind in get_args(Kind)}


@dataclass(frozen=True, slots=True)
class Piece:
    """One token; ``start`` and ``end`` are places in the text."""

    kind: Kind
    text: str
    start: int
    end: int

    @property
    def name(self) -> str:
        """What it names, in lower case; "" for what is no name."""
        if self.kind == "word":
            return self.text.lower()
        return self.text[1:-1].lower() if self.kind == "quoted" else ""

    def is_word(self, *words: str) -> bool:
        """Whether it is one of these bare words."""
        return self.kind == "word" and self.text.lower() in words


class Refused(Exception):
    """The text is not let through; the message is a reason for people."""


@cache
def _pattern(dialect: str) -> re.Pattern[str]:
    comments: Mapping[str, str] = {"mysql": f"{_MYSQL_LINE}|{_BLOCK}"}
    texts: Mapping[str, str] = {
        "postgres": rf"[eE]{_ESCAPED}|[bBxXnN]?{_QUOTE}|\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$",
        "mysql": rf'[bBxXnN]?{_ESCAPED}|"(?:[^"\\]|""|\\.)*"',
        "sqlite": f"[xX]?{_QUOTE}",
    }
    quoted: Mapping[str, str] = {
        "postgres": _DOUBLE,
        "mysql": r"`(?:[^`]|``)*`",
        "sqlite": rf"{_DOUBLE}|`(?:[^`]|``)*`|\[[^\]]*\]",
    }
    marks = _MARK if dialect != "postgres" else rf"{_MARK}|\#"
    return re.compile(
        rf"(?P<blank>[ \t\r\n]+|{comments.get(dialect, f'{_LINE}|{_BLOCK}')})|(?P<text>{texts[dialect]})"
        rf"|(?P<quoted>{quoted[dialect]})|(?P<word>[^\W\d]\w*)|(?P<number>{_NUMBER})|(?P<mark>{marks})",
        re.DOTALL,
    )


def pieces(sql: str, dialect: str) -> list[Piece]:
    """The pieces of a text without its blanks and comments. Refused says what cannot be told apart."""
    pattern = _pattern(dialect)
    found: list[Piece] = []
    at = 0
    while at < len(sql):
        match = pattern.match(sql, at)
        if match is None:
            raise Refused(_why(sql, at, dialect))
        kind = _KINDS.get(match.lastgroup or "")
        if kind is not None:
            piece = Piece(kind, match[0], at, match.end())
            _check_neighbours(found, piece, dialect)
            found.append(piece)
        at = match.end()
    return found


def _check_neighbours(before: Sequence[Piece], piece: Piece, dialect: str) -> None:
    """What is clear alone and not beside its neighbour."""
    last = before[-1] if before else None
    if last is None:
        return
    touching = last.end == piece.start
    if last.text == ":" and piece.text == "=" and touching:
        raise Refused("assigning to a variable (:=) is not reading")
    if dialect == "postgres" and last.kind == "text" and piece.kind == "text":
        raise Refused("a string that goes on in a second one can be read in two ways; write it as one")
    escapes = last.text == "&" and piece.kind in ("text", "quoted") and len(before) > 1 and before[-2].is_word("u")
    prefix = last.kind == "word" and piece.kind == "text" and (len(last.text) == 1 or piece.text.startswith("$"))
    run_on = last.kind == "text" and piece.kind in ("text", "word", "number")
    if touching and (escapes or prefix or run_on):
        raise Refused(f"{last.text[:20]}{piece.text[:20]} can be read in two ways; put a blank between")


def _why(sql: str, at: int, dialect: str) -> str:
    rest = sql[at : at + 3]
    if rest.startswith("/*"):
        if rest[2:] in ("!", "+") or sql[at : at + 4] == "/*M!":
            return "a comment that the server may run (/*! or /*+) is not let through"
        return "a comment inside a comment, or one without end, can be read in two ways"
    if rest.startswith("--"):
        return "-- without a blank behind it can be read in two ways; write - - or -- with a blank"
    if rest[:1] in ("'", '"', "`", "["):
        return f"the {rest[:1]} at character {at + 1} has no end"
    if rest[:1].isdigit() or rest[:1] == ".":
        return f"the number at character {at + 1} runs into a word; put a blank between"
    if rest[:1] == "\\":
        return "a backslash outside of a string is not SQL"
    shown = rest[:1] if rest[:1].isprintable() else f"U+{ord(rest[0]):04X}"
    return f"the character {shown} at place {at + 1} is not understood outside of a string"


def inert(sql: str, found: Sequence[Piece], dialect: str) -> str:
    """The text for the parser, of the same length: comments are blanks, literals are x's, odd names are plain."""
    quote = "`" if dialect == "mysql" else '"'
    out = [" "] * len(sql)
    for piece in found:
        shown = piece.text
        size = piece.end - piece.start
        if piece.kind == "text":
            shown = f"'{'x' * (size - 2)}'"
        elif piece.kind == "quoted":
            inner = piece.text[1:-1]
            shown = f"{quote}{inner if re.fullmatch(r'[A-Za-z0-9_ ]+', inner) else 'x' * (size - 2)}{quote}"
        out[piece.start : piece.end] = shown
    return "".join(out)
