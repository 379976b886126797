"""Jinja templates of commands, filled in by a model without its words ever becoming shell.

The template is rendered with the real values, so conditions, loops and filters see them; but what a placeholder puts
out is captured, and a mark stands in its place. What comes out is the author's shell with marks in it, and
``shell_script`` says how each value gets to where its mark stands.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from jinja2 import DebugUndefined, Template, TemplateError, TemplateSyntaxError, pass_context
from jinja2.meta import find_undeclared_variables
from jinja2.runtime import Context, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from holmes.tools.shell_hazards import Refused, check_values, hazards
from holmes.tools.shell_script import Capture, Script, mark
from holmes.tools.template_marks import (
    CAPTURE,
    NOT_PARAMETERS,
    Marking,
    Site,
    as_text,
    environment_names,
    flat,
    most_branches,
    other_files,
)

__all__ = ["Command", "CommandTemplate", "Refused", "TemplateProblem", "render_text"]
_RECORDER = "the recorder"  # a name that no template can write
_LONGEST = 100_000  # bytes of one value: Linux takes 128 KiB for one argument
_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)")
_FAULTS = (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)


class TemplateProblem(ValueError):
    """A template that cannot be used; ``line`` counts from 1 within the template."""

    def __init__(self, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Command:
    """A command ready to run. ``hazards`` say where a value is more than data: a person has to look at those."""

    argv: tuple[str, ...]
    shown: str  # what a person would type
    hazards: tuple[str, ...] = ()
    searches: bool = False  # grep or the like is in it: exit status 1 may mean that nothing was found


class CommandTemplate:
    """The ``command`` or ``script`` of a tool.

    ``parameters`` are the JSON Schemas of the declared ones, by name. Raises TemplateProblem for what is no template.
    After that: ``undeclared`` are the other placeholders, ``variables`` the names of ``$NAME`` and ``${NAME}``,
    ``environment`` those of ``{{ env.NAME }}``, ``needed`` those of them that have no default.
    """

    def __init__(self, source: str, parameters: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self.source = source
        declared = parameters or {}
        jinja = _jinja()
        try:
            tree = jinja.parse(source)
            if line := other_files(tree):
                raise TemplateProblem("include, import and extends have no files to take", line)
            self.undeclared = sorted(
                find_undeclared_variables(tree) - NOT_PARAMETERS - jinja.globals.keys() - declared.keys()
            )
            names = list(environment_names(tree))
            marking = Marking(jinja, declared)
            self._tree = marking.visit(tree)
            self._template = Template.from_code(jinja, jinja.compile(self._tree), jinja.make_globals(None))
        except TemplateSyntaxError as error:
            raise TemplateProblem(_explained(error), error.lineno) from error
        self._sites = marking.sites
        self.variables = frozenset(_VARIABLE.findall(source))
        self.environment = frozenset(name for name, _ in names)
        self.needed = sorted({name for name, guarded in names if not guarded})

    def command(
        self, values: Mapping[str, Any], env: Mapping[str, str], headers: Mapping[str, str] | None = None
    ) -> Command:
        """The command for these values; Refused names the value that may not be.

        ``env`` is the environment of the child, ``headers`` are those of the client's request, in lower case.
        """
        recorder = _Recorder(self._sites)
        given = {name: value for name, value in values.items() if name not in NOT_PARAMETERS}
        foreign = {
            "env": {name: _foreign(value, variable=name) for name, value in env.items()},
            "request_context": {"headers": _Headers(headers or {})},
        }
        try:
            text = self._template.render({**given, **foreign, _RECORDER: recorder})
        except Refused:
            raise
        except _FAULTS as error:
            raise Refused(f"the command cannot be made of these values: {error}") from error
        script = Script(text, recorder.nonce, recorder.captures, self.variables & env.keys())
        if script.broken:
            raise Refused("the command cannot be made: its template takes the text of a macro apart")
        check_values(script)
        words = script.words()
        values_for_bash = ("" if capture.variable else capture.value for capture in recorder.captures)
        argv = words or ("bash", "--noprofile", "--norc", "-c", script.for_bash(), "bash", *values_for_bash)
        return Command(argv, script.for_people(), tuple(hazards(script)), script.searches())

    def hazards(self) -> list[str]:
        """What ``Command.hazards`` can be, whatever the values: for the author."""
        found: dict[str, None] = {}
        for choice in range(most_branches(self._tree)):
            recorder = _Recorder(self._sites)
            parts = flat(self._tree.body, choice)
            text = "".join(part if isinstance(part, str) else recorder.any_value(part) for part in parts)
            found |= dict.fromkeys(hazards(Script(text, recorder.nonce, recorder.captures, frozenset())))
        return list(found)


def render_text(source: str, values: Mapping[str, Any]) -> str:
    """A template of prose (never of a command); placeholders without a value stay as they are written."""
    try:
        return _jinja().overlay(undefined=DebugUndefined).from_string(source).render(dict(values))
    except TemplateSyntaxError as error:
        raise TemplateProblem(_explained(error), error.lineno) from error
    except _FAULTS as error:
        raise TemplateProblem(f"cannot be filled in: {error}") from error


@dataclass(slots=True)
class _Recorder:
    """The values that one rendering puts out. The nonce cannot be guessed, so no value can look like a mark."""

    sites: list[Site]
    nonce: str = field(default_factory=lambda: secrets.token_hex(8).upper())
    captures: list[Capture] = field(default_factory=list)

    def take(self, value: Any, site: Site) -> str:
        """The mark for a value; "" for none."""
        if value is None or isinstance(value, Undefined):
            return ""
        text = as_text(value)
        if self.nonce in text:
            return text  # made by a macro: the placeholders in it are captured already
        if isinstance(value, _Foreign) and value.variable:
            return self._add(Capture(site.parameter, text, variable=value.variable))
        _check(text, site.parameter)
        if isinstance(value, _Foreign):
            return self._add(Capture(site.parameter, text, shown=value.shown))
        return self._add(Capture(site.parameter, text, isinstance(value, int | float) or text in site.words))

    def any_value(self, number: int) -> str:
        """The mark for whatever may stand at a site."""
        site = self.sites[number]
        return self._add(Capture(site.parameter, "", site.number or bool(site.words), site.variable))

    def _add(self, capture: Capture) -> str:
        self.captures.append(capture)
        return mark(self.nonce, len(self.captures) - 1)


class _Foreign(str):
    """A value that is not the model's: of an environment variable, or of a header of the request."""

    variable: str = ""
    shown: str = ""


