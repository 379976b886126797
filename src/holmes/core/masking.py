"""Secrets leave no tool result, question, error or argument: they become placeholders here.

Everything that goes to a model, the journal, a log, a terminal or a destination passes through one function,
``Masker.mask``; streams and trees are fed to it in parts. The kinds are listed in ``secret_kinds``.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
from collections.abc import Mapping
from typing import Any

from holmes.core.secret_blocks import Hit, Window
from holmes.core.secret_finder import Finder
from holmes.core.secret_keys import Level, classify, is_secret

_BLOCK = 256 << 10  # bytes that a stream looks at in one go
_CONTEXT = 4 << 10  # bytes already given out that a closer look may need
_LONGEST_LINE = 16 << 10  # bytes held back when no line ends
_MOST_SECRETS = 20_000  # that can be restored; more get placeholders too
_LEAST_LITERAL = 8  # characters: shorter values occur by chance
_PLACEHOLDER = re.compile(r"\[MASKED:[a-z0-9-]+:[0-9a-f]{4,16}\]")
_BETWEEN_WORDS = re.compile(rb"[\s,;\"'&(){}\[\]<>]")
_REST_OF_SECRET = re.compile(rb"[^\x00-\x20\"'\\<>,;&]*")


class Masker:
    """Replaces secrets by placeholders such as ``[MASKED:github-token:1a2b]``; one per engine.

    The same secret always gets the same placeholder from one Masker; another Masker gives another (the digits are
    a hash under a key that is made anew each time). ``literals`` maps the values of our own credentials to the names
    of their variables: they are masked wherever they occur, in base64 and URLs too. The way back is in memory only.
    May be used from several threads.
    """

    def __init__(self, literals: Mapping[str, str] | None = None) -> None:
        self._key = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._placeholders: dict[bytes, bytes] = {}
        self._secrets: dict[str, str] = {}
        self._kinds: set[str] = set()
        own = [value for value in literals or {} if len(value) >= _LEAST_LITERAL]
        self._finder = Finder(own)

    @property
    def used(self) -> frozenset[str]:
        """The kinds of secrets masked so far."""
        return frozenset(self._kinds)

    def mask(self, text: str) -> str:
        """The text with a placeholder for each secret in it."""
        data = text.encode("utf-8", "surrogatepass")
        hits, _ = self._finder.find(Window(data, True), 0, len(data))
        return self.replace(data, 0, len(data), hits).decode("utf-8", "surrogatepass") if hits else text

    def mask_tree(self, value: Any) -> Any:
        """A JSON value with the secrets in its strings masked; keys stay.

        What stands under a key that names a secret, and the data of Kubernetes Secrets, is masked whole.
        """
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, Mapping):
            return self._mask_mapping(value)
        if isinstance(value, (list, tuple)):
            return [self.mask_tree(item) for item in value]
        return value

    def stream(self) -> MaskStream:
        """Masks text that comes in pieces."""
        return MaskStream(self, self._finder)

    def restore(self, text: str) -> str:
        """The text with the secrets back in place of the placeholders that this Masker gave out."""
        return _PLACEHOLDER.sub(lambda found: self._secrets.get(found.group(), found.group()), text)

    def replace(self, data: bytes, start: int, end: int, hits: list[Hit]) -> bytes:
        """``data[start:end]`` with placeholders in place of the hits, which are in order and do not overlap."""
        parts: list[bytes] = []
        for hit in hits:
            parts.append(data[start : hit.start])
            parts.append(self._placeholder(hit.secret or data[hit.start : hit.end], hit.kind))
            start = hit.end
        parts.append(data[start:end])
        return b"".join(parts)

    def _placeholder(self, secret: bytes, kind: str) -> bytes:
        known = self._placeholders.get(secret)
        return known if known is not None else self._new_placeholder(secret, kind)

    def _new_placeholder(self, secret: bytes, kind: str) -> bytes:
        digest = hashlib.blake2b(secret, key=self._key, digest_size=8).hexdigest()
        with self._lock:
            self._kinds.add(kind)
            if len(self._placeholders) >= _MOST_SECRETS:
                return f"[MASKED:{kind}:{digest}]".encode()
            digits = next((n for n in (4, 6, 8) if f"[MASKED:{kind}:{digest[:n]}]" not in self._secrets), 16)
            text = f"[MASKED:{kind}:{digest[:digits]}]"
            self._secrets[text] = secret.decode("utf-8", "surrogatepass")
            return self._placeholders.setdefault(secret, text.encode())

    def _mask_mapping(self, mapping: Mapping[Any, Any]) -> dict[Any, Any]:
        masked: dict[Any, Any] = {}
        for key, value in mapping.items():
            if mapping.get("kind") == "Secret" and key in ("data", "stringData") and isinstance(value, Mapping):
                masked[key] = {name: self._whole(item, "kubernetes-secret") for name, item in value.items()}
            else:
                masked[key] = self._mask_beside(str(key), value)
        name, value = mapping.get("name"), mapping.get("value")
        if isinstance(name, str) and isinstance(value, str):
            masked["value"] = self._mask_beside(name, value)
        return masked

    def _mask_beside(self, key: str, value: Any) -> Any:
        verdict = classify(key)
        if verdict.level is Level.NONE or isinstance(value, (Mapping, bool)) or value is None:
            return self.mask_tree(value)
        if isinstance(value, (list, tuple)):
            return [self._mask_beside(key, item) for item in value]
        text = str(value)
        if "://" not in text and is_secret(verdict, text, named=key.isupper(), prose=False):
            return self._whole(text, verdict.kind)
        return self.mask_tree(value)

    def _whole(self, value: Any, kind: str) -> Any:
        if not isinstance(value, str) or not value or _PLACEHOLDER.fullmatch(value):
            return value
        return self._placeholder(value.encode("utf-8", "surrogatepass"), kind).decode()


class MaskStream:
    """Masks text that comes in pieces; a secret may be cut anywhere.

    Holds back the last lines, and up to 64 KB while a secret of many lines is open (1.6 MB for the data of a
    Kubernetes Secret whose kind has not come yet).
    """

    def __init__(self, masker: Masker, finder: Finder) -> None:
        self._masker = masker
        self._finder = finder
        self._waiting: list[bytes] = []
        self._size = 0
        self._buffer = b""
        self._done = 0  # bytes of the buffer that were given out and stay as context
        self._inside = False  # the last secret given out was longer than can be held; its rest is dropped
        self.kinds: set[str] = set()  # of the secrets masked in this stream

    def feed(self, text: str) -> str:
        """What can be given out now; usually nothing, then a larger block."""
        self._waiting.append(text.encode("utf-8", "surrogatepass"))
        self._size += len(self._waiting[-1])
        return self._take(final=False) if self._size >= _BLOCK else ""

    def finish(self) -> str:
        """The rest."""
        return self._take(final=True)

    def _take(self, *, final: bool) -> str:
        data = b"".join((self._buffer, *self._waiting))
        self._waiting.clear()
        self._size = 0
        start = self._done
        if self._inside:
            rest = _REST_OF_SECRET.match(data, start)
            start = rest.end() if rest else start
            self._inside = start == len(data)
        hits, end = self._finder.find(Window(data, final), start, len(data) if final else _last_lines(data, start))
        self.kinds.update(hit.kind for hit in hits)
        given = self._masker.replace(data, start, end, hits) if hits else data[start:end]
        if hits and hits[-1].end == len(data):
            self._inside = True
        kept = max(0, end - _CONTEXT)
        self._buffer, self._done = data[kept:], end - kept
        return given.decode("utf-8", "surrogatepass")


def _last_lines(data: bytes, start: int) -> int:
    """Where the last whole line begins: what comes later is held back, 16 KB at most."""
    last = data.rfind(b"\n", start)
    before = data.rfind(b"\n", start, last) if last >= 0 else -1
    latest = len(data) - _LONGEST_LINE
    if before + 1 >= latest or start >= latest:
        return max(before + 1, start)
    if last + 1 >= latest:
        return last + 1
    between = _BETWEEN_WORDS.search(data, latest, latest + _LONGEST_LINE // 2)
    if between:
        return between.end()
    while latest < len(data) and data[latest] & 0xC0 == 0x80:  # not inside a character
        latest += 1
    return latest
