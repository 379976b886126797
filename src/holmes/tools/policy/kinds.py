"""Kinds of values and arguments: what each may be."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from holmes.tools.policy import awk, network, queries, sed
from holmes.tools.policy.paths import SECRET_FILES, SECRET_FOLDERS, is_folder, judge_file
from holmes.tools.policy.resolve import Argument
from holmes.tools.policy.settings import Ruling, ask, deny
from holmes.tools.policy.words import quote

if TYPE_CHECKING:
    from holmes.tools.policy.match import Call

Judged = tuple[Ruling | None, list[str]]  # what speaks against it, and what its wildcards stand for
_NUMBER = re.compile(r"[+-]?[0-9.]*[A-Za-z]{0,8}")
_RAW = re.compile(
    r"/(api|apis|healthz|livez|readyz|metrics|version|openapi)(/[A-Za-z0-9_.,:~-]+)*/?(\?[A-Za-z0-9_.,=&:/~-]*)?"
)
_RAW_ACTIONS = frozenset(
    ["proxy", "exec", "attach", "portforward", "token", "eviction", "binding", "scale", "finalize"]
)


def _text(value: Argument, call: Call) -> Judged:
    return None, []


def _number(value: Argument, call: Call) -> Judged:
    if value.known and not _NUMBER.fullmatch(value.text):
        return ask(f"{call.name}: {value.text} is not a number", f"{call.program} flags"), []
    return None, []


def _file(value: Argument, call: Call) -> Judged:
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", value.text):
        return ask(f"{value.text} may be something else than a file", "read roots"), []
    if call.level.skip_secrets and 1 not in call.insert and is_folder(value, call.settings):
        call.insert[1] = list(_without_secrets(call.level.skip_secrets))
    return judge_file(value, call.settings, tree=True)


def _without_secrets(flags: Sequence[str]) -> Iterator[str]:
    for flag in flags:
        for name in SECRET_FILES if "{file}" in flag else SECRET_FOLDERS:
            yield quote(flag.format(file=name, folder=name))


def _name(value: Argument, call: Call) -> Judged:
    return judge_file(value, call.settings)


def _words(value: Argument, call: Call) -> Judged:
    """Text, or names of files by wildcards."""
    return judge_file(value, call.settings) if value.pattern is not None else (None, [])


def _program(judge: Callable[[str], Ruling | None]) -> Callable[[Argument, Call], Judged]:
    def kind(value: Argument, call: Call) -> Judged:
        if not value.known:
            return ask(f"the program of {call.name} is known only when it runs", "syntax"), []
        return judge(value.text), []

    return kind


def _yq(value: Argument, call: Call) -> Judged:
    """An expression; what exists as a file is taken for one."""
    if value.known and Path(call.settings.cwd, value.text).exists():
        return _file(value, call)
    return _program(queries.judge_yq)(value, call)


def _awk_operand(value: Argument, call: Call) -> Judged:
    if re.match(r"[A-Za-z_][A-Za-z0-9_]*=", value.text):
        return None, []
    return judge_file(value, call.settings, tree=True)


def _sql(judge: queries.JudgeSql) -> Callable[[Argument, Call], Judged]:
    def kind(value: Argument, call: Call) -> Judged:
        if not value.known:
            return ask("the SQL is known only when it runs", "sql"), []
        return judge(value.text, call.settings.sql_reads), []

    return kind


def _url(value: Argument, call: Call) -> Judged:
    return network.judge_url(value.text, call.settings.hosts), []


def _header(value: Argument, call: Call) -> Judged:
    return network.judge_header(value.text), []


def _written(value: Argument, call: Call) -> Judged:
    if value.text.startswith("@") or "%output{" in value.text:
        return ask("it reads its format from a file, or writes one", "curl -w"), []
    return None, []


def _raw(value: Argument, call: Call) -> Judged:
    """A path of the Kubernetes API, for GET."""
    path = value.text.partition("?")[0].lower()
    if re.search(r"(^|/)secrets?(/|$)", re.sub(r"%[0-9a-f]{2}", lambda code: chr(int(code[0][1:], 16)), path)):
        return deny("it reads Secrets", "secret-bearing read"), []
    if not value.known or not _RAW.fullmatch(value.text) or ".." in path:
        return ask(f"{call.name} --raw {value.text} is not a known read", "kubectl --raw"), []
    if _RAW_ACTIONS & set(path.split("/")):
        return ask(f"{call.name} --raw {value.text} does more than read", "kubectl --raw"), []
    return None, []


KINDS: Mapping[str, Callable[[Argument, Call], Judged]] = {
    "text": _text,
    "number": _number,
    "file": _file,
    "folder": _name,
    "path": _name,
    "words": _words,
    "jq": _program(queries.judge_jq),
    "yq": _yq,
    "sed": _program(sed.judge_sed),
    "awk": _program(awk.judge_awk),
    "awk-operand": _awk_operand,
    "psql": _sql(queries.judge_psql),
    "mysql": _sql(queries.judge_mysql),
    "url": _url,
    "header": _header,
    "written": _written,
    "raw": _raw,
}
