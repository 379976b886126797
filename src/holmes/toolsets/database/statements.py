"""Statements around and beside queries: EXPLAIN, DESCRIBE, SHOW, PRAGMA."""

from __future__ import annotations

from collections.abc import Sequence

from holmes.toolsets.database.lexing import Piece, Refused

_QUERY = ("select", "with", "values", "table")
# Pragmas that only tell, and those that take the name of what they tell about.
_PRAGMAS = frozenset(
    """
    application_id auto_vacuum busy_timeout cache_size collation_list compile_options data_version database_list
    encoding foreign_keys freelist_count function_list integrity_check journal_mode journal_size_limit locking_mode
    max_page_count mmap_size module_list page_count page_size pragma_list query_only quick_check schema_version
    secure_delete synchronous table_list temp_store user_version wal_autocheckpoint
    """.split()
)
_PRAGMAS_OF = frozenset(
    """
    foreign_key_check foreign_key_list index_info index_list index_xinfo integrity_check quick_check table_info
    table_list table_xinfo
    """.split()
)


def explained(found: Sequence[Piece], dialect: str) -> Sequence[Piece] | None:
    """The statement that an EXPLAIN is about, to be judged like any other; None when this is no EXPLAIN of a query."""
    first = found[0]
    if dialect == "sqlite":
        if not first.is_word("explain"):
            return None
        rest = found[1:]
        return rest[2:] if len(rest) > 1 and rest[0].is_word("query") and rest[1].is_word("plan") else rest
    if dialect == "postgres":
        return _postgres_explain(found[1:]) if first.is_word("explain") else None
    if first.is_word("explain", "describe", "desc", "analyze"):
        return _mysql_explain(found[1:], analyze=first.is_word("analyze"))
    return None


def _postgres_explain(rest: Sequence[Piece]) -> Sequence[Piece]:
    if rest and rest[0].text == "(" and not (len(rest) > 1 and (rest[1].text == "(" or rest[1].is_word(*_QUERY))):
        end = next((at for at, piece in enumerate(rest) if piece.text == ")"), len(rest))
        if not all(piece.kind in ("word", "number", "text") or piece.text == "," for piece in rest[1:end]):
            raise Refused("the options of EXPLAIN are not understood")
        return rest[end + 1 :]
    while rest and rest[0].is_word("analyze", "verbose"):
        rest = rest[1:]
    return rest


def _mysql_explain(rest: Sequence[Piece], *, analyze: bool) -> Sequence[Piece] | None:
    while rest and rest[0].is_word("analyze", "extended", "partitions", "format"):
        if rest[0].is_word("format"):
            if len(rest) < 3 or rest[1].text != "=" or rest[2].kind not in ("word", "text"):
                raise Refused("the FORMAT of EXPLAIN is not understood")
            rest = rest[2:]
        rest = rest[1:]
    if rest and (rest[0].text == "(" or rest[0].is_word(*_QUERY)) and not (analyze and rest[0].is_word("table")):
        return rest
    return None


def describes(found: Sequence[Piece], dialect: str) -> bool:
    """Whether it is DESCRIBE of a table, maybe of one column, or EXPLAIN of a running connection (MySQL)."""
    if dialect != "mysql" or not found[0].is_word("describe", "desc", "explain"):
        return False
    rest = list(found[1:])
    if [piece.name for piece in rest[:2]] == ["for", "connection"]:
        return len(rest) == 3 and rest[2].kind == "number"
    if len(rest) > 2 and rest[1].text == ".":
        del rest[:2]
    if not rest or len(rest) > 2 or not rest[0].name or rest[0].is_word("insert", "replace", "update", "delete"):
        return False
    return len(rest) == 1 or rest[1].kind in ("word", "quoted", "text")


def check_show(found: Sequence[Piece], dialect: str) -> Sequence[Piece]:
    """Refused when a SHOW is not plain; its condition otherwise, which may call functions and is still to be judged."""
    words = [piece.name for piece in found]
    if words[1:3] == ["create", "user"] or words[1:2] == ["grants"]:
        raise Refused(
            f"SHOW {' '.join(words[1:3]).upper()} shows password hashes; ask information_schema.user_privileges"
        )
    at = words.index("where") if dialect == "mysql" and "where" in words else len(found)
    marks = {piece.text for piece in found[:at] if piece.kind == "mark"}
    if "into" in words[:at] or not marks <= {".", ",", "="}:
        raise Refused("this SHOW is not understood; ask information_schema with a SELECT")
    return found[at + 1 :]


def check_pragma(found: Sequence[Piece]) -> None:
    """Refused when a PRAGMA could do more than tell."""
    rest = list(found[1:])
    if len(rest) > 2 and rest[1].text == ".":
        rest = rest[2:]
    name = rest[0].name if rest else ""
    shape = [piece.text if piece.kind == "mark" else "" for piece in rest[1:]]
    if shape not in ([], ["(", "", ")"]) or not is_reading_pragma(name, bool(shape)):
        raise Refused(f"PRAGMA {name} with these arguments is not known to only read")


def is_reading_pragma(name: str, with_argument: bool) -> bool:
    """Whether a pragma of SQLite only tells; names in lower case."""
    return name in _PRAGMAS_OF or (name in _PRAGMAS and not with_argument)
