"""Configuration of databases, passwords that stay unseen, missing drivers, servers that do not answer."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holmes.app.definitions import definitions
from holmes.core.config import load_config
from holmes.tools.manager import ToolsetManager
from holmes.toolsets.database.config import read_config
from holmes.toolsets.database.guard import is_read
from holmes.toolsets.database.sql import make_database, make_database_sql
from support.tool_context import call, context, services

PASSWORD = "s3cr%2Ft-pass"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "connection_url is missing"),
        ({"connection_url": 5}, "connection_url is missing"),
        ({"connection_url": "clickhouse://u:p4ss@h/d"}, "found clickhouse"),
        ({"connection_url": "u:p4ss@h/d"}, "expected postgresql, postgres, mysql, mariadb, sqlite before ://"),
        ({"connection_url": "postgresql://u:p4ss@h/{{ env.DB }}"}, "could not be filled in"),
        ({"connection_url": "postgresql://u:p4ss@h/d", "read_only": False}, "read_only: false is refused"),
        ({"connection_url": "postgresql://u:p4ss@h/d", "read_only": "no"}, "read_only: false is refused"),
        ({"connection_url": "postgresql://u:p4ss@h/d", "max_rows": 0}, "max_rows: expected a whole number from 1"),
        (
            {"connection_url": "postgresql://u:p4ss@h/d", "timeout": "soon"},
            "timeout: expected seconds, a number above 0",
        ),
        ({"connection_url": "postgresql://u:p4ss@h/d", "verify_ssl": 7}, "verify_ssl: expected true or false"),
        ({"connection_url": "postgresql://u:p4ss@h/d", "url": "x"}, "unknown key url; known: connection_url"),
    ],
)
def test_a_wrong_config_is_told_without_the_url(config: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match="config: ") as caught:
        make_database("x", config, services())
    assert said in str(caught.value) and "p4ss" not in str(caught.value)


def test_defaults_and_keys_of_the_field() -> None:
    config = read_config({"connection_url": "mysql+mysqlconnector://u:p@h/d", "clickhouse_use_http_json": False})
    assert (config.kind, config.max_rows, config.timeout, config.verify_ssl) == ("mysql", 200, 30.0, None)
    assert "u:p" not in repr(config)
    assert read_config({"connection_url": "postgresql://h/d", "read_only": True, "max_rows": "5"}).max_rows == 5


def test_names_of_tools_follow_the_toolset() -> None:
    config = {"connection_url": "postgresql://h/d"}
    assert [tool.name for tool in make_database_sql(config, services()).tools()] == [
        "database_sql_query",
        "database_sql_list_tables",
        "database_sql_describe_table",
    ]
    assert make_database("orders db/eu", config, services()).tools()[0].name == "orders_db_eu_query"
    with pytest.raises(ValueError, match="1 to 49 characters"):
        make_database("x" * 50, config, services())


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.fixture
def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
def test_a_password_is_in_no_text(scheme: str, closed_port: int) -> None:
    url = f"{scheme}://holmes:{PASSWORD}@127.0.0.1:{closed_port}/shop"
    toolset = make_database("db", {"connection_url": url}, services())
    health = asyncio.run(toolset.open())
    assert health.status == "failed"
    assert f"holmes@127.0.0.1:{closed_port}/shop" in health.reason and "refused" in health.reason
    results = [call(toolset.tools()[0], context(), sql="SELECT 1"), call(toolset.tools()[1], context())]
    told = [health.reason, health.remedy, repr(toolset), *(repr(result) for result in results)]
    assert not [text for text in told if "s3cr" in text or "t-pass" in text]


def test_a_url_that_cannot_be_read_is_not_shown() -> None:
    toolset = make_database("db", {"connection_url": f"postgresql://u:{PASSWORD}@h:port/d"}, services())
    health = asyncio.run(toolset.open())
    assert health.status == "failed" and "connection_url cannot be read" in health.reason
    assert "s3cr" not in health.reason + health.remedy


@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
def test_a_server_that_never_answers_is_given_up(scheme: str, silent_port: int) -> None:
    toolset = make_database(
        "db", {"connection_url": f"{scheme}://h@127.0.0.1:{silent_port}/d", "timeout": 1}, services()
    )
    started = time.monotonic()
    result = call(toolset.tools()[0], context(), sql="SELECT 1")
    assert not result.ok and time.monotonic() - started < 6
    assert "127.0.0.1" in result.error or "did not take the connection" in result.error


PROGRAM = """
import asyncio, sys
sys.path.insert(0, {tests!r})
from holmes.toolsets.database.sql import make_database
from support.tool_context import call, context, services
toolset = make_database("db", {{"connection_url": "postgresql://h@127.0.0.1:{port}/d", "timeout": 30}}, services())
print(call(toolset.tools()[0], context(seconds=0.5), sql="SELECT 1").error)
"""


def test_a_server_that_never_answers_keeps_nobody_from_leaving(silent_port: int) -> None:
    program = PROGRAM.format(tests=str(Path(__file__).parent.parent), port=silent_port)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=20)
    assert "did not take the connection" in done.stdout, done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("scheme", "module", "extra"),
    [("postgresql", "psycopg", "postgresql"), ("mysql", "pymysql", "mysql"), ("sqlite", "sqlalchemy", "sql")],
)
def test_a_missing_driver_says_what_to_install(
    scheme: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    toolset = make_database("db", {"connection_url": f"{scheme}://h/d"}, services())
    health = asyncio.run(toolset.open())
    assert health.reason == f"{module} is not installed"
    assert health.remedy == f"pip install 'holmes-sre[{extra}]'"
    error = call(toolset.tools()[1], context()).error
    assert error == f"{module} is not installed\n  → pip install 'holmes-sre[{extra}]'"


def test_without_sqlglot_nothing_is_a_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    assert not is_read("SELECT 1", "postgres")
    toolset = make_database("db", {"connection_url": "sqlite:///x"}, services())
    assert "holmes-sre[sql]" in call(toolset.tools()[0], context(), sql="SELECT 1").error


CONFIG = """
toolsets:
  shop:
    type: database
    description: Orders of the shop
    llm_instructions: Money is in cents.
    config:
      connection_url: "sqlite:///{{ env.SHOP_FILE }}"
      max_rows: 50
  broken:
    type: database
    config: {connection_url: "sqlite:///x", read_only: false}
  database/sql:
    config:
      connection_url: "sqlite:///{{ env.SHOP_FILE }}"
