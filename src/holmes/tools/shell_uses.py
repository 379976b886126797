"""Where the values of a script's placeholders go: the placeholders themselves, and the variables that take them.

Followed are assignments, ``for``, ``read`` and the arguments of the script's own functions, and what echo, printf and
here-documents print into those. What other programs make of a value is not followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holmes.tools.shell_programs import PRINTERS, READERS, SLOT

if TYPE_CHECKING:
    from tree_sitter import Node

    from holmes.tools.shell_script import Script

NAMES = ("variable_name", "special_variable_name")
SUBSTITUTIONS = ("command_substitution", "process_substitution")
_NO_WORDS = ("variable_assignment", "herestring_redirect", "file_redirect", "heredoc_redirect", "$")
_POSITIONAL = (*map(str, range(1, 10)), "@", "*")
_NOTHING: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Use:
    """A place that values reach; offsets are bytes.

    ``first`` are the captures that the value here may begin with. ``split``: bash makes several words of it.
    ``direct``: a placeholder, not a variable.
    """

    node: Node
    start: int
    end: int
    captures: frozenset[int]
    first: frozenset[int]
    split: bool = False
    direct: bool = True


@dataclass(frozen=True, slots=True)
class _Flow:
    """What a variable may hold, and what its value may begin with."""

    captures: frozenset[int] = _NOTHING
    first: frozenset[int] = _NOTHING

    def __or__(self, other: _Flow) -> _Flow:
        return _Flow(self.captures | other.captures, self.first | other.first)


class Uses:
    """All places in a script that values reach."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._nodes = list(walk(script.root))
        marks = [
            Use(one.node, one.start, one.end, frozenset([one.capture]), frozenset([one.capture]))
            for one in script.marks
            if not script.captures[one.capture].variable
        ]
        self._functions = {
            text(node.child_by_field_name("name")) for node in self._nodes if node.type == "function_definition"
        }
        self._flows: dict[str, _Flow] = {}
        self.all: list[Use] = []
        found = marks
        while found != self.all:
            self.all = found
            self._follow()
            found = [*marks, *self._expansions(), *self._substitutions()]

    def command(self, use: Use) -> tuple[Node, Node] | None:
        """The simple command that this is an argument of, and that argument."""
        node, outer = use.node, use.node.parent
        while outer is not None and outer.type not in (*SUBSTITUTIONS, "heredoc_body"):
            if outer.type == "command":
                return None if node.type in (*_NO_WORDS, "command_name") else (outer, node)
            node, outer = outer, outer.parent
        return None

    def words(self, command: Node, only: Use | None = None) -> list[str]:
        """The words of a simple command without their quotes, slots for the uses in them (or for ``only`` one)."""
        return [self._word(node, node.end_byte, only) for node in arguments(command)]

    def begins_word(self, use: Use, word: Node) -> bool:
        """Whether nothing certain stands before it in its word."""
        before = self._word(word, use.start, None)
        for earlier in self._within(word, use.start):  # a placeholder counts as what it holds, a variable as nothing
            values = [self._script.captures[index].value for index in earlier.captures if earlier.direct]
            before = before.replace(SLOT, "".join(values), 1)
        before = re.sub(r"\$(\w+|\{[^}]*(\}|$))", "", before)
        return before == "" or (word.type == "concatenation" and before[-1] in "{,")

    def _word(self, node: Node, end: int, only: Use | None) -> str:
        parts, last = [], node.start_byte
        for use in self._within(node, end):
            parts += [self._script.source[last : use.start].decode("utf-8", "replace")]
            parts += [SLOT] if only is None or use is only else []
            last = use.end
        parts.append(self._script.source[last : max(last, end)].decode("utf-8", "replace"))
        return re.sub(r"\$?['\"]|\\", "", "".join(parts))

    def _within(self, node: Node, end: int) -> list[Use]:
        inside = (use for use in self.all if node.start_byte <= use.start < end and use.end <= node.end_byte)
        return sorted(inside, key=lambda use: use.start)

    def _follow(self) -> None:
        """One round: what each variable may hold by what is known so far."""
        printed = self._printed()
        for node in self._nodes:
            if node.type == "variable_assignment" and len(node.children) > 2:
                self._add(text(node.children[0]).partition("[")[0], self._held(node.children[-1]))
            elif node.type == "for_statement":
                for value in node.children_by_field_name("value"):
                    self._add(text(node.child_by_field_name("variable")), self._held(value))
            elif node.type == "command":
                name, *words = self.words(node)
                if name in READERS:
                    flow = self._read(node, printed)
                    for word in words:
                        self._add(word, flow)
                elif name in self._functions:
                    for argument in arguments(node)[1:]:
                        for position in _POSITIONAL:
                            self._add(position, self._held(argument))

    def _add(self, name: str, flow: _Flow) -> None:
        if flow.captures:
            self._flows[name] = self._flows.get(name, _Flow()) | flow

    def _held(self, word: Node) -> _Flow:
        """What a word may hold; what stands in a command inside it counts when that prints it."""
        flow = _Flow()
        for use in self._within(word, word.end_byte):
            around = use.node.parent if use.node.type in SUBSTITUTIONS else use.node
            if use.node == word or (around and not above(around, SUBSTITUTIONS, word)):
                flow |= _Flow(use.captures, use.first if self.begins_word(use, word) else _NOTHING)
        return flow

    def _read(self, command: Node, printed: frozenset[int]) -> _Flow:
        """What may come in on the standard input of a command: by its redirections and from earlier stages."""
        sources = [node for node in command.children if node.type == "herestring_redirect"]
        below, outer = command, command.parent
        while outer is not None:
            if outer.type == "pipeline":
                sources += [stage for stage in outer.named_children if stage.start_byte < below.start_byte]
            elif outer.type == "redirected_statement":
                sources += outer.named_children[1:]
            below, outer = outer, outer.parent
        inside = (use.captures for source in sources for use in self._within(source, source.end_byte))
        found = _NOTHING.union(*inside) & printed
        return _Flow(found, found)

    def _printed(self) -> frozenset[int]:
        """What echo, printf, here-documents and here-strings put out."""
        found = _NOTHING
        for use in self.all:
            place = self.command(use)
            if place is None:
                printed = above(use.node, ("heredoc_body", "herestring_redirect")) is not None
            else:
                printed = self.words(place[0])[0] in PRINTERS
            found |= use.captures if printed else _NOTHING
        return found

    def _expansions(self) -> Iterator[Use]:
        """Places where variables that hold values are expanded."""
        for node in self._nodes:
            if node.type in ("simple_expansion", "expansion"):
                name = next((text(inner) for inner in walk(node) if inner.type in NAMES), "")
                if name in self._flows:
                    yield _indirect(node, self._flows[name])

    def _substitutions(self) -> Iterator[Use]:
        """Commands inside words, when they print values."""
        printed = self._printed()
        for node in self._nodes if printed else ():
            if node.type == "command_substitution":
                inside = [use.captures & printed for use in self._within(node, node.end_byte) if use.node != node]
                captures = _NOTHING.union(*inside)
                if captures:
                    yield _indirect(node, _Flow(captures, captures))


