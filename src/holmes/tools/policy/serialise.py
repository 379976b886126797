"""The script that runs: written anew from the judged tree, so that nothing of the model's own quoting is left.

Every literal word is quoted, wildcards are off (the policy has already replaced those that name files), variables have
names of their own, and a value that is known only when it runs can never become an option.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holmes.tools.policy import syntax
from holmes.tools.policy.resolve import GAP, PREFIX, Argument
from holmes.tools.policy.words import quote

# One word, or all words, of a value that is known only now; leading dashes are cut off.
_BARE = """_bare() { local w=$1; while [ "${w#-}" != "$w" ]; do w=${w#-}; done; printf %s "$w"; }"""
_WORDS = """_words() { local w; for w in $1; do _bare "$w"; echo; done; }"""
# The exit code of a pipeline: a stage that failed before the last counts, unless its reader just had enough (141; xargs
# says 125 when that happened to what it runs).
_PIPE = """_pipe() {
  local last=$1 names=$2; shift 2
  while [ $# -gt 1 ]; do
    case $1,${names%%,*} in
      0,* | 141,* | 125,*.xargs) ;;
      *) echo "stage ${names%%,*} of the pipe failed with exit code $1" >&2; return "$1" ;;
    esac
    names=${names#*,}; shift
  done
  return "$last"
}"""
# Items for xargs without its own quoting, none of which begins with a dash.
_ITEMS = """_items() { tr "$1" '\\n' | grep -v -e '^[[:space:]]*-' -e '^[[:space:]]*$' | tr '\\n' '\\0'; }"""

_NO_MATCH_IS_FINE = frozenset(["grep", "egrep", "fgrep", "rg", "diff", "cmp"])

Plan = Mapping[int, Sequence[str]]  # id of a node -> its words as code


def word_code(argument: Argument, *, several: bool, guarded: bool) -> str:
    """How the shell is told an argument; ``several`` lets an unquoted value be more than one word."""
    if argument.stream or argument.fixed:
        return argument.code
    if argument.known:
        return argument.code if argument.code else quote(argument.text)
    if several and argument.split:
        return f"$(_words {argument.code})" if guarded else argument.bare or argument.code
    if guarded and argument.text.startswith(GAP):
        return f'"$(_bare {argument.code})"'
    return argument.code


class Writer:
    """Writes the judged parts of one tree."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def script(self, tree: syntax.Sequence) -> str:
        """The whole script, with the functions that it uses."""
        body = self.sequence(tree)
        functions = [
            text
            for name, text in (("_bare", _BARE), ("_words", _WORDS), ("_pipe", _PIPE), ("_items", _ITEMS))
            if f"{name} " in body or (name == "_bare" and "_words " in body)
        ]
        return "\n".join(["set -f", *functions, body])

    def sequence(self, tree: syntax.Sequence) -> str:
        """Commands, one a line."""
        return "\n".join(self._command(item) for item in tree.items) or ":"

    def _command(self, node: syntax.Command) -> str:
        if isinstance(node, syntax.Simple | syntax.Test):
            return " ".join(self._plan[id(node)])
        if isinstance(node, syntax.Pipeline):
            return self._pipeline(node)
        if isinstance(node, syntax.Chain):
            return " ".join(f"{operator} {self._command(item)}".strip() for operator, item in node.items)
        if isinstance(node, syntax.Sequence):
            return self.sequence(node)
        if isinstance(node, syntax.Redirected):
            return " ".join([self._command(node.command), *(self._redirect(redirect) for redirect in node.redirects)])
        if isinstance(node, syntax.Group):
            body = self.sequence(node.body)
            return f"(\n{body}\n)" if node.subshell else f"{{\n{body}\n}}"
        return self._compound(node)

    def _compound(self, node: syntax.Command) -> str:
        if isinstance(node, syntax.For):
            words = " ".join(self._plan[id(node)])
            return f"for {PREFIX}{node.name} in {words}; do\n{self.sequence(node.body)}\ndone"
        if isinstance(node, syntax.While):
            word = "until" if node.until else "while"
            return f"{word}\n{self.sequence(node.condition)}\ndo\n{self.sequence(node.body)}\ndone"
        if isinstance(node, syntax.If):
            lines = []
            for word, (condition, body) in zip(["if", *["elif"] * len(node.branches)], node.branches, strict=False):
                lines.append(f"{word}\n{self.sequence(condition)}\nthen\n{self.sequence(body)}")
            if node.otherwise is not None:
                lines.append(f"else\n{self.sequence(node.otherwise)}")
            return "\n".join([*lines, "fi"])
        raise AssertionError(f"{type(node).__name__} is never allowed")

    def _pipeline(self, node: syntax.Pipeline) -> str:
        stages = [self._command(stage) for stage in node.stages]
        if len(stages) == 1:
            return f"! {stages[0]}" if node.negated else stages[0]
        for index, stage in enumerate(node.stages[:-1]):
            if program(stage) in _NO_MATCH_IS_FINE:
                stages[index] = f"{{ {stages[index]} || [ $? = 1 ]; }}"
        names = ",".join(f"{index}.{program(stage) or 'group'}" for index, stage in enumerate(node.stages, 1))
        text = f'{{ {" | ".join(stages)}\n_pipe $? {quote(names)} "${{PIPESTATUS[@]}}"; }}'
        return f"! {text}" if node.negated else text

    def _redirect(self, node: syntax.Redirect) -> str:
        (target,) = self._plan[id(node)]
        if node.operator == "<<":
            return f"{node.descriptor}<<< {target}" if target else f"{node.descriptor}< /dev/null"
        return f"{node.descriptor}{node.operator} {target}".rstrip()


def program(node: syntax.Command) -> str:
    """The program that a command starts, as far as it is literal; "" for groups and loops."""
    if isinstance(node, syntax.Redirected):
        return program(node.command)
    if isinstance(node, syntax.Simple) and node.words:
        text = "".join(part.text if isinstance(part, syntax.Text) else "…" for part in node.words[0])
        return text.rpartition("/")[2]
    return ""
