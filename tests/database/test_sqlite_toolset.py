"""The database tools on a SQLite file: results, limits, hints, and a file that nothing can change."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from holmes.core.results import Status, StructuredToolResult
from holmes.toolsets.database.rows import LONGEST_CELL, MOST_BYTES
from holmes.toolsets.database.sql import DatabaseToolset, make_database
from support.tool_context import acall, call, context, services

HOSTILE = yaml.safe_load((Path(__file__).parent / "hostile.yaml").read_text())["sqlite"]
FOREVER = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


def toolset(path: Path, **config: Any) -> DatabaseToolset:
    made = make_database("shop", {"connection_url": f"sqlite:///{path}", **config}, services())
    assert isinstance(made, DatabaseToolset)
    return made


def ask(
    path: Path, sql: str, *, seconds: float = 20.0, limit: int | None = None, **config: Any
) -> StructuredToolResult:
    arguments = {"sql": sql} if limit is None else {"sql": sql, "limit": limit}
    return call(toolset(path, **config).tools()[0], context(seconds=seconds), **arguments)


def unguarded(path: Path, sql: str, **config: Any) -> StructuredToolResult:
    return asyncio.run(toolset(path, **config).unguarded(sql, 50, context()))


def digest(folder: Path) -> dict[str, str]:
    return {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in folder.iterdir()}


def test_rows_as_text_and_as_data(shop: Path) -> None:
    result = ask(shop, "SELECT id, name, photo FROM customers ORDER BY id")
    assert result.text.splitlines() == [
        "id | name | photo",
        "1 | ann | 0x00ff",
        f"2 | NULL | 0x{'00' * 24}… (5,000 bytes)",
        "3 | 'NULL' | NULL",
        "4 | '' | NULL",
    ]
    assert result.data["columns"] == ["id", "name", "photo"]
    assert result.data["rows"][2] == [3, "NULL", None] and not result.data["more"]
    assert result.invocation == f"sqlite3 -readonly '{shop}' 'SELECT id, name, photo FROM customers ORDER BY id'"
    assert ask(shop, "SELECT item FROM orders WHERE id = 2").text == "item\nline one\\nline two"


def test_no_rows_is_no_data(shop: Path) -> None:
    result = ask(shop, "SELECT id, item FROM orders WHERE id > 100")
    assert result.status == Status.NO_DATA and "0 rows (columns: id, item)" in result.text


NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"


def test_row_limits(shop: Path) -> None:
    result = ask(shop, NUMBERS)
    assert len(result.data["rows"]) == 200 and result.data["more"]
    assert result.gaps == ("rows of this query after the first 200 rows: filter or aggregate in SQL",)
    wanted = ask(shop, NUMBERS, limit=3)
    assert len(wanted.data["rows"]) == 3 and wanted.gaps == () and "more than 3 rows" in wanted.notes[0]
    assert len(ask(shop, NUMBERS, limit=5_000, max_rows=10).data["rows"]) == 10
    assert ask(shop, "SELECT id FROM orders", limit=3).notes == ()


def test_byte_limits(shop: Path) -> None:
    long = ask(shop, "SELECT replace(hex(photo) || hex(photo), '0', 'ab') FROM customers WHERE id = 2")
    assert len(long.text) < LONGEST_CELL + 200 and "(40,000 characters)" in long.text and "shortened" in long.notes[0]
    wide = NUMBERS.replace("SELECT i FROM", "SELECT i, (SELECT hex(photo) FROM customers WHERE id = 2) FROM")
    result = ask(shop, wide, max_rows=100_000)
    assert MOST_BYTES < len(result.text) < MOST_BYTES + 10_000
    assert "1 MB of rows" in result.gaps[0]


def test_a_value_larger_than_memory_should_hold_is_refused_by_the_engine(shop: Path) -> None:
    assert (
        "too big" in unguarded(shop, "SELECT length(zeroblob(100000000))").error
        or not unguarded(shop, "SELECT zeroblob(100000000)").ok
    )


def test_unknown_names_are_helped(shop: Path) -> None:
    assert ask(shop, "SELECT * FROM order_s").error == "no such table: order_s. Near: orders, named_orders."
    wrong = ask(shop, "SELECT o.itm FROM orders AS o JOIN customers c ON true").error
    assert "Columns of orders: id, item, customer_id." in wrong and "Columns of customers: id, name, photo." in wrong


def test_list_and_describe(shop: Path) -> None:
    _, tables, describe = toolset(shop).tools()
    assert call(tables, context()).text.splitlines() == [
        "table | kind",
        "customers | table",
        "named_orders | view",
        "orders | table",
    ]
    assert "view" not in call(tables, context(), include_views=False).text
    assert "no tables in a schema sales" in call(tables, context(), schema="sales").error
    orders = call(describe, context(), table_name='"Orders"')
    assert orders.text.splitlines() == [
        "orders (table)",
        "column | type | null | default",
        "id | INTEGER | yes | -",
        "item | TEXT | not null | -",
        "customer_id | INTEGER | yes | -",
        "primary key: id",
        "foreign key: customer_id -> customers (id)",
        "index: orders_item (item)",
    ]
    assert orders.data["primary_key"] == ["id"]
    assert "Near: customers." in call(describe, context(), table_name="custmers").error


def test_the_guard_is_the_verdict(shop: Path) -> None:
    query = toolset(shop).tools()[0]
    assert query.judge({"sql": "SELECT 1"}, context()).decision == "allow"
    denied = query.judge({"sql": "DELETE FROM orders"}, context())
    assert (denied.decision, denied.rule) == ("deny", "sql") and "DELETE" in denied.reason
    result = call(query, context(), sql="DROP TABLE orders")
    assert result.status == Status.ERROR and result.error.startswith("Not run: DROP is not a statement that only reads")


@pytest.mark.parametrize("group", ["changes", "other"])
def test_nothing_changes_the_file_even_without_the_guard(shop: Path, group: str) -> None:
    before = digest(shop.parent)
    for sql in HOSTILE[group].splitlines():
        result = unguarded(shop, sql.replace("\t", "\n"))
        assert not result.ok, sql
    assert digest(shop.parent) == before
    assert not Path("/tmp/other.db").exists() and not Path("/tmp/copied.db").exists()


def test_the_engine_still_reads_what_the_guard_allows(shop: Path) -> None:
    """The authorizer knows full text search, JSON, and pragmas as tables."""
    with sqlite3.connect(shop) as connection:
        connection.execute("CREATE VIRTUAL TABLE notes USING fts5(text)")
        connection.execute("INSERT INTO notes VALUES ('the disk is full')")
    connection.close()
    for sql, shown in {
        "SELECT text FROM notes WHERE notes MATCH 'disk'": "the disk is full",
        "SELECT value FROM json_each('[7]')": "7",
        "SELECT '{\"a\": 5}' ->> '$.a'": "5",
        "SELECT name FROM pragma_table_info('orders')": "customer_id",
        "PRAGMA index_list(orders)": "orders_item",
        "EXPLAIN QUERY PLAN SELECT * FROM orders WHERE item = 'tea'": "orders_item",
        "SELECT count(*) FROM named_orders": "3",
        "SELECT item FROM orders WHERE item GLOB 't*' OR item LIKE 'x%'": "tea",
    }.items():
        assert shown in ask(shop, sql).text, sql


def test_a_slow_statement_ends_at_its_limit(shop: Path) -> None:
    for config, seconds in (({"timeout": 0.5}, 20.0), ({}, 0.5)):
        started = time.monotonic()
        result = ask(shop, FOREVER, seconds=seconds, **config)
        assert result.status == Status.ERROR and "Narrow it" in result.error
        assert time.monotonic() - started < 4


def test_giving_up_ends_the_work_and_lets_others_in(shop: Path) -> None:
    async def run() -> None:
        tools = toolset(shop)
        query = tools.tools()[0]
        calls = [asyncio.create_task(acall(query, context(seconds=60), sql=FOREVER)) for _ in range(4)]
        await asyncio.sleep(0)
        waiting = asyncio.create_task(acall(query, context(seconds=60), sql="SELECT 1"))
        done, _ = await asyncio.wait([waiting], timeout=0.3)
        assert not done  # four at once
        for each in calls:
            each.cancel()
        assert (await waiting).ok
        await asyncio.gather(*calls, return_exceptions=True)

    asyncio.run(run())


def test_the_loop_goes_on_while_a_statement_runs(shop: Path) -> None:
    async def run() -> None:
        query = toolset(shop, timeout=1).tools()[0]
        await acall(query, context(), sql="SELECT 1")  # imports are done
        longest, last = 0.0, time.monotonic()
        task = asyncio.create_task(acall(query, context(), sql=FOREVER))
        while not task.done():
            await asyncio.sleep(0.005)
            longest, last = max(longest, time.monotonic() - last), time.monotonic()
        assert longest < 0.25

    asyncio.run(run())


def test_opening(shop: Path, tmp_path: Path) -> None:
    health = asyncio.run(toolset(shop).open())
    assert health.status == "enabled" and health.reason.endswith(f" at {shop}")
    missing = asyncio.run(toolset(tmp_path / "nowhere.db").open())
    assert missing.status == "failed" and "nowhere.db: unable to open database file" in missing.reason
    (tmp_path / "text.db").write_text("this is no database at all, but long enough to be looked at" * 20)
    other = asyncio.run(toolset(tmp_path / "text.db").open())
    assert other.status == "failed" or "not a database" in ask(tmp_path / "text.db", "SELECT * FROM orders").error
    assert not (tmp_path / "nowhere.db").exists()


def test_small_schemas(shop: Path) -> None:
    import json

    tools = toolset(shop).tools()
    assert [tool.name for tool in tools] == ["shop_query", "shop_list_tables", "shop_describe_table"]
    declared = [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in tools]
    assert len(json.dumps(declared)) < 1_000
