"""PostgreSQL, through psycopg."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from holmes.toolsets.database.server import Cells, ColumnInfo, Fault, FaultKind, TableInfo, client

if TYPE_CHECKING:
    from sqlalchemy import URL

    from holmes.toolsets.database.config import DatabaseConfig

_FAULTS: Mapping[str, FaultKind] = {
    "42P01": "table",
    "42703": "column",
    "57014": "timeout",
    "42501": "denied",
    "25006": "read-only",
}
_TABLES = """
SELECT n.nspname, c.relname,
  CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'f' THEN 'foreign table'
    WHEN 'p' THEN 'partitioned table' ELSE 'table' END,
  CASE WHEN c.relkind IN ('r', 'm') AND c.reltuples >= 0 THEN c.reltuples::bigint END,
  CASE WHEN c.relkind IN ('r', 'm') THEN pg_catalog.pg_table_size(c.oid) END
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
  AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
ORDER BY 1, 2
"""
_COLUMNS = """
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), NOT a.attnotnull,
  CASE WHEN a.attidentity <> '' THEN 'identity' ELSE pg_catalog.pg_get_expr(d.adbin, d.adrelid) END
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
_POWERS = """
SELECT 'superuser' FROM pg_catalog.pg_roles WHERE rolname = current_user AND rolsuper
UNION ALL SELECT 'REPLICATION' FROM pg_catalog.pg_roles WHERE rolname = current_user AND rolreplication
UNION ALL SELECT rolname FROM pg_catalog.pg_roles WHERE pg_catalog.pg_has_role(rolname, 'MEMBER')
  AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles s WHERE s.rolname = current_user AND s.rolsuper)
  AND rolname IN ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program', 'pg_signal_backend',
    'pg_checkpoint', 'pg_maintain', 'pg_create_subscription')
UNION ALL SELECT DISTINCT 'EXECUTE on ' || proname FROM pg_catalog.pg_proc
  WHERE pronamespace = 'pg_catalog'::pg_catalog.regnamespace AND pg_catalog.has_function_privilege(oid, 'EXECUTE')
  AND proname IN ('pg_read_file', 'pg_read_binary_file', 'pg_ls_dir', 'pg_stat_file', 'lo_export', 'pg_reload_conf',
    'pg_rotate_logfile', 'pg_promote', 'pg_switch_wal', 'pg_create_restore_point', 'pg_wal_replay_pause',
    'pg_stat_reset', 'pg_stat_reset_shared', 'pg_log_backend_memory_contexts')
  AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles s WHERE s.rolname = current_user AND s.rolsuper)
"""


class Postgres:
    """PostgreSQL, and what speaks its protocol.

    Each statement has a connection and a read-only transaction of its own, which is rolled back. The transaction, not
    the session, is made read-only: behind a connection pooler the session is shared with the application, and a
    setting left in it would break that. The extended protocol takes one statement at a time, so none can end the
    transaction and go on.
    """

    title = "PostgreSQL"
    driver = "psycopg"
    extra = "postgresql"

    def prepare(self, url: URL, config: DatabaseConfig, env: Mapping[str, str]) -> tuple[URL, dict[str, Any]]:
        """See Server."""
        arguments: dict[str, Any] = {
            "connect_timeout": max(2, int(config.timeout)),
            "application_name": "holmes",
            "prepare_threshold": None,  # poolers
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
        }
        if config.verify_ssl:
            arguments |= {"sslmode": "verify-full", "sslrootcert": authorities(env)}
        elif config.verify_ssl is False and str(url.query.get("sslmode", "")).startswith("verify"):
            arguments["sslmode"] = "require"
        return url.set(drivername="postgresql+psycopg"), arguments

    def begin(self, raw: Any, seconds: float) -> None:
        """See Server. The settings are a query, behind which the transaction cannot be made read-write any more."""
        raw.rollback()
        raw.autocommit = False
        raw.read_only = True
        raw.execute(
            "SELECT pg_catalog.set_config('statement_timeout', %s, true),"
            " pg_catalog.set_config('standard_conforming_strings', 'on', true)",
            [str(max(1, int(seconds * 1000)))],
        )

    def rows(self, raw: Any, sql: str) -> tuple[list[str], Iterator[Cells]]:
        """See Server. Values come as the server writes them, but for numbers, booleans and bytes."""
        from psycopg.postgres import types
        from psycopg.types.string import TextLoader

        cursor = raw.cursor()
        typed = {"bool", "bytea", "int2", "int4", "int8", "oid", "float4", "float8"}
        for info in types:
            if info.name not in typed:
                cursor.adapters.register_loader(info.oid, TextLoader)
            if info.array_oid:
                cursor.adapters.register_loader(info.array_oid, TextLoader)
        stream = cursor.stream(sql)
        first = next(stream, None)
        columns = [column.name for column in cursor.description or ()]
        return columns, stream if first is None else chain([first], stream)

    def stop(self, raw: Any, settings: tuple[URL, dict[str, Any]]) -> None:
        """See Server."""
        raw.cancel_safe(timeout=2.0)

    def fault(self, error: BaseException) -> Fault:
        """See Server."""
        diagnosis = getattr(error, "diag", None)
        state = getattr(error, "sqlstate", None) or ""
        message = getattr(diagnosis, "message_primary", None) or " ".join(str(error).split())
        hint = getattr(diagnosis, "message_hint", None)
        quoted = message.split('"')
        name = quoted[1] if len(quoted) > 1 else message.removeprefix("column ").partition(" ")[0]
        return Fault(_FAULTS.get(state, "other"), f"{message} ({hint})" if hint else message, name)

    def version(self, raw: Any) -> str:
        """See Server."""
        return f"PostgreSQL {(raw.info.parameter_status('server_version') or '').partition(' ')[0]}"

    def powers(self, raw: Any) -> list[str]:
        """See Server."""
        return [str(name) for (name,) in raw.execute(_POWERS)]

    def remedy(self) -> str:
        """See Server."""
        return "use a role that only reads: CREATE ROLE holmes LOGIN; GRANT pg_monitor TO holmes; GRANT SELECT ON ..."

    def tables(self, raw: Any) -> list[TableInfo]:
        """See Server."""
        return [TableInfo(*row) for row in raw.execute(_TABLES)]

    def columns(self, raw: Any, table: TableInfo) -> list[ColumnInfo]:
        """See Server."""
        return [ColumnInfo(*row) for row in raw.execute(_COLUMNS, [table.schema, table.name])]

    def invocation(self, url: URL, sql: str) -> str:
        """See Server."""
        options = {"-h": url.host, "-p": url.port, "-U": url.username, "-d": url.database}
        return client("psql", options, ["-c", sql])


def authorities(env: Mapping[str, str]) -> str:
    """The file with the certificate authorities to trust: SSL_CERT_FILE, or the system's."""
    import ssl

    return env.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile or "system"
