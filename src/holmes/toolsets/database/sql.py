"""The toolset database/sql, and toolsets of ``type: database`` under any name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from holmes.core.results import StructuredToolResult
from holmes.tools.tool import ALLOW, FunctionTool, Health, Services, ToolContext, Toolset, Verdict
from holmes.toolsets.database import catalogue
from holmes.toolsets.database.catalogue import Told
from holmes.toolsets.database.config import DatabaseConfig, read_config
from holmes.toolsets.database.database import Database, DatabaseError, Session
from holmes.toolsets.database.guard import judge
from holmes.toolsets.database.rows import Rows

_LONGEST_NAME = 49  # of a toolset: its tools' names have 64 characters at most
_TEXT: Mapping[str, Any] = {"type": "string"}
_TITLES = {"postgres": "PostgreSQL", "mysql": "MySQL or MariaDB", "sqlite": "SQLite"}


def make_database_sql(config: Mapping[str, Any], services: Services) -> Toolset:
    """The built-in toolset database/sql. ValueError says what is wrong with its config."""
    return make_database("database/sql", config, services)


def make_database(name: str, config: Mapping[str, Any], services: Services, instructions: str = "") -> Toolset:
    """A toolset for one database; its tools are called after ``name``. ValueError says what is wrong."""
    prefix = re.sub(r"[^A-Za-z0-9_-]+", "_", name)
    if not prefix or len(prefix) > _LONGEST_NAME:
        raise ValueError(f"the name of a database toolset has 1 to {_LONGEST_NAME} characters")
    settings = read_config(config)
    patience = max(1.0, services.deadline - 3.0)  # to say itself what took too long
    return DatabaseToolset(prefix, settings, Database(settings, services.env), patience, instructions)


@dataclass(frozen=True)
class QueryTool(FunctionTool):
    """The tool that takes SQL: the guard's word is its verdict."""

    dialect: str = ""

    def judge(self, args: Mapping[str, Any], ctx: ToolContext) -> Verdict:
        """Allow what only reads, deny the rest."""
        judged = judge(str(args["sql"]), self.dialect)
        return ALLOW if judged.allowed else Verdict("deny", judged.reason, "sql")


