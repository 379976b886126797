"""A shell script in which some words are placeholders: what stands around each of them, and how bash gets the values.

A value never becomes part of the script. It travels in the array ``_holmes`` and the script has ``"${_holmes[3]}"``
in its place, in whatever form the quotes around the placeholder need. (An array, and not ``$3``: functions and
``set`` have positional parameters of their own.)
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from holmes.tools.shell_uses import commands, walk

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

# "default": in a ${name:-...} within double quotes, where further quotes do not mean what they mean elsewhere.
Place = Literal["bare", "single", "double", "default", "ansi", "heredoc", "raw heredoc", "comment"]
_PLACES: dict[str, Place] = {
    "raw_string": "single",
    "ansi_c_string": "ansi",
    "string": "double",
    "heredoc_body": "heredoc",
    "comment": "comment",
    "command_substitution": "bare",
    "process_substitution": "bare",
    "program": "bare",
}
_TAME = re.compile(r"[\w@%+=:,./ -]+", re.ASCII)
_CONTINUED = re.compile(r"(?:\s*(?<!\\)\\\n)+\s*\Z")  # a line that goes on, and nothing behind it
_NEEDS_ESCAPES = re.compile(r"[\x00-\x1f\x7f`]")
_ESCAPED = re.compile(r"[\x00-\x1f\x7f`'\\]")
_BRACED_NAME = re.compile(rb"\$\{([A-Z][A-Z0-9_]*)\}")
_QUOTE_IN_DELIMITER = re.compile(rb"['\"\\]")
_SHELL_SYNTAX = re.compile(r"['\"`$|&;<>(){}\[\]*?~#!\n\\]")
_QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")
_BUILTINS = frozenset(
    """alias bg bind break builtin caller case cd command compgen complete continue coproc declare dirs disown enable
    eval exec exit export fc fg for function getopts hash help history if jobs let local logout mapfile popd pushd read
    readarray readonly return select set shift shopt source suspend time times trap type typeset ulimit umask unalias
    unset until wait while . :""".split()
)
_SEARCHERS = frozenset("grep egrep fgrep zgrep rg pgrep".split())  # exit status 1 means: nothing found


@dataclass(frozen=True, slots=True)
class Capture:
    """A value that a placeholder put out.

    ``variable`` is the environment variable that it stands for: then the script names that. ``shown`` replaces a value
    that people must not see. ``harmless``: a number, true or false, or one of the author's own words.
    """

    parameter: str
    value: str
    harmless: bool = False
    variable: str = ""
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """One place where the value of ``capture`` goes; offsets are bytes. ``inner``: within ``${...}``."""

    capture: int
    start: int
    end: int
    node: Node  # the smallest piece of syntax around it
    place: Place
    inner: bool = False


@dataclass(frozen=True, slots=True)
class _Edit:
    start: int
    end: int
    text: bytes


class Script:
    """A script with marks (``mark(i)``) where values go.

    ``variables`` are names of the environment that are also filled in inside single quotes when written ``${NAME}``.
    """

    def __init__(self, text: str, nonce: str, captures: Sequence[Capture], variables: frozenset[str]) -> None:
        self.text = _CONTINUED.sub("", text)
        self.source = self.text.encode()
        self.captures = captures
        self.root = parser().parse(self.source).root_node
        pattern = re.compile(mark(nonce, r"(\d+)").encode())
        self.marks = [self._mark(match) for match in pattern.finditer(self.source)]
        self.broken = len(self.marks) < self.source.lower().count(nonce.lower().encode())
        self._pattern = re.compile(mark(nonce, r"(\d+)"))
        self._variables = variables

    def for_bash(self) -> str:
        """What bash runs, with the values in ``"$@"``."""
        body = self._rewritten(self._for_bash)
        prelude = '_holmes=("$@"); set --; ' if any(not capture.variable for capture in self.captures) else ""
        return f"{prelude}{body}{self._epilogue()}"

    def for_people(self) -> str:
        """The same with the values in it: what a person would type."""
        return self._rewritten(self._for_people).strip()

    def words(self) -> tuple[str, ...]:
        """The argument vector of a single command without any shell syntax; () when a shell is needed."""
        text = self.text.strip()
        if _SHELL_SYNTAX.search(_QUOTED.sub("", text)) or any(capture.variable for capture in self.captures):
            return ()
        words = shlex.split(text)
        if not words or words[0] in _BUILTINS or "=" in words[0]:
            return ()
        return tuple(self._pattern.sub(lambda match: self.captures[int(match[1])].value, word) for word in words)

    def readable(self) -> bool:
        """Whether all of it is understood; a here-document without its end is not."""
        bodies = (node for node in walk(self.root) if node.type == "heredoc_redirect")
        ends = ({node.type: (node.text or b"") for node in body.children} for body in bodies)
        return not self.root.has_error and all(
            _QUOTE_IN_DELIMITER.sub(b"", end.get("heredoc_start", b"")) == end.get("heredoc_end") for end in ends
        )

    def searches(self) -> bool:
        """Whether it has a program that says by exit status 1 that it found nothing."""
        return any(_program(node) in _SEARCHERS for node in commands(self.root))

    def _mark(self, match: re.Match[bytes]) -> Mark:
        node = self.root.descendant_for_byte_range(match.start(), match.end()) or self.root
        quoted = node.parent if node.type == "string_content" else node if node.type == "raw_string" else None
        filled = quoted and (quoted.start_byte, quoted.end_byte) == (match.start() - 1, match.end() + 1)
        if quoted and filled and _place(quoted.parent) == ("bare", False):
            return Mark(int(match[1]), quoted.start_byte, quoted.end_byte, quoted, "bare")
        return Mark(int(match[1]), match.start(), match.end(), node, *_place(node))

    def _rewritten(self, value: Callable[[Capture, Mark], str]) -> str:
        edits = [edit for one in self.marks for edit in self._edits_at(one, value)]
        edits += self._plain_heredocs()
        edits += self._names_in_single_quotes()
        result, last = [], 0
        for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
            result += [self.source[last : edit.start], edit.text]
            last = edit.end
        return b"".join([*result, self.source[last:]]).decode()

    def _edits_at(self, one: Mark, value: Callable[[Capture, Mark], str]) -> Iterator[_Edit]:
        text = value(self.captures[one.capture], one).encode()
        before = self.source[: one.start]
        start = one.start
        if (len(before) - len(before.rstrip(b"\\"))) % 2:
            # The author's backslash would quote what now stands behind it.
            if one.place in ("bare", "ansi"):
                start -= 1
            elif one.place in ("double", "default", "heredoc"):
                text = b"\\" + text
        yield _Edit(start, one.end, text)

    def _for_bash(self, capture: Capture, one: Mark) -> str:
        name = f"${{{capture.variable}}}" if capture.variable else f"${{_holmes[{one.capture}]}}"
        return _inside(one.place, name, f'"{name}"')

    def _for_people(self, capture: Capture, one: Mark) -> str:
        if capture.variable:
            return self._for_bash(capture, one)
        value = capture.shown or capture.value
        # Within $(... ${x:-...} ...) bash takes $'...' apart too early, and what is in it would run.
        quoted = shlex.quote(value) if one.inner else quote(value)
        match one.place:
            case "single" if not quoted.startswith("$"):
                return value.replace("'", "'\\''")
            case "default":
                return value if _TAME.fullmatch(value) else f"$(printf %s {quote(value)})"
            case "double":
                return f'"{quoted}"' if "\n" in value else re.sub(r"([\\$`\"])", r"\\\1", value)
            case "heredoc" | "raw heredoc":
                return f"$(printf %s {quoted})" if "\n" in value else re.sub(r"([\\$`])", r"\\\1", value)
        return _inside(one.place, value, quoted)

    def _plain_heredocs(self) -> Iterator[_Edit]:
        """Here-documents with a quoted delimiter take no values: the same text with an unquoted one does."""
        for body in {one.node for one in self.marks if one.place == "raw heredoc"}:
            start = _heredoc_start(body)
            yield _Edit(start.start_byte, start.end_byte, _QUOTE_IN_DELIMITER.sub(b"", start.text or b""))
            last = body.start_byte
            for one in [*(one for one in self.marks if one.node == body), None]:
                end = one.start if one else body.end_byte
                yield _Edit(last, end, re.sub(rb"([\\$`])", rb"\\\1", self.source[last:end]))
                last = one.end if one else end

    def _names_in_single_quotes(self) -> Iterator[_Edit]:
        """HolmesGPT fills in ``${NAME}`` whatever the quotes; so tools have it in single quotes too."""
        for match in _BRACED_NAME.finditer(self.source):
            node = self.root.descendant_for_byte_range(match.start(), match.end())
            if node is not None and node.type == "raw_string" and match[1].decode() in self._variables:
                yield _Edit(match.start(), match.end(), b"'\"" + match[0] + b"\"'")

    def _last_programs(self) -> list[str]:
        """The programs of the pipeline that the script ends with."""
        statements = [node for node in self.root.named_children if node.type != "comment"]
        if not statements or self.root.children[-1].type == "&":
            return []
        last = statements[-1]
        while last.type == "list":
            last = last.named_children[-1]
        return [_program(stage) for stage in _stages(last)]

    def _epilogue(self) -> str:
        """The exit status: the last stage that failed; SIGPIPE is no failure but in the last one, nor is grep's 1."""
        programs = self._last_programs()
        if len(programs) < 2:
            return ""
        searching = [f"{index}:1" for index, program in enumerate(programs) if program in _SEARCHERS]
        fine = "|".join(["*:0", *(f"{index}:141" for index in range(len(programs) - 1)), *searching])
        return (
            '\n\n_holmes=("${PIPESTATUS[@]}"); set --\n'
            f'for _stage in "${{!_holmes[@]}}"; do case $_stage:${{_holmes[_stage]}} in {fine}) ;; '
            '*) set -- "${_holmes[_stage]}" ;; esac; done\n'
            'exit "${1:-0}"\n'
        )


