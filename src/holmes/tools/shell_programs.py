"""Programs that take program text, and where in their arguments it stands. Words are strings; what a model fills in is
a NUL character in them.

Sources: the manual pages of the programs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

SLOT = "\0"
PRINTERS = frozenset("echo printf".split())
READERS = frozenset("read mapfile readarray".split())


@dataclass(frozen=True, slots=True)
class _Interpreter:
    """``options`` take program text (one letter each, or long names); ``data`` are options with another value.

    ``operands``: which operands are program text. When an option already gave the program, "first" means none.
    ``stdin``: without a program it reads one from there. ``inner``: it is looked for behind ``exec`` and ``--`` too.
    """

    options: str = ""
    operands: Literal["first", "all", "none"] = "first"
    data: str = ""
    stdin: bool = True
    inner: bool = True


_SHELL = _Interpreter("--init-file --rcfile", data="o O")
_EVERY_OPERAND = _Interpreter(operands="all", stdin=False, inner=False)
_INTERPRETERS = {
    "sh bash dash ash zsh ksh fish busybox": _SHELL,
    "python python2 python3 pypy pypy3": _Interpreter("c m", data="W X"),
    "perl": _Interpreter("e E M m I"),
    "ruby": _Interpreter("e r I"),
    "node nodejs deno bun": _Interpreter("e p r --eval --print --require --import"),
    "php": _Interpreter("r f B R F E"),
    "lua luajit tclsh osascript Rscript groovy pwsh powershell expect": _Interpreter("e c"),
    "awk gawk mawk nawk": _Interpreter("f e i l --file --source --include --load", data="v F --assign", stdin=False),
    "sed gsed": _Interpreter("e f --expression --file", data="l --line-length", stdin=False),
    "yq gojq": _Interpreter("f --from-file --expression L", stdin=False),
    "psql": _Interpreter("c f --command --file", "none"),
    "mysql mariadb": _Interpreter("e --execute --init-command", "none"),
    "mongo mongosh": _Interpreter("f --eval --file", "first"),
    "sqlite3 duckdb": _Interpreter(operands="all"),
    "redis-cli": _Interpreter("--eval", "first", data="h p n a u"),
    "bc dc": _Interpreter("e f --expression --file"),
    "ssh": _Interpreter("o F", "all", inner=False),
    "su": _Interpreter("c --command", "none", inner=False),
    "find": _Interpreter("-exec -execdir -ok -okdir", "none", stdin=False, inner=False),
    "tar": _Interpreter("I --to-command --use-compress-program --checkpoint-action", "none", stdin=False, inner=False),
    "git": _Interpreter("c --exec-path --upload-pack --receive-pack", "none", stdin=False, inner=False),
    "printf test": _Interpreter("v", "none", stdin=False, inner=False),
    "watch parallel script gdb vi vim ex ed m4 make at batch crontab": _Interpreter(
        "c x", "all", stdin=True, inner=False
    ),
    "eval source . trap let set alias bind enable read mapfile readarray unset declare typeset": _EVERY_OPERAND,
}
_BY_NAME = {name: interpreter for names, interpreter in _INTERPRETERS.items() for name in names.split()}

# Programs that run the program named behind their own options: options with a value, operands before the program.
_WRAPPERS: dict[str, tuple[str, int]] = {
    "env": ("u C", 0),
    "sudo": ("u g h p C", 0),
    "doas": ("u C", 0),
    "timeout": ("s k --signal --kill-after", 1),
    "nice": ("n", 0),
    "ionice": ("c n p", 0),
    "stdbuf": ("i o e", 0),
    "xargs": ("I n P L d E a s --max-args --max-procs --delimiter --arg-file", 0),
    "flock": ("w E", 1),
    "chroot": ("", 1),
    **dict.fromkeys(("time", "nohup", "command", "exec", "builtin", "setsid", "unbuffer", "!"), ("", 0)),
}
_DANGEROUS_VARIABLE = re.compile(
    r"PATH|LD_\w+|DYLD_\w+|BASH_ENV|ENV|IFS|PS4|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|PYTHON\w+|PERL5\w+|RUBY\w+|NODE_\w+|"
    r"GIT_\w+|KUBECONFIG|HELM_\w+|EDITOR|VISUAL|PAGER|LESSOPEN|HOLMES_JAQ"
)
_CLUSTER = re.compile(r"-[A-Za-z]+")
_RUNS_ANOTHER = frozenset("-- exec run debug -exec -execdir -ok -okdir".split())
_PODS = frozenset("kubectl oc".split())
_CONTAINERS = frozenset("docker podman nerdctl crictl".split())


def program_text(words: Sequence[str]) -> str:
    """ "" or why a slot in these words of one simple command is more than data: "the program text of awk"."""
    start, reason = _behind_wrappers(words)
    if reason or start >= len(words):
        return reason
    if SLOT in words[start]:
        return "the name of the program"
    name = _base(words[start])
    if SLOT in "".join(words[start + 1 :]) and _chosen_in_container(name, words[start + 1 :]):
        return f"the command that {name} runs in a container"
    first_inner = next((index + 1 for index in range(start, len(words)) if words[index] in _RUNS_ANOTHER), len(words))
    for index in (start, *range(first_inner, len(words))):
        known = _BY_NAME.get(_base(words[index]))
        if known and (index == start or known.inner) and _in_program(words[index + 1 :], known):
            return f"the program text of {_base(words[index])}"
    return ""


def reads_program(words: Sequence[str]) -> bool:
    """Whether this simple command takes program text from its standard input."""
    start, _ = _behind_wrappers(words)
    if start >= len(words):
        return False
    known = _BY_NAME.get(_base(words[start]))
    if known is None or not known.stdin:
        return False
    if known is _SHELL and any(_CLUSTER.fullmatch(word) and "c" in word for word in words[start + 1 :]):
        return False
    programs, operands = _split(words[start + 1 :], known)
    if known.operands == "all":  # sqlite3 FILE
        return len(operands) < 2
    return not programs and (known.operands == "none" or not operands or operands[0] == "-")


def splits_input(words: Sequence[str]) -> bool:
    """Whether words of its standard input become arguments of a program (xargs)."""
    return any(_base(word) in ("xargs", "parallel") for word in words[:3])


def ends_options(words: Sequence[str]) -> bool:
    """Whether these words before an argument have a ``--`` that is its own program's."""
    if "--" not in words:
        return False
    other = {"exec", "run", "debug", "attach", *_WRAPPERS}
    return not any(_base(word) in other for word in words[: words.index("--")])


