"""Programs that run another program: it is judged as if it stood alone."""

from __future__ import annotations

from itertools import pairwise

from holmes.tools.policy import rules
from holmes.tools.policy.match import Call
from holmes.tools.policy.resolve import GAP, Argument
from holmes.tools.policy.words import quote

_MANY = 4  # xargs may append any number of words; no grammar has more fixed places than this


def check_xargs(call: Call) -> None:
    """Its items become arguments that are known only when they come; none of them can be an option."""
    items = [Argument(GAP, code="", appended=True)]
    numbers = call.given("-n", "--max-args")
    replaced = call.given("-I")
    if call.given("-0", "--null"):
        delimiter = "'\\0'"
    elif given := call.given("-d", "--delimiter"):
        delimiter = quote(given[-1].text)
        if not given[-1].known or len(given[-1].text) > 2:
            call.ask("the delimiter of xargs is not understood", "xargs")
    else:
        delimiter = "'\\n'" if replaced else "' \\t\\n'"
    call.prepare = f"_items {delimiter}"
    place = call.args[0][0] if call.args else len(call.words)
    call.insert[place] = ["-0"]
    if not call.args:
        return
    words = list(call.words[place:])
    if replaced:
        mark = replaced[-1].text
        if not replaced[-1].known or not mark:
            call.ask("the mark of xargs -I is not understood", "xargs")
            return
        words = [_fill(word, mark) for word in words]
        items = []
    elif not (numbers and numbers[-1].text == "1"):
        items *= _MANY
    call.inner(place, [*words, *items], "no stdin")


def _fill(word: Argument, mark: str, *, stream: bool = False) -> Argument:
    """A word of the inner command with the mark as a gap."""
    if mark not in word.text:
        return word
    whole = word.text == mark
    return Argument(
        word.text.replace(mark, GAP), code=word.code or quote(word.text), stream=stream and whole, fixed=True
    )


def check_env(call: Call) -> None:
    """``env NAME=value program``."""
    for place, word in call.args:
        name, equals, value = word.text.partition("=")
        if not equals:
            if GAP in name or name == "-":
                call.ask("which program env runs is known only when it runs", "unknown program")
            call.inner(place, call.words[place:], "words")
            return
        call.rulings += rules.assignment_before(name, Argument(value), "env")
    call.deny("env shows the environment", "environment")


def check_shell(call: Call) -> None:
    """``sh -c 'script'``: the script is judged and written anew, for bash."""
    if not call.args or not call.given("-c", "-ec", "-euc"):
        call.ask(f"{call.program} runs a script that is not on its command line", "script")
        return
    place, script = call.args[0]
    call.insert[0] = ["bash"]
    call.inner(place, [script], "script")


def check_find(call: Call) -> None:
    """Starting points, then an expression of tests; -exec is judged by its program."""
    words = [word for _, word in call.args]
    tables = {name: frozenset(table.split()) for name, table in call.level.data.items()}
    at = _starting_points(call, words)
    regular = _plain_files([word.text for word in words[at:]], tables["plain"])
    while at < len(words):
        text = words[at].text
        at += 1
        if text in tables["tests"]:
            continue
        if text in tables["values"]:
            at += 1
        elif text in tables["files"]:
            if at < len(words):
                call.file(at + 1, words[at])
            at += 1
        elif text in tables["writes"]:
            call.deny(f"find {text} changes files", "find action")
        elif text in tables["runs"]:
            at = _run(call, words, at, regular=regular)
        else:
            call.ask(f"find {text.replace(GAP, '…')} is not a known test", "find expression")


def _plain_files(words: list[str], plain: frozenset[str]) -> bool:
    """Whether only files are found (no links), of a name that no secret has."""
    pairs = list(pairwise(words))
    named = any(
        test in ("-name", "-iname") and pattern.startswith("*.") and pattern[2:] in plain for test, pattern in pairs
    )
    return named and ("-type", "f") in pairs and not {"-o", "-or", ",", "!", "-not"} & set(words)


def _starting_points(call: Call, words: list[Argument]) -> int:
    at = 0
    while at < len(words) and words[at].text in ("-P", "-H", "-L"):
        if words[at].text == "-L":
            call.ask("find -L follows links out of the folder", "find -L")
        at += 1
    first = at
    while at < len(words) and not words[at].text.startswith(("-", "(", "!", ",")):
        call.file(at + 1, words[at])
        at += 1
    if at == first:
        call.file(0, Argument("."))
    return at


def _run(call: Call, words: list[Argument], at: int, *, regular: bool) -> int:
    """Judge ``-exec program {} ;``; with ``-type f`` what it finds are files of the folders that were judged."""
    end = at
    while end < len(words) and words[end].text != ";" and (words[end].text != "+" or words[end - 1].text != "{}"):
        end += 1
    if end == at or end == len(words):
        call.ask("find -exec without its end is not understood", "find expression")
        return end + 1
    call.inner(at + 1, [_fill(word, "{}", stream=regular) for word in words[at:end]], "no stdin")
    return end + 1
