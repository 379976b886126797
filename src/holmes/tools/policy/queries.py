"""Query languages inside commands: jq, yq, SQL."""

from __future__ import annotations

import re
from collections.abc import Callable

from holmes.tools.policy.settings import Ruling, ask, deny

SqlReads = Callable[[str], bool] | None
JudgeSql = Callable[[str, SqlReads], Ruling | None]

# ``env`` as a word of its own: not ``.env``, ``$env``, ``"env"`` or ``{env: ...}``.
_JQ_ENVIRONMENT = re.compile(r"\$ENV\b|\$__prog|(?<![\w.$\"@-])env\b(?!\s*:)")
_JQ_MODULES = re.compile(r"\b(import|include)\s*\"|\bmodulemeta\b|\bget_search_list\b|\binput_filename\s*\(")
_YQ_OPERATORS = re.compile(r"\b(env|strenv|envsubst|load\w*|system|eval|shuffle_env)\b\s*(\(|$|\|)|\$ENV\b")
_PSQL_COMMAND = re.compile(r"\\(d[A-Za-z]*[S+]*|l\+?|z|sf\+?|sv\+?|conninfo|encoding|timing|x)(\s+[\w.*\"$]+)?\s*")
_CLIENT_COMMAND = re.compile(
    r"(^|;)\s*(system|source|tee|notee|pager|nopager|edit|delimiter|connect|use|prompt|rehash|charset|status|resetconnection)\b",
    re.IGNORECASE | re.MULTILINE,
)


def judge_jq(program: str) -> Ruling | None:
    """What speaks against a jq program."""
    if _JQ_MODULES.search(program):
        return deny("jq modules are files", "jq program")
    if "$ENV" in program:
        return deny("it reads the environment", "jq program")
    if _JQ_ENVIRONMENT.search(program):
        return ask("it reads the environment", "jq program")
    return None


def judge_yq(program: str) -> Ruling | None:
    """What speaks against an expression of yq (either program of that name)."""
    if _YQ_OPERATORS.search(program):
        return ask("it reads files or the environment", "yq program")
    return judge_jq(program)


def judge_psql(text: str, sql_reads: SqlReads) -> Ruling | None:
    """``psql -c``: one backslash command that lists, or SQL."""
    if text.lstrip().startswith("\\"):
        if _PSQL_COMMAND.fullmatch(text.strip()):
            return None
        return ask(f"{text.split()[0]} is not a known read", "psql command")
    if "\\" in text:
        return ask("a backslash in SQL is not understood", "sql")
    return _sql(text, sql_reads)


def judge_mysql(text: str, sql_reads: SqlReads) -> Ruling | None:
    """``mysql -e``: SQL without the client's own commands."""
    if "\\" in text or _CLIENT_COMMAND.search(text):
        return ask("a command of the client is not a known read", "mysql command")
    return _sql(text, sql_reads)


def _sql(text: str, sql_reads: SqlReads) -> Ruling | None:
    if sql_reads is None:
        return ask("SQL needs a person here", "sql")
    if not sql_reads(text):
        return ask("the SQL does more than read", "sql")
    return None
