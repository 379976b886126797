"""SQLite files, through the standard library."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from holmes.toolsets.database.functions import Functions
from holmes.toolsets.database.server import Cells, ColumnInfo, Fault, TableInfo, client
from holmes.toolsets.database.statements import is_reading_pragma

if TYPE_CHECKING:
    from sqlalchemy import URL

    from holmes.toolsets.database.config import DatabaseConfig

_LONGEST_VALUE = 16_000_000  # bytes
_OPERATORS = frozenset(["match", "regexp", "->", "->>"])  # functions to SQLite
_TABLES = """
SELECT '', name, type FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
ORDER BY name
"""


class SQLite:
    """A database file, opened so that it cannot be written; an authorizer lets nothing but reading through."""

    title = "SQLite"
    driver = "sqlite3"
    extra = "sql"

    def prepare(self, url: URL, config: DatabaseConfig, env: Mapping[str, str]) -> tuple[URL, dict[str, Any]]:
        """See Server."""
        database = (url.database or "").removeprefix("file:").partition("?")[0]
        if not database or ":memory:" in database:
            raise ValueError("connection_url names no file, such as sqlite:////var/lib/app/app.db")
        path = Path(database).expanduser().absolute()
        location = f"file:{quote(str(path))}"
        query = {"mode": "ro", "uri": "true"}
        return url.set(drivername="sqlite", database=location, query=query), {
            "check_same_thread": False,
            "isolation_level": None,
            "timeout": min(5.0, config.timeout),
        }

    def begin(self, raw: Any, seconds: float) -> None:
        """See Server."""
        import sqlite3

        end = time.monotonic() + seconds
        raw.set_authorizer(None)
        raw.execute("PRAGMA query_only = ON")
        raw.execute("PRAGMA trusted_schema = OFF")
        raw.text_factory = lambda value: value.decode("utf-8", "replace")
        raw.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
        raw.set_progress_handler(lambda: time.monotonic() > end, 10_000)
        raw.set_authorizer(_authorizer())

    def rows(self, raw: Any, sql: str) -> tuple[list[str], Iterator[Cells]]:
        """See Server."""
        cursor = raw.execute(sql)
        return [column[0] for column in cursor.description or ()], cursor

    def stop(self, raw: Any, settings: tuple[URL, dict[str, Any]]) -> None:
        """See Server."""
        raw.interrupt()

    def fault(self, error: BaseException) -> Fault:
        """See Server."""
        message = " ".join(str(error).split())
        head, _, name = message.partition(": ")
        if head == "no such table":
            return Fault("table", message, name)
        if head == "no such column":
            return Fault("column", message, name)
        if message == "interrupted":
            return Fault("timeout", message)
        if message.startswith(("not authorized", "attempt to write", "access to")):
            return Fault("read-only", message)
        return Fault("other", message)

    def version(self, raw: Any) -> str:
        """See Server."""
        import sqlite3

        return f"SQLite {sqlite3.sqlite_version}"

    def powers(self, raw: Any) -> list[str]:
        """See Server."""
        return []

    def remedy(self) -> str:
        """See Server."""
        return ""

    def tables(self, raw: Any) -> list[TableInfo]:
        """See Server."""
        return [TableInfo(*row) for row in raw.execute(_TABLES)]

    def columns(self, raw: Any, table: TableInfo) -> list[ColumnInfo]:
        """See Server."""
        rows = raw.execute("SELECT name, type, [notnull], dflt_value FROM pragma_table_xinfo(?)", [table.name])
        return [ColumnInfo(name, kind or "any", not required, default) for name, kind, required, default in rows]

    def invocation(self, url: URL, sql: str) -> str:
        """See Server."""
        return client("sqlite3", {}, ["-readonly", file_of(url), sql])


def file_of(url: URL) -> str:
    """The path of the database file."""
    return unquote((url.database or "").removeprefix("file:"))


def _authorizer() -> Any:
    """Asked by SQLite for each thing that a statement wants to do, while it is prepared."""
    import sqlite3

    functions = Functions("sqlite")

    def allow(action: int, first: str | None, second: str | None, database: str | None, trigger: str | None) -> int:
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION:
            name = (second or "").lower()
            return sqlite3.SQLITE_OK if functions.reads(name) or name in _OPERATORS else sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_UPDATE and first == "sqlite_master":  # asked when a virtual table is looked at
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA and is_reading_pragma((first or "").lower(), second is not None):
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    return allow
