"""Cloud command lines: far too many subcommands to list, so they are judged by their verbs and a list of refusals."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from holmes.tools.policy.match import Call
from holmes.tools.policy.resolve import GAP, Argument


def check_verbs(call: Call) -> None:
    """``data`` of the grammar: shape (service or groups), reads or groups and verbs, secrets, flags, files."""
    data = call.level.data
    words = [word for _, word in call.args]
    path, rest = _path(words, data.get("before") or {})
    text = " ".join(path)
    for pattern in data["secrets"]:
        if re.fullmatch(pattern, text):
            call.deny(f"{call.program} {text} gives away secrets", f"{call.program} secrets")
    known = _is_operation(path, data["reads"]) if data["shape"] == "service" else _is_verb(path, data)
    if [word.text for word in words] in (["--version"], ["version"], ["help"]):
        return
    if not known:
        call.ask(f"{call.program} {text[:80]} is not a known read", f"{call.program} verb")
    _flags(call, words, data["flags"], abbreviations=bool(data.get("abbreviations")))
    _values(call, rest, data["files"])


def _path(words: Sequence[Argument], before: Mapping[str, str]) -> tuple[list[str], list[Argument]]:
    """Words in front of the first flag that is not a global one, and everything else."""
    values, switches = before.get("values", "").split(), before.get("switches", "").split()
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        name, equals, _ = words[at].text.partition("=")
        if name in values:
            at += 1 if equals else 2
        elif name in switches:
            at += 1
        else:
            break
    path = []
    for word in words[at:]:
        if word.text.startswith("-"):
            break
        path.append(word.text.replace(GAP, "…"))
    return path, list(words[at:])


def _is_operation(path: Sequence[str], reads: Sequence[str]) -> bool:
    """service and operation; further words are names."""
    return any(re.fullmatch(pattern, " ".join(path[:2])) for pattern in reads)


def _is_verb(path: Sequence[str], data: Mapping[str, Any]) -> bool:
    """Groups, then a verb, then names. A group is never a command, so nothing can hide in front of the verb."""
    groups, verbs = data["groups"].split(), data["verbs"].split()
    for word in path:
        if word in verbs:
            return True
        if word not in groups:
            return False
    return False


def _flags(call: Call, words: Sequence[Argument], refused: Mapping[str, str], *, abbreviations: bool) -> None:
    for word in words:
        if not word.text.startswith("-"):
            continue
        name = word.text.partition("=")[0]
        if GAP in name:
            call.ask("which flag it is, is known only when it runs", f"{call.program} flags")
        for reason, names in refused.items():
            for flag in names.split():
                shortened = abbreviations and len(name) > 2 and name.startswith("--") and flag.startswith(name)
                if name == flag or shortened:
                    call.deny(f"{call.program} {name}: {reason}", f"{call.program} {flag}")


def _values(call: Call, words: Sequence[Argument], marks: Sequence[str]) -> None:
    """Values that begin with a mark are read from files."""
    for word in words:
        for value in (word.text, word.text.partition("=")[2]):
            if value.startswith(tuple(marks)):
                call.ask(f"{call.program} reads {value.replace(GAP, '…')}", f"{call.program} files")
            elif value.startswith(GAP):
                call.ask("whether a value names a file is known only when it runs", f"{call.program} files")
