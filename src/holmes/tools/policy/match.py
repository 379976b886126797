"""Reading a program's arguments as the program itself would, by its grammar."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field

from holmes.tools.policy.grammar import Flag, Level
from holmes.tools.policy.resolve import GAP, Argument, literal
from holmes.tools.policy.rules import Inner
from holmes.tools.policy.settings import PolicySettings, Ruling, ask, deny


@dataclass
class Call:
    """One program with its arguments told apart.

    ``flags`` are (name as written, value) in order; ``args`` are (place among the words, argument).
    """

    words: Sequence[Argument]
    settings: PolicySettings
    inner: Callable[[int, Sequence[Argument], Inner], None]  # judges a command that starts at a place among the words
    level: Level
    program: str
    path: tuple[str, ...] = ()
    flags: list[tuple[str, Argument | None]] = field(default_factory=list)
    args: list[tuple[int, Argument]] = field(default_factory=list)
    rulings: list[Ruling] = field(default_factory=list)
    files: dict[int, list[str]] = field(default_factory=dict)  # what wildcards at a place stand for
    prepare: str = ""  # code of a stage that its standard input goes through
    insert: dict[int, list[str]] = field(default_factory=dict)  # code in front of a word; at 0 instead of it
    taken: set[int] = field(default_factory=set)  # places of flags' values: they are never read as flags
    several: set[int] = field(default_factory=set)  # places where one word may become several

    @property
    def name(self) -> str:
        """The program with its subcommands, for people."""
        return " ".join((self.program, *self.path))

    def given(self, *names: str) -> list[Argument]:
        """Values of the flags of these names; switches count with an empty one."""
        return [value or literal("") for name, value in self.flags if name in names]

    def has(self, names: Container[str]) -> bool:
        """Whether one of these flags is given."""
        return any(name in names for name, _ in self.flags)

    def file(self, place: int, word: Argument) -> None:
        """Judge an argument that names a file."""
        judge_kind(self, "folder", word, "file", place)

    def ask(self, reason: str, rule: str) -> None:
        """A person has to decide."""
        self.rulings.append(ask(reason, rule))

    def deny(self, reason: str, rule: str) -> None:
        """It never runs."""
        self.rulings.append(deny(reason, rule))


def match(call: Call) -> None:
    """Find subcommands, flags and arguments, and note what speaks against them."""
    from holmes.tools.policy.checks import CHECKS

    _read(call)
    level = call.level
    if not level.alone and not (call.flags and all(name in ("-h", "--help") for name, _ in call.flags)):
        call.ask(f"{call.name} without a known subcommand", f"{call.program} subcommand")
    if level.needs and not call.has(level.needs):
        call.ask(f"{call.name} is known only with {' or '.join(sorted(level.needs))}", f"{call.program} flags")
    if level.literal and not all(word.known for word in call.words):
        call.ask(f"{call.program} opens connections: what it is told must be written out", "literals only")
    if level.style != "plain" or level.args:
        _judge_args(call)
    if level.check:
        CHECKS[level.check](call)


def _read(call: Call) -> None:
    place = 1
    rest = False  # behind "--", or behind the first argument of a program whose flags end there
    while place < len(call.words):
        word = call.words[place]
        text = word.text
        if rest or call.level.style == "plain" or not text.startswith("-") or text == "-":
            if rest or not call.level.commands or call.args or not _descend(call, text):
                call.args.append((place, word))
                rest = rest or call.level.stops
        elif text == "--":
            rest = True
        else:
            values = _flag(call, text, call.words[place + 1 : place + 3], word)
            call.taken.update(range(place + 1, place + 1 + values))
            place += values
        place += 1


def _descend(call: Call, text: str) -> bool:
    if text in call.level.commands:
        call.level = call.level.commands[text]
        call.path = (*call.path, text)
        return True
    if text in call.level.refused:
        call.deny(f"{call.name} {text}: {call.level.refused[text]}", f"{call.program} {text}")
    elif not call.level.args or GAP in text:
        text = text.replace(GAP, "…")
        call.ask(f"{call.name} {text} is not a known read", f"{call.program} subcommand")
    return False


def _flag(call: Call, text: str, following: Sequence[Argument], word: Argument) -> int:
    """Take one word of flags; gives how many words behind it are values."""
    level = call.level
    if level.numbers and text[1:].isdigit():
        call.flags.append(("-number", literal(text[1:])))
        return 0
    if text.startswith("--") or level.style == "long":
        name, equals, value = text.partition("=")
        flag = level.flags.get(name)
        if flag is None and name.startswith("--") and level.style == "long":
            flag = level.flags.get(name[1:])
        if equals:
            return _note(call, name, flag, Argument(value, None, "", word.split))
        if flag is not None and flag.takes in ("value", "pair"):
            wanted = 1 if flag.takes == "value" else 2
            return _note(call, name, flag, following[0] if following else None, min(wanted, len(following)))
        return _note(call, name, flag, None)
    letters = text[1:]
    for index, letter in enumerate(letters):
        name, rest = f"-{letter}", letters[index + 1 :]
        flag = level.flags.get(name)
        if flag is None or flag.takes == "nothing":
            _note(call, name, flag, None)
            if flag is None or (level.style == "cobra" and rest.startswith("=")):
                if flag is not None and rest not in ("=true", "=false"):
                    call.ask(f"{call.name} {text} is not a known flag", f"{call.program} flags")
                return 0
            continue
        if rest or flag.takes == "optional":
            value = rest.removeprefix("=") if level.style == "cobra" else rest
            return _note(call, name, flag, Argument(value) if rest else None)
        return _note(call, name, flag, following[0] if following else None, min(1, len(following)))
    return 0


def _note(call: Call, name: str, flag: Flag | None, value: Argument | None, taken: int = 0) -> int:
    call.flags.append((name, value))
    if flag is None:
        call.ask(f"{call.name} {name.replace(GAP, '…')} is not a known flag", f"{call.program} flags")
        return 0
    if flag.decision != "allow":
        call.rulings.append(Ruling(flag.decision, f"{call.name} {name}: {flag.reason}", f"{call.program} {name}"))
    elif flag.takes == "nothing":
        if value is not None and not (call.level.style == "cobra" and value.text in ("true", "false")):
            call.ask(f"{call.name} {name} takes no value", f"{call.program} flags")
    elif value is None:
        if flag.takes != "optional":
            call.ask(f"{call.name} {name} has no value", f"{call.program} flags")
    else:
        judge_kind(call, flag.kind, value, name)
    return taken


def judge_kind(call: Call, kind: str, value: Argument, where: str, place: int = -1) -> None:
    """Note what speaks against a value of a kind; ``where`` is its flag or its position, for people."""
    from holmes.tools.policy.kinds import KINDS

    if kind.startswith("~"):
        import re

        if not value.known or not re.fullmatch(kind[1:], value.text, re.DOTALL):
            call.ask(
                f"{call.name} {where} {value.text.replace(GAP, '…')} is not a known value", f"{call.program} flags"
            )
        return
    ruling, files = KINDS[kind](value, call)
    if ruling is not None:
        call.rulings.append(ruling)
    if files and place >= 0:
        call.files[place] = files
    elif files:
        call.ask(f"wildcards in {call.name} {where}", "wildcards")


def _judge_args(call: Call) -> None:
    level = call.level
    kinds = next((other for names, other in level.args_with if call.has(names)), level.args)
    files = False
    for (place, argument), kind in zip(call.args, _spread(kinds), strict=False):
        shown = argument.text.replace(GAP, "…")
        if kind == "":
            call.ask(f"{call.name} takes no further argument {shown}", f"{call.program} arguments")
            break
        if kind == "command*":
            call.inner(place, call.words[place:], "words")
            return
        name = kind if kind.startswith("~") else kind.rstrip("*")
        files = files or name in ("file", "folder")
        if kind.endswith("*"):
            call.several.add(place)
        judge_kind(call, name, argument, f"argument {shown}", place)
    if "command*" in kinds:
        call.ask(f"{call.name} without a command", f"{call.program} arguments")
    if level.implicit and not files and (not level.implicit_with or call.has(level.implicit_with)):
        judge_kind(call, level.implicit, literal("."), "working directory")


def _spread(kinds: Sequence[str]) -> Iterator[str]:
    """One kind for each argument: the last goes on when it has a star; "" when there may be no more."""
    yield from kinds[:-1]
    if kinds and kinds[-1].endswith("*"):
        while True:
            yield kinds[-1]
    if kinds:
        yield kinds[-1]
    while True:
        yield ""
