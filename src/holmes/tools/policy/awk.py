"""awk programs: allowed unless they run, write, or read something that is not on their command line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holmes.tools.policy.settings import Ruling, ask, deny

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r]+|\\\n|\#[^\n]*)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<number>(?:0[xX][0-9A-Fa-f]+|[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+))
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<operator>\|\||&&|\|&|>>|>=|<=|==|!=|!~|\+\+|--|\*\*=?|[-+*/%^]=|[^\w\s"\#/])
      | (?P<newline>\n)
      | (?P<slash>/)""",
    re.VERBOSE | re.DOTALL,
)
_REGEX = re.compile(r"/(?:[^/\\\n]|\\.)*/", re.DOTALL)
_OPEN_BRACKET = re.compile(r"\[\^?\]?[^\]]*$")  # its slash ends the pattern for some awks only
# Words that run, read or write; found anywhere but in strings, even where they look like part of a pattern.
_NEVER = {
    "system": "runs a command",
    "getline": "reads files or commands",
    "ENVIRON": "reads the environment",
    "ARGV": "changes which files it reads",
    "ARGC": "changes which files it reads",
    "PROCINFO": "reads facts about the process",
    "SYMTAB": "reaches every variable",
    "FUNCTAB": "reaches every function",
}
_RUNS = {"|": "runs a command", "|&": "runs a command", "@": "calls by name, or loads code", ">>": "writes a file"}
_BEFORE_REGEX = frozenset(["print", "printf", "return", "in", "case", "else", "do", "and", "or", "not", "exit"])


def judge_awk(program: str) -> Ruling | None:
    """What speaks against an awk program."""
    printing = False  # inside print or printf, where > redirects unless it stands between brackets
    depth = 0
    ends = False  # a newline behind the last token ends the statement
    for kind, text in _tokens(program):
        if kind == "odd" or (kind == "operator" and text == "\\"):
            return ask("the awk program is not understood", "awk program")
        if kind == "name" and text in _NEVER:
            return deny(f"the awk program {_NEVER[text]}", "awk program")
        if kind == "operator" and text in _RUNS:
            return deny(f"the awk program {_RUNS[text]}", "awk program")
        if kind == "operator" and text == ">" and printing and depth <= 0:
            return deny("the awk program writes a file", "awk program")
        if kind == "name" and text in ("print", "printf"):
            printing, depth = True, 0
        elif kind == "operator" and text in ("(", "[", ")", "]"):
            depth += 1 if text in ("(", "[") else -1
        elif (kind == "operator" and text in (";", "{", "}")) or (kind == "newline" and ends):
            printing = False
        if kind != "newline":
            ends = kind in ("number", "string", "regex", "name") or text in (")", "]", "++", "--", "}")
    return None


def _tokens(program: str) -> Iterator[tuple[str, str]]:
    """Kind and text of each token; names in patterns are told as well."""
    position = 0
    kind = text = ""
    while position < len(program):
        match = _TOKEN.match(program, position)
        if match is None:
            yield "odd", program[position]
            return
        token = match.lastgroup or ""
        if token == "slash":
            regex = _REGEX.match(program, position)
            place = _slash(kind, text)
            if place == "either" and regex is not None and regex.group().strip("/").strip():
                # A division and a pattern would be read differently from here on.
                yield "odd", "/"
                return
            if place == "regex":
                if regex is None or _OPEN_BRACKET.search(re.sub(r"\\.", "", regex.group())):
                    yield "odd", "/"
                    return
                for name in re.findall(r"\b(?:system|getline|ENVIRON)\s*[(\[<]", regex.group()):
                    yield "odd", name
                position = regex.end()
                kind, text = "regex", regex.group()
                yield kind, text
                continue
            kind, text = "operator", "/"
            yield kind, text
            position = match.end() + program.startswith("=", match.end())
            continue
        position = match.end()
        if token == "space":
            continue
        kind, text = token, match.group()
        yield kind, text


def _slash(kind: str, text: str) -> str:
    """Whether a slash behind this token begins a pattern, divides, or may do either."""
    if kind == "name":
        return "regex" if text in _BEFORE_REGEX else "division"
    if kind in ("number", "string", "regex"):
        return "division"
    if kind == "operator" and text in (")", "++", "--"):
        return "either"
    if kind == "operator" and text == "]":
        return "division"
    return "regex"
