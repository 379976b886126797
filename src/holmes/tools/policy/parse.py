"""From the text of a command to its syntax, by tree-sitter-bash.

What a model wrote never reaches a shell: the shell gets what ``serialise`` makes of this tree. So a misreading here
changes what a command does for its author, never what the policy judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from holmes.tools.policy import syntax
from holmes.tools.policy.words import plain_text, raw_word, unescape_ansi, unescape_double

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LONGEST = 20_000  # characters of one command
_DEEPEST = 60  # levels of nesting
_ARITHMETIC = re.compile(r"[0-9 +*/%()-]+")
_EXPANSIONS = ("simple_expansion", "expansion", "command_substitution", "arithmetic_expansion")
_WORDS = frozenset(
    [
        *("word", "number", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation"),
        *("process_substitution", "brace_expression", "extglob_pattern", "regex", "test_operator"),
        *("variable_name", "special_variable_name", "file_descriptor"),
        *_EXPANSIONS,
    ]
)
_SEPARATORS = frozenset([";", "\n", ";;", "comment", "do", "done", "then", "fi", "{", "}", "(", ")", "$(", "`", "<("])


class TooDeep(Exception):
    """Nested beyond what anybody writes by hand."""


def parse(command: str) -> syntax.Sequence:
    """The syntax of a command; what cannot be read becomes Odd."""
    if len(command) > LONGEST:
        return _odd(f"it is longer than {LONGEST} characters")
    if "\0" in command or (not command.isascii() and any("\ud800" <= char <= "\udfff" for char in command)):
        return _odd("it has characters that no command can have")
    root = _parser().parse(command.encode()).root_node
    try:
        if root.has_error:
            return syntax.Sequence((syntax.Odd("it cannot be parsed as shell", tuple(_readable(root))),))
        return _Converter().sequence(root.children)
    except TooDeep:
        return _odd("it is nested too deeply")
    except (ValueError, IndexError, StopIteration):
        return _odd("its syntax is not understood")


def _odd(reason: str) -> syntax.Sequence:
    return syntax.Sequence((syntax.Odd(reason),))


@cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def _readable(root: Node) -> Iterator[syntax.Command]:
    """Whole commands inside a text that does not parse: they are still searched for what is denied."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type == "command" and not node.has_error:
            yield _Converter().command(node)
        else:
            waiting += node.children


def _text(node: Node) -> str:
    return (node.text or b"").decode()


