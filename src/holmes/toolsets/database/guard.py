"""Whether one SQL text only reads.

Three looks, each enough to refuse: the text is cut up strictly (``lexing``), its words and called functions are known
(``functions``), and sqlglot finds exactly one query in it, made of nothing but parts that read. The read-only session
of the server comes on top; this guard also stops what such a session does not (files, signals, locks, waiting).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from holmes.toolsets.database.functions import Functions, is_plain_word
from holmes.toolsets.database.lexing import Piece, Refused, inert, pieces

DIALECTS: Mapping[str, str] = {
    "postgres": "postgres",
    "postgresql": "postgres",
    "mysql": "mysql",
    "mariadb": "mysql",
    "sqlite": "sqlite",
}
_LONGEST = 20_000  # characters
_MOST_PIECES = 3_000
_DEEPEST = 40  # parentheses in each other
# Where servers keep passwords, or what is as good as one.
_SECRETS = frozenset(
    "pg_authid pg_shadow pg_user_mapping pg_user_mappings pg_subscription user_mapping_options rolpassword"
    " authentication_string global_priv slave_master_info".split()
)
_SECRET_TABLES = frozenset([("mysql", "user"), ("mysql", "servers"), ("mysql", "password_history")])
_INSTEAD: Mapping[str, str] = {
    "Into": "SELECT INTO writes",
    "Lock": "FOR UPDATE, FOR SHARE and LOCK IN SHARE MODE lock rows",
    "Insert": "it has an INSERT inside",
    "Update": "it has an UPDATE inside",
    "Delete": "it has a DELETE inside",
    "Merge": "it has a MERGE inside",
    "NextValueFor": "drawing from a sequence changes it",
    "PropertyEQ": "assigning to a variable is not reading",
}
# Parts of a query that are no conditions, by their names in sqlglot.
_PARTS = frozenset(
    """
    Alias Aliases AtIndex AtTimeZone CTE CharacterSet ColumnDef Cube DataType DataTypeParam Distinct Except Fetch
    Filter FormatJson From FromTimeZone Group GroupingSets Having HavingMax Identifier IgnoreNulls IndexTableHint
    Intersect Interval IntervalSpan Introducer JSON JSONColumnDef JSONExtractQuote JSONKeyValue JSONSchema JSONValue
    Join Lambda Lateral Limit LimitOptions National ObjectIdentifier Offset OnCondition Order Ordered Partition
    PivotAlias PseudoType RecursiveWithSearch RespectNulls Rollup Select Slice Star Subquery Table TableAlias
    TableFromRows TableSample Tuple Union Values Var Variadic Version Where WindowSpec With WithinGroup
    XMLKeyValueOption XMLNamespace
    """.split()
)
_NOT_CONDITIONS = frozenset(["NextValueFor", "PropertyEQ", "Placeholder", "ReadCSV", "ReadParquet"])


@dataclass(frozen=True, slots=True)
class Judged:
    """Whether the text may run; ``reason`` is half a sentence for people, "" when it may."""

    allowed: bool
    reason: str = ""


def judge(sql: str, dialect: str) -> Judged:
    """Whether ``sql`` is one statement that only reads. ValueError for a dialect that is not known.

    ``dialect`` is postgres, postgresql, mysql, mariadb or sqlite. Without sqlglot nothing is allowed. Takes
    milliseconds, and a few hundred at its first use: not for an event loop.
    """
    if dialect not in DIALECTS:
        raise ValueError(f"no SQL dialect {dialect}; known: {', '.join(DIALECTS)}")
    try:
        _judge(sql, DIALECTS[dialect])
    except Refused as refused:
        return Judged(False, str(refused))
    return Judged(True)


def is_read(sql: str, dialect: str) -> bool:
    """The same in one word, for SQL on the command line of psql or mysql."""
    return judge(sql, dialect).allowed


def _judge(sql: str, dialect: str) -> None:
    if len(sql) > _LONGEST:
        raise Refused(f"the text has {len(sql):,} characters, {_LONGEST:,} at most")
    found = pieces(sql, dialect)
    while found and found[-1].text == ";":
        found.pop()
    if not found:
        raise Refused("there is no statement in it")
    if len(found) > _MOST_PIECES:
        raise Refused(f"the statement has {len(found):,} words and signs, {_MOST_PIECES:,} at most")
    if any(piece.kind == "mark" and piece.text == ";" for piece in found):
        raise Refused("it is more than one statement; send one at a time")
    _statement(sql, found, dialect)


def _statement(sql: str, found: Sequence[Piece], dialect: str) -> None:
    from holmes.toolsets.database import statements

    _check_secrets(found)
    inner = statements.explained(found, dialect)
    if inner is not None:
        _query(sql, inner, dialect)
    elif found[0].is_word("show") and dialect != "sqlite":
        condition = statements.check_show(found, dialect)
        if condition:
            _condition(sql, condition, dialect)
    elif found[0].is_word("pragma") and dialect == "sqlite":
        statements.check_pragma(found)
    elif statements.describes(found, dialect):
        return
    else:
        _query(sql, found, dialect)


def _query(sql: str, found: Sequence[Piece], dialect: str) -> None:
    if not (found and (found[0].text == "(" or found[0].is_word("select", "with", "values", "table"))):
        raise Refused(f"{found[0].text[:40].upper() if found else 'nothing'} is not a statement that only reads")
    _check_words(found)
    aliases = frozenset(_alias_places(_parts(inert(sql, found, dialect), sql, dialect)))
    _check_calls(found, dialect, aliases)


def _condition(sql: str, found: Sequence[Piece], dialect: str) -> None:
    """The WHERE of a SHOW, looked at as that of a query; places do not matter, there are no aliases."""
    query = f"SELECT 1 FROM t WHERE {sql[found[0].start : found[-1].end]}"
    _query(query, pieces(query, dialect), dialect)


def _check_secrets(found: Sequence[Piece]) -> None:
    for at, piece in enumerate(found):
        if piece.name in _SECRETS:
            raise Refused(f"{piece.name} holds passwords or their hashes")
        if piece.text == "." and at and at + 1 < len(found):
            pair = (found[at - 1].name, found[at + 1].name)
            if pair in _SECRET_TABLES:
                raise Refused(f"{'.'.join(pair)} holds passwords or their hashes")


def _check_words(found: Sequence[Piece]) -> None:
    depth = 0
    for piece in found:
        if piece.is_word("into"):
            raise Refused("INTO writes: to a table, a file or a variable")
        if piece.is_word("nextval"):
            raise Refused(_INSTEAD["NextValueFor"])
        if piece.kind == "mark":
            depth += (piece.text == "(") - (piece.text == ")")
            if depth > _DEEPEST:
                raise Refused(f"more than {_DEEPEST} parentheses in each other")


def _check_calls(found: Sequence[Piece], dialect: str, aliases: frozenset[int]) -> None:
    """Every name before a parenthesis is grammar, an alias with its columns, or a function that only reads."""
    functions = _functions(dialect)
    for piece in found:
        if dialect == "sqlite" and piece.name.startswith("pragma_") and not functions.reads(piece.name):
            raise Refused(f"{piece.name} is not known to only read")
    for at, (piece, following) in enumerate(pairwise(found)):
        if following.text != "(" or piece.kind in ("mark", "number") or piece.start in aliases:
            continue
        if piece.kind == "text":
            raise Refused(f"{piece.text[:40]} before a parenthesis is not understood")
        qualified = at > 0 and found[at - 1].text == "."
        if piece.kind == "word" and not qualified and is_plain_word(piece.name):
            continue
        schema = _schema(found, at) if qualified else ""
        if not functions.reads(piece.name, schema):
            shown = f"{schema}.{piece.name}" if schema else piece.name
            raise Refused(f"the function {shown}() is not known to only read")


def _schema(found: Sequence[Piece], at: int) -> str:
    """The one name before the dot; something that is no schema when there is more or else."""
    name = found[at - 2].name if at > 1 else ""
    longer = at > 2 and found[at - 3].text == "."
    return name if name and not longer else "?"


@cache
def _functions(dialect: str) -> Functions:
    return Functions(dialect)


def _parts(text: str, sql: str, dialect: str) -> Sequence[object]:
    """All parts of the one query in ``text``, each of a kind that reads."""
    try:
        import sqlglot
        from sqlglot import exp
    except ImportError:
        raise Refused("sqlglot is not installed, so no SQL can be checked: pip install 'holmes-sre[sql]'") from None
    try:
        roots = sqlglot.parse(text, read=dialect, error_level=sqlglot.ErrorLevel.RAISE)
        parts = [part for root in roots if root is not None for part in root.walk()]
    except sqlglot.ParseError as error:
        raise Refused(_not_understood(error, sql)) from None
    except (sqlglot.errors.SqlglotError, RecursionError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise Refused(f"it is not understood ({type(error).__name__})") from None
    except AttributeError as error:  # a parser's slip on odd input
        raise Refused(f"it is not understood ({error})") from None
    if len(roots) != 1 or not isinstance(roots[0], exp.Query | exp.Values):
        raise Refused("it is not one query")
    for part in parts:
        name = type(part).__name__
        condition = isinstance(part, exp.Condition) and name not in _NOT_CONDITIONS
        if not condition and name not in _PARTS and not name.startswith("JSONPath"):
            raise Refused(_INSTEAD.get(name, f"{name} is not known to be part of a reading statement"))
    return parts


def _not_understood(error: Exception, sql: str) -> str:
    """Where the parser stopped, shown in the text as it was written."""
    place: Mapping[str, object] = next(iter(getattr(error, "errors", [])), {})
    line, column = place.get("line"), place.get("col")
    if not isinstance(line, int) or not isinstance(column, int):
        return "it is not understood"
    lines = sql.splitlines()
    near = lines[line - 1][max(0, column - 20) : column + 20].strip() if line <= len(lines) else ""
    return f"it is not understood near: {near}" if near else "it is not understood"


def _alias_places(parts: Sequence[object]) -> Iterator[int]:
    """Where names stand that a list of columns follows: ``WITH x (a, b) AS``, ``AS x (a, b)``."""
    from sqlglot import exp

    for part in parts:
        if isinstance(part, exp.TableAlias) and part.args.get("columns") and isinstance(part.this, exp.Identifier):
            start = part.this.meta.get("start")
            if isinstance(start, int):
                yield start
