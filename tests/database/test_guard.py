"""The guard: what reads runs, whatever else does not, in any disguise."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from holmes.toolsets.database.guard import is_read, judge

HERE = Path(__file__).parent
DIALECTS = ("postgres", "mysql", "sqlite")


def table(name: str) -> Any:
    return yaml.safe_load((HERE / name).read_text())


def statements(text: str) -> list[str]:
    return [line.replace("\t", "\n") for line in text.splitlines()]


HOSTILE = [
    (dialect, sql)
    for dialect, groups in table("hostile.yaml").items()
    for text in groups.values()
    for sql in statements(text)
]
ORDINARY = [(dialect, sql) for dialect, text in table("ordinary.yaml").items() for sql in statements(text)]


def test_the_tables_are_large() -> None:
    assert len(set(HOSTILE)) >= 200
    assert len(set(ORDINARY)) >= 100


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_hostile_statement_is_allowed(dialect: str) -> None:
    allowed = [sql for of, sql in HOSTILE if of == dialect and judge(sql, dialect).allowed]
    assert not allowed


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_ordinary_statement_is_allowed(dialect: str) -> None:
    refused = {
        sql: judged.reason for of, sql in ORDINARY if of == dialect and not (judged := judge(sql, dialect)).allowed
    }
    assert not refused


# A call that harms wherever a value may stand, by dialect.
CALLS = {"postgres": "pg_sleep(9)", "mysql": "sleep(9)", "sqlite": "load_extension('x')"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_harmful_call_in_the_place_of_any_value_is_refused(dialect: str) -> None:
    """Each number and text of each ordinary statement in turn becomes a call."""
    allowed, tried = [], 0
    for of, sql in ORDINARY:
        if of != dialect:
            continue
        for value in re.finditer(r"(?<![\w.'\"{])(\d+|'[^']*')(?![\w.'])", sql):
            changed = f"{sql[: value.start()]}{CALLS[dialect]}{sql[value.end() :]}"
            tried += 1
            if judge(changed, dialect).allowed and not in_comment_or_text(sql, value.start()):
                allowed.append(changed)
    assert tried > 15
    assert not allowed


def in_comment_or_text(sql: str, at: int) -> bool:
    before = sql[:at]
    return before.count("'") % 2 == 1 or before.count("$$") % 2 == 1


ENDINGS = {
    "postgres": [
        "; DELETE FROM t",
        " INTO made",
        " FOR UPDATE",
        "; -- x\nDROP TABLE t",
        " /*",
        " /*! x */",
        " \\gexec",
    ],
    "mysql": ["; DELETE FROM t", " INTO OUTFILE '/tmp/x'", " /*!50000 INTO @x */", " --1 INTO @x", " LIMIT 1 INTO @x"],
    "sqlite": ["; DELETE FROM t", " INTO made", "\n;ATTACH 'x' AS y", " /*! x */ /*"],
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_ordinary_statement_may_end_in_harm(dialect: str) -> None:
    allowed = [
        sql + ending
        for of, sql in ORDINARY
        if of == dialect
        for ending in ENDINGS[dialect]
        if judge(sql.rstrip("; ") + ending, dialect).allowed
    ]
    # Behind an open line comment the ending is a comment as well; SHOW locks nothing, the server does not know it so.
    assert [sql for sql in allowed if "-- a comment" not in sql and not sql.startswith("SHOW")] == []


def test_the_reason_says_what_is_wrong() -> None:
    assert "pg_read_file() is not known to only read" in judge("SELECT pg_read_file('x')", "postgres").reason
    assert "DELETE inside" in judge("WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d", "postgres").reason
    assert "more than one statement" in judge("SELECT 1; SELECT 2", "mysql").reason
    assert "it is not understood near: SELECT (t WHERE" in judge("SELECT (t WHERE", "postgres").reason
    assert "VACUUM" in judge("vacuum full", "postgres").reason
    assert judge("", "sqlite").reason == "there is no statement in it"


def test_the_reason_shows_the_text_as_it_was_written() -> None:
    reason = judge("SELECT 'abc' FROM (t WHERE", "postgres").reason
    assert "'abc'" in reason and "xxx" not in reason


def test_long_and_deep_texts_end_soon() -> None:
    texts = [
        "SELECT " + "(" * 5_000 + "1" + ")" * 5_000,
        "SELECT " + "not " * 2_000 + "1",
        "SELECT 1" + " UNION SELECT 1" * 2_000,
        "SELECT " + "CASE WHEN 1 THEN " * 900 + "1" + " ELSE 0 END" * 900,
        "SELECT '" + "x" * 60_000 + "'",
        "SELECT " + "/*" * 20_000,
        "SELECT " + "'a' " * 10_000,
        "SELECT " + "[1" * 3_000,
        "WITH a AS (" * 30 + "SELECT 1" + ") SELECT 1" * 30,
    ]
    for text in texts:
        for dialect in DIALECTS:
            started = time.monotonic()
            judge(text, dialect)
            assert time.monotonic() - started < 5, text[:40]


def test_names_of_dialects() -> None:
    assert is_read("SELECT 1", "postgresql") and is_read("SHOW TABLES", "mariadb")
    with pytest.raises(ValueError, match="oracle"):
        judge("SELECT 1", "oracle")
