"""The verdict on a command: walk its syntax, let each program's grammar speak, keep the worst."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from holmes.tools.policy import rules, syntax
from holmes.tools.policy.grammar import grammar
from holmes.tools.policy.match import Call, match
from holmes.tools.policy.parse import parse
from holmes.tools.policy.paths import judge_file, mentions_secret
from holmes.tools.policy.resolve import GAP, PREFIX, Argument, Scope, resolve
from holmes.tools.policy.serialise import Writer, program, word_code
from holmes.tools.policy.settings import RANK, PolicySettings, Ruling, ask, deny
from holmes.tools.policy.words import quote, quote_program
from holmes.tools.tool import Verdict

_MOST_VALUES = 20  # of a loop's variable that are judged one by one; more are judged as unknown
_MOST_COMMANDS = 400  # that one text may come to


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with what led to it. ``script`` is what runs when the verdict is allow, else ""."""

    verdict: Verdict
    script: str
    commands: tuple[tuple[str, ...], ...]  # the words of each program, … for what is known only when it runs


def judge(command: str, settings: PolicySettings) -> Verdict:
    """May this command run? ``show`` is the command as it was written."""
    return decide(command, settings).verdict


def decide(command: str, settings: PolicySettings) -> Judgement:
    """The verdict, and the script that runs when it is allow."""
    tree = parse(command)
    walk = _Walk(settings)
    if not tree.items:
        walk.rulings.append(ask("there is no command in it", "empty"))
    walk.sequence(tree, Scope(settings.env, settings.home), "closed")
    if walk.unreadable and (seen := rules.raw_scan(command, settings)):
        walk.rulings.append(seen)
    worst = max(walk.rulings, key=lambda ruling: RANK[ruling.decision], default=None)
    commands = tuple(dict.fromkeys(walk.commands))
    if worst is None:
        verdict = Verdict("allow", "it only reads", "known reads", command)
        return Judgement(verdict, Writer(walk.plan).script(tree), commands)
    prefixes = tuple(dict.fromkeys(walk.prefixes)) if worst.decision == "ask" else ()
    return Judgement(Verdict(worst.decision, worst.reason, worst.rule, command, prefixes), "", commands)