def mark(nonce: str, index: int | str) -> str:
    """The text that stands for the value number ``index``: an ordinary word to every shell syntax."""
    return f"HOLMES{nonce}X{index}X"


def quote(value: str) -> str:
    """One word of shell for a value; on one line, with line ends, control characters and backticks as escapes."""
    if not _NEEDS_ESCAPES.search(value):
        return shlex.quote(value)
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return "$'" + _ESCAPED.sub(lambda match: named.get(match[0], f"\\x{ord(match[0]):02x}"), value) + "'"


@cache
def parser() -> Parser:
    """The parser of bash."""
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def _place(node: Node | None) -> tuple[Place, bool]:
    """What is around a piece of syntax, and whether it is within ``${...}``."""
    found: Place = "bare"
    inner = False
    while node is not None:
        place = _PLACES.get(node.type)
        if place == "heredoc" and _QUOTE_IN_DELIMITER.search(_heredoc_start(node).text or b""):
            place = "raw heredoc"
        if place in ("double", "heredoc") and inner:
            return "default", True
        if place == "bare":
            break
        if place and found == "bare":
            found = place
        inner = inner or node.type == "expansion"
        node = node.parent
    return found, inner


def _heredoc_start(body: Node) -> Node:
    siblings = body.parent.children if body.parent else []
    return next((node for node in siblings if node.type == "heredoc_start"), body)


def _inside(place: Place, text: str, quoted: str) -> str:
    """A value where it stands: ``text`` already within quotes that expand, ``quoted`` else."""
    if place == "comment":
        return ""
    if place == "single":
        return f"'{quoted}'"
    if place == "ansi":
        return f"'{quoted}$'"
    return quoted if place == "bare" else text


def _stages(node: Node) -> list[Node]:
    """The stages of a pipeline; behind a here-document they are below its redirection."""
    if node.type == "pipeline":
        return node.named_children
    if node.type != "redirected_statement":
        return [node]
    redirects = [inner for redirect in node.named_children[1:] for inner in redirect.named_children]
    later = [stage for inner in redirects if inner.type == "pipeline" for stage in inner.named_children]
    return [*_stages(node.named_children[0]), *later]


def _program(stage: Node) -> str:
    if stage.type == "redirected_statement":
        stage = stage.named_children[0]
    name = stage.child_by_field_name("name") if stage.type == "command" else None
    return (name.text or b"").decode().rpartition("/")[2] if name else ""