@dataclass(frozen=True)
class DatabaseToolset:
    """Three tools that look into one database."""

    prefix: str
    config: DatabaseConfig
    database: Database
    patience: float  # seconds that opening may take
    instructions: str = ""

    async def open(self) -> Health:
        """Connect, and warn of a role that can do more than a read-only session lets it."""
        import time

        def look(session: Session) -> tuple[str, list[str]]:
            server = session.server
            return server.version(session.raw), server.powers(session.raw)

        try:
            version, powers = await self.database.run(look, time.monotonic() + self.patience)
        except DatabaseError as error:
            return Health("failed", str(error), error.remedy)
        place = f"{version} at {self.database.place()}"
        if not powers:
            return Health("enabled", place)
        warning = f"{place}; WARNING: a read-only session does not stop this role from: {', '.join(powers)}"
        return Health("enabled", warning, self.database.server.remedy())

    def tools(self) -> tuple[FunctionTool, ...]:
        """Query, list, describe."""
        seconds = self.config.timeout + 5.0  # the database's own limit comes first
        return (
            QueryTool(
                f"{self.prefix}_query",
                f"Run one SQL statement that only reads ({_TITLES[self.config.kind]}): SELECT, SHOW, EXPLAIN. "
                f"At most {self.config.max_rows} rows: filter and aggregate in SQL.",
                _schema("sql", sql=_TEXT, limit={"type": "integer", "minimum": 1, "description": "rows"}),
                self.query,
                live=True,
                timeout=seconds,
                dialect=self.config.kind,
            ),
            FunctionTool(
                f"{self.prefix}_list_tables",
                "Tables and views, with estimated rows and size. Without schema: all.",
                _schema(schema=_TEXT, include_views={"type": "boolean"}),
                self.list_tables,
                timeout=seconds,
            ),
            FunctionTool(
                f"{self.prefix}_describe_table",
                "Columns, keys and indexes of a table or view.",
                _schema("table_name", table_name=_TEXT, schema=_TEXT),
                self.describe_table,
                timeout=seconds,
            ),
        )

    async def close(self) -> None:
        """Let go of what is kept between calls."""
        self.database.close()

    async def query(self, args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
        """Rows of one reading statement."""
        sql = str(args["sql"]).strip()
        judged = judge(sql, self.config.kind)  # again: whoever calls this may not have asked for a verdict
        if not judged.allowed:
            return StructuredToolResult.failure(f"Not run: {judged.reason}.", notes=("refused by rule: sql",))
        limit = min(int(args.get("limit") or self.config.max_rows), self.config.max_rows)
        return await self.unguarded(sql, limit, ctx)

    async def unguarded(self, sql: str, limit: int, ctx: ToolContext) -> StructuredToolResult:
        """Run a statement that the guard was asked about; the server's read-only session still holds."""

        def work(session: Session) -> Rows:
            try:
                return session.read(sql, limit)
            except self.database.driver_error() as error:
                raise self._explained(session, error, sql) from None

        try:
            rows = await self.database.run(work, ctx.deadline)
        except DatabaseError as error:
            return _failed(error, self.database.invocation(sql) or sql)
        return _found(rows, limit, self.config.max_rows, self.database.invocation(sql))

    async def list_tables(self, args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
        """Tables and views of one schema or of all."""
        schema, views = str(args.get("schema") or "").strip(), args.get("include_views") is not False
        return await self._told(lambda session: catalogue.listing(session, schema, views), ctx, "no tables")

    async def describe_table(self, args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
        """One table."""
        name, schema = str(args["table_name"]), str(args.get("schema") or "").strip()
        return await self._told(lambda session: catalogue.description(session, name, schema), ctx, "no columns")

    async def _told(self, look: Callable[[Session], Told], ctx: ToolContext, nothing: str) -> StructuredToolResult:
        try:
            told = await self.database.run(look, ctx.deadline)
        except DatabaseError as error:
            return _failed(error, "")
        if told.missing:
            return StructuredToolResult.failure(told.missing)
        if not told.text:
            return StructuredToolResult.nothing(f"{self.database.place()} has {nothing} that this role may see.")
        return StructuredToolResult.success(told.text, data=told.data, notes=told.notes)

    def _explained(self, session: Session, error: Exception, sql: str) -> DatabaseError:
        """What the server said, with what helps."""
        wrapped = self.database.wrapped(error)
        try:
            hint = catalogue.hint(session, wrapped.fault, sql, self.config.kind)
        except self.database.driver_error():
            hint = ""
        return DatabaseError(f"{wrapped}. {hint}".strip() if hint else str(wrapped), wrapped.fault)


def _found(rows: Rows, limit: int, most: int, invocation: str) -> StructuredToolResult:
    notes = [f"{rows.cut} long values are shortened; select parts of them" if rows.cut else ""]
    gaps: tuple[str, ...] = ()
    if rows.more and (rows.full or limit == most):
        reached = "1 MB of rows" if rows.full else f"the first {limit:,} rows"
        gaps = (f"rows of this query after {reached}: filter or aggregate in SQL",)
    elif rows.more:
        notes.append(f"there are more than {limit:,} rows")
    if not rows.rows:
        columns = f" (columns: {', '.join(rows.columns)})" if rows.columns else ""
        return StructuredToolResult.nothing(f"0 rows{columns}", data=rows.data(), invocation=invocation)
    return StructuredToolResult.success(
        rows.text(), data=rows.data(), invocation=invocation, notes=tuple(filter(None, notes)), gaps=gaps
    )


def _failed(error: DatabaseError, invocation: str) -> StructuredToolResult:
    text = f"{error}\n  → {error.remedy}" if error.remedy else str(error)
    return StructuredToolResult.failure(text, invocation=invocation)


def _schema(*required: str, **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}
