"""The journal's file: its tables, their versions, and what can be wrong with it."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from holmes.core.errors import StoreError
from holmes.core.paths import REMEDY, private_file, private_folder

APPLICATION_ID = 0x484F4C4D  # "HOLM": tells our files from other programs' SQLite files
BUSY_SECONDS = 2.0  # how long a statement waits for another process
_OPEN_TRIES = 100  # of 20 ms: switching to WAL does not wait by itself

# Step N brings a file of version N to N + 1; steps are only ever added.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE runs (
            run_id TEXT PRIMARY KEY, tenant TEXT NOT NULL, started REAL NOT NULL, question TEXT NOT NULL,
            model TEXT NOT NULL, cluster TEXT NOT NULL, status TEXT NOT NULL, updated REAL NOT NULL,
            last_seq INTEGER NOT NULL DEFAULT 0, fence INTEGER NOT NULL DEFAULT 0,
            owner TEXT NOT NULL DEFAULT '', leased_until REAL NOT NULL DEFAULT 0)""",
        "CREATE INDEX runs_by_time ON runs (tenant, started)",
        """CREATE TABLE entries (
            tenant TEXT NOT NULL, run_id TEXT NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL,
            payload TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (run_id, seq))""",
    ),
)


def connect(path: Path | None) -> sqlite3.Connection:
    """A connection to a journal of the present version; None: in memory. StoreError says what is in the way."""
    if path is not None:
        private_folder(path.parent)
        private_file(path)
    db: sqlite3.Connection | None = None
    try:
        target = ":memory:" if path is None else path
        db = sqlite3.connect(target, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        _check_owner(db, path)
        _prepare(db)
    except (sqlite3.Error, StoreError) as error:
        if db is not None:
            db.close()
        raise store_error(error, path) from error
    return db


def store_error(error: Exception, path: Path | None) -> StoreError:
    """What an error of SQLite means for people."""
    if isinstance(error, StoreError):
        return error
    name = str(getattr(error, "sqlite_errorname", ""))
    causes = {
        "SQLITE_FULL": ("the disk is full", "free some space; or use --no-history to keep nothing"),
        "SQLITE_READONLY": ("the journal is read-only", REMEDY),
        "SQLITE_CANTOPEN": ("the journal cannot be opened", REMEDY),
        "SQLITE_PERM": ("the journal may not be opened", REMEDY),
        "SQLITE_NOTADB": ("this is not a journal of Holmes", "move the file away; Holmes then makes a new one"),
        "SQLITE_CORRUPT": ("the journal is damaged", "move the file away; Holmes then makes a new one"),
        "SQLITE_BUSY": ("another process holds the journal", "end that process, or try again"),
        "SQLITE_IOERR": ("the journal cannot be read or written", f"check the disk; or {REMEDY}"),
    }
    for code, (message, remedy) in causes.items():
        if name == code or name.startswith(f"{code}_"):
            return StoreError(f"{message} ({error})", where=_where(path), remedy=remedy)
    return StoreError(f"the journal does not work: {error}", where=_where(path), remedy=REMEDY)


def _where(path: Path | None) -> str:
    return str(path) if path else "journal in memory"


def _check_owner(db: sqlite3.Connection, path: Path | None) -> None:
    tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables and _pragma(db, "application_id") != APPLICATION_ID:
        remedy = "move the file away, or set HOLMES_HOME to another folder"
        raise StoreError("this database belongs to another program", where=_where(path), remedy=remedy)
    if (version := _pragma(db, "user_version")) > len(MIGRATIONS):
        message = f"this journal was written by a newer Holmes (version {version}, known are up to {len(MIGRATIONS)})"
        raise StoreError(message, where=_where(path), remedy="update Holmes, or set HOLMES_HOME to another folder")


def _prepare(db: sqlite3.Connection) -> None:
    if _pragma(db, "user_version") == 0:
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # only has an effect before the first table
    for attempt in range(_OPEN_TRIES):
        try:
            db.execute("PRAGMA journal_mode = WAL").fetchone()  # where WAL cannot be, SQLite keeps its old way
            break
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or attempt == _OPEN_TRIES - 1:
                raise
            time.sleep(0.02)
    db.execute("PRAGMA synchronous = NORMAL")
    if _pragma(db, "user_version") == len(MIGRATIONS):
        return
    db.execute("BEGIN IMMEDIATE")
    for step in MIGRATIONS[_pragma(db, "user_version") :]:
        for statement in step:
            db.execute(statement)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    db.execute("COMMIT")


def _pragma(db: sqlite3.Connection, name: str) -> int:
    return int(db.execute(f"PRAGMA {name}").fetchone()[0])
