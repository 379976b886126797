"""Real database servers for tests, on free ports and in folders of their own, with a small shop in each.

They come with Debian's packages postgresql and mariadb-server. Where one is missing its tests are skipped, or fail
where HOLMES_E2E_REQUIRED is set.
"""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from holmes.core.results import StructuredToolResult
from holmes.toolsets.database.sql import DatabaseToolset, make_database
from support.tool_context import acall, context, services

_UP_SECONDS = 60.0


@dataclass
class Server:
    """A running server: ``execute`` runs SQL as its administrator, past everything of ours."""

    url: str  # of the administrator
    folder: Path
    execute: Callable[..., list[tuple[Any, ...]]]

    def toolset(self, user: str = "", **config: Any) -> DatabaseToolset:
        scheme, _, rest = self.url.partition("://")
        url = f"{scheme}://{user}@{rest.partition('@')[2]}" if user else self.url
        made = make_database("shop", {"connection_url": url, "timeout": 10, **config}, services())
        assert isinstance(made, DatabaseToolset)
        return made

    def unguarded(self, sqls: Sequence[str], user: str = "", **config: Any) -> list[StructuredToolResult]:
        """Each statement as a tool call whose guard let it through."""

        async def run() -> list[StructuredToolResult]:
            toolset = self.toolset(user, **config)
            return [await toolset.unguarded(sql, 50, context()) for sql in sqls]

        return asyncio.run(run())

    def query(self, sql: str, user: str = "", *, seconds: float = 20.0, **config: Any) -> StructuredToolResult:
        """One statement through the guard, as a model would send it."""
        tool = self.toolset(user, **config).tools()[0]
        return asyncio.run(acall(tool, context(seconds=seconds), sql=sql))


def absent(reason: str) -> None:
    if os.environ.get("HOLMES_E2E_REQUIRED"):
        pytest.fail(reason)
    pytest.skip(reason)


def program(name: str, folder: str = "") -> str:
    found = shutil.which(name) or next((str(path) for path in sorted(Path("/").glob(f"{folder}/{name}"))), "")
    if not found:
        absent(f"{name} is not installed")
    return found


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def as_user(name: str) -> list[str]:
    """What goes before a command that must not run as root."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={name}", f"--regid={name}", "--clear-groups", "--"]


def own_folder(user: str) -> Path:
    """A folder that the server's user may use; pytest's own belong to root alone."""
    folder = Path(tempfile.mkdtemp(prefix="holmes-db-"))
    if os.geteuid() == 0:
        entry = pwd.getpwnam(user)
        os.chown(folder, entry.pw_uid, entry.pw_gid)
    return folder


def run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_UP_SECONDS, cwd="/")
    assert done.returncode == 0, f"{command}: {done.stdout[-1000:]}{done.stderr[-2000:]}"


def start(command: Sequence[str], log: Path, connect: Callable[[], Any]) -> tuple[subprocess.Popen[bytes], Any]:
    """The running server, and a first connection to it."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd="/", start_new_session=True)
    end = time.monotonic() + _UP_SECONDS
    while True:
        try:
            return process, connect()
        except OSError:
            if process.poll() is not None or time.monotonic() > end:
                process.kill()
                raise AssertionError(f"the server did not start: {log.read_text()[-3000:]}") from None
            time.sleep(0.05)


def stop(process: subprocess.Popen[bytes], how: signal.Signals, folder: Path) -> None:
    process.send_signal(how)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)
    shutil.rmtree(folder, ignore_errors=True)


POSTGRES_SHOP = """
CREATE TABLE orders (id int PRIMARY KEY, item text);
INSERT INTO orders VALUES (1, 'a'), (2, 'b');
CREATE TABLE customers (id int PRIMARY KEY, name text);
INSERT INTO customers VALUES (1, 'ann');
CREATE SEQUENCE numbers;
CREATE VIEW orders_view AS SELECT * FROM orders;
CREATE MATERIALIZED VIEW orders_kept AS SELECT * FROM orders;
CREATE FUNCTION remove_all() RETURNS int LANGUAGE sql AS 'DELETE FROM orders; SELECT 1';
CREATE PROCEDURE remove_all_orders() LANGUAGE sql AS 'DELETE FROM orders';
SELECT lo_create(4710);
CREATE ROLE reader LOGIN;
GRANT pg_monitor TO reader;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;
CREATE ROLE signaller LOGIN IN ROLE pg_signal_backend;
CREATE ROLE app LOGIN;
"""


