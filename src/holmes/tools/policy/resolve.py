"""What the words of a command come to: text, or text with gaps that only its run fills."""

from __future__ import annotations

import glob
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from holmes.tools.policy import syntax
from holmes.tools.policy.words import has_braces, is_wild, quote

GAP = "\0"  # stands in an argument's text for what is known only when it runs; no argument can have it
PREFIX = "v_"  # variables of a command get this before their name, so that they can never be the shell's own


@dataclass(frozen=True, slots=True)
class Argument:
    """One word after expansion.

    ``text`` has GAPs; ``pattern`` is set when it has unquoted wildcards (in glob's language); ``code`` is how the
    shell is told the word, in pieces that need no more quoting; ``split`` says that an unquoted gap may be several
    words; ``stream`` that it names what another command of the same script writes.
    """

    text: str
    pattern: str | None = None
    code: str = ""
    split: bool = False
    bare: str = ""  # code of a lone gap without its quotes, where it may be split
    stream: bool = False
    fixed: bool = False  # its gap is filled by the program that runs it (find, xargs): nothing for the shell to do
    appended: bool = False  # xargs puts it there: not written at all

    @property
    def known(self) -> bool:
        """Whether the text is known before it runs."""
        return GAP not in self.text


def literal(text: str) -> Argument:
    """An argument of exactly this text."""
    return Argument(text, code=quote(text))


@dataclass
class Scope:
    """Variables that the command itself has set: their value, or GAP. ``env`` are known ones of the environment."""

    env: Mapping[str, str]
    home: str
    values: dict[str, str] = field(default_factory=dict)

    def copy(self) -> Scope:
        """For a subshell, or a branch that may not run."""
        return Scope(self.env, self.home, dict(self.values))


Substitute = Callable[[syntax.Sequence], str]  # judges what is substituted and gives its code
Complain = Callable[[str, tuple[syntax.Command, ...]], None]


def resolve(word: syntax.Word, scope: Scope, substitute: Substitute, complain: Complain) -> Argument:
    """Expand a word; ``complain`` hears of pieces that cannot be followed."""
    made = _Made()
    for index, part in enumerate(word):
        if isinstance(part, syntax.Text):
            piece = part.text
            if index == 0 and not part.quoted and piece.startswith("~"):
                piece = _home(piece, len(word) == 1, scope, complain)
            made.literal(part, piece)
        else:
            piece, code = _expand(part, scope, substitute, complain)
            made.expanded(part, piece, code)
    if has_braces(made.raw):
        complain("braces that expand are not understood", ())
    return made.argument(word)


@dataclass
class _Made:
    """An argument in the making."""

    text: str = ""
    pattern: str = ""
    code: str = ""
    plain: str = ""  # literal text whose code is not written yet
    wild: bool = False
    split: bool = False
    raw: list[tuple[str, bool]] = field(default_factory=list)  # text, quoted

    def literal(self, part: syntax.Text, piece: str) -> None:
        self.text += piece
        self.plain += piece
        self.pattern += glob.escape(piece) if part.quoted else piece
        self.raw.append((part.text, part.quoted))
        self.wild = self.wild or (not part.quoted and is_wild(piece))

    def expanded(self, part: syntax.Part, piece: str, code: str) -> None:
        self._write_plain()
        self.text += piece
        self.code += code
        self.pattern += glob.escape(piece)
        self.raw.append((piece, True))
        loose = isinstance(part, syntax.Variable | syntax.Substitution) and not part.quoted
        self.split = self.split or (GAP in piece and loose)

    def argument(self, word: syntax.Word) -> Argument:
        self._write_plain()
        alone = len(word) == 1 and not isinstance(word[0], syntax.Text)
        return Argument(
            self.text,
            self.pattern if self.wild else None,
            self.code or "''",
            self.split,
            bare=self.code[1:-1] if alone and self.split and self.code.startswith('"') else "",
            stream=alone and isinstance(word[0], syntax.ProcessInput),
        )

    def _write_plain(self) -> None:
        self.code += quote(self.plain) if self.plain else ""
        self.plain = ""


def _home(piece: str, alone: bool, scope: Scope, complain: Complain) -> str:
    if (piece == "~" and alone) or piece.startswith("~/"):
        return scope.home + piece[1:]
    if piece != "~" or not alone:
        complain("a tilde that is not the home directory", ())
    return piece


def _expand(part: syntax.Part, scope: Scope, substitute: Substitute, complain: Complain) -> tuple[str, str]:
    """The text and the code of a piece that is not literal."""
    if isinstance(part, syntax.Variable):
        return _variable(part, scope, complain)
    if isinstance(part, syntax.Substitution):
        return GAP, f'"$({substitute(part.script)})"'
    if isinstance(part, syntax.ProcessInput):
        return GAP, f"<({substitute(part.script)})"
    if isinstance(part, syntax.Arithmetic):
        return GAP, f"$(({part.expression}))"
    if isinstance(part, syntax.Unknown):
        complain(part.reason, part.inner)
        return GAP, quote(part.text)
    return part.text, quote(part.text)


def _variable(part: syntax.Variable, scope: Scope, complain: Complain) -> tuple[str, str]:
    name = part.name
    if name == "?":
        return GAP, '"$?"'
    if name in scope.values:
        if part.cut is None:
            return scope.values[name], f'"${PREFIX}{name}"'
        operator, text = part.cut
        return GAP, f'"${{{PREFIX}{name}{operator}{_pattern(text)}}}"'
    if name in scope.env and part.cut is None:
        return scope.env[name], quote(scope.env[name])
    complain(f"the variable {name} is not set by this command", ())
    return GAP, f'"${{{name}}}"'


def _pattern(text: str) -> str:
    """A pattern of ``${name#...}``: its star is a wildcard, the rest is itself."""
    return "*".join(quote(piece) if piece else "" for piece in text.split("*"))