def sets_dangerous_variable(name: str) -> bool:
    """Whether a variable of that name changes what programs run."""
    return _DANGEROUS_VARIABLE.fullmatch(name) is not None


def _base(word: str) -> str:
    return word.rpartition("/")[2]


def _behind_wrappers(words: Sequence[str]) -> tuple[int, str]:
    """Where the program stands that really runs, and a reason when a slot is in the way."""
    index = 0
    while index < len(words) and _base(words[index]) in _WRAPPERS:
        name = _base(words[index])
        values, operands = _WRAPPERS[name]
        index += 1
        while index < len(words):
            word = words[index]
            if word.startswith("-") and len(word) > 1:
                if name == "env" and word.startswith(("-S", "--split-string")):
                    return index, "the command line of env" if SLOT in "".join(words[index:]) else ""
                index += 2 if _takes_value(word, values) else 1
            elif name in ("env", "sudo", "doas") and "=" in word:
                variable = word.partition("=")[0]
                if SLOT in variable or (SLOT in word and sets_dangerous_variable(variable)):
                    return index, "an environment variable that decides what runs"
                index += 1
            elif operands:
                operands -= 1
                index += 1
            else:
                break
    return index, ""


def _takes_value(word: str, options: str) -> bool:
    """Whether the value of this option is the next word."""
    names = options.split()
    if word in names:
        return True
    return bool(_CLUSTER.fullmatch(word)) and word[-1] in names and not any(letter in names for letter in word[1:-1])


def _in_program(words: Sequence[str], known: _Interpreter) -> bool:
    programs, operands = _split(words, known)
    if known.operands == "all":
        programs = [*programs, *operands]
    elif known.operands == "first" and not programs:
        programs = operands[:1]
    return any(SLOT in text for text in programs)


def _split(words: Sequence[str], known: _Interpreter) -> tuple[list[str], list[str]]:
    """Program texts given by options, and the operands."""
    programs: list[str] = []
    operands: list[str] = []
    names = known.options.split()
    letters = "".join(name for name in names if len(name) == 1)
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word == "--":
            return programs, [*operands, *words[index:]]
        if not word.startswith("-") or word == "-":
            operands.append(word)
        elif word.partition("=")[0] in names and "=" in word:
            programs.append(word)
        elif word in names or _takes_value(word, known.options):
            programs.append(words[index] if index < len(words) else "")
            index += 1
        elif letters and re.match(rf"-[A-Za-z0-9]*?[{letters}]", word) and not word.startswith("--"):
            programs.append(word)  # -ePROGRAM
        elif _takes_value(word, known.data):
            index += 1
    return programs, operands


def _chosen_in_container(name: str, words: Sequence[str]) -> bool:
    if name in _PODS and {"exec", "run", "debug"} & set(words):
        behind = words[words.index("--") + 1 :] if "--" in words else words[2:] if "exec" in words else []
        return SLOT in "".join(behind[:1]) or bool(program_text(behind))
    if name in _CONTAINERS and {"exec", "run"} & set(words):
        at = next(index for index, word in enumerate(words) if word in ("exec", "run"))
        operands = [word for word in words[at + 1 :] if not word.startswith("-")]
        return any(SLOT in word for word in operands[1:])
    return False
