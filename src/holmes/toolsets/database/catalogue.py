"""Tables and columns: lists, descriptions, and the names that were perhaps meant. All of it blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from holmes.toolsets.database.rows import table
from holmes.toolsets.database.server import Fault, TableInfo

if TYPE_CHECKING:
    from sqlalchemy import Inspector

    from holmes.toolsets.database.database import Session

MOST_TABLES = 500
_NAMED = 12  # names in a hint


@dataclass(frozen=True, slots=True)
class Told:
    """An answer: text and data, or in ``missing`` why there is none."""

    text: str = ""
    data: Mapping[str, Any] | None = None
    missing: str = ""
    notes: tuple[str, ...] = ()


def listing(session: Session, schema: str, views: bool) -> Told:
    """The tables of one schema or of all."""
    known = session.tables()
    schemas = sorted({each.schema for each in known if each.schema})
    if schema and schema not in schemas:
        near = get_close_matches(schema, schemas, 3, 0.5) or schemas[:_NAMED]
        there = f"There are: {', '.join(near)}." if near else "None has tables that this role may see."
        return Told(missing=f"There are no tables in a schema {schema}. {there}")
    found = [each for each in known if (not schema or each.schema == schema) and (views or "view" not in each.kind)]
    measured = any(each.rows is not None or each.size is not None for each in found)
    columns = ["table", "kind", *(["rows (estimate)", "size"] if measured else [])]
    lines = [
        [each.full_name, each.kind, *([each.rows, _size(each.size)] if measured else [])]
        for each in found[:MOST_TABLES]
    ]
    rest = len(found) - len(lines)
    notes = (f"{rest:,} more tables; give a schema",) if rest else ()
    data = [{"schema": e.schema, "name": e.name, "kind": e.kind, "rows": e.rows, "bytes": e.size} for e in found]
    return Told(table(columns, lines) if lines else "", {"tables": data[:MOST_TABLES]}, notes=notes)


def description(session: Session, name: str, schema: str) -> Told:
    """Columns, keys and indexes of one table or view, however its name is written."""
    from sqlalchemy import inspect

    found = locate(session.tables(), name, schema)
    if isinstance(found, str):
        return Told(missing=found)
    inspector: Inspector = inspect(session.connection)
    of = found.schema or None
    columns = session.server.columns(session.raw, found)
    keys = inspector.get_pk_constraint(found.name, of)["constrained_columns"]
    foreign = [
        f"{', '.join(each['constrained_columns'])} -> {_target(each)}"
        for each in inspector.get_foreign_keys(found.name, of)
    ]
    indexes = [
        f"{each['name']}{' unique' if each.get('unique') else ''} ({', '.join(_text(c) for c in each['column_names'])})"
        for each in inspector.get_indexes(found.name, of)
    ]
    lines = [[each.name, each.type, "yes" if each.nullable else "not null", each.default or "-"] for each in columns]
    size = _size(found.size)
    facts = [found.kind, f"about {found.rows:,} rows" if found.rows is not None else "", size or ""]
    parts = [
        f"{found.full_name} ({', '.join(filter(None, facts))})",
        table(["column", "type", "null", "default"], lines),
        f"primary key: {', '.join(keys)}" if keys else "",
        *(f"foreign key: {each}" for each in foreign),
        *(f"index: {each}" for each in indexes),
    ]
    data = {
        "table": found.full_name,
        "columns": [asdict(each) for each in columns],
        "primary_key": keys,
        "foreign_keys": foreign,
        "indexes": indexes,
    }
    return Told("\n".join(filter(None, parts)), data)


def locate(known: Sequence[TableInfo], name: str, schema: str) -> TableInfo | str:
    """The table that is meant, or in words why there is none or more than one."""
    plain = name.strip().replace('"', "").replace("`", "")
    if not schema and "." in plain and not any(each.name == plain for each in known):
        schema, _, plain = plain.rpartition(".")
    matches = [each for each in known if each.name == plain] or [
        each for each in known if each.name.lower() == plain.lower()
    ]
    if schema:
        matches = [each for each in matches if each.schema.lower() in (schema.lower(), "")]
    if len(matches) == 1:
        return matches[0]
    if matches:
        return f"{plain} is in several schemas: {', '.join(each.full_name for each in matches)}. Give the schema."
    return f"There is no table {f'{schema}.' if schema else ''}{plain}. {names_near(known, plain)}"


def names_near(known: Sequence[TableInfo], name: str) -> str:
    """Which tables there are instead."""
    wanted = name.rpartition(".")[2].lower()
    by_name = {each.name.lower(): each for each in known}
    near = get_close_matches(wanted, by_name, 5, 0.6) or [key for key in by_name if wanted and wanted in key][:5]
    if near:
        return f"Near: {', '.join(by_name[key].full_name for key in near)}."
    if not known:
        return "This role sees no tables here."
    names = ", ".join(each.full_name for each in known[:_NAMED])
    return f"There are: {names}{', ...' if len(known) > _NAMED else ''}."


def hint(session: Session, fault: Fault, sql: str, dialect: str) -> str:
    """What helps after a failed statement: known tables, or the columns of those that it names."""
    if fault.kind == "table":
        session.begin()
        return names_near(session.tables(), fault.name)
    if fault.kind == "column":
        session.begin()
        return _columns_of(session, sql, dialect)
    return _ADVICE.get(fault.kind, "")


_ADVICE = {
    "timeout": "Narrow it (a WHERE on an indexed column, a shorter time range, LIMIT); EXPLAIN shows what it would do.",
    "denied": "The role of this connection may not see that. Do without it, or ask for the right.",
    "read-only": "The session is read-only.",
}


def _columns_of(session: Session, sql: str, dialect: str) -> str:
    known = session.tables()
    told = []
    for name, schema in _tables_in(sql, dialect)[:3]:
        found = locate(known, name, schema)
        if isinstance(found, TableInfo):
            names = [column.name for column in session.server.columns(session.raw, found)]
            told.append(f"Columns of {found.full_name}: {', '.join(names[:60])}.")
    return " ".join(told)


def _tables_in(sql: str, dialect: str) -> list[tuple[str, str]]:
    import sqlglot
    from sqlglot import exp

    try:
        roots = sqlglot.parse(sql, read=dialect)
    except sqlglot.errors.SqlglotError:
        return []
    names = [(part.name, part.db) for root in roots if root for part in root.find_all(exp.Table)]
    return list(dict.fromkeys(names))


def _target(key: Mapping[str, Any]) -> str:
    schema = f"{key['referred_schema']}." if key.get("referred_schema") else ""
    return f"{schema}{key['referred_table']} ({', '.join(key['referred_columns'])})"


def _text(value: str | None) -> str:
    return value or "(expression)"


def _size(size: int | None) -> str | None:
    if size is None:
        return None
    value = float(size)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1024 or unit == "TB":
            return f"{value:.0f} {unit}"
        value /= 1024
    return None