class _Converter:
    def __init__(self) -> None:
        self._depth = 0

    def sequence(self, nodes: Iterable[Node]) -> syntax.Sequence:
        items: list[syntax.Command] = []
        for node in nodes:
            if node.type == "&":
                items[-1:] = [syntax.Odd("it runs in the background", tuple(items[-1:]))]
            elif node.type not in _SEPARATORS:
                items.append(self.command(node))
        return syntax.Sequence(tuple(items))

    def command(self, node: Node) -> syntax.Command:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise TooDeep
        try:
            convert = getattr(self, f"_{node.type}", None)
            if convert is None or not node.is_named:
                return self._odd(node, f"{node.type.replace('_', ' ')} is not understood")
            made: syntax.Command = convert(node)
            return made
        finally:
            self._depth -= 1

    def word(self, node: Node) -> syntax.Word:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise TooDeep
        try:
            return tuple(self._parts(node))
        finally:
            self._depth -= 1

    # Commands

    def _command(self, node: Node) -> syntax.Command:
        words: list[Node] = []
        assignments: list[syntax.Assignment] = []
        redirects: list[syntax.Redirect] = []
        for child in node.children:
            if child.type == "variable_assignment":
                assignments.append(self._assignment(child))
            elif child.type in ("file_redirect", "herestring_redirect"):
                redirects.append(self._redirect(child))
            else:
                words.append(child.children[0] if child.type == "command_name" else child)
        simple = syntax.Simple(tuple(self.word(word) for word in words), tuple(assignments))
        source = node.text or b""
        between = (
            source[left.end_byte - node.start_byte : right.start_byte - node.start_byte]
            for left, right in pairwise(words)
        )
        if not all(gap.replace(b"\\\n", b"") for gap in between):
            return syntax.Odd("its words cannot be told apart", (simple,))
        return syntax.Redirected(simple, tuple(redirects)) if redirects else simple

    def _variable_assignment(self, node: Node) -> syntax.Command:
        return syntax.Simple((), (self._assignment(node),))

    def _variable_assignments(self, node: Node) -> syntax.Command:
        return syntax.Simple((), tuple(self._assignment(child) for child in node.children))

    def _assignment(self, node: Node) -> syntax.Assignment:
        name, operator, *value = node.children
        if name.type != "variable_name" or len(value) > 1 or any(child.type == "array" for child in value):
            return syntax.Assignment(_text(name), (syntax.Unknown(_text(node), "an array"),))
        return syntax.Assignment(_text(name), self.word(value[0]) if value else (), _text(operator) != "=")

    def _declaration_command(self, node: Node) -> syntax.Command:
        words = [plain_text(_text(node.children[0]))]
        assignments = []
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                assignments.append(self._assignment(child))
            words.append(plain_text(_text(child)))
        return syntax.Simple(tuple(words), tuple(assignments))

    def _unset_command(self, node: Node) -> syntax.Command:
        return syntax.Simple(tuple(plain_text(_text(child)) for child in node.children))

    def _test_command(self, node: Node) -> syntax.Command:
        tokens = [token for child in node.children[1:-1] for token in self._tokens(child)]
        if _text(node.children[0]) == "[":
            words = [plain_text(token) if isinstance(token, str) else token for token in tokens]
            return syntax.Simple((plain_text("["), *words, plain_text("]")))
        if _text(node.children[0]) == "[[":
            return syntax.Test(tuple(tokens))
        return self._odd(node, "arithmetic is not understood")

    def _tokens(self, node: Node) -> Iterator[str | syntax.Word]:
        if node.type == "test_operator" or (not node.children and node.type not in _WORDS):
            yield _text(node)
        elif node.type in _WORDS:
            yield self.word(node)
        else:
            for child in node.children:
                yield from self._tokens(child)

    def _pipeline(self, node: Node) -> syntax.Command:
        stages: list[syntax.Command] = []
        for child in node.children:
            if child.type == "|&":
                both = syntax.Redirect("2", ">&", plain_text("1"))
                stages[-1:] = [syntax.Redirected(stages[-1], (both,))]
            elif child.type not in ("|", "comment"):
                stages.append(self.command(child))
        return _pipe(stages)

    def _negated_command(self, node: Node) -> syntax.Command:
        inner = self.command(node.children[1])
        stages = inner.stages if isinstance(inner, syntax.Pipeline) else (inner,)
        return syntax.Pipeline(stages, negated=True)

    def _list(self, node: Node) -> syntax.Command:
        left, operator, right = (child for child in node.children if child.type != "comment")
        first = self.command(left)
        second = self.command(right)
        items = first.items if isinstance(first, syntax.Chain) else (("", first),)
        more = second.items if isinstance(second, syntax.Chain) else (("", second),)
        return syntax.Chain((*items, (_text(operator), more[0][1]), *more[1:]))

    def _subshell(self, node: Node) -> syntax.Command:
        return syntax.Group(self.sequence(node.children), subshell=True)

    def _compound_statement(self, node: Node) -> syntax.Command:
        if node.children[0].type != "{":
            return self._odd(node, "arithmetic is not understood")
        return syntax.Group(self.sequence(node.children), subshell=False)

    def _for_statement(self, node: Node) -> syntax.Command:
        parts = [child for child in node.children if child.type not in _SEPARATORS]
        if [part.type for part in (*parts[:3], parts[-1])] != ["for", "variable_name", "in", "do_group"]:
            return self._odd(node, "this loop is not understood")
        words = tuple(self.word(part) for part in parts[3:-1])
        return syntax.For(_text(parts[1]), words, self.sequence(parts[-1].children))

    def _while_statement(self, node: Node) -> syntax.Command:
        keyword, *condition, body = node.children
        if body.type != "do_group":
            return self._odd(node, "this loop is not understood")
        return syntax.While(keyword.type == "until", self.sequence(condition), self.sequence(body.children))

    def _if_statement(self, node: Node) -> syntax.Command:
        branches = [self._branch(node)]
        otherwise = None
        for child in node.children:
            if child.type == "elif_clause":
                branches.append(self._branch(child))
            elif child.type == "else_clause":
                otherwise = self.sequence(child.children[1:])
        return syntax.If(tuple(branches), otherwise)

    def _branch(self, node: Node) -> tuple[syntax.Sequence, syntax.Sequence]:
        children = [child for child in node.children if child.type not in ("elif_clause", "else_clause")]
        then = next(index for index, child in enumerate(children) if child.type == "then")
        return self.sequence(children[1:then]), self.sequence(children[then:])

    def _redirected_statement(self, node: Node) -> syntax.Command:
        body = node.child_by_field_name("body")
        redirects: list[syntax.Redirect] = []
        stages: list[syntax.Command] = []
        for child in node.children:
            if child.type in ("file_redirect", "herestring_redirect"):
                redirects.append(self._redirect(child))
            elif child.type == "heredoc_redirect":
                for part in child.children:
                    if part.type in ("file_redirect", "herestring_redirect"):
                        redirects.append(self._redirect(part))
                    elif part.type == "pipeline":
                        stages += [self.command(stage) for stage in part.children if stage.type != "|"]
                    elif part.type not in ("<<", "<<-", "heredoc_start", "heredoc_body", "heredoc_end"):
                        return self._odd(node, "a here-document in a list is not understood")
                redirects.append(self._heredoc(child))
            elif child != body:
                return self._odd(node, "a redirection that is not understood")
        command = self.command(body) if body is not None else syntax.Simple(())
        return _pipe([_redirect_last(command, tuple(redirects)), *stages])

    def _redirect(self, node: Node) -> syntax.Redirect:
        descriptor = operator = ""
        target: syntax.Word = ()
        targets = 0
        for child in node.children:
            if child.type == "file_descriptor":
                descriptor = _text(child)
            elif not child.is_named and not operator:
                operator = _text(child)
            else:
                target = self.word(child)
                targets += 1
        if targets > 1:
            target = (syntax.Unknown(_text(node), "a redirection that is not understood"),)
        return syntax.Redirect(descriptor, operator, target)

    def _heredoc(self, node: Node) -> syntax.Redirect:
        start = next(_text(child) for child in node.children if child.type == "heredoc_start")
        end = next((child for child in node.children if child.type == "heredoc_end"), None)
        source = node.text or b""
        first = source.find(b"\n") + 1
        if end is None or not first:
            return syntax.Redirect("", "<<", (syntax.Unknown("", "a here-document without end"),))
        text = source[first : end.start_byte - node.start_byte].decode()
        if node.children[0].type == "<<-":
            text = re.sub(r"(?m)^\t+", "", text)
        if not re.search(r"['\"\\]", start) and re.search(r"[$`\\]", text):
            return syntax.Redirect("", "<<", (syntax.Unknown(text, "a here-document with expansions"),))
        return syntax.Redirect("", "<<", (syntax.Text(text, quoted=True),))

    def _function_definition(self, node: Node) -> syntax.Command:
        return self._odd(node, "it defines a function")

    def _case_statement(self, node: Node) -> syntax.Command:
        return self._odd(node, "case is not understood")

    def _odd(self, node: Node, reason: str) -> syntax.Odd:
        """Not followed; the commands inside are kept so that what is denied is found in them."""
        inner: list[syntax.Command] = []
        waiting = list(node.children)
        while waiting:
            child = waiting.pop()
            if child.type in ("command", "declaration_command", "redirected_statement") and child.is_named:
                inner.append(self.command(child))
            else:
                waiting += child.children
        return syntax.Odd(reason, tuple(inner))

    # Words

    def _parts(self, node: Node) -> Iterator[syntax.Part]:
        kind, text = node.type, _text(node)
        if kind == "string":
            yield from self._string(node)
        elif kind == "raw_string":
            yield syntax.Text(text[1:-1], quoted=True)
        elif kind == "ansi_c_string":
            plain = unescape_ansi(text[2:-1])
            yield (
                syntax.Unknown(text, "an escape that is not understood") if plain is None else syntax.Text(plain, True)
            )
        elif kind == "concatenation":
            yield from self._concatenation(node)
        elif kind in _EXPANSIONS:
            yield self._expansion(node, quoted=False)
        elif kind == "process_substitution" and node.children[0].type == "<(":
            yield syntax.ProcessInput(self.sequence(node.children[1:-1]))
        elif kind in _WORDS - {"process_substitution", "translated_string"} or not node.children:
            yield from raw_word(text)
        else:
            yield syntax.Unknown(text, f"{kind.replace('_', ' ')} is not understood", self._odd(node, "").inner)

    def _concatenation(self, node: Node) -> Iterator[syntax.Part]:
        position = node.start_byte
        for child in node.children:
            if child.start_byte != position:
                yield syntax.Unknown(_text(node), "a word that is not understood")
            position = child.end_byte
            yield from self._parts(child)

    def _string(self, node: Node) -> Iterator[syntax.Part]:
        """Text between the expansions is taken from the source: the grammar leaves some white space out."""
        source = node.text or b""
        yield syntax.Text("", quoted=True)
        position = 1
        for child in node.children:
            if child.type not in _EXPANSIONS:
                continue
            inside = (child.text or b"").lstrip()
            start = child.end_byte - node.start_byte - len(inside)
            if start > position:
                yield syntax.Text(unescape_double(source[position:start].decode()), quoted=True)
            yield self._expansion(child, quoted=True)
            position = child.end_byte - node.start_byte
        if position < len(source) - 1:
            yield syntax.Text(unescape_double(source[position:-1].decode()), quoted=True)

    def _expansion(self, node: Node, *, quoted: bool) -> syntax.Part:
        text = _text(node).strip()
        if node.type == "command_substitution":
            if node.children[0].type == "`" and "\\" in text:
                return syntax.Unknown(text, "backslashes inside backquotes", self._odd(node, "").inner)
            return syntax.Substitution(self.sequence(node.children[1:-1]), quoted)
        if node.type == "arithmetic_expansion":
            inside = text[3:-2] if text.startswith("$((") else ""
            if _ARITHMETIC.fullmatch(inside):
                return syntax.Arithmetic(inside.strip())
            return syntax.Unknown(text, "arithmetic is not understood", self._odd(node, "").inner)
        simple = re.fullmatch(r"\$\{?([A-Za-z_][A-Za-z0-9_]*|\?)\}?", text)
        if simple:
            return syntax.Variable(simple[1], quoted)
        cut = re.fullmatch(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(##?|%%?)([A-Za-z0-9_./:@,=* -]+)\}", text)
        if cut:
            return syntax.Variable(cut[1], quoted, (cut[2], cut[3]))
        return syntax.Unknown(text, "an expansion that is not understood", self._odd(node, "").inner)


def _pipe(stages: list[syntax.Command]) -> syntax.Command:
    """One pipeline. The grammar puts a list or a pipeline into a stage when a redirection stands between."""
    if len(stages) == 1:
        return stages[0]
    first, *rest = stages
    if any(isinstance(stage, syntax.Chain | syntax.Pipeline) for stage in rest):
        return syntax.Odd("its pipes cannot be told apart", tuple(stages))
    if isinstance(first, syntax.Chain):
        operator, last = first.items[-1]
        return syntax.Chain((*first.items[:-1], (operator, _pipe([last, *rest]))))
    if isinstance(first, syntax.Pipeline):
        return syntax.Pipeline((*first.stages, *rest), first.negated)
    return syntax.Pipeline(tuple(stages))


def _redirect_last(command: syntax.Command, redirects: tuple[syntax.Redirect, ...]) -> syntax.Command:
    """The grammar hangs ``a && b > f`` on the whole list; the shell on the last command."""
    if isinstance(command, syntax.Chain):
        operator, last = command.items[-1]
        return syntax.Chain((*command.items[:-1], (operator, _redirect_last(last, redirects))))
    if isinstance(command, syntax.Pipeline):
        return syntax.Pipeline((*command.stages[:-1], _redirect_last(command.stages[-1], redirects)), command.negated)
    if isinstance(command, syntax.Redirected):
        return syntax.Redirected(command.command, (*command.redirects, *redirects))
    return syntax.Redirected(command, redirects)
