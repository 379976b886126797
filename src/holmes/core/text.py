"""From the bytes of a program to text that is safe to store, to send and to print."""

from __future__ import annotations

import codecs
import re
from functools import cached_property

_LONGEST_SEQUENCE = 4096  # characters of one escape sequence; what is longer is taken as text
_CONTROLS = tuple(bytes([code]) for code in (*range(9), *range(11, 32), 127))
_CONTROL_CHARACTERS = tuple(code.decode("ascii") for code in _CONTROLS)
_ASCII = bytes(range(128))

# C1 controls, bidi marks and whatever takes no place on the screen but can carry a message.
_INVISIBLE = (
    "\x80-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# The body of OSC, DCS, SOS, PM and APC: they end at BEL or ST and never span lines.
_BODY = rf"[^\x07\x1b\x9c\r\n]{{0,{_LONGEST_SEQUENCE}}}"


class _Patterns:
    """Compiled on first use: most text needs none of them."""

    @cached_property
    def strange(self) -> re.Pattern[str]:
        """Any character beyond ASCII that cleaning would touch."""
        return re.compile(f"[\u2028\u2029\ud800-\udfff{_INVISIBLE}]")

    @cached_property
    def escapes(self) -> re.Pattern[str]:
        """A whole escape sequence: CSI (colours, cursor moves), the strings, the short ones."""
        return re.compile(
            rf"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_]{_BODY}(?:\x07|\x1b\\|\x9c)|[ -/]+[0-~]|[0-OQ-WYZ\\`-~])"
        )

    @cached_property
    def c1_escapes(self) -> re.Pattern[str]:
        """The same with one C1 character in place of ESC and a letter."""
        return re.compile(
            rf"[\x90\x98\x9b\x9d-\x9f](?:(?<=\x9b)[0-?]*[ -/]*[@-~]|(?<!\x9b){_BODY}(?:\x07|\x1b\\|\x9c))"
        )

    @cached_property
    def unfinished(self) -> re.Pattern[str]:
        """What the next piece may complete: an escape sequence without its end, or a CR."""
        return re.compile(
            rf"(?:(?:\x1b\[|\x9b)[0-?]{{0,256}}[ -/]{{0,16}}|\x1b[ -/]{{0,16}}|\r+"
            rf"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f]){_BODY}\x1b?)\Z"
        )

    @cached_property
    def dropped(self) -> re.Pattern[str]:
        """What goes without a trace once escape sequences and line ends are dealt with."""
        return re.compile(f"[\\x00-\\x08\\x0b-\\x1f\\x7f{_INVISIBLE}]+")

    def clean(self, text: str) -> str:
        """The text without what is not text."""
        beyond_ascii = not text.isascii()
        if beyond_ascii:
            text = self.c1_escapes.sub("", text)
        if "\x1b" in text:
            text = self.escapes.sub("", text)
        if "\r" in text:
            text = re.sub("\r+\n?", "\n", text)
        if beyond_ascii:
            text = re.sub("[\u2028\u2029]", "\n", text)
        if beyond_ascii or any(control in text for control in _CONTROL_CHARACTERS):
            text = self.dropped.sub("", text)
        return text


class StreamCleaner:
    """Makes text of bytes that come in pieces: UTF-8 with replacement, without control and invisible characters.

    Escape sequences (colours, cursor moves, titles, OSC-8 links), NUL, C0 and C1 controls but tab and newline, bidi
    and zero-width characters are dropped; CRLF and a lone CR become a newline; lone surrogates become U+FFFD.
    Pieces may cut characters and sequences anywhere. Clean ASCII passes at about 1 GB/s.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._patterns = _Patterns()

    def feed(self, chunk: bytes | str) -> str:
        """The clean text of the next piece, as far as it can be told yet."""
        data = chunk if isinstance(chunk, bytes) else encode(chunk)
        if b"\r\n" in data:
            data = data.replace(b"\r\n", b"\n")
        mid_character = bool(self._decoder.getstate()[0])
        clean = not self._held and not any(control in data for control in _CONTROLS)
        if clean and data.isascii() and not mid_character:
            return data.decode("ascii")
        text = self._decoder.decode(data)
        if clean and not self._strange(data) and not (mid_character and self._patterns.strange.match(text)):
            return text
        text = self._held + text
        unfinished = self._patterns.unfinished.search(text, max(0, len(text) - _LONGEST_SEQUENCE))
        cut = unfinished.start() if unfinished else len(text)
        self._held = text[cut:]
        return self._patterns.clean(text[:cut])

    def finish(self) -> str:
        """What was held back; a sequence or a character that never ended does not swallow the rest."""
        rest = self._held + self._decoder.decode(b"", final=True)
        self._held = ""
        return self._patterns.clean(rest)

    def _strange(self, data: bytes) -> bool:
        """Whether something beyond ASCII is to be dropped: looks at those bytes alone, they are few."""
        rest = data.translate(None, _ASCII)
        return bool(rest) and bool(self._patterns.strange.search(rest.decode("utf-8", "replace")))


def clean(text: str) -> str:
    """The text as StreamCleaner would give it."""
    cleaner = StreamCleaner()
    return cleaner.feed(text) + cleaner.finish()


def head_tail(text: str, limit_chars: int) -> tuple[str, str]:
    """The beginning and the end of a text, together at most ``limit_chars`` characters.

    A text that fits is all head. Cuts fall behind a line end when one is in the outer half of the part.
    """
    if len(text) <= limit_chars:
        return text, ""
    half = max(limit_chars, 0) // 2
    head, tail = text[: limit_chars - half], text[len(text) - half :]
    line_end = head.rfind("\n", len(head) // 2)
    if line_end >= 0:
        head = head[: line_end + 1]
    line_end = tail.find("\n", 0, len(tail) // 2)
    return head, tail[line_end + 1 :]


def one_line(text: str, width: int) -> str:
    """The text with every run of white space as one space, cut to ``width`` characters with an ellipsis."""
    line = " ".join(text[: 8 * width].split())
    if len(line) > width or len(text) > 8 * width:
        return line[: max(width - 1, 0)].rstrip() + "…"
    return line


def encode(text: str) -> bytes:
    """UTF-8 of a text; lone surrogates become U+FFFD, pairs of them one character."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # lone surrogates, as JSON's \ud800 gives them; pairs become one character
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode("utf-8")