def _indirect(node: Node, flow: _Flow) -> Use:
    """The use of what an expansion gives; bash splits it unless quotes, an assignment or ``[[`` are around it."""
    parent = node.parent or node
    quote = above(parent, ("string", "heredoc_body", "array", "variable_assignment", *SUBSTITUTIONS))
    test = above(parent, ("test_command",))
    split = quote is None or quote.type in ("array", *SUBSTITUTIONS)
    split = split and not (test is not None and text(test).startswith("[["))
    first = flow.captures if split else flow.first
    return Use(node, node.start_byte, node.end_byte, flow.captures, first, split, direct=False)


def text(node: Node | None) -> str:
    """The source of a piece of syntax."""
    return (node.text or b"").decode("utf-8", "replace") if node else ""


def arguments(command: Node) -> list[Node]:
    """The words of a simple command: its name and its arguments."""
    return [node for node in command.children if node.type not in _NO_WORDS]


def commands(node: Node) -> Iterator[Node]:
    """Simple commands in a piece of syntax."""
    return (inner for inner in walk(node) if inner.type == "command")


def above(node: Node, kinds: Sequence[str], root: Node | None = None) -> Node | None:
    """The innermost of such pieces of syntax around it; ``root``, or else a simple command, ends the search."""
    outer: Node | None = node
    while outer is not None and outer != root:
        if outer.type in kinds:
            return outer
        if outer.type == "command" and root is None:
            return None
        outer = outer.parent
    return root if root is not None and root.type in kinds else None


def walk(node: Node) -> Iterator[Node]:
    """A piece of syntax and all in it, in the order of the source."""
    waiting = [node]
    while waiting:
        inner = waiting.pop()
        yield inner
        waiting += reversed(inner.children)
