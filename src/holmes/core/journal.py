"""The journal: the truth of every run, append-only, in one SQLite file that several processes may share.

History, going on after a restart, replay of events and audit are views of it. Nothing that ``holmes --help`` reaches
imports this module (sqlite3 takes 15 ms).
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from holmes.core.errors import StoreError
from holmes.core.journal_schema import connect, store_error

_BATCH = 200  # entries read at a time
_PAGES = 2_000  # given back to the disk in one go: other processes wait that long
_DAY = 86_400.0
_MB = 1_000_000
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened; ``seq`` counts from 1 without holes in each run."""

    run_id: str
    seq: int
    kind: str
    payload: dict[str, Any]
    at: datetime
    tenant: str = "local"


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run as history lists it.

    ``status`` is "running" or what ``finish_run`` was told; a running one that nobody holds was interrupted.
    """

    run_id: str
    tenant: str
    question: str
    model: str
    cluster: str
    status: str
    entries: int
    started: datetime
    updated: datetime
    held: bool  # somebody has a lease on it now


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to append to a run. It ends when somebody else gets one: their fence is higher."""

    run_id: str
    owner: str
    fence: int
    until: datetime


class Journal:
    """An open journal. May be used from several threads; every method is short and blocks.

    When the file stops working during a run (full disk, damaged file, folder gone), the journal goes on in memory and
    ``problem`` says so. Errors of methods that only look or clean up are StoreErrors.
    """

    def __init__(self, db: sqlite3.Connection, path: Path | None, clock: Callable[[], float]) -> None:
        self.path = path
        self.problem: StoreError | None = None
        self._db = db
        self._broken: sqlite3.Connection | None = None  # the file, once the journal goes on in memory
        self._clock = clock
        self._lock = threading.RLock()
        self._live: dict[str, tuple[str, int, int]] = {}  # runs of this process: tenant, last seq, fence

    @classmethod
    def open(cls, path: Path | None, clock: Callable[[], float] = time.time) -> Journal:
        """Open or make the file (0600, in a folder made 0700); None keeps all in memory. Raises StoreError."""
        return cls(connect(path), path, clock)

    def close(self) -> None:
        """Close the file; what was kept in memory is gone."""
        with self._lock:
            for db in (self._db, self._broken):
                if db is not None:
                    db.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- writing -------------------------------------------------------------------------------------------------

    def start_run(
        self, run_id: str, question: str, *, model: str = "", cluster: str = "", tenant: str = "local"
    ) -> None:
        """Register a run, or go on with it: its first question stays, the status is "running" again."""
        now = self._clock()

        def write(db: sqlite3.Connection) -> None:
            row = db.execute("SELECT tenant, last_seq, fence FROM runs WHERE run_id = ?", (run_id,)).fetchone()
            if row is None:
                row = (tenant, 0, 0)
                values = (run_id, tenant, now, _clean(question), model, cluster, "running", now)
                columns = "run_id, tenant, started, question, model, cluster, status, updated"
                db.execute(f"INSERT INTO runs ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
            elif row[0] != tenant:
                raise _unknown(run_id)
            else:
                change = "UPDATE runs SET model = ?, cluster = ?, status = 'running', updated = ? WHERE run_id = ?"
                db.execute(change, (model, cluster, now, run_id))
            self._live[run_id] = row

        self._survive(run_id, write)

    def append(
        self, run_id: str, kind: str, payload: Mapping[str, Any], tenant: str = "local", lease: Lease | None = None
    ) -> int:
        """Add an entry and return its seq.

        ``payload`` holds JSON types. StoreError when the run is unknown, or when somebody else has taken it over:
        ``lease`` is out of date, or missing although one was given out.
        """
        text = _as_json(payload)
        fence = lease.fence if lease else 0
        now = self._clock()

        def write(db: sqlite3.Connection) -> int:
            moved = db.execute(
                "UPDATE runs SET last_seq = last_seq + 1, updated = ? WHERE run_id = ? AND tenant = ? AND fence = ?",
                (now, run_id, tenant, fence),
            )
            if not moved.rowcount:
                raise self._refusal(db, run_id, tenant, fence)
            seq = int(db.execute("SELECT last_seq FROM runs WHERE run_id = ?", (run_id,)).fetchone()[0])
            db.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", (tenant, run_id, seq, kind, text, now))
            return seq

        seq = self._survive(run_id, write)
        self._live[run_id] = (tenant, seq, fence)
        return seq

    def finish_run(self, run_id: str, status: str, lease: Lease | None = None) -> None:
        """Say how the run's turn ended and give the lease back. StoreError as for ``append``."""
        fence = lease.fence if lease else 0
        now = self._clock()

        def write(db: sqlite3.Connection) -> None:
            values = (status, now, run_id, fence)
            moved = db.execute(
                "UPDATE runs SET status = ?, updated = ?, leased_until = 0 WHERE run_id = ? AND fence = ?", values
            )
            if not moved.rowcount:
                raise self._refusal(db, run_id, None, fence)

        self._survive(run_id, write)
        self._live.pop(run_id, None)

    def lease(self, run_id: str, owner: str, seconds: float) -> Lease | None:
        """Take the run, or keep it: the owner's own lease is made longer. None while another owner's lease lasts.

        ``owner`` is unique to a process and its life. Raises StoreError for an unknown run.
        """
        now = self._clock()

        def write(db: sqlite3.Connection) -> Lease | None:
            query = "SELECT tenant, last_seq, fence, owner, leased_until FROM runs WHERE run_id = ?"
            row = db.execute(query, (run_id,)).fetchone()
            if row is None:
                raise _unknown(run_id)
            tenant, last_seq, fence, holder, until = row
            if holder != owner:
                if until > now:
                    return None
                fence += 1
            db.execute(
                "UPDATE runs SET fence = ?, owner = ?, leased_until = ? WHERE run_id = ?",
                (fence, owner, now + seconds, run_id),
            )
            self._live[run_id] = (tenant, last_seq, fence)
            return Lease(run_id, owner, fence, _time(now + seconds))

        return self._survive(run_id, write)

    # --- reading -------------------------------------------------------------------------------------------------

    def read(self, run_id: str, after: int = 0) -> Iterator[Entry]:
        """The entries behind ``after``, in order, read in small batches. Raises StoreError."""
        columns = "tenant, seq, kind, payload, at"
        query = f"SELECT {columns} FROM entries WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?"
        for db in [self._broken, self._db] if self._broken else [self._db]:
            while batch := self._fetch(db, query, (run_id, after, _BATCH)):
                for tenant, seq, kind, payload, at in batch:
                    yield Entry(run_id, seq, kind, json.loads(payload), _time(at), tenant)
                    after = seq

    def runs(self, limit: int = 20, tenant: str = "local") -> list[RunSummary]:
        """The latest runs, newest first. Raises StoreError."""
        columns = "run_id, tenant, started, question, model, cluster, status, updated, last_seq, leased_until"
        now = self._clock()
        query = f"SELECT {columns} FROM runs WHERE tenant = ? ORDER BY started DESC, rowid DESC LIMIT ?"
        found: dict[str, RunSummary] = {}
        for db in [self._db, self._broken] if self._broken else [self._db]:
            for row in self._fetch(db, query, (tenant, limit)):
                run, owner, started, question, model, cluster, status, updated, entries, until = row
                more = {"started": _time(started), "updated": _time(updated), "held": until > now}
                found.setdefault(run, RunSummary(run, owner, question, model, cluster, status, entries, **more))
        return sorted(found.values(), key=lambda run: run.started, reverse=True)[:limit]

    # --- cleaning up ---------------------------------------------------------------------------------------------

    def delete(self, run_id: str) -> bool:
        """Remove a run and its entries; False when there is none. StoreError while a lease on it lasts."""
        if self.problem:
            raise self.problem

        if self._remove(run_id):
            return True
        if self._fetch(self._db, "SELECT 1 FROM runs WHERE run_id = ?", (run_id,)):
            raise StoreError(f"the run {run_id} is still going on", remedy="end it first")
        return False

    def prune(self, days: float = 30, max_mb: int = 2000) -> list[str]:
        """Remove runs not touched for ``days``, then the oldest until the file holds at most ``max_mb``.

        Runs under a lease, and those that say they are running and moved within a day, stay. Returns the ids of the
        removed runs, so that their results can go too. Each run is its own short transaction. Raises StoreError.
        """
        now = self._clock()
        idle = "leased_until <= ? AND (status <> 'running' OR updated < ?)"
        query = f"SELECT run_id, updated FROM runs WHERE {idle} ORDER BY updated, rowid"
        removed: list[str] = []
        for run_id, updated in self._fetch(self._db, query, (now, now - _DAY)):
            if updated >= now - days * _DAY and self._used_bytes() <= max_mb * _MB:
                break
            if self._remove(run_id):
                removed.append(run_id)
        if removed:
            self._shrink()
        return removed

    # --- inside --------------------------------------------------------------------------------------------------

    def _remove(self, run_id: str) -> bool:
        """Delete a run that nobody holds; True when it was there and is gone."""

        def write(db: sqlite3.Connection) -> bool:
            values = (run_id, self._clock())
            if not db.execute("DELETE FROM runs WHERE run_id = ? AND leased_until <= ?", values).rowcount:
                return False
            db.execute("DELETE FROM entries WHERE run_id = ?", (run_id,))
            return True

        try:
            return self._transaction(write)
        except sqlite3.Error as error:
            raise store_error(error, self.path) from error

    def _shrink(self) -> None:
        free = self._pragma("freelist_count")
        while free:
            self._fetch(self._db, f"PRAGMA incremental_vacuum({_PAGES})")
            before, free = free, self._pragma("freelist_count")
            if free >= before:
                break
        self._fetch(self._db, "PRAGMA wal_checkpoint(TRUNCATE)")

    def _used_bytes(self) -> int:
        return (self._pragma("page_count") - self._pragma("freelist_count")) * self._pragma("page_size")

    def _pragma(self, name: str) -> int:
        return int(self._fetch(self._db, f"PRAGMA {name}")[0][0])

    def _transaction(self, write: Callable[[sqlite3.Connection], _Result]) -> _Result:
        with self._lock:
            db = self._db
            db.execute("BEGIN IMMEDIATE")
            try:
                result = write(db)
                db.execute("COMMIT")
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")
            return result

    def _survive(self, run_id: str, write: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Write to the file, or from the first failure on to memory."""
        with self._lock:
            try:
                return self._transaction(write)
            except sqlite3.ProgrammingError:
                raise  # closed: a fault of the caller
            except sqlite3.Error as error:
                cause = store_error(error, self.path)
                if self.path is None or self.problem:
                    raise cause from error
                self._go_on_in_memory(cause, run_id)
            return self._transaction(write)

    def _go_on_in_memory(self, cause: StoreError, run_id: str) -> None:
        message = f"{cause.message}; the run goes on, but from here it is not kept"
        self.problem = StoreError(message, where=cause.where, remedy=cause.remedy)
        memory, now = connect(None), self._clock()
        for live in {*self._live, run_id}:
            rows = self._fetch(self._db, "SELECT * FROM runs WHERE run_id = ?", (live,), forgive=True)
            if rows:
                memory.execute(f"INSERT INTO runs VALUES ({', '.join('?' * len(rows[0]))})", rows[0])
            elif live in self._live:
                columns = "run_id, tenant, last_seq, fence, started, updated, question, model, cluster, status"
                values = (live, *self._live[live], now, now, "", "", "", "running")
                memory.execute(f"INSERT INTO runs ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        self._db, self._broken = memory, self._db

    def _fetch(
        self, db: sqlite3.Connection, query: str, values: tuple[Any, ...] = (), *, forgive: bool = False
    ) -> list[tuple[Any, ...]]:
        """All rows; none from a file that is known to be broken and cannot be read either."""
        try:
            with self._lock:
                return db.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            if forgive or db is self._broken:
                return []
            raise store_error(error, self.path) from error

    def _refusal(self, db: sqlite3.Connection, run_id: str, tenant: str | None, fence: int) -> StoreError:
        row = db.execute("SELECT tenant, owner FROM runs WHERE run_id = ?", (run_id,)).fetchone()
        if row is None or tenant not in (None, row[0]):
            return _unknown(run_id)
        held = "this process no longer holds it" if fence else "it may only be written under a lease"
        message = f"the run {run_id} belongs to {row[1] or 'nobody'}: {held}"
        return StoreError(message, remedy="read it; only its owner goes on with it")


def _unknown(run_id: str) -> StoreError:
    return StoreError(f"there is no run {run_id}", remedy="see `holmes history list`")


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _clean(text: str) -> str:
    """Lone surrogates (undecodable bytes of a command line) cannot be stored as text."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _as_json(payload: Mapping[str, Any]) -> str:
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # lone surrogates come back unchanged from their escapes
        return json.dumps(payload, separators=(",", ":"))
    return text