"""


def test_type_database_in_the_configuration(shop: Path, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG)
    env = {"SHOP_FILE": str(shop), "HOME": str(tmp_path)}
    config, _ = load_config(path, env, {})
    found, problems = definitions(config, env)
    assert problems == []
    wanted = [each for each in found if each.name in ("shop", "broken", "database/sql")]
    manager = ToolsetManager(wanted, services(env=env))
    loaded = {each.definition.name: each for each in asyncio.run(manager.open())}
    assert loaded["shop"].health.status == "enabled" and loaded["database/sql"].health.status == "enabled"
    assert (
        loaded["broken"].health.status == "failed" and "read_only: false is refused" in loaded["broken"].health.reason
    )
    assert f"{path}:" in loaded["broken"].health.reason
    names = {bound.tool.name for bound in manager.bound()}
    assert {"shop_query", "shop_list_tables", "database_sql_query"} <= names
    shelf = next(each for each in manager.shelves() if each.name == "shop")
    assert shelf.instructions == "Money is in cents." and shelf.description == "Orders of the shop"
    asyncio.run(manager.close())


def test_a_variable_that_is_not_set_is_named(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG)
    config, _ = load_config(path, {"HOME": str(tmp_path)}, {})
    found, _ = definitions(config, {})
    told = {each.name: each.problem for each in found}
    assert "the environment variable SHOP_FILE is not set" in told["shop"]
    assert "the environment variable SHOP_FILE is not set" in told["database/sql"]


def test_no_driver_is_imported_for_a_toolset_that_nobody_uses() -> None:
    program = (
        "import sys; from holmes.toolsets.database.sql import make_database; "
        "print([name for name in ('sqlalchemy', 'sqlglot', 'psycopg', 'pymysql') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    assert done.stdout.strip() == "[]", done.stderr


def test_threads_end(shop: Path) -> None:
    toolset = make_database("db", {"connection_url": f"sqlite:///{shop}"}, services())
    for _ in range(3):
        assert call(toolset.tools()[0], context(), sql="SELECT 1").ok
    end = time.monotonic() + 5
    while any(thread.name.startswith("database") for thread in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.01)
