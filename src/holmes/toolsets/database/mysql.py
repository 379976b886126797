"""MySQL and MariaDB, through PyMySQL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from holmes.toolsets.database.postgres import authorities
from holmes.toolsets.database.server import Cells, ColumnInfo, Fault, FaultKind, TableInfo, client

if TYPE_CHECKING:
    from sqlalchemy import URL

    from holmes.toolsets.database.config import DatabaseConfig

_FAULTS: Mapping[int, FaultKind] = {
    1146: "table",
    1054: "column",
    1969: "timeout",
    3024: "timeout",
    1317: "timeout",
    1142: "denied",
    1143: "denied",
    1044: "denied",
    1227: "denied",
    1792: "read-only",
}
_TABLES = """
SELECT table_schema, table_name, CASE table_type WHEN 'VIEW' THEN 'view' WHEN 'BASE TABLE' THEN 'table'
  ELSE LOWER(table_type) END, table_rows, data_length + index_length
FROM information_schema.tables
WHERE table_schema NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
ORDER BY 1, 2
"""
_COLUMNS = """
SELECT column_name, column_type, is_nullable = 'YES', column_default FROM information_schema.columns
WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position
"""
# Global rights that reach past a read-only session; PROCESS and REPLICATION CLIENT only look.
_POWERS = re.compile(
    r"ALL PRIVILEGES|SUPER|FILE|SHUTDOWN|RELOAD|CONNECTION[_ ]ADMIN|SYSTEM_VARIABLES_ADMIN|SESSION_VARIABLES_ADMIN"
    r"|BINLOG[_ ](?:ADMIN|REPLAY)|REPLICATION[_ ](?:SLAVE|MASTER|REPLICA)[_ ]ADMIN|READ[_ ]?ONLY[_ ]ADMIN"
    r"|GROUP_REPLICATION_ADMIN|SET[_ ]USER(?:_ID)?|TABLE_ENCRYPTION_ADMIN|FLUSH_\w+|CLONE_ADMIN"
)
_MODE = "NO_ENGINE_SUBSTITUTION"  # strings and quotes as the guard reads them, whatever the server's default


class MySQL:
    """MySQL and MariaDB. Each statement has a connection of its own, read-only as a session and as a transaction."""

    title = "MySQL"
    driver = "pymysql"
    extra = "mysql"

    def prepare(self, url: URL, config: DatabaseConfig, env: Mapping[str, str]) -> tuple[URL, dict[str, Any]]:
        """See Server."""
        seconds = max(1, int(config.timeout))
        arguments: dict[str, Any] = {
            "connect_timeout": seconds,
            "read_timeout": seconds + 5,  # a server that is gone; a slow statement it ends itself
            "write_timeout": seconds + 5,
            "client_flag": 2,  # FOUND_ROWS alone: no MULTI_STATEMENTS, whatever the URL says
            "local_infile": False,
            "charset": "utf8mb4",
            "conv": _conversions(),
        }
        if config.verify_ssl:
            arguments |= {"ssl_ca": authorities(env), "ssl_verify_cert": True, "ssl_verify_identity": True}
        elif config.verify_ssl is False:
            arguments |= {"ssl_verify_cert": False, "ssl_verify_identity": False}
        return url.set(drivername="mysql+pymysql"), arguments

    def begin(self, raw: Any, seconds: float) -> None:
        """See Server."""
        maria = "mariadb" in raw.get_server_info().lower()
        limit = f"max_statement_time = {seconds:.3f}" if maria else f"max_execution_time = {int(seconds * 1000)}"
        raw.rollback()
        with raw.cursor() as cursor:
            cursor.execute(f"SET SESSION sql_mode = '{_MODE}', SESSION {limit}")
            cursor.execute("SET SESSION TRANSACTION READ ONLY")
            cursor.execute("START TRANSACTION READ ONLY")

    def rows(self, raw: Any, sql: str) -> tuple[list[str], Iterator[Cells]]:
        """See Server. Values come as the server writes them, but for whole numbers and floats."""
        from pymysql.cursors import SSCursor

        cursor = raw.cursor(SSCursor)
        cursor.execute(sql)
        return [column[0] for column in cursor.description or ()], _unread(raw, cursor)

    def stop(self, raw: Any, settings: tuple[URL, dict[str, Any]]) -> None:
        """See Server. A second connection of the same user may end the statement of the first."""
        from sqlalchemy import create_engine
        from sqlalchemy.pool import NullPool

        url, arguments = settings
        brief = arguments | {"connect_timeout": 2, "read_timeout": 2}
        with create_engine(url, poolclass=NullPool, connect_args=brief).connect() as connection:
            connection.exec_driver_sql(f"KILL QUERY {int(raw.thread_id())}")

    def fault(self, error: BaseException) -> Fault:
        """See Server."""
        code = error.args[0] if error.args else 0
        message = str(error.args[1]) if len(error.args) > 1 else " ".join(str(error).split())
        quoted = message.split("'")
        name = quoted[1] if len(quoted) > 1 else ""
        kind = _FAULTS.get(code, "other") if isinstance(code, int) else "other"
        return Fault(kind, message or type(error).__name__, name)

    def version(self, raw: Any) -> str:
        """See Server."""
        found = str(raw.get_server_info()).removeprefix("5.5.5-")
        return f"MariaDB {found.partition('-')[0]}" if "mariadb" in found.lower() else f"MySQL {found}"

    def powers(self, raw: Any) -> list[str]:
        """See Server."""
        found: dict[str, None] = {}
        with raw.cursor() as cursor:
            cursor.execute("SHOW GRANTS")
            for (line,) in cursor.fetchall():
                everywhere = re.match(r"GRANT (.*?) ON \*\.\* TO", str(line))
                for right in everywhere[1].split(", ") if everywhere else ():
                    if _POWERS.fullmatch(right):
                        found[right] = None
        return list(found)

    def remedy(self) -> str:
        """See Server."""
        return "use a user that only reads: GRANT SELECT, SHOW VIEW ON its databases, GRANT PROCESS ON *.*"

    def tables(self, raw: Any) -> list[TableInfo]:
        """See Server."""
        with raw.cursor() as cursor:
            cursor.execute(_TABLES)
            return [TableInfo(*row) for row in cursor.fetchall()]

    def columns(self, raw: Any, table: TableInfo) -> list[ColumnInfo]:
        """See Server."""
        with raw.cursor() as cursor:
            cursor.execute(_COLUMNS, [table.schema, table.name])
            return [
                ColumnInfo(name, kind, bool(nullable), None if default == "NULL" else default)
                for name, kind, nullable, default in cursor
            ]

    def invocation(self, url: URL, sql: str) -> str:
        """See Server."""
        options = {"-h": url.host, "-P": url.port, "-u": url.username, "-D": url.database}
        return client("mysql", options, ["-e", sql])


def _unread(raw: Any, cursor: Any) -> Iterator[Cells]:
    """The rows; when the reader stops early, the connection goes rather than all the rest coming."""
    whole = False
    try:
        yield from cursor.fetchall_unbuffered()
        whole = True
    finally:
        if not whole:
            cursor._result.unbuffered_active = False  # or the driver would read on when the cursor goes
            raw._force_close()


def _conversions() -> dict[Any, Any]:
    from pymysql.constants import FIELD_TYPE
    from pymysql.converters import encoders

    whole = (FIELD_TYPE.TINY, FIELD_TYPE.SHORT, FIELD_TYPE.INT24, FIELD_TYPE.LONG, FIELD_TYPE.LONGLONG, FIELD_TYPE.YEAR)
    return {**encoders, **dict.fromkeys(whole, int), FIELD_TYPE.FLOAT: float, FIELD_TYPE.DOUBLE: float}
