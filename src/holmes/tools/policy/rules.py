"""Rules that hold for every program: redirections, assignments, prefixes, what a pipe carries."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Literal

from holmes.tools.policy import syntax
from holmes.tools.policy.paths import judge_file, mentions_secret
from holmes.tools.policy.resolve import GAP, Argument, literal
from holmes.tools.policy.settings import PolicySettings, Ruling, ask, deny
from holmes.tools.policy.words import quote

# What a command finds on its standard input: nothing, words of its author, such words that look like options, or data.
Stdin = Literal["closed", "literal", "options", "data"]
Inner = Literal["words", "script", "no stdin"]  # how a program runs another one

TEST_OPERATORS = frozenset(
    [*("-z", "-n", "==", "=", "!=", "&&", "||", "!", "(", ")"), *("-e", "-f", "-d", "-s", "-r", "-w", "-x", "-L")]
)
_SYSTEM_FOLDERS = frozenset(["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin"])
_HARMLESS = re.compile(r"LC_[A-Z]+|LANG|TZ|COLUMNS|NO_COLOR")
# Names by which shells, loaders and clients are told what to run and whom to talk to.
_STEERS = re.compile(
    r"PATH|IFS|ENV|HOME|SHELL|PWD|OLDPWD|PS[0-4]|CDPATH|GLOBIGNORE|HIST\w*|EDITOR|VISUAL|PAGER|BROWSER|TMPDIR|SHELLOPTS"
    r"|BASH\w*|LD_\w*|DYLD_\w*|PYTHON\w*|PERL\w*|RUBY\w*|NODE_\w*|JAVA_\w*|\w*_OPTIONS|GIT_\w*|SSH_\w*|SSL_\w*|LESS\w*"
    r"|KUBE\w*|HELM_\w*|DOCKER_\w*|AWS_\w*|AZURE_\w*|GOOGLE_\w*|CLOUDSDK_\w*|PG\w*|MYSQL_\w*|REDISCLI_\w*|CURL_\w*"
    r"|OPENSSL_\w*|\w*_PROXY|\w*_proxy|SYSTEMD_\w*|RIPGREP_\w*|GREP_\w*|HOLMES\w*|MAN\w*|TAR_\w*|XDG_\w*|PROMPT_COMMAND"
)
_OTHER_USER = frozenset(["sudo", "su", "doas", "pkexec", "runuser", "sudoedit", "setpriv", "chroot", "nsenter"])
_SHOWS_ENVIRONMENT = frozenset(["printenv", "set", "export", "declare", "typeset", "readonly", "compgen"])


def walk(node: syntax.Command) -> Iterator[syntax.Command]:
    """The node and all commands inside it, those of substitutions excepted."""
    yield node
    inside: Sequence[syntax.Command | None] = ()
    if isinstance(node, syntax.Sequence):
        inside = node.items
    elif isinstance(node, syntax.Pipeline):
        inside = node.stages
    elif isinstance(node, syntax.Chain):
        inside = [item for _, item in node.items]
    elif isinstance(node, syntax.Redirected):
        inside = (node.command,)
    elif isinstance(node, syntax.For | syntax.Group):
        inside = (node.body,)
    elif isinstance(node, syntax.While):
        inside = (node.condition, node.body)
    elif isinstance(node, syntax.If):
        inside = [*(part for branch in node.branches for part in branch), node.otherwise]
    elif isinstance(node, syntax.Odd):
        inside = node.inner
    for child in inside:
        if child is not None:
            yield from walk(child)


def assigned(node: syntax.Command) -> set[str]:
    """Names that running the node may set."""
    names: set[str] = set()
    for inner in walk(node):
        if isinstance(inner, syntax.For):
            names.add(inner.name)
        elif isinstance(inner, syntax.Simple):
            names.update(assignment.name for assignment in inner.assignments)
            words = ["".join(part.text for part in word if isinstance(part, syntax.Text)) for word in inner.words]
            if words and words[0] == "read":
                names.update(word for word in words[1:] if word and not word.startswith("-"))
    return names


def raw_scan(command: str, settings: PolicySettings) -> Ruling | None:
    """What a text that cannot be read as shell shows at first sight."""
    for part in re.split(r"[;&|\n]", command):
        shown = re.search(r"\s(-o|--output|--template|--raw)", part)
        if shown and re.search(r"\bsecrets?\b|\bconfig\s+view\b", part, re.IGNORECASE):
            return deny("it seems to read secrets", "secret-bearing read")
    words = re.split(r"[\s'\"`$(){};|&<>]+", command)
    if any(mentions_secret(literal(word), settings) for word in words if word):
        return deny("it names a place of secrets", "secret path")
    if refused := denied_prefix(words, settings.deny, anywhere=True):
        return deny(f"the configuration refuses {refused!r}", "bash.config.deny")
    return None


# Pipes and redirections


def output_of(program: str, commands: Sequence[tuple[str, ...]]) -> Stdin:
    """What a stage of a pipe hands on: words that the command's author wrote, or data."""
    if program not in ("echo", "printf", "true") or len(commands) != 1:
        return "data"
    words = list(commands[0][1:])
    while words and re.fullmatch(r"-[neE]+", words[0]):
        words.pop(0)
    if program == "printf" and "-" in "".join(words[:1]):
        return "options"
    return _written(" ".join(words))


