"""One database: a connection for each piece of work, read-only, ended in time, and silent about its password."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from holmes.toolsets.database.mysql import MySQL
from holmes.toolsets.database.postgres import Postgres
from holmes.toolsets.database.rows import Rows, read
from holmes.toolsets.database.server import Fault, Server, TableInfo
from holmes.toolsets.database.sqlite import SQLite, file_of
from holmes.toolsets.database.worker import in_thread

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

    from holmes.toolsets.database.config import DatabaseConfig, Kind

T = TypeVar("T")
_URL_REMEDY = "write it as postgresql://user:password@host:5432/database, % and @ in a password as %25 and %40"
_CONNECT_REMEDY = "look at host, port, user, password and database of connection_url, and at the network"
_AT_ONCE = 4  # connections: the database may be in trouble already
_SERVERS: Mapping[Kind, type[Server]] = {"postgres": Postgres, "mysql": MySQL, "sqlite": SQLite}


class DatabaseError(Exception):
    """The database cannot be used, or did not do what it was asked; ``str()`` is for people."""

    def __init__(self, message: str, fault: Fault | None = None, remedy: str = "") -> None:
        super().__init__(message)
        self.fault = fault or Fault("other", message)
        self.remedy = remedy


@dataclass
class Session:
    """A read-only session; all of it blocks."""

    server: Server
    connection: Connection
    seconds: float

    @property
    def raw(self) -> Any:
        """The driver's connection."""
        return self.connection.connection.driver_connection

    def begin(self) -> None:
        """Start, or start again behind a failed statement."""
        self.server.begin(self.raw, self.seconds)

    def read(self, sql: str, limit: int) -> Rows:
        """Run one statement, whatever it is: the guard was asked before."""
        columns, stream = self.server.rows(self.raw, sql)
        try:
            return read(columns, stream, limit)
        except UnicodeError as error:
            raise DatabaseError(f"a value is no text in its encoding ({error}); leave that column out") from None
        finally:
            close = getattr(stream, "close", None)
            if close is not None:
                close()

    def tables(self) -> list[TableInfo]:
        """All tables and views."""
        return self.server.tables(self.raw)


@dataclass
class Database:
    """Where the tools of one toolset get their sessions."""

    config: DatabaseConfig
    env: Mapping[str, str]
    server: Server = field(init=False)
    _slots: asyncio.Semaphore = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _made: tuple[Engine, URL, dict[str, Any]] | None = None

    def __post_init__(self) -> None:
        self.server = _SERVERS[self.config.kind]()
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def run(self, work: Callable[[Session], T], deadline: float) -> T:
        """The result of ``work`` with a session of its own. DatabaseError says why there is none."""
        deadline = min(deadline, time.monotonic() + self.config.timeout)
        open_now: list[Any] = []

        def body() -> T:
            with self._session(max(0.1, deadline - time.monotonic()), open_now) as session:
                return work(session)

        try:
            async with asyncio.timeout_at(asyncio.get_running_loop().time() + max(0.0, deadline - time.monotonic())):
                await self._slots.acquire()
            try:
                return await in_thread(body, deadline + 0.5, lambda: self._stop(open_now))
            finally:
                self._slots.release()
        except TimeoutError:
            where = "" if open_now else f": {self.server.title} did not take the connection"
            raise DatabaseError(f"it did not end within {self.config.timeout:g} s and was stopped{where}") from None

    def wrapped(self, error: BaseException) -> DatabaseError:
        """An error of the driver, for people."""
        fault = self.server.fault(error)
        message = self.scrub(fault.message)
        return DatabaseError(message, Fault(fault.kind, message, fault.name))

    def driver_error(self) -> type[Exception]:
        """What the driver raises."""
        from importlib import import_module

        error: type[Exception] = import_module(self.server.driver).Error
        return error

    def close(self) -> None:
        """Let go of what is kept between sessions."""
        if self._made is not None:
            self._made[0].dispose()
            self._made = None

    def invocation(self, sql: str) -> str:
        """What a person would type; "" as long as nobody connected."""
        return self.server.invocation(self._made[1], sql) if self._made else ""

    def place(self) -> str:
        """Where it is, for people: user, host, database."""
        if self._made is None:
            return self.server.title
        url = self._made[1]
        if not url.host:
            return file_of(url)
        port = f":{url.port}" if url.port else ""
        user = f"{url.username}@" if url.username else ""
        return f"{user}{url.host}{port}/{url.database or ''}"

    def scrub(self, text: str) -> str:
        """The text without the password, however it is written."""
        import re
        from urllib.parse import quote, quote_plus, unquote

        from holmes.core.secret import without_user_info

        url = self.config.url.reveal()
        text = text.replace(url, "connection_url")
        password = url.partition("://")[2].rpartition("@")[0].partition(":")[2]
        for form in {password, unquote(password), quote(unquote(password)), quote_plus(unquote(password))} - {""}:
            text = re.sub(rf"(?<!\w){re.escape(form)}(?!\w)", "****", text)
        return without_user_info(text)

    @contextmanager
    def _session(self, seconds: float, open_now: list[Any]) -> Iterator[Session]:
        from sqlalchemy.exc import DBAPIError, SQLAlchemyError

        engine = self._engine()
        connecting = True
        try:
            with engine.connect() as connection:
                session = Session(self.server, connection, seconds)
                open_now.append(session.raw)
                session.begin()
                connecting = False
                try:
                    yield session
                finally:
                    connection.invalidate()  # closed for good, whatever state it is in
        except SQLAlchemyError as error:
            origin = error.orig if isinstance(error, DBAPIError) and error.orig else error
            raise self._failed(origin, connecting) from None
        except self.driver_error() as error:
            raise self._failed(error, connecting) from None

    def _engine(self) -> Engine:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made[0]

    def _make(self) -> tuple[Engine, URL, dict[str, Any]]:
        from importlib import import_module

        try:
            from sqlalchemy import create_engine, make_url
            from sqlalchemy.exc import ArgumentError
            from sqlalchemy.pool import NullPool

            import_module(self.server.driver)
        except ImportError as error:
            raise DatabaseError(
                f"{error.name or self.server.driver} is not installed",
                remedy=f"pip install 'holmes-sre[{self.server.extra}]'",
            ) from None
        try:
            written = make_url(self.config.url.reveal())
        except (ArgumentError, ValueError):
            raise DatabaseError("connection_url cannot be read", remedy=_URL_REMEDY) from None
        try:
            url, arguments = self.server.prepare(written, self.config, self.env)
        except ValueError as error:
            raise DatabaseError(str(error)) from None
        options = {"use_native_hstore": False} if self.config.kind == "postgres" else {}
        return create_engine(url, poolclass=NullPool, connect_args=arguments, **options), url, arguments

    def _failed(self, error: BaseException, connecting: bool) -> DatabaseError:
        wrapped = self.wrapped(error)
        if connecting:
            text = f"cannot connect to {self.server.title} at {self.place()}: {wrapped}"
            return DatabaseError(text, wrapped.fault, _CONNECT_REMEDY)
        return wrapped

    def _stop(self, open_now: list[Any]) -> None:
        """End the statement on the server too; nothing to be done when even that fails."""
        from sqlalchemy.exc import SQLAlchemyError

        if open_now and self._made is not None:
            with suppress(SQLAlchemyError, self.driver_error(), OSError):
                self.server.stop(open_now[0], self._made[1:])
