"""Secrets that only their place shows: the value beside a key, behind a flag, under a name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from holmes.core.secret_blocks import Found, Hit, Window, block_scalar
from holmes.core.secret_keys import KeyVerdict, Level, classify, is_mixed, is_random, is_secret

_QUOTE = r"\\*[\"'`]"
_WORD = (
    r"(?i:pass(?:w(?:or)?d|phrase|code)?|pwd|pw|secret|token|(?:api|access|account|auth|private|secret|signing)[ _-]key"
    r"|key|cred|auth|jwt|cookie|sess|contrase(?:ñ|n)?|senha|kennwort|passwort|bearer|hmac|[_-](?:pat|sas|otp|dsn)|signature)"
)
_SEPARATOR = r"(?:[\"'`\[\])\\]*[ \t]*(?:=>|:=|={1,2}|!=|:)|>)"
KEYED = rf"{_WORD}[A-Za-z0-9_.-]*{_SEPARATOR}[ \t]*[^\x00-\x20,;)}}\]&=<]"
_FLAG_VALUE = r"[\"',]*(?:[ \t,]+[\"']?|[ \t]*\n[ \t]*(?:-[ ]+[\"']?|[\"']))"
FLAG = rf"\B--?[A-Za-z0-9_-]*{_WORD}[A-Za-z0-9_-]*{_FLAG_VALUE}[^\s\"'-]"
NAMED = (
    rf"\b(?i:name|key)(?:{_QUOTE})?[ ]*[:=][ ]*(?:{_QUOTE})?[A-Za-z0-9_.-]*{_WORD}[A-Za-z0-9_.-]*(?:{_QUOTE})?,?\s*"
    rf"(?:{_QUOTE})?(?i:value)(?:{_QUOTE})?[ ]*[:=][ ]*[^\s]"
)
QUOTED = rf"{_WORD}[A-Za-z0-9_-]*[ ]+(?:\"[^\"\n]+\"|'[^'\n]+');"
COMPARED = rf"[\"'][ ]*(?:={{2,3}}|!={{1,2}}|<>)[ ]*[A-Za-z0-9_.$]*{_WORD}"

_INDENT = 120  # columns in which a key can be the first of its line
_KEY_CHARS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
_PARTS = re.compile(
    rb"(?P<key>[A-Za-z0-9_.\x80-\xff-]*(?:[ ](?i:key))?[A-Za-z0-9_.-]*)(?P<close>[\"'`\[\])\\]*)[ \t]*"
    rb"(?P<sep>=>|:=|={1,2}|!=|:|>)(?P<space>[ \t]*)"
)
_FLAG_PARTS = re.compile(rf"--?(?P<key>[A-Za-z0-9_-]+){_FLAG_VALUE}".encode())
_NAMED_PARTS = re.compile(
    rb"(?i:name|key)[\\\"'`]*[ ]*[:=][ ]*[\\\"'`]*(?P<key>[A-Za-z0-9_.-]+)[\\\"'`]*,?\s*"
    rb"[\\\"'`]*(?i:value)[\\\"'`]*[ ]*[:=][ ]*"
)
_QUOTED_PARTS = re.compile(rb"(?P<key>[A-Za-z0-9_-]+)[ ]+[\"'](?P<value>[^\"'\n]+)[\"'];")
_COMPARED_PARTS = re.compile(
    rb"[\"'](?P<value>[^\"'\n]{3,200})[\"'][ ]*(?:={2,3}|!={1,2}|<>)[ ]*(?:[A-Za-z0-9_$]+\.)*(?P<key>[A-Za-z0-9_]+)"
)
_LINE_START = re.compile(rb"(?:[ \t>+#$-]*|[ \t-]*(?:\[\d*\][ ]?)?(?:export|ENV|ARG|set|setx|SET|env|declare -x)[ ])")
_OPENING = re.compile(rb"(\[?[ \t]*)(?:[@fbru]{1,2})?(\\*[\"'`])")
_BODIES = {
    b'"': re.compile(rb'(?:[^"\\\n]|\\.)*'),
    b"'": re.compile(rb"(?:[^'\\\n]|\\.|'')*"),
    b"`": re.compile(rb"[^`\n]*"),
}
_RUN = re.compile(rb"[^\x00-\x20\"'`&;,<>\\]+")
_STRUCTURE = re.compile(rb"[\[{][\w\"'.-]*(?::|\Z)")
_CODE = re.compile(rb"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*[(\[]")  # a call or an element
_NEXT_PAIR = re.compile(rb"[ \t](?:[A-Za-z_][\w.-]*=|&&|\|\|?|;|#|--)")
_CONTINUED = re.compile(rb"\n[ \t]*([A-Za-z0-9+/=_-]{8,})[ \t]*(?=\n|\Z)")


class Value(NamedTuple):
    """Where a value stands; ``quoted`` between quotes, ``prose`` when it may be the words of a sentence."""

    start: int
    end: int
    quoted: bool = False
    prose: bool = False


class Beside:
    """Judges keys, flags and names with the values beside them. ``kind_of`` knows secrets that show themselves."""

    def __init__(self, kind_of: Callable[[bytes], str]) -> None:
        self._kind_of = kind_of
        self._verdicts: dict[bytes, KeyVerdict] = {}

    def keyed(self, window: Window, at: int) -> Found:
        """``key: value``, ``key=value``, ``"key": "value"``, ``<key>value</key>``."""
        data = window.data
        key_start = _key_start(data, at)
        parts = _PARTS.match(data, key_start)
        if parts is None:
            return Found([], at + 3)
        value_start = parts.end()
        verdict = self._verdict(parts.group("key"))
        colons = parts.group("sep") == b":" and data[key_start - 1 : key_start] == b":"  # arn:aws:...:secret:name
        if verdict.level is Level.NONE or colons:
            return Found([], value_start)
        left = data[max(0, key_start - _INDENT) : key_start]
        newline = left.rfind(b"\n")
        left = left[newline + 1 :]
        at_line_start = (newline >= 0 or key_start < _INDENT) and _LINE_START.fullmatch(left)
        named = parts.group("key").isupper()
        if data[value_start : value_start + 1] in (b"|", b">") and at_line_start:
            block = block_scalar(window, value_start, len(left) - len(left.lstrip(b" -")))
            if block and not data.startswith((b"-----BEGIN CERT", b"[MASKED:"), block[0]):
                return Found([Hit(verdict.kind, *block)], block[1])
        value = self._value(window, at, value_start, parts.group("sep") if at_line_start else b"", named)
        spaced = bool(parts.group("space")) and not parts.group("close")
        if value is None or (spaced and self._is_code(data, value, parts.group("sep"), left)):
            return Found([], value_start)
        spaced = spaced and parts.group("sep") == b":"
        if spaced and not at_line_start and left[-1:] == b" ":
            value = value._replace(prose=not (value.quoted and verdict.level is Level.PASSWORD))
        return self._hits(window, verdict, value, named)

    def flag(self, window: Window, at: int) -> Found:
        """``--password value``, as words or as items of a list."""
        parts = _FLAG_PARTS.match(window.data, at)
        run = _RUN.match(window.data, parts.end()) if parts else None
        if parts is None or run is None:
            return Found([], at + 2)
        verdict = self._verdict(parts.group("key"))
        return self._hits(window, verdict, Value(*run.span()), False)

    def named(self, window: Window, at: int) -> Found:
        """``name: DB_PASSWORD`` with its ``value:``, as in the env of a container."""
        parts = _NAMED_PARTS.match(window.data, at)
        if parts is None:
            return Found([], at + 4)
        verdict = self._verdict(parts.group("key"))
        named = parts.group("key").isupper()
        value = self._value(window, at, parts.end(), b":", named) if verdict.level else None
        return self._hits(window, verdict, value, named) if value else Found([], parts.end())

    def quoted(self, window: Window, at: int) -> Found:
        """``password "value";`` of configuration files."""
        return self._pair(window, at, _QUOTED_PARTS.match(window.data, _key_start(window.data, at)))

    def compared(self, window: Window, at: int) -> Found:
        """``"value" == password``, seen at the second quote."""
        begin = max(0, at - 200, window.data.rfind(b"\n", max(0, at - 200), at) + 1)
        before = max(window.data.rfind(quote, begin, at) for quote in (b'"', b"'"))
        return self._pair(window, at, _COMPARED_PARTS.match(window.data, before) if before >= 0 else None)

    def _pair(self, window: Window, at: int, parts: re.Match[bytes] | None) -> Found:
        if parts is None:
            return Found([], at + 1)
        found = self._hits(window, self._verdict(parts.group("key")), Value(*parts.span("value"), quoted=True), False)
        return Found(found.hits, max(found.resume, at + 1))

    def _verdict(self, key: bytes) -> KeyVerdict:
        verdict = self._verdicts.get(key)
        if verdict is None:
            verdict = classify(key.decode("utf-8", "replace"))
            if len(self._verdicts) < 10_000:
                self._verdicts[key] = verdict
        return verdict

    def _value(self, window: Window, at: int, start: int, line_separator: bytes, named: bool) -> Value | None:
        """The value at ``start``; ``line_separator`` is what stands before it when its key begins a line."""
        data = window.data
        opening = _OPENING.match(data, start)
        if opening:
            end = _closing(data, opening.end(), opening.group(2))
            if end < 0 and opening.group(2) == b"`":  # more often the old way to quote a word: `word'
                return None
            if end < 0:
                line_end = data.find(b"\n", opening.end())
                if line_end < 0:
                    window.wait(at)
                end = len(data) if line_end < 0 else line_end
            return Value(opening.end(), end, quoted=True)
        run = _RUN.match(data, start)
        if run is None or _STRUCTURE.match(run.group()):
            return None
        if run.end() == len(data):
            window.wait(at)
        if line_separator == b":" or (line_separator == b"=" and named):
            return _rest_of_line(data, start, line_separator)
        end = start + len(run.group().rstrip(b").}]:|"))
        return Value(start, end)

    @staticmethod
    def _is_code(data: bytes, value: Value, separator: bytes, left: bytes) -> bool:
        """``token = next(tokens)``, and the end of a string rather than the begin of one: ``ask("Password: ")``."""
        if value.quoted:
            return left[-1:] in (b'"', b"'") and data.startswith(left[-1:], value.start - 1)
        return separator != b":" and bool(_CODE.match(data, value.start, value.end))

    def _hits(self, window: Window, verdict: KeyVerdict, value: Value, named: bool) -> Found:
        start, end = value.start, value.end
        raw = window.data[start:end]
        text = raw.decode("utf-8", "replace")
        if "://" in text or not is_secret(verdict, text, named=named, prose=value.prose):
            return Found([], start)
        kind = self._kind_of(raw) or verdict.kind
        rest = None if value.quoted else _CONTINUED.match(window.data, end)
        if rest is None or not (is_random(text, 16) and is_random(rest.group(1).decode("ascii"))):
            return Found([Hit(kind, start, end)], end)
        whole = raw + rest.group(1)
        return Found([Hit(kind, start, end, whole), Hit(kind, *rest.span(1), whole)], rest.end(1))


def _key_start(data: bytes, word: int) -> int:
    """Where the key begins that has the word at ``word`` in it."""
    before = data[max(0, word - 64) : word]
    return word - (len(before) - len(before.rstrip(_KEY_CHARS)))


def _closing(data: bytes, begin: int, quote: bytes) -> int:
    """Where the text between quotes that starts at ``begin`` ends, -1 when it does not end on its line."""
    if len(quote) == 1:
        body = _BODIES[quote].match(data, begin)
        return body.end() if body and data.startswith(quote, body.end()) else -1
    line_end = data.find(b"\n", begin)
    return data.find(quote, begin, len(data) if line_end < 0 else line_end)


def _rest_of_line(data: bytes, start: int, separator: bytes) -> Value:
    """The value of a line of YAML or of an env dump: the rest of the line unless that is a sentence or more pairs."""
    line_end = data.find(b"\n", start)
    line = data[start : len(data) if line_end < 0 else line_end]
    line = line.split(b" #", 1)[0].rstrip()
    if b" " not in line:
        return Value(start, start + len(line))
    pair = _NEXT_PAIR.search(line)
    if separator == b"=":
        line = line[: pair.start()] if pair else line
        return Value(start, start + len(line.rstrip()))
    words = line.split(b" ")
    if pair or len(words) > 4 or not is_mixed(words[0].decode("utf-8", "replace")):
        return Value(start, start + len(words[0].rstrip(b",;")), prose=True)
    return Value(start, start + len(line))