class _Headers(dict[str, str]):
    """Headers by name, in any case."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        super().__init__({name: _foreign(text, shown=f"<header {name}>") for name, text in headers.items()})

    def __missing__(self, name: str) -> str:
        if name == name.lower():
            raise KeyError(name)
        return self[name.lower()]


@cache
def _jinja() -> ImmutableSandboxedEnvironment:
    jinja = ImmutableSandboxedEnvironment()
    # Jinja's own globals are in the way: ``namespace`` is the favourite parameter of Kubernetes tools.
    jinja.globals = {"range": jinja.globals["range"]}
    jinja.filters[CAPTURE] = _capture
    return jinja


@pass_context
def _capture(context: Context, value: Any, number: int) -> str:
    recorder: _Recorder = context[_RECORDER]
    return recorder.take(value, recorder.sites[number])


def _foreign(text: str, *, variable: str = "", shown: str = "") -> _Foreign:
    value = _Foreign(text)
    value.variable, value.shown = variable, shown
    return value


def _check(text: str, parameter: str) -> None:
    if "\0" in text:
        raise Refused(f"{parameter}: the value has a NUL character, which no argument can have. Leave it out.")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise Refused(f"{parameter}: the value has characters that are no text (half of a surrogate pair)") from error
    if size > _LONGEST:
        raise Refused(f"{parameter}: the value has {size:,} bytes, {_LONGEST:,} at most. Give a shorter one.")


def _explained(error: TemplateSyntaxError) -> str:
    hint = " (for braces that are no placeholder write {% raw %}...{% endraw %})" if "unexpected" in str(error) else ""
    return f"no valid template: {error.message}{hint}"
