"""The syntax tree of a Jinja template, changed so that what each placeholder puts out can be captured.

``{{ name | upper }}`` becomes ``{{ name | upper | capture(3) }}``. The author's own words inside placeholders become
text around them: ``{{ "-n " ~ ns if ns }}`` is read as ``{% if ns %}-n {{ ns }}{% endif %}``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, nodes
from jinja2.visitor import NodeTransformer

NOT_PARAMETERS = frozenset(["env", "request_context"])
CAPTURE = "capture"
_OTHER_FILES = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)
_CONDITIONAL = (nodes.CondExpr, nodes.Or, nodes.And, nodes.Test, nodes.If)


@dataclass(frozen=True, slots=True)
class Site:
    """One placeholder of a template.

    ``parameter`` is the first one in it. ``number``: it can only be a number or true or false; ``words``: it can only
    be one of these; ``variable``: it is this variable of the environment.
    """

    parameter: str
    number: bool = False
    words: tuple[str, ...] = ()
    variable: str = ""


class Marking(NodeTransformer):
    """Changes a tree; ``sites`` are its placeholders, numbered as in ``capture(...)``."""

    def __init__(self, jinja: Environment, parameters: Mapping[str, Mapping[str, Any]]) -> None:
        self._jinja = jinja
        self._parameters = parameters
        self.sites: list[Site] = []

    def visit_Output(self, output: nodes.Output) -> list[nodes.Stmt]:
        """An output as text, captured values, and conditions around them."""
        return [statement for part in output.nodes for statement in self._statements(part)]

    def _statements(self, part: nodes.Expr) -> list[nodes.Stmt]:
        line = part.lineno
        match part:
            case nodes.TemplateData():
                return [nodes.Output([part], lineno=line)]
            case nodes.Const():
                text = "" if part.value is None else as_text(part.value)
                return [nodes.Output([nodes.TemplateData(text, lineno=line)], lineno=line)]
            case nodes.Concat():
                return [statement for inner in part.nodes for statement in self._statements(inner)]
            case nodes.Add() if _has_words(part):
                return [*self._statements(part.left), *self._statements(part.right)]
            case nodes.CondExpr():
                return [self._choice(part.test, part.expr1, part.expr2)]
            case nodes.Or():
                return [self._choice(part.left, part.left, part.right)]
            case nodes.And():
                return [self._choice(part.left, part.right, part.left)]
            case nodes.Filter(node=nodes.Expr() as inner, name="default" | "d", args=[word, *more], kwargs=[]):
                defined = nodes.Test(inner, "defined", [], [], None, None, lineno=line)
                return [self._choice(inner if more else defined, inner, word)]
        return [nodes.Output([self._captured(part)], lineno=line)]

    def _choice(self, test: nodes.Expr, yes: nodes.Expr, no: nodes.Expr | None) -> nodes.Stmt:
        otherwise = self._statements(no) if no is not None else []
        choice = nodes.If(test, self._statements(yes), [], otherwise, lineno=test.lineno)
        choice.set_environment(self._jinja)
        return choice

    def _captured(self, part: nodes.Expr) -> nodes.Expr:
        inner = [part] if isinstance(part, nodes.Name) else part.find_all(nodes.Name)
        names = [name.name for name in inner if name.name not in NOT_PARAMETERS]
        schema = self._parameters.get(names[0], {}) if isinstance(part, nodes.Name) and names else {}
        site = Site(
            names[0] if names else f"the placeholder in line {part.lineno}",
            schema.get("type") in ("integer", "number", "boolean"),
            tuple(str(word) for word in schema.get("enum", ())),
            _variable(part),
        )
        self.sites.append(site)
        number = nodes.Const(len(self.sites) - 1, lineno=part.lineno)
        captured = nodes.Filter(part, CAPTURE, [number], [], None, None, lineno=part.lineno)
        captured.set_environment(self._jinja)
        return captured


def as_text(value: Any) -> str:
    """How a value is written: true and false as programs want them, lists and mappings as JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def other_files(tree: nodes.Template) -> int:
    """The line where a template wants another file, 0 when it does not."""
    return next((node.lineno for node in tree.find_all(_OTHER_FILES)), 0)


def environment_names(node: nodes.Node, guarded: bool = False) -> Iterator[tuple[str, bool]]:
    """Each ``env.NAME``, and whether the template can do without it (a condition or a default is around it)."""
    if name := _variable(node):
        yield name, guarded
    default = isinstance(node, nodes.Filter) and node.name in ("default", "d")
    for inner in node.iter_child_nodes():
        yield from environment_names(inner, guarded or default or isinstance(node, _CONDITIONAL))


def most_branches(tree: nodes.Template) -> int:
    """The number of branches of the condition that has most of them."""
    return max((len(_branches(node)) for node in tree.find_all(nodes.If)), default=1)


def flat(statements: Sequence[nodes.Node], choice: int) -> Iterator[str | int]:
    """The template as it is when each condition takes its branch number ``choice``: texts and numbers of sites."""
    for statement in statements:
        match statement:
            case nodes.Output():
                for part in statement.nodes:
                    if isinstance(part, nodes.TemplateData):
                        yield part.data
                    elif isinstance(part, nodes.Filter) and isinstance(part.args[0], nodes.Const):
                        yield part.args[0].value
            case nodes.If():
                branches = _branches(statement)
                yield from flat(branches[choice % len(branches)], choice)
            case nodes.Macro() | nodes.AssignBlock():
                continue  # its text goes elsewhere
            case _:
                yield from flat(getattr(statement, "body", []), choice)


def _branches(node: nodes.If) -> list[list[nodes.Node]]:
    return [node.body, *(branch.body for branch in node.elif_), node.else_]


def _has_words(part: nodes.Expr) -> bool:
    if isinstance(part, nodes.Add):
        return _has_words(part.left) or _has_words(part.right)
    return isinstance(part, nodes.Concat) or (isinstance(part, nodes.Const) and isinstance(part.value, str))


def _variable(node: nodes.Node) -> str:
    """NAME of ``env.NAME`` and ``env["NAME"]``."""
    match node:
        case nodes.Getattr(node=nodes.Name(name="env"), attr=name):
            return str(name)
        case nodes.Getitem(node=nodes.Name(name="env"), arg=nodes.Const(value=str(name))):
            return name
    return ""
