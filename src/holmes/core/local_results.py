"""Tool results in files of the state folder: cleaned and masked while they arrive, in bounded memory."""

from __future__ import annotations

import json
import os
import re
import tempfile
import threading
from pathlib import Path
from typing import BinaryIO

from holmes.core.errors import StoreError, UsageError
from holmes.core.masking import Masker
from holmes.core.paths import private_folder
from holmes.core.result_store import Stored
from holmes.core.text import StreamCleaner, encode

KEPT = 32_000  # characters of head and of tail that stay at hand
_PIECE = 1 << 20  # bytes of one write that are worked on at once
_AT_HAND = 64  # finished results whose head and tail stay in memory
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_REFERENCE = re.compile(r"E([1-9][0-9]{0,8})")


class LocalResults:
    """Keeps each run's results in ``folder``/<run id> (0700): E1.txt (0600) and its index E1.json.

    ``folder`` is the ``runs`` folder of the state folder; None keeps nothing: a temporary folder that ``close`` of
    the run removes. ``kept`` is the number of characters of head and of tail in a Stored.
    """

    def __init__(self, folder: Path | None, masker: Masker, kept: int = KEPT) -> None:
        self._folder = folder
        self._masker = masker
        self._kept = kept

    def run(self, run_id: str) -> LocalRun:
        """The results of a run, old ones included. UsageError for an id that is no plain name."""
        if not _RUN_ID.fullmatch(run_id):
            raise UsageError(f"{run_id[:80]!r} is not a run id", remedy="run ids are letters, digits, dots and dashes")
        return LocalRun(self._folder / run_id if self._folder else None, self._masker, self._kept)


class LocalRun:
    """The results of one run. A disk that cannot be written never stops it: see ``problem``."""

    def __init__(self, folder: Path | None, masker: Masker, kept: int) -> None:
        self._folder = folder
        self._masker = masker
        self._kept = kept
        self._home: Path | None = None
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._lock = threading.Lock()
        self._last = max((int(found[1]) for found in map(_REFERENCE.fullmatch, self._names()) if found), default=0)
        self._stored: dict[str, Stored] = {}  # the last ones, and all that are only here
        self._flat: dict[str, str] = {}
        self._unkept: set[str] = set()
        self._problem = ""

    @property
    def problem(self) -> str:
        """Why results are not kept whole; "" when all is well."""
        return self._problem

    def next_reference(self) -> str:
        """The next free reference: E1, E2, ..."""
        with self._lock:
            self._last += 1
            return f"E{self._last}"

    def sink(self, reference: str) -> LocalSink:
        """Where the result of that reference is to be written. Takes the reference, finished or not."""
        return LocalSink(self, reference, self._masker, self._kept)

    def stored(self, reference: str) -> Stored | None:
        """What is known of a finished result, None when there is none of that reference."""
        known = self._stored.get(reference)
        if known is None and _REFERENCE.fullmatch(reference):
            known = self._load(reference)
            if known:
                self._remember(known)
        return known

    def path(self, reference: str) -> Path:
        """The file with the text of a finished result. StoreError when there is none, or it cannot be kept."""
        stored = self.stored(reference)
        if stored is None:
            raise StoreError(f"there is no result {reference} in this run")
        return self._rescued(stored) if reference in self._unkept else self.home() / f"{reference}.txt"

    def read(self, reference: str, max_bytes: int = 16_000_000) -> str:
        """The text from its beginning, at most ``max_bytes`` of UTF-8; "" when there is none of that reference."""
        stored = self.stored(reference)
        if stored is None or stored.whole:
            return stored.head.encode()[:max_bytes].decode("utf-8", "ignore") if stored else ""
        with self.path(reference).open("rb") as file:
            return file.read(max_bytes).decode("utf-8", "ignore")

    def contains(self, reference: str, text: str) -> bool:
        """Whether the stored text has ``text``, white space runs taken as one space."""
        stored = self.stored(reference)
        wanted = " ".join(text.split())
        if stored is None or not wanted:
            return False
        if stored.whole:
            if reference not in self._flat:
                self._flat[reference] = " ".join(stored.head.split())
                if len(self._flat) > _AT_HAND:
                    self._flat.pop(next(iter(self._flat)))
            return wanted in self._flat[reference]
        with self.path(reference).open("rb") as file:
            return _contains(file, wanted)

    def close(self) -> None:
        """Forget what is in memory; a temporary folder goes with its files."""
        self._stored.clear()
        self._flat.clear()
        if self._temporary:
            self._temporary.cleanup()
            self._temporary = self._home = None

    def home(self) -> Path:
        """The folder of the run's files, made when it is not there. StoreError when it cannot be made."""
        if self._home is None:
            self._home = private_folder(self._folder) if self._folder else self._private()
        return self._home

    def finished(self, stored: Stored, *, kept: bool) -> None:
        """Called by a sink: remember its result, and whether a file has it."""
        if not kept:
            self._unkept.add(stored.reference)
        self._flat.pop(stored.reference, None)
        self._remember(stored)

    def fail(self, error: OSError | StoreError) -> None:
        """Called by a sink that cannot write: from now on the run says so."""
        reason = error.message if isinstance(error, StoreError) else error.strerror or str(error)
        where = self._folder or tempfile.gettempdir()
        self._problem = (
            f"results cannot be kept in {where} ({reason}); of each only the first and the last "
            f"{self._kept:,} characters are at hand"
        )

    def _rescued(self, stored: Stored) -> Path:
        """A temporary file with what is at hand of a result that could not be kept."""
        path = self._private() / f"{stored.reference}.txt"
        left_out = stored.size - len(stored.head) - len(stored.tail)
        gap = "" if stored.whole else f"\n... {left_out:,} characters are lost here: {self._problem} ...\n"
        try:
            path.write_text(f"{stored.head}{gap}{stored.tail}", encoding="utf-8")
        except OSError as error:
            raise StoreError(f"{stored.reference} cannot be read on: {error.strerror}", where=str(path)) from error
        return path

    def _private(self) -> Path:
        if self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="holmes-", ignore_cleanup_errors=True)
        return Path(self._temporary.name)

    def _names(self) -> set[str]:
        if self._folder is None or not self._folder.is_dir():
            return set()
        return {path.stem for path in self._folder.iterdir()}

    def _remember(self, stored: Stored) -> None:
        with self._lock:
            self._stored[stored.reference] = stored
            if len(self._stored) - len(self._unkept) > _AT_HAND:
                oldest = next((reference for reference in self._stored if reference not in self._unkept), None)
                if oldest:
                    self._stored.pop(oldest)

    def _load(self, reference: str) -> Stored | None:
        try:
            path = self.home() / f"{reference}.txt"
            index = json.loads(path.with_suffix(".json").read_bytes())
            size, lines, masked = int(index["size"]), int(index["lines"]), tuple(map(str, index["masked"]))
            with path.open("rb") as file:
                if size <= 2 * self._kept:
                    return Stored(reference, size, lines, file.read().decode(), masked=masked)
                head = file.read(4 * self._kept).decode("utf-8", "ignore")[: self._kept]
                file.seek(-min(path.stat().st_size, 4 * self._kept), os.SEEK_END)
                tail = file.read().decode("utf-8", "ignore")[-self._kept :]
            return Stored(reference, size, lines, head, tail, masked)
        except (OSError, StoreError, ValueError, KeyError, TypeError):
            return None  # never finished, or damaged: it cannot be cited