def input_of(node: syntax.Redirect, target: Argument, stdin: Stdin) -> Stdin:
    """Standard input after a redirection."""
    if node.operator in ("<<<", "<<"):
        return _written(target.text.replace(GAP, "…"))
    if node.operator in ("<", "<>", "<&"):
        return "closed" if target.text == "/dev/null" else "data"
    return stdin


def _written(text: str) -> Stdin:
    if "…" in text:
        return "data"
    if text.strip() in ("", "Q", "QUIT"):
        return "closed"
    return "options" if re.search(r"(^|[\s'\"\\])-|\\[xuU0-7c]", text) else "literal"


def is_plain_text(script: syntax.Sequence) -> bool:
    """Whether a substitution only echoes words: a way to hide what they are."""
    if len(script.items) != 1 or not isinstance(script.items[0], syntax.Simple):
        return False
    words = script.items[0].words
    first = "".join(part.text for part in words[0] if isinstance(part, syntax.Text)) if words else ""
    known = all(isinstance(part, syntax.Text) for word in words for part in word)
    return known and first.rpartition("/")[2] in ("echo", "printf")


def redirect(node: syntax.Redirect, target: Argument, settings: PolicySettings) -> Iterator[Ruling]:
    """What speaks against a redirection."""
    if node.descriptor not in ("", "0", "1", "2"):
        yield ask(f"file descriptor {node.descriptor} is not understood", "redirection")
    if node.operator in ("<<", "<<<", ">&-", "<&-") or (node.operator == ">&" and target.text in ("1", "2", "-")):
        return
    if node.operator == "<":
        if target.pattern is not None:
            yield ask("wildcards in a redirection", "redirection")
        ruling, _ = judge_file(target, settings)
        if ruling is not None:
            yield ruling
        return
    if node.operator in (">", ">>", "&>", "&>>", ">|") and target.text in ("/dev/null", "/dev/stdout", "/dev/stderr"):
        return
    if target.known and mentions_secret(literal(target.text), settings):
        yield deny(f"{target.text} is a place of secrets", "secret path")
    yield ask(f"it writes to {target.text if target.known else 'a file'}", "redirection")


# Assignments


def steers(name: str) -> bool:
    """Whether programs take orders from a variable of this name."""
    return _STEERS.fullmatch(name) is not None


def assignment_before(name: str, value: Argument, program: str) -> Iterator[Ruling]:
    """What speaks against ``NAME=value program``."""
    if name == "IFS" and program == "read" and value.known:
        return
    if not _HARMLESS.fullmatch(name):
        yield deny(f"{name} is set for {program}", "assignment")
    elif not value.known or not re.fullmatch(r"([A-Za-z0-9_][A-Za-z0-9_@+:.-]*(/[A-Za-z0-9_+-]+)*)?", value.text):
        yield ask(f"the value of {name} is not a plain word", "assignment")