@contextmanager
def postgres_server() -> Iterator[Server]:
    """PostgreSQL: reader only reads, signaller may end sessions, app is an application."""
    import psycopg

    folder = "usr/lib/postgresql/*/bin"
    initdb, server = program("initdb", folder), program("postgres", folder)
    home = own_folder("postgres")
    process = None
    try:
        run([*as_user("postgres"), initdb, "-A", "trust", "-N", "-U", "postgres", "-D", str(home / "data")])
        port = free_port()
        settings = ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "max_connections=20"]
        command = [*as_user("postgres"), server, "-D", str(home / "data"), "-p", str(port), "-k", str(home), *settings]

        def connect(database: str = "postgres") -> psycopg.Connection[tuple[Any, ...]]:
            try:
                return psycopg.connect(f"postgresql://postgres@127.0.0.1:{port}/{database}", autocommit=True)
            except psycopg.OperationalError as error:
                raise OSError(str(error)) from error

        process, first = start(command, home / "log", connect)
        first.execute("CREATE DATABASE shop")
        first.close()

        def execute(sql: str) -> list[tuple[Any, ...]]:
            with connect("shop") as connection:
                cursor = connection.execute(sql)
                return cursor.fetchall() if cursor.description else []

        execute(POSTGRES_SHOP)
        yield Server(f"postgresql://postgres@127.0.0.1:{port}/shop", home, execute)
    finally:
        if process is not None:
            stop(process, signal.SIGINT, home)
        shutil.rmtree(home, ignore_errors=True)


MYSQL_SHOP = (
    "CREATE DATABASE shop",
    "USE shop",
    "CREATE TABLE orders (id int PRIMARY KEY, item varchar(20), KEY item (item))",
    "INSERT INTO orders VALUES (1, 'a'), (2, 'b')",
    "CREATE TABLE customers (id int PRIMARY KEY, name text)",
    "INSERT INTO customers VALUES (1, 'ann')",
    "CREATE SEQUENCE numbers",
    "CREATE FUNCTION remove_all() RETURNS int MODIFIES SQL DATA BEGIN DELETE FROM orders; RETURN 1; END",
    "CREATE PROCEDURE remove_all_orders() DELETE FROM orders",
    "DROP USER IF EXISTS ''@'localhost'",
    "CREATE USER reader@localhost",
    "GRANT SELECT, SHOW VIEW ON shop.* TO reader@localhost",
    "GRANT PROCESS ON *.* TO reader@localhost",
    "CREATE USER filer@localhost",
    "GRANT SELECT, FILE ON *.* TO filer@localhost",
    "CREATE USER killer@localhost",
    "GRANT SELECT, CONNECTION ADMIN ON *.* TO killer@localhost",
)


@contextmanager
def mariadb_server() -> Iterator[Server]:
    """MariaDB: reader only reads, filer has FILE, killer may end sessions."""
    import pymysql

    install, server = program("mariadb-install-db"), program("mariadbd", "usr/sbin")
    if os.geteuid() != 0:
        absent("MariaDB's server is started as root here, to run as the user mysql")
    home = own_folder("mysql")
    process = None
    try:
        data = f"--datadir={home / 'data'}"
        run([install, "--no-defaults", "--user=mysql", data, "--auth-root-authentication-method=normal"])
        port = free_port()
        at = [f"--port={port}", "--bind-address=127.0.0.1", f"--socket={home / 's.sock'}", f"--pid-file={home / 'pid'}"]
        command = [server, "--no-defaults", "--user=mysql", data, *at, "--innodb-buffer-pool-size=32M"]

        def connect() -> Any:
            try:
                return pymysql.connect(host="127.0.0.1", port=port, user="root", autocommit=True)
            except pymysql.OperationalError as error:
                raise OSError(str(error)) from error

        process, first = start(command, home / "log", connect)

        def execute(*sqls: str) -> list[tuple[Any, ...]]:
            with connect() as connection, connection.cursor() as cursor:
                for sql in sqls:
                    cursor.execute(sql)
                return list(cursor.fetchall())

        first.close()
        execute(*MYSQL_SHOP)
        yield Server(f"mysql://root@127.0.0.1:{port}/shop", home, execute)
    finally:
        if process is not None:
            stop(process, signal.SIGTERM, home)
        shutil.rmtree(home, ignore_errors=True)