class LocalSink:
    """Takes one result: decode, clean, mask, store. Made by ``LocalRun.sink``."""

    def __init__(self, run: LocalRun, reference: str, masker: Masker, kept: int) -> None:
        self._run = run
        self._reference = reference
        self._kept = kept
        self._cleaner = StreamCleaner()
        self._masking = masker.stream()
        self._size = 0
        self._characters = self._newlines = self._bytes = 0
        self._head, self._tail = "", ""
        self._marks: list[tuple[int, int]] = []  # (newlines, bytes) before a place in the file, every 256 KB or so
        self._path = Path()
        self._file = self._open()

    @property
    def size(self) -> int:
        """Bytes taken so far (of the source, before decoding)."""
        return self._size

    def write(self, chunk: bytes | str) -> None:
        """Take the next piece; pieces may cut characters and secrets in two."""
        data = chunk if isinstance(chunk, bytes) else encode(chunk)
        self._size += len(data)
        for start in range(0, len(data), _PIECE):
            self._keep(self._masking.feed(self._cleaner.feed(data[start : start + _PIECE])))

    def finish(self) -> Stored:
        """End the result. Once."""
        self._keep(self._masking.feed(self._cleaner.finish()))
        self._keep(self._masking.finish())
        lines = self._newlines + (self._characters > 0 and not self._tail.endswith("\n"))
        masked = tuple(sorted(self._masking.kinds))
        head, tail = self._head, ""
        if self._characters > 2 * self._kept:
            head, tail = self._head[: self._kept], self._tail
        stored = Stored(self._reference, self._characters, lines, head, tail, masked)
        self._run.finished(stored, kept=self._end(stored))
        return stored

    def _keep(self, text: str) -> None:
        if not text:
            return
        if len(self._head) < 2 * self._kept:
            self._head += text[: 2 * self._kept - len(self._head)]
        self._tail = (text if len(text) >= self._kept else self._tail + text)[-self._kept :]
        self._characters += len(text)
        self._write(text.encode("utf-8", "replace"))
        self._newlines += text.count("\n")
        self._marks.append((self._newlines, self._bytes))

    def _open(self) -> BinaryIO | None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self._path = self._run.home() / f"{self._reference}.txt"
            return open(self._path, "wb", buffering=0, opener=lambda name, _: os.open(name, flags, 0o600))
        except (OSError, StoreError) as error:
            self._run.fail(error)
            return None

    def _write(self, data: bytes) -> None:
        self._bytes += len(data)
        if self._file is None:
            return
        try:
            view = memoryview(data)
            while view:
                view = view[self._file.write(view) :]
        except OSError as error:
            self._give_up(error)

    def _end(self, stored: Stored) -> bool:
        """Close the file and write the index, which says that the result is whole. False when it is not."""
        if self._file is None:
            return False
        index = {"size": stored.size, "lines": stored.lines, "masked": stored.masked, "marks": self._marks[:-1]}
        try:
            self._file.close()
            path = self._path.with_suffix(".json")
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(json.dumps(index).encode())
        except OSError as error:
            self._give_up(error)
        return self._file is not None

    def _give_up(self, error: OSError) -> None:
        """Part of a result is worth less than the space it takes on a full disk."""
        if self._file is None:
            return
        self._file = None
        self._run.fail(error)
        for path in (self._path, self._path.with_suffix(".json")):
            try:
                path.unlink(missing_ok=True)
            except OSError as unlinked:
                self._run.fail(unlinked)


def _contains(file: BinaryIO, wanted: str) -> bool:
    """Whether the text of a file has ``wanted``, white space runs (of up to 4 KB) taken as one space."""
    import re2

    words = [re2.escape(word) for word in wanted.encode("utf-8", "replace").split(b" ")]
    pattern = re2.compile(rb"(?:\s|\pZ)+".join(words))
    reach = 2 * len(wanted.encode("utf-8", "replace")) + 4096
    before = b""
    while block := file.read(_PIECE):
        block = before + block
        if pattern.search(block):
            return True
        before = block[-reach:]
    return False
