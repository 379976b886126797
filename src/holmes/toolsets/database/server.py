"""What a kind of database server is to the tools, and how one session with it goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from sqlalchemy import URL

    from holmes.toolsets.database.config import DatabaseConfig

Cells = Sequence[Any]
FaultKind = Literal["table", "column", "timeout", "denied", "read-only", "other"]


@dataclass(frozen=True, slots=True)
class Fault:
    """What a server said against a statement; ``name`` is the table or column that it does not know."""

    kind: FaultKind
    message: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class TableInfo:
    """A table or view; ``rows`` is the server's estimate and ``size`` in bytes, None where it keeps none."""

    schema: str
    name: str
    kind: str
    rows: int | None = None
    size: int | None = None

    @property
    def full_name(self) -> str:
        """With its schema."""
        return f"{self.schema}.{self.name}" if self.schema else self.name


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    """A column; type and default as the server writes them."""

    name: str
    type: str
    nullable: bool
    default: str | None = None


class Server(Protocol):
    """One kind of server. ``raw`` is a connection of its driver. All of it blocks; none of it runs on the loop."""

    @property
    def title(self) -> str:
        """Its name, for people."""
        ...

    @property
    def driver(self) -> str:
        """The module of its driver."""
        ...

    @property
    def extra(self) -> str:
        """The extra of our distribution that brings the driver."""
        ...

    def prepare(self, url: URL, config: DatabaseConfig, env: Mapping[str, str]) -> tuple[URL, dict[str, Any]]:
        """The URL with our driver, and the driver's arguments. ValueError when the URL cannot be used."""
        ...

    def begin(self, raw: Any, seconds: float) -> None:
        """Make the session read-only on the server's side, and let no statement take longer than ``seconds``."""
        ...

    def rows(self, raw: Any, sql: str) -> tuple[list[str], Iterator[Cells]]:
        """Run exactly one statement: its columns, and its rows as they come."""
        ...

    def stop(self, raw: Any, settings: tuple[URL, dict[str, Any]]) -> None:
        """End what the session is doing; called from another thread. Raises what the driver raises."""
        ...

    def fault(self, error: BaseException) -> Fault:
        """What an error of the driver means."""
        ...

    def version(self, raw: Any) -> str:
        """Name and version, as of ``PostgreSQL 15.4``."""
        ...

    def powers(self, raw: Any) -> list[str]:
        """Rights of the role that a read-only session does not take away."""
        ...

    def remedy(self) -> str:
        """How a role without such rights is made."""
        ...

    def tables(self, raw: Any) -> list[TableInfo]:
        """All tables and views that are not the server's own."""
        ...

    def columns(self, raw: Any, table: TableInfo) -> list[ColumnInfo]:
        """The columns of a table or view, in order."""
        ...

    def invocation(self, url: URL, sql: str) -> str:
        """What a person would type to run ``sql``; without the password."""
        ...


def client(program: str, options: Mapping[str, object], rest: Sequence[str]) -> str:
    """A command line, quoted; options without a value are left out."""
    import shlex

    words = [program]
    for name, value in options.items():
        words += [name, str(value)] if value else []
    return shlex.join([*words, *rest])
