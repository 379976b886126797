"""Where a placeholder in a shell script is more than data, and which values may not stand where they would."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from holmes.tools import shell_programs
from holmes.tools.shell_programs import PRINTERS
from holmes.tools.shell_uses import NAMES, SUBSTITUTIONS, Use, Uses, above, arguments, commands, text

if TYPE_CHECKING:
    from tree_sitter import Node

    from holmes.tools.shell_script import Capture, Script

_ARITHMETIC_TESTS = frozenset("-eq -ne -lt -le -gt -ge -v".split())
_WRITES = frozenset([">", ">>", "&>", "&>>", ">|", "<>"])
_SAFE_OPERATORS = frozenset(["${", "}", ":-", "-", ":+", "+", ":?", "?", "#", "##", "%", "%%", "/", "//", "/#", "/%"])
_SPLITS = re.compile(r"[ \t\n*?\[]")
_TEST_OPERATOR = re.compile(r"-\w{1,2}")
_NAME = "arithmetic or a name"
_HINTS = {"jq": "Write the program with a blank in front", "grep": "Put its first character in brackets: [-]"}


class Refused(ValueError):
    """A value that may not stand where the template puts it. The text names the parameter and what to do."""


def hazards(script: Script) -> list[str]:
    """Each place where a value is more than data, for people: "name stands in the program text of awk"."""
    uses = Uses(script)
    found: dict[str, None] = {}
    for use in uses.all:
        names = [script.captures[i].parameter for i in sorted(use.captures) if not script.captures[i].harmless]
        reason = _reason(uses, use) if names else ""
        found |= {f"{name} stands in {reason}": None for name in names if reason}
    if script.marks and not script.readable():
        found["this cannot be read as shell, so it is unknown where the values go"] = None
    return list(found)


def check_values(script: Script) -> None:
    """Refused when a value could be taken for an option, or for several words."""
    uses = Uses(script)
    for use in uses.all:
        for index in sorted(use.captures):
            capture = script.captures[index]
            if capture.harmless or capture.variable:
                continue
            if use.split and _SPLITS.search(capture.value):
                raise Refused(
                    f"{capture.parameter}: the value {_short(capture)} has blanks or wildcards, and this tool would "
                    "make several words of it. Give a single word."
                )
            if capture.value.startswith("-") and index in use.first:
                _check_option(uses, use, capture)


def _check_option(uses: Uses, use: Use, capture: Capture) -> None:
    place = uses.command(use)
    if place is None:
        test = above(use.node, ("test_command",))
        if test is None or not text(test).startswith("[ ") or not _TEST_OPERATOR.fullmatch(capture.value):
            return
        name = "["
    else:
        command, argument = place
        words = uses.words(command)
        before = words[: arguments(command).index(argument)]
        if words[0] == "echo" or not uses.begins_word(use, argument) or shell_programs.ends_options(before):
            return
        name = words[0].replace(shell_programs.SLOT, "") or "the program"
    hint = _HINTS.get(name, "Give one that does not start with it")
    raise Refused(
        f"{capture.parameter}: the value {_short(capture)} starts with - and could become an option of {name}. {hint}."
    )


def _short(capture: Capture) -> str:
    value = capture.shown or capture.value
    return value if len(value) <= 60 else f"{value[:60]}..."


def _reason(uses: Uses, use: Use) -> str:
    """Why what stands here is more than data, "" when it is data."""
    node, below, data = use.node, use.node, False
    while True:
        reason = _reason_at(uses, use, node, below)
        if reason:
            return reason
        # What echo prints goes on: into a substitution, or into the next stage of a pipeline.
        goes_on = reason is None or (node.type == "command" and uses.words(node)[0] in PRINTERS)
        data = data or reason is not None
        if not goes_on or node.parent is None:
            return "" if data else "a place that is no argument"
        node, below = node.parent, node


def _reason_at(uses: Uses, use: Use, node: Node, below: Node) -> str | None:
    """The reason that this piece of syntax gives, "" when it makes it data, None to look further out."""
    match node.type:
        case "comment":
            return ""
        case "variable_name" | "special_variable_name" | "function_definition":
            return _NAME if use.direct and node in (use.node, use.node.parent) else None
        case "expansion":
            return _reason_in_expansion(use, node)
        case "variable_assignment":
            return _reason_in_assignment(node, below)
        case "declaration_command" | "unset_command":
            return "the name of a variable"
        case "arithmetic_expansion" | "subscript":
            return _NAME
        case "compound_statement":
            return _NAME if text(node).startswith("((") else None
        case "c_style_for_statement":
            return None if below.type == "do_group" else _NAME
        case "test_command":
            return _NAME if _arithmetic(node) else ""
        case "command":
            return _reason_in_command(uses, use, node)
        case "file_redirect":
            written = any(child.type in _WRITES for child in node.children)
            return "the name of a file that is written" if written else ""
        case "heredoc_redirect" | "herestring_redirect":
            return _reason_of_input(uses, [node, *_takers(node)]) or _reason_of_output(uses, node, printed=True)
        case "for_statement" | "case_statement" | "case_item":
            return None if below.type in ("do_group", "case_item", "command", "list", "pipeline") else ""
    return None


def _reason_in_expansion(use: Use, node: Node) -> str | None:
    operators = {child.type for child in node.children if not child.is_named}
    if not use.direct and use.node == node:  # the variable itself: ${!v} is a name, ${v@P} runs what is in it
        return _NAME if operators & {"!", "@"} else None
    if any(child == use.node for child in node.children if child.type in NAMES) and operators <= {"${", "}", "!", "#"}:
        return _NAME
    return None if operators <= _SAFE_OPERATORS else _NAME


def _reason_in_assignment(node: Node, below: Node) -> str:
    if below == node.children[0]:
        return _NAME
    declaration = node.parent if node.parent and node.parent.type == "declaration_command" else None
    if declaration and any(re.match(r"-\w*[in]", text(child)) for child in declaration.children):
        return _NAME
    name = text(node.children[0])
    return f"the variable {name}" if shell_programs.sets_dangerous_variable(name) else ""


def _reason_in_command(uses: Uses, use: Use, command: Node) -> str:
    reason = shell_programs.program_text(uses.words(command, use))
    return reason or _reason_of_output(uses, command, printed=uses.words(command)[0] in PRINTERS)


def _takers(redirect: Node) -> list[Node]:
    """What reads a here-document or a here-string."""
    owner = redirect.parent
    if owner is None:
        return []
    return [owner] if owner.type == "command" else owner.children[:1]


def _reason_of_input(uses: Uses, takers: Sequence[Node], printed: bool = True) -> str:
    """Whether one of these runs what comes in, or makes arguments of it."""
    for words in (uses.words(command) for taker in takers for command in commands(taker)):
        if shell_programs.reads_program(words) or (printed and shell_programs.splits_input(words)):
            return f"the input of {words[0]}"
    return ""


def _reason_of_output(uses: Uses, node: Node, printed: bool) -> str:
    """Whether a later stage of its pipelines runs what this one prints."""
    below, outer = node, node.parent
    while outer is not None and outer.type not in SUBSTITUTIONS:
        if outer.type == "pipeline":
            later = [child for child in outer.named_children if child.start_byte > below.start_byte]
            if reason := _reason_of_input(uses, later, printed):
                return reason
        below, outer = outer, outer.parent
    return ""


def _arithmetic(test: Node) -> bool:
    words = set(text(test).split())
    return bool(words & _ARITHMETIC_TESTS) if text(test).startswith("[[") else "-v" in words
