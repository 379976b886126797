"""Real PostgreSQL and MariaDB: what their own read-only sessions hold when the guard is not asked, and what not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from holmes.core.results import Status
from support.database_servers import Server, mariadb_server, postgres_server
from support.tool_context import acall, context

HOSTILE = yaml.safe_load((Path(__file__).parent.parent / "database" / "hostile.yaml").read_text())


def statements(dialect: str, group: str) -> list[str]:
    return [line.replace("\t", "\n") for line in HOSTILE[dialect][group].splitlines()]


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="module")
def mariadb() -> Iterator[Server]:
    with mariadb_server() as server:
        yield server


# What a change would change.
POSTGRES_PICTURE = """
SELECT (SELECT array_agg(o::text ORDER BY id) FROM orders o), (SELECT array_agg(c::text) FROM customers c),
  (SELECT last_value::text || is_called FROM numbers),
  (SELECT array_agg(n.nspname || '.' || c.relname || c.relowner || coalesce(c.relacl::text, '') ORDER BY 1)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname <> 'pg_toast'),
  (SELECT array_agg(attrelid || attname ORDER BY 1) FROM pg_attribute),
  (SELECT array_agg(proname ORDER BY 1) FROM pg_proc), (SELECT array_agg(tgname) FROM pg_trigger),
  (SELECT array_agg(a::text ORDER BY rolname) FROM pg_authid a), (SELECT array_agg(m::text) FROM pg_auth_members m),
  (SELECT array_agg(datname ORDER BY 1) FROM pg_database), (SELECT array_agg(s::text) FROM pg_db_role_setting s),
  (SELECT array_agg(m.oid ORDER BY 1) FROM pg_largeobject_metadata m), (SELECT count(*) FROM pg_largeobject),
  (SELECT array_agg(e::text) FROM pg_extension e),
  (SELECT array_agg(d::text) FROM pg_description d WHERE objoid > 16000)
