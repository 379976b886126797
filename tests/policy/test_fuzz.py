"""Risky commands in disguise: whatever is wrapped around them, none runs unasked.

HOLMES_FUZZ is the number of disguises to try.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holmes.tools.policy.judge import decide
from holmes.tools.policy.settings import PolicySettings

CORES = [
    *("rm -rf x", "kubectl delete pod x", "kubectl get secret db -o yaml", "kubectl get secret -A -ojson"),
    *("kubectl exec web -- sh", "kubectl --as=admin get pods", "kubectl apply -f x", "kubectl config view --raw"),
    *("kubectl get --raw /api/v1/secrets", "kubectl get pods --token=x", "helm uninstall x", "docker run x"),
    *("cat /etc/shadow", "cat /root/.ssh/id_rsa", "head -1 /proc/self/environ", "grep -r x /etc", "ls /root"),
    *("find . -delete", "find . -exec rm {} +", "sort -o out a", "uniq a b", "sed -i s/a/b/ x", "sed -n w/x x"),
    *('awk BEGIN{system("id")}', "tee out", "python3 -c 1", "sleep 9", "curl http://169.254.169.254/"),
    *("curl -d x http://a.b.svc/", "curl http://evil.example/", "git push", "systemctl restart x", "jq -n env"),
    *("date -s now", "hostname x", "printenv", "bash x.sh", "source x", "sudo id", "dd if=x", "redis-cli FLUSHALL"),
    *("aws s3 rm s3://x", "gcloud compute instances delete x", "az vm delete -n x", "openssl genrsa 2048"),
    *("psql -c select", "xargs rm", "kill 1", "nc evil 1", "ip link set x down", "journalctl --rotate", "touch x"),
]
POLICY = PolicySettings(cwd="/srv/work", home="/root", read_roots=("/srv/work",), env={"HOME": "/root"})

Wrap = Callable[[str], str]


def single(text: str) -> str:
    return "'" + text.replace("'", "'\"'\"'") + "'"


def ansi(text: str) -> str:
    return "$'" + "".join(f"\\x{ord(char):02x}" if ord(char) < 128 else char for char in text) + "'"


WORDS: list[Wrap] = [
    lambda word: word,
    single,
    ansi,
    lambda word: '"' + word.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$").replace("`", "\\`") + '"',
    lambda word: "".join("\\" + char for char in word),
    lambda word: "''".join(map(single, word)),
    lambda word: single(word[:1]) + '""' + ansi(word[1:]),
    lambda word: single(word[:2]) + "\\\n" + single(word[2:]),
    lambda word: "$(printf %s " + single(word) + ")",
    lambda word: "`echo " + single(word) + "`",
    lambda word: "${nothing}" + single(word),
    lambda word: "{" + single(word) + ",}",
    lambda word: single(word) + "\u200b",
]
GAPS = [" ", "  ", "\t", " \\\n", " \\\n  ", "${IFS}", "$IFS", "\u00a0", " $nothing ", "\r", "\v"]
AROUND: list[Wrap] = [
    lambda text: text,
    lambda text: f"command {text}",
    lambda text: f"builtin {text}",
    lambda text: f"env {text}",
    lambda text: f"env LANG=C {text}",
    lambda text: f"env X=1 {text}",
    lambda text: f"LC_ALL=C {text}",
    lambda text: f"X=1 {text}",
    lambda text: f"nohup {text}",
    lambda text: f"timeout 5 {text}",
    lambda text: f"timeout -k 1 5s {text}",
    lambda text: f"nice -n 5 {text}",
    lambda text: f"time {text}",
    lambda text: f"stdbuf -oL {text}",
    lambda text: f"exec {text}",
    lambda text: f"eval {single(text)}",
    lambda text: f"eval {text}",
    lambda text: f"sh -c {single(text)}",
    lambda text: f"bash -c {single(text)}",
    lambda text: f"bash -ec {ansi(text)}",
    lambda text: f"bash <<< {single(text)}",
    lambda text: f"bash <<EOF\n{text}\nEOF",
    lambda text: f"cat <<EOF\n$({text})\nEOF",
    lambda text: f"cat <<-'EOF' | sh\n\t{text}\n\tEOF",
    lambda text: f"echo {single(text)} | sh",
    lambda text: f"echo x | xargs {text}",
    lambda text: f"echo x | xargs -I% {text}",
    lambda text: f"echo x | xargs -n1 sh -c {single(text)}",
    lambda text: f"find . -maxdepth 0 -exec {text} \\;",
    lambda text: f"find . -type f -exec sh -c {single(text)} \\;",
    lambda text: f"echo $({text})",
    lambda text: f'echo "$({text})"',
    lambda text: f"echo `{text}`",
    lambda text: f"cat <({text})",
    lambda text: f"x=$({text})",
    lambda text: f"x=$({text}) ; echo $x",
    lambda text: f"x={single(text)}; $x",
    lambda text: f"for i in $({text}); do echo $i; done",
    lambda text: f"for i in 1 2; do {text}; done",
    lambda text: f"while {text}; do date; done",
    lambda text: f"until {text}; do date; done",
    lambda text: f"if {text}; then date; fi",
    lambda text: f"if true; then {text}; fi",
    lambda text: f"if false; then date; else {text}; fi",
    lambda text: f"[ -n x ] && {text}",
    lambda text: f"[[ x == x ]] && {text}",
    lambda text: f'[ -n "$({text})" ]',
    lambda text: f"case x in x) {text};; esac",
    lambda text: f"f() {{ {text}; }}; f",
    lambda text: f"({text})",
    lambda text: f"{{ {text}; }}",
    lambda text: f"! {text}",
    lambda text: f"true; {text}",
    lambda text: f"date\n{text}",
    lambda text: f"date && {text}",
    lambda text: f"false || {text}",
    lambda text: f"date & {text}",
    lambda text: f"{text} &",
    lambda text: f"{text} | head",
    lambda text: f"date | {text}",
    lambda text: f"{text} 2>/dev/null",
    lambda text: f"< /dev/null {text}",
    lambda text: f"{text} # kubectl get pods",
    lambda text: f"# nothing\n{text}",
    lambda text: f"date 2>/dev/null | {text} 2>&1 | head",
    lambda text: f"date; {text}; date",
    lambda text: f"trap {single(text)} EXIT",
    lambda text: f"alias x={single(text)}; x",
    lambda text: f"echo ${{x:-$({text})}}",
    lambda text: f"echo $(( $({text}) ))",
]


@st.composite
def disguised(draw: st.DrawFn) -> str:
    words = draw(st.sampled_from(CORES)).split(" ")
    if draw(st.booleans()):
        gap = draw(st.sampled_from(GAPS))
        command = gap.join(draw(st.sampled_from(WORDS))(word) for word in words)
    else:
        command = " ".join(single(word) if set(word) & set('(){};"') and len(word) > 2 else word for word in words)
    for wrap in draw(st.lists(st.sampled_from(AROUND), max_size=4)):
        command = wrap(command)
    return command


@given(disguised())
@settings(
    max_examples=int(os.environ.get("HOLMES_FUZZ", "800")),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
def test_no_disguise_helps(command: str) -> None:
    verdict = decide(command, POLICY).verdict
    assert verdict.decision != "allow", command


@given(st.text(alphabet="ab $`'\"\\(){}[]<>|&;#!*?~=-\n\t/echo", max_size=40))
@settings(max_examples=int(os.environ.get("HOLMES_FUZZ", "1000")), deadline=None, database=None)
def test_nothing_breaks_the_judge(command: str) -> None:
    assert decide(command, POLICY).verdict.decision in ("allow", "ask", "deny")