class _Walk:
    """``plan`` collects the code of what was judged, ``rulings`` what speaks against running it."""

    def __init__(self, settings: PolicySettings) -> None:
        self.settings = settings
        self.rulings: list[Ruling] = []
        self.plan: dict[int, list[str]] = {}
        self.commands: list[tuple[str, ...]] = []
        self.prefixes: list[str] = []
        self.unreadable = False  # there are parts that are not followed
        self._writer = Writer(self.plan)
        self._keep: list[syntax.Sequence] = []  # trees of ``sh -c``: the plan knows nodes by id

    # Commands

    def sequence(self, node: syntax.Sequence, scope: Scope, stdin: rules.Stdin) -> None:
        for item in node.items:
            self.command(item, scope, stdin)

    def command(self, node: syntax.Command, scope: Scope, stdin: rules.Stdin) -> None:
        if isinstance(node, syntax.Simple):
            self._simple(node, scope, stdin)
        elif isinstance(node, syntax.Pipeline):
            self._pipeline(node, scope, stdin)
        elif isinstance(node, syntax.Chain):
            for _, item in node.items:
                self.command(item, scope, stdin)
            self._forget(scope, *(item for _, item in node.items[1:]))
        elif isinstance(node, syntax.Sequence):
            self.sequence(node, scope, stdin)
        elif isinstance(node, syntax.Redirected):
            for redirect in node.redirects:
                stdin = self._redirect(redirect, scope, stdin)
            self.command(node.command, scope, stdin)
        elif isinstance(node, syntax.Group):
            self.sequence(node.body, scope.copy() if node.subshell else scope, stdin)
        elif isinstance(node, syntax.Test):
            self._test(node, scope)
        elif isinstance(node, syntax.Odd):
            self.rulings.append(ask(node.reason, "syntax"))
            self.unreadable = True
            for inner in node.inner:
                self.command(inner, scope.copy(), "data")
        else:
            self._compound(node, scope, stdin)

    def _compound(self, node: syntax.For | syntax.While | syntax.If, scope: Scope, stdin: rules.Stdin) -> None:
        if isinstance(node, syntax.For):
            values = self._loop_values(node, scope)
            self._forget(scope, node.body)
            for value in values:
                inner = scope.copy()
                inner.values[node.name] = value
                self.sequence(node.body, inner, stdin)
            self._forget(scope, node)
        elif isinstance(node, syntax.While):
            self._forget(scope, node)
            self.sequence(node.condition, scope, stdin)
            self.sequence(node.body, scope, stdin)
        else:
            for condition, body in node.branches:
                self.sequence(condition, scope, stdin)
                self.sequence(body, scope.copy(), stdin)
            if node.otherwise is not None:
                self.sequence(node.otherwise, scope.copy(), stdin)
            self._forget(scope, node)

    def _pipeline(self, node: syntax.Pipeline, scope: Scope, stdin: rules.Stdin) -> None:
        if len(node.stages) == 1:
            self.command(node.stages[0], scope, stdin)
            return
        for stage in node.stages:
            before = len(self.commands)
            self.command(stage, scope.copy(), stdin)
            stdin = rules.output_of(program(stage), self.commands[before:])

    def _forget(self, scope: Scope, *nodes: syntax.Command) -> None:
        """What these commands assign may or may not have been assigned."""
        for node in nodes:
            for name in rules.assigned(node):
                scope.values[name] = GAP

    def _loop_values(self, node: syntax.For, scope: Scope) -> list[str]:
        self._check_name(node.name)
        values: list[str] = []
        code: list[str] = []
        known = True
        for argument in (argument for word in node.words for argument in self._arguments(word, scope)):
            known = known and argument.known
            if argument.pattern is not None:
                ruling, files = judge_file(argument, self.settings)
                self.rulings += [ruling] if ruling else []
                files = files or [argument.text]
                values += files
                code += map(quote, files)
            else:
                values.append(argument.text)
                code += [] if argument.appended else [argument.bare or argument.code]
        self.plan.setdefault(id(node), code)
        few = known and len(set(values)) <= _MOST_VALUES and len(self.commands) < _MOST_COMMANDS
        return list(dict.fromkeys(values)) if few and values else [GAP]

    # Words

    def _resolve(self, word: syntax.Word, scope: Scope) -> Argument:
        def substitute(script: syntax.Sequence) -> str:
            self.sequence(script, scope.copy(), "closed")
            if rules.is_plain_text(script):
                self.rulings.append(ask("a substitution of plain text hides what it is", "substitution"))
            return "\n".join(["", self._written(script), ""])

        def complain(reason: str, inner: Sequence[syntax.Command]) -> None:
            self.unreadable = True
            self.rulings.append(ask(reason, "variable" if "variable" in reason else "syntax"))
            for command in inner:
                self.command(command, scope.copy(), "data")

        return resolve(word, scope, substitute, complain)

    def _arguments(self, word: syntax.Word, scope: Scope) -> list[Argument]:
        """The same, with a variable of several known words taken apart as the shell does it."""
        only = word[0] if len(word) == 1 else None
        if not isinstance(only, syntax.Variable) or only.quoted or only.cut or only.name not in scope.values:
            return [self._resolve(word, scope)]
        value = scope.values[only.name]
        pieces = value.split()
        if GAP in value or pieces == [value]:
            return [self._resolve(word, scope)]
        first = Argument("", code=f"${PREFIX}{only.name}", fixed=True)
        rest = [Argument(piece, appended=True) for piece in pieces[1:]]
        return [replace(first, text=pieces[0]), *rest] if pieces else []

    def _written(self, script: syntax.Sequence) -> str:
        """Its code, as long as all of it can be written; what cannot is never allowed."""
        return "" if any(ruling.decision != "allow" for ruling in self.rulings) else self._writer.sequence(script)

    def _redirect(self, node: syntax.Redirect, scope: Scope, stdin: rules.Stdin) -> rules.Stdin:
        target = self._resolve(node.target, scope)
        if node.operator == "<<" and target.known:
            target = Argument(target.text, code=quote(target.text.removesuffix("\n")) if target.text else "")
        elif node.operator in ("<", ">", ">>", "&>", "&>>", ">|") and target.known:
            target = Argument(target.text, target.pattern, quote(target.text), stream=target.stream)
        self.plan.setdefault(id(node), [target.code if node.target else ""])
        self.rulings += rules.redirect(node, target, self.settings)
        return rules.input_of(node, target, stdin)

    def _test(self, node: syntax.Test, scope: Scope) -> None:
        code = ["[["]
        previous = ""
        for token in node.tokens:
            if isinstance(token, str):
                previous = token
                code.append(token)
                if token not in rules.TEST_OPERATORS:
                    self.rulings.append(ask(f"[[ {token} ]] is not understood", "syntax"))
                continue
            argument = self._resolve(token, scope)
            wild = argument.known and argument.pattern is not None and previous in ("==", "=", "!=")
            code.append(rules.pattern_code(argument.pattern or "") if wild else argument.code)
        self.plan.setdefault(id(node), [*code, "]]"])

    # One program

    def _simple(self, node: syntax.Simple, scope: Scope, stdin: rules.Stdin) -> None:
        words = [argument for word in node.words for argument in self._arguments(word, scope)]
        prefix = self._assignments(node, words, scope)
        if not words:
            self.plan.setdefault(id(node), prefix)
            return
        code = self._program(words, scope, stdin)
        self.plan.setdefault(id(node), [*prefix, *code])

    def _assignments(self, node: syntax.Simple, words: Sequence[Argument], scope: Scope) -> list[str]:
        code = []
        for assignment in node.assignments:
            value = self._resolve(assignment.value, scope)
            if words:
                self.rulings += rules.assignment_before(assignment.name, value, words[0].text)
                code.append(f"{assignment.name}={value.code}")
                continue
            self._check_name(assignment.name)
            scope.values[assignment.name] = GAP if assignment.append else value.text
            code.append(f"{PREFIX}{assignment.name}{'+' if assignment.append else ''}={value.code}")
        return code

    def _check_name(self, name: str) -> None:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            self.rulings.append(ask(f"{name} is no plain variable", "syntax"))
        elif rules.steers(name):
            self.rulings.append(deny(f"{name} steers programs; a command may not set it", "assignment"))

    def _program(self, words: Sequence[Argument], scope: Scope, stdin: rules.Stdin) -> list[str]:
        """Judge one program with its arguments; gives its code."""
        shown = tuple(word.text.replace(GAP, "…") for word in words)
        self.commands.append(shown)
        if len(self.commands) > _MOST_COMMANDS:
            if len(self.commands) == _MOST_COMMANDS + 1:
                self.rulings.append(ask(f"it comes to more than {_MOST_COMMANDS} commands", "size"))
            return []
        name = rules.program_name(words[0])
        if stdin == "options" and name in ("read", "xargs"):
            self.rulings.append(ask(f"{name} gets options from its input", name))
        if name == "read":
            return self._read(words, scope)
        level = grammar(name) if name else None
        codes: dict[int, list[str]] = {}

        def inner(place: int, command: Sequence[Argument], how: rules.Inner) -> None:
            if how == "script":
                codes[place] = [quote(self._script(command[0]))]
                return
            code = self._program(command, scope, "closed" if how == "no stdin" else stdin)
            if code[:1] == ["{"]:
                self.rulings.append(ask("xargs inside another program is not understood", "xargs"))
            codes[place] = code
            codes.update({later: [] for later in range(place + 1, place + len(command))})

        mine: list[Ruling] = []
        if any(rules.has_invisible(word.text) for word in words):
            self.rulings.append(ask("it has characters that nobody sees", "syntax"))
        if words[0].code not in ("", quote(words[0].text)):
            self.rulings.append(ask("which program runs stands in a variable", "unknown program"))
        call = None
        if level is None:
            mine += rules.unknown_program(words[0], name)
        else:
            call = Call(words, self.settings, inner, level, name)
            match(call)
            mine += call.rulings
            if call.level.sends_stdin and stdin != "closed":
                mine.append(ask(f"{call.name} sends what it is given, and that comes from data", "literals only"))
        self._conclude(words, mine, call)
        return self._code(words, call, codes)

    def _conclude(self, words: Sequence[Argument], mine: list[Ruling], call: Call | None) -> None:
        """The user's prefixes, and a look for secrets in what is not understood."""
        texts = [word.text for word in words]
        if self.settings.builtin_allowlist == "none":
            mine.append(ask("the built-in list of reads is switched off", "builtin_allowlist"))
        if any(ruling.decision == "ask" for ruling in mine):
            if any(mentions_secret(word, self.settings) for word in words[1:]):
                mine.append(deny("it names a place of secrets", "secret path"))
            allowed = all(word.known for word in words) and rules.has_prefix(texts, self.settings.allow)
            if allowed:
                mine = [ruling for ruling in mine if ruling.decision != "ask"]
            else:
                self.prefixes.append(" ".join((texts[0], *(call.path if call else ()))).replace(GAP, "…"))
        refused = rules.denied_prefix(texts, self.settings.deny)
        if refused:
            mine.append(deny(f"the configuration refuses {refused!r}", "bash.config.deny"))
        self.rulings += mine

    def _code(self, words: Sequence[Argument], call: Call | None, codes: dict[int, list[str]]) -> list[str]:
        guarded = call is None or not call.level.data.get("unguarded")
        insert = call.insert if call is not None else {}
        made = insert.get(0) or [quote_program(words[0].text)]
        for place, word in list(enumerate(words))[1:]:
            made += insert.get(place, [])
            if word.appended:
                continue
            if place in codes:
                made += codes[place]
            elif call is not None and place in call.files:
                made += map(quote, call.files[place])
            else:
                several = call is not None and place in call.several
                value = call is not None and place in call.taken
                made.append(word_code(word, several=several, guarded=guarded and not value))
        made += insert.get(len(words), [])
        if call is not None and call.prepare:
            return ["{", call.prepare, "|", *made, ";", "}"]
        return made

    def _read(self, words: Sequence[Argument], scope: Scope) -> list[str]:
        """``read`` sets variables of the command's own."""
        code = ["read"]
        names = rules.read_names(words)
        if names is None:
            self.rulings.append(ask("read is known only with -r, -d and names", "read"))
            return code
        options, variables = names
        for name in variables:
            self._check_name(name)
            scope.values[name] = GAP
        return [*code, *options, *(PREFIX + name for name in variables)]

    def _script(self, text: Argument) -> str:
        """The argument of ``sh -c``: judged with no variables of the outer command, and written anew."""
        if not text.known:
            self.rulings.append(ask("the script is known only when it runs", "syntax"))
            return ""
        tree = parse(text.text)
        self._keep.append(tree)
        self.sequence(tree, Scope(self.settings.env, self.settings.home), "data")
        return "" if self.rulings else self._writer.script(tree)