"""


def test_postgres_refuses_every_change_by_itself(postgres: Server) -> None:
    """As superuser, so that no missing right can be the reason."""
    before = postgres.execute(POSTGRES_PICTURE)
    changes = statements("postgres", "changes")
    results = postgres.unguarded(changes)
    let_through = [sql for sql, result in zip(changes, results, strict=True) if result.status != Status.ERROR]
    assert let_through == []
    read_only = [result for result in results if "read-only transaction" in result.error]
    alone = [result for result in results if "cannot insert multiple commands" in result.error]
    assert len(read_only) >= 90 and len(read_only) + len(alone) >= len(changes) - 3
    assert postgres.execute(POSTGRES_PICTURE) == before


def test_what_slips_through_a_read_only_transaction_of_postgres_is_rolled_back(postgres: Server) -> None:
    before = postgres.execute(POSTGRES_PICTURE)
    results = postgres.unguarded(statements("postgres", "undone"))
    assert any(result.ok for result in results)  # it does slip through
    assert postgres.execute(POSTGRES_PICTURE) == before


def test_the_picture_of_postgres_shows_changes(postgres: Server) -> None:
    """Else the tests above would prove nothing."""
    before = postgres.execute(POSTGRES_PICTURE)
    for change, back in (
        ("INSERT INTO orders VALUES (77, 'x')", "DELETE FROM orders WHERE id = 77"),
        ("ALTER TABLE orders ADD COLUMN b int", "ALTER TABLE orders DROP COLUMN b"),
        ("CREATE ROLE made", "DROP ROLE made"),
        ("SELECT lo_create(4799)", "SELECT lo_unlink(4799)"),
    ):
        postgres.execute(change)
        assert postgres.execute(POSTGRES_PICTURE) != before
        postgres.execute(back)


def test_a_statement_cannot_reopen_the_session_of_postgres_for_the_next_one(postgres: Server) -> None:
    before = postgres.execute(POSTGRES_PICTURE)
    openers = [
        "COMMIT",
        "SET default_transaction_read_only = off",
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
        "SET TRANSACTION READ WRITE",
        "SELECT set_config('transaction_read_only', 'off', false)",
    ]
    for opener in openers:
        first, second = postgres.unguarded([opener, "DELETE FROM orders"])
        assert first is not second and "read-only transaction" in second.error
    assert postgres.execute(POSTGRES_PICTURE) == before


def test_a_plain_role_of_postgres_is_refused_what_needs_a_right(postgres: Server) -> None:
    postgres.execute("SELECT 1")
    wanted = statements("postgres", "rights")
    results = postgres.unguarded(wanted, "reader")
    assert [sql for sql, result in zip(wanted, results, strict=True) if result.status != Status.ERROR] == []


def test_a_role_of_postgres_with_the_rights_is_not_stopped_by_the_session(postgres: Server) -> None:
    """Why ``toolset test`` warns of such a role: only the guard is left."""
    import psycopg

    (read,) = postgres.unguarded(["SELECT pg_read_file('/etc/hostname')"])
    assert read.ok and Path("/etc/hostname").read_text().strip() in read.text
    victim = psycopg.connect(postgres.url.replace("postgres@", "app@"))
    kill = f"SELECT pg_terminate_backend({victim.info.backend_pid})"
    (refused,) = postgres.unguarded([kill], "reader")
    assert refused.status == Status.ERROR
    (done,) = postgres.unguarded([kill], "signaller")
    assert done.ok and "true" in done.text
    with pytest.raises(psycopg.OperationalError):
        victim.execute("SELECT 1")
    target = postgres.folder / "copied"
    postgres.unguarded([f"COPY (SELECT 1) TO '{target}'"])
    assert target.exists()


def test_opening_postgres_warns_of_such_roles(postgres: Server) -> None:
    plain = asyncio.run(postgres.toolset("reader").open())
    assert plain.status == "enabled" and "WARNING" not in plain.reason and plain.remedy == ""
    assert plain.reason.startswith("PostgreSQL 1") and "reader@127.0.0.1" in plain.reason
    for role, right in (("", "superuser"), ("signaller", "pg_signal_backend")):
        told = asyncio.run(postgres.toolset(role).open())
        assert told.status == "enabled" and f"WARNING: a read-only session does not stop this role from: {right}" in (
            told.reason
        )
        assert "CREATE ROLE" in told.remedy


MYSQL_PICTURE = (
    "SET SESSION group_concat_max_len = 1000000",
    "SELECT (SELECT GROUP_CONCAT(id, item ORDER BY id) FROM shop.orders), (SELECT next_not_cached_value"
    " FROM shop.numbers), (SELECT GROUP_CONCAT(table_schema, table_name, engine ORDER BY 1) FROM"
    " information_schema.tables WHERE table_schema NOT IN ('information_schema', 'performance_schema')),"
    " (SELECT GROUP_CONCAT(table_name, column_name ORDER BY 1) FROM information_schema.columns WHERE"
    " table_schema = 'shop'), (SELECT GROUP_CONCAT(routine_name ORDER BY 1) FROM information_schema.routines WHERE"
    " routine_schema = 'shop'), (SELECT GROUP_CONCAT(user, priv ORDER BY 1) FROM mysql.global_priv), (SELECT"
    " GROUP_CONCAT(index_name ORDER BY 1) FROM information_schema.statistics WHERE table_schema = 'shop'), (SELECT"
    " GROUP_CONCAT(schema_name, default_character_set_name ORDER BY 1) FROM information_schema.schemata),"
    " (SELECT COUNT(*) FROM mysql.servers), (SELECT COUNT(*) FROM mysql.event), (SELECT COUNT(*) FROM mysql.plugin),"
    " (SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = 'shop')",
)


def test_mariadb_refuses_every_change_by_itself(mariadb: Server) -> None:
    """As root, so that no missing right can be the reason."""
    before = mariadb.execute(*MYSQL_PICTURE)
    changes = statements("mysql", "changes")
    results = mariadb.unguarded(changes)
    assert [sql for sql, result in zip(changes, results, strict=True) if result.status != Status.ERROR] == []
    read_only = [result for result in results if "READ ONLY transaction" in result.error]
    syntax = [result for result in results if "error in your SQL syntax" in result.error]  # of MySQL alone, or several
    assert len(read_only) >= 58 and len(read_only) + len(syntax) >= len(changes) - 1
    assert mariadb.execute(*MYSQL_PICTURE) == before
    mariadb.execute("INSERT INTO shop.orders VALUES (77, 'x')")
    assert mariadb.execute(*MYSQL_PICTURE) != before
    mariadb.execute("DELETE FROM shop.orders WHERE id = 77")


def test_a_statement_cannot_reopen_the_session_of_mariadb_for_the_next_one(mariadb: Server) -> None:
    before = mariadb.execute(*MYSQL_PICTURE)
    for opener in (
        "COMMIT",
        "SET SESSION TRANSACTION READ WRITE",
        "START TRANSACTION READ WRITE",
        "SET autocommit = 1",
    ):
        _, second = mariadb.unguarded([opener, "DELETE FROM orders"])
        assert "READ ONLY transaction" in second.error
    assert mariadb.execute(*MYSQL_PICTURE) == before


def test_a_plain_user_of_mariadb_is_refused_what_needs_a_right(mariadb: Server) -> None:
    wanted = statements("mysql", "rights")
    results = mariadb.unguarded(wanted, "reader")
    assert [sql for sql, result in zip(wanted, results, strict=True) if result.status != Status.ERROR] == []


def test_a_user_of_mariadb_with_the_rights_is_not_stopped_by_the_session(mariadb: Server) -> None:
    import pymysql

    target = mariadb.folder / "written"
    write = f"SELECT item FROM orders INTO OUTFILE '{target}'"
    (refused,) = mariadb.unguarded([write], "reader")
    assert "FILE privilege" in refused.error and not target.exists()
    mariadb.unguarded([write], "filer")
    assert target.exists()
    (content,) = mariadb.unguarded(["SELECT LOAD_FILE('/etc/hostname') AS content"], "filer")
    (nothing,) = mariadb.unguarded(["SELECT LOAD_FILE('/etc/hostname') AS content"], "reader")
    assert "0x" in content.text and nothing.data["rows"] == [[None]]
    port = int(mariadb.url.rpartition(":")[2].partition("/")[0])
    with pymysql.connect(host="127.0.0.1", port=port, user="root") as victim:
        kill = f"KILL {victim.thread_id()}"
        (refused,) = mariadb.unguarded([kill], "reader")
        assert refused.status == Status.ERROR
        mariadb.unguarded([kill], "killer")
        with pytest.raises(pymysql.Error), victim.cursor() as cursor:
            cursor.execute("SELECT 1")


def test_opening_mariadb_warns_of_such_users(mariadb: Server) -> None:
    plain = asyncio.run(mariadb.toolset("reader").open())
    assert plain.status == "enabled" and "WARNING" not in plain.reason and plain.reason.startswith("MariaDB 1")
    for user, right in (("", "ALL PRIVILEGES"), ("filer", "FILE"), ("killer", "CONNECTION ADMIN")):
        told = asyncio.run(mariadb.toolset(user).open())
        assert told.status == "enabled" and told.reason.endswith(f"does not stop this role from: {right}")
        assert "GRANT SELECT" in told.remedy


LONG = {
    "postgres": "SELECT count(*) FROM generate_series(1, 1000000000)",
    "mariadb": "SELECT COUNT(*) FROM seq_1_to_1000000000 a, seq_1_to_1000000000 b",
}
RUNNING = {
    "postgres": "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'holmes'",
    "mariadb": "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'reader' AND command <> 'Sleep'",
}
MANY = {
    "postgres": "SELECT a.aggfnoid, b.oid FROM pg_aggregate a, pg_proc b, pg_proc c",
    "mariadb": "SELECT seq FROM seq_1_to_100000000",
}


@pytest.mark.parametrize("name", ["postgres", "mariadb"])
def test_the_server_ends_a_slow_statement(name: str, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(name)
    started = time.monotonic()
    result = server.query(LONG[name], "reader", timeout=1)
    assert time.monotonic() - started < 5
    assert result.status == Status.ERROR and "Narrow it" in result.error
    assert server.execute(RUNNING[name])[0][0] == 0


@pytest.mark.parametrize("name", ["postgres", "mariadb"])
def test_a_call_that_is_given_up_ends_on_the_server(name: str, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(name)

    async def give_up() -> None:
        tool = server.toolset("reader", timeout=50).tools()[0]
        call = asyncio.create_task(acall(tool, context(seconds=60), sql=LONG[name]))
        await until(lambda: server.execute(RUNNING[name])[0][0] == 1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(lambda: server.execute(RUNNING[name])[0][0] == 0)

    asyncio.run(give_up())


async def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 15
    while not await asyncio.to_thread(true):
        assert time.monotonic() < end
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("name", ["postgres", "mariadb"])
def test_a_huge_result_stops_at_the_row_limit(name: str, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(name)
    started = time.monotonic()
    result = server.query(MANY[name], "reader", max_rows=20)
    assert time.monotonic() - started < 5
    assert result.ok and len(result.data["rows"]) == 20 and result.data["more"]
    assert any("first 20 rows" in gap for gap in result.gaps)


@pytest.mark.parametrize("name", ["postgres", "mariadb"])
def test_names_are_helped(name: str, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(name)
    assert "Near:" in server.query("SELECT * FROM ordes", "reader").error
    assert "orders: id, item" in server.query("SELECT itm FROM orders", "reader").error
    assert (
        "may not see that"
        in server.query(
            {"postgres": "SELECT * FROM pg_largeobject", "mariadb": "SELECT * FROM mysql.db"}[name], "reader"
        ).error
    )
    tools = server.toolset("reader").tools()
    listed = asyncio.run(acall(tools[1], context()))
    assert "orders | table" in listed.text and "customers" in listed.text
    described = asyncio.run(acall(tools[2], context(), table_name="Orders"))
    assert "primary key: id" in described.text and "item | " in described.text
    wrong = asyncio.run(acall(tools[2], context(), table_name="custmers"))
    assert wrong.status == Status.ERROR and "customers" in wrong.error


@pytest.mark.parametrize("name", ["postgres", "mariadb"])
def test_everyday_questions_are_answered(name: str, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(name)
    asked = {
        "postgres": [
            "SELECT pid, state, wait_event FROM pg_stat_activity",
            "SELECT * FROM pg_locks",
            "SELECT pg_size_pretty(pg_database_size(current_database()))",
            "EXPLAIN ANALYZE SELECT * FROM orders",
            "SHOW max_connections",
            "SELECT 1.10::numeric, 'infinity'::timestamptz, '{1,2}'::int[], '{\"a\": 1}'::jsonb, NULL, true",
            "SELECT relname, n_live_tup FROM pg_stat_user_tables",
        ],
        "mariadb": [
            "SHOW FULL PROCESSLIST",
            "SHOW GLOBAL STATUS LIKE 'Threads%'",
            "SHOW CREATE TABLE orders",
            "EXPLAIN SELECT * FROM orders WHERE id = 1",
            "ANALYZE FORMAT=JSON SELECT * FROM orders",
            "SELECT table_name, table_rows FROM information_schema.tables WHERE table_schema = 'shop'",
            "SELECT CAST('0000-00-00' AS date), 1.10, NULL, x'0102'",
        ],
    }[name]
    refused = {sql: result.error for sql in asked if not (result := server.query(sql, "reader")).ok}
    assert refused == {}


def test_values_come_as_the_server_writes_them(postgres: Server) -> None:
    row = "SELECT 1.10::numeric, 'infinity'::timestamptz, '{1,2}'::int[], '{\"a\": 1}'::jsonb, NULL, true, 7"
    row += ", '\\x01ff'::bytea"
    result = postgres.query(row, "reader")
    assert result.text.splitlines()[1] == '1.10 | infinity | {1,2} | {"a": 1} | NULL | true | 7 | 0x01ff'
    assert result.data["rows"] == [["1.10", "infinity", "{1,2}", '{"a": 1}', None, True, 7, "0x01ff"]]
    assert result.invocation.startswith("psql -h 127.0.0.1 -p ")


@pytest.mark.parametrize("name", ["postgres", "mariadb"])
def test_verified_tls_is_not_given_up_silently(name: str, request: pytest.FixtureRequest) -> None:
    """These servers have no certificate that anybody signed."""
    server: Server = request.getfixturevalue(name)
    health = asyncio.run(server.toolset("reader", verify_ssl=True).open())
    assert health.status == "failed" and "SSL" in health.reason
