"""What runs is written anew, and does the same: both forms run side by side over stand-ins for cluster programs."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from holmes.tools.policy.judge import decide
from holmes.tools.policy.settings import PolicySettings

TABLE = yaml.load((Path(__file__).parent / "everyday.yaml").read_text(), Loader=yaml.CSafeLoader)
# These answer differently every time, or need what a test machine lacks.
ELSEWHERE = ("machine", "network")
SKIPPED = ("tail -f", "rg ", "time ", "date", "find /var", "du -h --max-depth=1 /var/log", "file ", "base64 -d data")
STAND_INS = (
    *("kubectl", "oc", "helm", "docker", "crictl", "aws", "gcloud", "az", "argocd", "flux", "istioctl", "redis-cli"),
    *("psql", "git", "yq"),
)
# Prints its words, and lines as kubectl would.
STAND_IN = """#!/usr/bin/env bash
case "$*" in
  *"-o name"*) printf 'pod/a-1\\npod/b-2\\n' ;;
  *--no-headers*) printf 'prod a-1 1/1 Running 7 3d\\nprod b-2 0/1 CrashLoopBackOff 12 3d\\n' ;;
  *"-o json"*) echo '{"items": [{"metadata": {"name": "a-1"}, "spec": {}, "status": {"phase": "Pending"}}]}' ;;
  *) printf '[%s]' "$@"; echo; [ -t 0 ] || cat ;;
esac
"""
OWN = [
    "echo 'it'\"'\"'s' \"a $HOME b\" c\\ d $'e\\tf' ~ ~/x",
    'x="a  b"; echo "$x" $x',
    'x=1; x="$x"2; echo $x ${x}3 ${x%2}',
    "for i in 1 2 3; do for j in a b; do echo $i$j; done; done",
    "for f in *.md; do wc -l $f; done",
    "for f in a.txt b.txt; do [ -f $f ] && echo has $f || echo no $f; done",
    "seq 5 | while read -r n; do if [ $n -gt 3 ]; then echo big; elif [ $n = 2 ]; then echo two; else echo; fi; done",
    'all="a b  c"; for x in $all; do echo "<$x>"; done; set="-x y"; echo $set',
    'for x in "a b" c; do echo $x; echo "$x"; grep -c $x a.txt; done',
    "n=$(seq 7 | wc -l); echo $n; [[ $n == 7 ]] && echo seven",
    "[[ abc == a* && -n x ]] && echo yes",
    "[[ abc == 'a*' ]] || echo no",
    "! false && echo negated",
    "false || echo b && echo c",
    "(echo a; echo b) | sort -r",
    "{ echo a; echo b; } | head -1",
    "echo a | cat - a.txt",
    "cat <<'EOF'\n$x `y` \\z\n  indented\nEOF",
    "cat <<-EOF\n\tone\n\ttwo\n\tEOF",
    "cat <<EOF | tr a-z A-Z\nabc\nEOF",
    "cat <<< 'here string'",
    "echo $((60 * 5))",
    "seq 3 | xargs",
    "seq 3 | xargs -n1 echo item",
    "seq 3 | xargs -I{} echo '<{}>' x{}y",
    "printf 'a b\\nc d\\n' | xargs -d '\\n' -n1 echo",
    "printf '%s|' a 'b c' ''; echo",
    "echo a 2>&1 >/dev/null; echo b 1>&2; echo c 2>/dev/null",
    "ls nothing-here 2>&1 | wc -l",
    "grep -c x a.txt b.txt; grep nothing a.txt; echo $?",
    "diff <(sort a.txt) <(sort -r a.txt) | wc -l",
    "cat *.txt | sort | uniq -c",
    "echo *.txt nothing*.here",
    "ls *.txt",
    "find . -name '*.txt' | sort",
    "find . -type f -name '*.txt' -exec grep -l two {} + | sort",
    "find . -maxdepth 1 -type f \\( -name a.txt -o -name b.txt \\) | sort",
    "bash -c 'for i in 1 2; do echo $i; done | tail -1'",
    "sh -c \"echo one | sed 's/one/two/'\"",
    'awk \'BEGIN{printf "%s\\n", "x"}\'',
    "IFS=: read -r a b <<< 'x:y z'; echo $b-$a",
    "printf 'a,b\\nc,d\\n' | while IFS=, read -r x y; do echo \"$y$x\"; done",
    "until true; do echo never; done; echo after",
    "echo one; echo two # a comment\n# another\necho three",
    "echo a \\\n  b",
    "echo {} { } a{b}c",
    "echo '' \"\" a",
    'echo "$(echo a | tr a b)" x$(seq 2 | tail -1)y',
    "LC_ALL=C sort a.txt | head -1",
    "A=a.txt; cat $A",
    "echo é “quoted” 日本",
]
COMMANDS = OWN + [
    command
    for group, lines in TABLE.items()
    if group not in ELSEWHERE
    for command in (lines.splitlines() if isinstance(lines, str) else lines)
    if not any(word in command for word in SKIPPED)
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory with files, and stand-ins in front of PATH."""
    base = tmp_path_factory.mktemp("meaning")
    programs, work = base / "bin", base / "work"
    programs.mkdir()
    work.mkdir()
    for name in STAND_INS:
        path = programs / name
        path.write_text(STAND_IN)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    for name, text in {
        "a.txt": "one\ntwo\nthree\n",
        "b.txt": "two\nfour\n",
        "Makefile": "all:\n\techo python a b\nx: y\n" * 9,
        "README.md": "# x\n",
        "app.log": "ERROR one\nwarn two\nERROR one\n",
        "data.json": '[{"a": 1, "b": 2}]',
        "data.csv": "a,b,3\nc,d,10\n",
        "a.yaml": "a: 1\n",
        "b.yaml": "a: 2\n",
    }.items():
        (work / name).write_text(text)
    (work / "src/holmes").mkdir(parents=True)
    (work / "src/holmes/__init__.py").write_text("def main(): pass  # TODO\n")
    return base


@pytest.fixture(scope="module")
def run(place: Path) -> Callable[[str], str]:
    """Runs a script and gives its standard output."""
    env = {"PATH": f"{place / 'bin'}:{os.environ['PATH']}", "HOME": str(place), "LC_ALL": "C.UTF-8"}

    def run(script: str) -> str:
        argv = ["bash", "--noprofile", "--norc", "-c", script]
        end = subprocess.run(
            argv, env=env, cwd=place / "work", stdin=subprocess.DEVNULL, capture_output=True, timeout=20
        )
        return end.stdout.decode()

    return run


def test_both_forms_do_the_same(place: Path, run: Callable[[str], str]) -> None:
    work = str(place / "work")
    policy = PolicySettings(
        cwd=work, home=str(place), read_roots=(work,), env={"HOME": str(place), "PWD": work, "USER": "me"}
    )
    different = {}
    tried = 0
    for command in COMMANDS:
        judgement = decide(command, policy)
        if judgement.verdict.decision != "allow":
            if command in OWN:
                different[command] = judgement.verdict.reason
            continue
        tried += 1
        as_written, written_anew = run(command), run(judgement.script)
        if as_written != written_anew:
            different[command] = f"{as_written!r} != {written_anew!r}"
    assert not different, "\n".join(f"{command}: {how}" for command, how in different.items())
    assert tried > 250