def read_names(words: Sequence[Argument]) -> tuple[list[str], list[str]] | None:
    """Options and variables of the shell's ``read``; None when it is used in another way."""
    options: list[str] = []
    texts = [word.text for word in words[1:]]
    if not all(word.known for word in words):
        return None
    while texts and texts[0].startswith("-"):
        option = texts.pop(0)
        if option == "-r":
            options.append(option)
        elif option in ("-d", "-rd", "-t", "-n") and texts and len(texts[0]) <= 3:
            options += [option, quote(texts.pop(0))]
        else:
            return None
    good = texts and all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text) for text in texts)
    return (options, texts) if good else None


def pattern_code(pattern: str) -> str:
    """A wildcard pattern of ``[[ x == pattern ]]``: wildcards stay, everything else is quoted."""
    return "".join(piece if piece in "*?[]" else quote(piece) for piece in re.split(r"([*?\[\]])", pattern) if piece)


# Programs and prefixes


def has_invisible(text: str) -> bool:
    """Whether there are characters that nobody sees: the reader of a command must see what it is."""
    return not text.isascii() and any(
        unicodedata.category(char) in ("Cf", "Cc", "Zs", "Zl", "Zp") for char in text if char > "~"
    )


def program_name(word: Argument) -> str:
    """The name to look a grammar up by; "" for a program whose name or place is not known."""
    if not word.known or word.pattern is not None:
        return ""
    folder, slash, name = word.text.rpartition("/")
    return name if not slash or folder in _SYSTEM_FOLDERS else ""


def unknown_program(word: Argument, name: str) -> Iterator[Ruling]:
    """What to say of a program without a grammar."""
    if not word.known:
        yield ask("which program runs is known only when it runs", "unknown program")
    elif name in _OTHER_USER or word.text.rpartition("/")[2] in _OTHER_USER:
        yield deny(f"{name} acts as another user", "another user")
    elif name in _SHOWS_ENVIRONMENT:
        yield deny(f"{name} shows or changes the environment", "environment")
    else:
        yield ask(f"{word.text} is not a known read", "unknown program")


def has_prefix(words: Sequence[str], prefixes: Sequence[str]) -> bool:
    """Whether a command begins with one of the user's prefixes, at a word's end or at a slash."""
    for prefix in prefixes:
        wanted = _split(prefix)
        if not wanted or len(wanted) > len(words):
            continue
        *head, last = wanted
        here = words[len(head)]
        deeper = here.startswith(last.rstrip("/") + "/") and ".." not in here.split("/")
        if list(words[: len(head)]) == head and (here == last or (deeper and (head or last.startswith("/")))):
            return True
    return False


def denied_prefix(words: Sequence[str], prefixes: Sequence[str], *, anywhere: bool = False) -> str:
    """The refused prefix that a command falls under: its words in their order, flags and plurals between or not."""
    for prefix in prefixes:
        wanted = _split(prefix)
        if not wanted or not words:
            continue
        starts = range(len(words)) if anywhere else (0,)
        for start in starts:
            if words[start].rpartition("/")[2] == wanted[0].rpartition("/")[2] and _in_order(
                words[start + 1 :], wanted[1:]
            ):
                return prefix
    return ""


def _split(prefix: str) -> list[str]:
    try:
        return shlex.split(prefix)
    except ValueError:
        return prefix.split()


def _in_order(words: Sequence[str], wanted: Sequence[str]) -> bool:
    rest = iter(words)
    return all(any(_same(word, one) for word in rest) for one in wanted)


def _same(word: str, wanted: str) -> bool:
    pieces = [word, *re.split(r"[,/=.]", word)]
    return any(piece.lower().rstrip("s") == wanted.lower().rstrip("s") for piece in pieces if piece)
