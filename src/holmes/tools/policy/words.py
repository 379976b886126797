"""Words of the shell: what quotes and backslashes mean, and how a text is written so that it means itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holmes.tools.policy import syntax

_SAFE = re.compile(r"[A-Za-z0-9_@%+:,./=-]+")
_RESERVED = re.compile(
    r"if|then|else|elif|fi|case|esac|for|select|while|until|do|done|in|function|coproc|[{}!]|\[\[|\]\]"
)
_ANSI = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ANSI_ESCAPE = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|[uU]((?<=u)[0-9a-fA-F]{1,4}|(?<=U)[0-9a-fA-F]{1,8})|(.))", re.DOTALL
)
_WILD = re.compile(r"[*?\[]")


def quote(text: str) -> str:
    """The text as one word that the shell takes literally."""
    if _SAFE.fullmatch(text):
        return text
    return "'" + text.replace("'", "'\"'\"'") + "'"


def quote_program(text: str) -> str:
    """The same in the place of a command's name, where ``a=b`` and ``if`` have a meaning."""
    if "=" in text or _RESERVED.fullmatch(text):
        return "'" + text.replace("'", "'\"'\"'") + "'"
    return quote(text)


def plain_text(text: str) -> syntax.Word:
    """A word of exactly this text."""
    return (syntax.Text(text, quoted=True),)


def raw_word(source: str) -> Iterator[syntax.Text]:
    """The pieces of an unquoted word: a character behind a backslash is quoted."""
    position = 0
    for match in re.finditer(r"\\(.|$)", source, re.DOTALL):
        if match.start() > position:
            yield syntax.Text(source[position : match.start()], quoted=False)
        if match[1] != "\n":
            yield syntax.Text(match[1] or "\\", quoted=True)
        position = match.end()
    if position < len(source) or not source:
        yield syntax.Text(source[position:], quoted=False)


def unescape_double(source: str) -> str:
    """The inside of double quotes."""
    return re.sub(r'\\([$`"\\])|\\\n', lambda match: match[1] or "", source)


def unescape_ansi(source: str) -> str | None:
    """The inside of ``$'...'``; None for escapes that give no character or end the string."""
    bad = False

    def one(match: re.Match[str]) -> str:
        nonlocal bad
        octal, byte, code, other = match.groups()
        number = int(octal, 8) if octal else int(byte or code, 16) if byte or code else -1
        if number >= 0:
            # A byte above 127 is half a character: only bash knows what it makes.
            bad = bad or number == 0 or number > 0x10FFFF or (not code and number > 127) or 0xD800 <= number <= 0xDFFF
            return "" if bad else chr(number)
        bad = bad or (other not in _ANSI and other not in "\\'\"?")
        return _ANSI.get(other, other)

    text = _ANSI_ESCAPE.sub(one, source)
    return None if bad else text


def is_wild(text: str) -> bool:
    """Whether unquoted text has wildcards."""
    return _WILD.search(text) is not None


def has_braces(pieces: list[tuple[str, bool]]) -> bool:
    """Whether bash would expand braces: ``{a,b}`` or ``{1..3}``, as far as they are unquoted."""
    depths: list[int] = []
    found: set[int] = set()
    text = "".join(piece if not quoted else "q" * len(piece) for piece, quoted in pieces)
    for index, char in enumerate(text):
        if char == "{":
            depths.append(index)
        elif depths and (char == "," or text.startswith("..", index)):
            found.add(depths[-1])
        elif char == "}" and depths and depths.pop() in found:
            return True
    return False
