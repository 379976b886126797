"""What a model fills into a command never becomes shell, an option, or a second rendering."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holmes.tools.rendering import Command, CommandTemplate, Refused, TemplateProblem, render_text

ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}


def command(source: str, parameters: Mapping[str, Any] | None = None, /, **values: Any) -> Command:
    return CommandTemplate(source, parameters).command(values, ENV)


def run(argv: tuple[str, ...], env: Mapping[str, str] = ENV, cwd: Path | None = None) -> str:
    done = subprocess.run(argv, env=env, cwd=cwd, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    return (done.stdout + done.stderr).decode("utf-8", "surrogateescape")


def typed(shown: str) -> tuple[str, ...]:
    return ("bash", "--noprofile", "--norc", "-c", shown)


TEMPLATES = [
    """kubectl get {{ kind }} -n "{{ ns }}" | grep '{{ pat }}'""",
    """kubectl get '{{ kind }}' -n {{ ns }} | grep "{{ pat }}" """,
    """kubectl get x{{ kind }}y -n 'a {{ ns }} b' "it's {{ pat }}" """,
    """kubectl get $'a\\t{{ kind }}' "$(printf %s {{ ns }})" "`printf %s "{{ pat }}"`" """,
    """NS="{{ ns }}"; kubectl get "{{ kind }}" -n "$NS"; grep x <<< '{{ pat }}'""",
    """f() { kubectl get "$1" -n {{ ns }}; }; f {{ kind }}; echo {{ pat }}""",
    """cat <<EOF | kubectl apply\n{{ kind }} "{{ ns }}"\nEOF\necho '{{ pat }}'""",
    """cat <<'EOF' | kubectl apply\n{{ kind }} "$({{ ns }})" `{{ pat }}`\nEOF\n""",
    """# {{ kind }}\nif [ "{{ ns }}" = x ]; then ls; fi; for i in {{ kind }} '{{ pat }}'; do echo "$i"; done""",
    """kubectl get \\{{ kind }} "\\{{ ns }}" '\\{{ pat }}'""",
    """kubectl get {{ kind | upper }} {{ ns if ns else '-A' }} {{ pat ~ "!" }}""",
    """kubectl get {{ kind }} {% for n in [ns, pat] %}{{ n }} {% endfor %}""",
]
EVIL = [
    "'; touch FILE; '",
    '"; touch FILE; "',
    "$(touch FILE)",
    "`touch FILE`",
    "a\ntouch FILE\n",
    "a\nEOF\ntouch FILE\n",
    "; touch FILE #",
    "| touch FILE",
    "\\'; touch FILE; \\'",
    "${IFS}$(touch FILE)",
    "{{ 7 * 7 }}",
    "{% include '/etc/passwd' %}",
    "{{ env.HOME }}",
    "*",
    "a[$(touch FILE)]",
]


@pytest.mark.parametrize("template", TEMPLATES)
def test_no_value_gets_out_of_its_place(template: str, tmp_path: Path) -> None:
    """Run for real, with a kubectl that shows its arguments and its input."""
    kubectl = tmp_path / "bin" / "kubectl"
    kubectl.parent.mkdir()
    kubectl.write_text('#!/bin/bash\nprintf "<%s>\\n" "$@"; cat\n')
    kubectl.chmod(0o755)
    folder = tmp_path / "folder"
    folder.mkdir()
    victim = folder / "victim"
    env = {**ENV, "PATH": f"{kubectl.parent}:{ENV['PATH']}", "HOME": "/home/nobody"}
    for evil in EVIL:
        value = evil.replace("FILE", str(victim))
        made = CommandTemplate(template).command({"kind": value, "ns": value, "pat": value}, env)
        output = run(made.argv, env, folder)
        assert not victim.exists(), value
        assert "49" not in output
        assert "/home/nobody" not in output
        if "grep" not in template:
            assert value.strip("\n").upper() in output.upper(), f"{value!r} arrives as it is"
        run(typed(made.shown), env, folder)
        assert not victim.exists(), f"what is shown to people is as safe: {made.shown}"


WORD = st.tuples(
    st.sampled_from(["M", "aM", "Mb", "'M'", "'a M'", '"M"', '"a M$b"', '"M M"', "$'M'", "$'\\ta M'", "a'M'\"M\"M"])
    | st.sampled_from(['"$(printf %s M)"', '"`printf %s M`"', "\\M", '"\\\\M"', '"it\'s M"', "'M'M'M'", "${x:-M}"])
    | st.sampled_from(
        ['"${x:-M}"', '"${x:-"M"}"', "\"${x:-'M'}\"", "$(printf %s 'M')", '"a\\"M\\""', "x'\"'M", "#M", "a#M"]
    ),
)
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
NASTY = st.lists(st.sampled_from("' \" $ ` \\ \n ; & | ( ) { } * ? ~ ! # $(id) EOF a - < > % é".split(" ")), max_size=8)


@settings(deadline=None, database=None, max_examples=120, suppress_health_check=list(HealthCheck))
@given(st.lists(WORD, min_size=1, max_size=4), TEXT | NASTY.map("".join))
def test_any_value_in_any_quotes_arrives_as_it_is(words: list[tuple[str]], value: str) -> None:
    """Placeholders against the same words with a harmless value, which bash itself reads."""
    written = " ".join(word for (word,) in words)
    source = f"printf '<%s>\\0' {written}; printf '%s\\0' end"
    stand_in = "STANDIN"
    plain = run(typed(source.replace("M", stand_in)))
    try:
        made = command(source.replace("M", "{{ v }}"), v=value)
    except Refused:
        assert value.startswith("-") or (any(char in value for char in " \t\n*?[") and "$(printf %s 'M')" in written)
        return
    if "printf" in written and (value == "" or value.endswith("\n")):
        return  # $(...) drops line ends, and makes no word of nothing
    assert run(made.argv) == plain.replace(stand_in, value)
    odd = "'M'}" in written or ("{x" in written and value.endswith("\n")) or ("`" in written and "\\" in value)
    if not odd:  # in these three places text for people is safe, but not exact
        assert run(typed(made.shown)) == plain.replace(stand_in, value)


@pytest.mark.parametrize(
    "source",
    [
        "kubectl get {{ v }}",
        "kubectl get '{{ v }}'",
        'kubectl get "{{ v }}" -o json',
        "kubectl get \\{{ v }}",
        "kubectl get ${X:-{{ v }}}",
        "kubectl get {{ none }}{{ v }}",
        "kubectl get {{ none ~ v }}",
        "kubectl get {a,{{ v }}}",
        "kubectl exec pod -- grep {{ v }}",
        "kubectl get $X{{ v }}",
        "kubectl get pods | grep {{ v }}",
        "kubectl get pods -o json | jq '{{ v }}'",
        'X="{{ v }}"; kubectl get "$X"',
        'for x in a "{{ v }}"; do kubectl get $x; done',
        'f() { kubectl get "$@"; }; f x {{ v }}',
        'kubectl get "$(echo {{ v }})"',
        'echo "{{ v }}" | while read x; do kubectl get "$x"; done',
        'FLAGS="-n {{ v }}"; kubectl get $FLAGS',
        "find {{ v }} -name x",
        "test {{ v }} x",
    ],
)
@pytest.mark.parametrize("value", ["-o=/etc/x", "--kubeconfig=/evil", "-"])
def test_a_value_cannot_become_an_option(source: str, value: str) -> None:
    with pytest.raises(Refused, match=r"^v: the value -.* starts with - and could become an option"):
        command(source, v=value)


@pytest.mark.parametrize(
    "source",
    [
        "kubectl get x{{ v }}",
        "kubectl get --selector={{ v }}",
        "kubectl get -l app={{ v }}",
        "grep -- {{ v }} file",
        "echo {{ v }}",
        "X={{ v }}; echo done",
        "[[ {{ v }} == x ]]",
        "cat <<< {{ v }}",
        "cat <<EOF\n{{ v }}\nEOF\n",
        "# {{ v }}\nkubectl get",
    ],
)
def test_a_leading_dash_is_fine_where_it_is_no_option(source: str) -> None:
    assert "-o=/x" in "".join(command(source, v="-o=/x").argv)


def test_numbers_may_be_negative_and_own_words_are_the_authors() -> None:
    assert command("head -n {{ v }}", {"v": {"type": "integer"}}, v=-5).argv == ("head", "-n", "-5")
    own = {"v": {"type": "string", "enum": ["-A", "--all"]}}
    assert command("kubectl get pods {{ v }}", own, v="-A").argv == ("kubectl", "get", "pods", "-A")


def test_the_authors_own_words_in_placeholders_stay_shell() -> None:
    source = "kubectl get pods {{ '-n ' ~ ns if ns else '-A' }} {{ wide | default('-o wide') }}"
    assert command(source, ns="a b").argv == ("kubectl", "get", "pods", "-n", "a b", "-o", "wide")
    assert command(source).argv == ("kubectl", "get", "pods", "-A", "-o", "wide")
    assert command("kubectl get {{ a or '-A' }} {{ ('-n ' + b) if b }}").argv == ("kubectl", "get", "-A")
    assert command("docker ps --format '{{ \"{{.Names}}\" }}'").argv == ("docker", "ps", "--format", "{{.Names}}")
    macro = "{% macro flag(x) %}-n '{{ x }}'{% endmacro %}kubectl get {{ flag(ns) }}"
    assert command(macro, ns="a'b").argv == ("kubectl", "get", "-n", "a'b")


@pytest.mark.parametrize("source", ["X={{ v }}; kubectl get $X", "kubectl get $(echo {{ v }})", "X={{ v }}; A=($X)"])
@pytest.mark.parametrize("value", ["a --kubeconfig=/evil", "a\nb", "*"])
def test_a_value_cannot_become_several_words(source: str, value: str) -> None:
    with pytest.raises(Refused, match="several words"):
        command(source, v=value)
    command(source, v="plain")


def test_values_that_no_argument_can_have() -> None:
    for value, word in (("a\0b", "NUL"), ("\ud800", "surrogate"), ("x" * 100_001, "100,001 bytes")):
        with pytest.raises(Refused, match=f"^v: .*{word}"):
            command("echo {{ v }}", v=value)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("sh -c 'echo {{ v }}'", "the program text of sh"),
        ("bash -ec {{ v }}", "the program text of bash"),
        ("kubectl get pods | awk '$1 == \"{{ v }}\"'", "the program text of awk"),
        ("sed -n '/{{ v }}/p' file", "the program text of sed"),
        ("python3 -c 'print({{ v }})'", "the program text of python3"),
        ("perl -ne 'print if /{{ v }}/'", "the program text of perl"),
        ("timeout 5 env A=1 xargs -n 1 sh -c '{{ v }}'", "the program text of sh"),
        ("eval kubectl {{ v }}", "the program text of eval"),
        ("kubectl exec pod -- sh -c 'cat {{ v }}'", "the command that kubectl runs"),
        ("docker exec app {{ v }}", "the command that docker runs"),
        ("{{ v }} get pods", "the name of the program"),
        ("timeout 5 {{ v }}", "the name of the program"),
        ("PATH={{ v }} kubectl", "the variable PATH"),
        ("echo $(( {{ v }} + 1 ))", "arithmetic"),
        ("[[ {{ v }} -gt 1 ]]", "arithmetic"),
        ("[ -v {{ v }} ]", "arithmetic"),
        ("echo ${a[{{ v }}]}", "arithmetic"),
        ("echo ${a:{{ v }}:1}", "arithmetic"),
        ("declare -i x={{ v }}", "arithmetic"),
        ("X={{ v }}; echo ${!X}", "name"),
        ("X={{ v }}; echo ${X@P}", "name"),
        ("kubectl get pods > {{ v }}", "a file that is written"),
        ("echo {{ v }} | sh", "the input of sh"),
        ("bash <<EOF\necho {{ v }}\nEOF\n", "the input of bash"),
        ("python3 - <<< '{{ v }}'", "the input of python3"),
        ("echo {{ v }} | xargs kubectl get", "the input of xargs"),
        ('X="{{ v }}"; eval "$X"', "the program text of eval"),
        ("X='kubectl get {{ v }}'; bash -c \"$X\"", "the program text of bash"),
        ('f() { eval "$1"; }; f {{ v }}', "the program text of eval"),
        ('sh -c "$(echo {{ v }})"', "the program text of sh"),
        ("echo {{ v }} | while read x; do eval $x; done", "the program text of eval"),
        ("export {{ v }}=1", "name"),
        ("{% if v %}sh -c {{ v }}{% else %}ls{% endif %}", "the program text of sh"),
        ("echo 'unfinished {{ v }}", "cannot be read as shell"),
        ("cat <<EOF\n{{ v }}", "cannot be read as shell"),
    ],
)
def test_program_text_is_noticed_when_loading_and_when_running(source: str, reason: str) -> None:
    template = CommandTemplate(source)
    assert any(reason in hazard for hazard in template.hazards())
    assert any(reason in hazard for hazard in template.command({"v": "word"}, ENV).hazards)


@pytest.mark.parametrize(
    "source",
    [
        "kubectl get {{ kind }} -o json | jq '.items[] | select({{ v }})'",
        "kubectl get node {{ v }}",
        "kubectl get pods | awk -v name={{ v }} '$1 == name'",
        "awk '{print $1}' {{ v }}",
        "sed -n 1p {{ v }}",
        "sh -c 'cat \"$1\"' sh {{ v }}",
        "python3 script.py {{ v }}",
        "kubectl exec {{ v }} -- cat /etc/hosts",
        "kubectl get pods -l app={{ v }} -o name | xargs kubectl describe",
        "psql -h {{ v }} -c 'select 1'",
        "case {{ v }} in a) echo a;; esac",
        "cat < {{ v }}",
        "grep sh {{ v }}",
        "# sh -c {{ v }}\nls",
        "[[ {{ v }} == a* ]] && [ {{ v }} = a ]",
        'echo {{ v }}; x=$(mktemp); kubectl get {{ v }} 2> "$x"; kubectl get ns | while read n; do eval $n; done',
    ],
)
def test_data_is_no_hazard(source: str) -> None:
    assert CommandTemplate(source).hazards() == []
    assert command(source, v="word", kind="pods").hazards == ()


def test_numbers_are_no_hazard() -> None:
    source = "sed -n '{{ low }},{{ high }}p' f; echo $(( {{ low }} + 1 ))"
    whole = {"low": {"type": "integer"}, "high": {"type": "integer"}}
    assert CommandTemplate(source, whole).hazards() == []
    assert command(source, whole, low=1, high=2).hazards == ()


def test_environment_variables_stay_out_of_the_command() -> None:
    source = "printf '<%s>' \"${TOKEN}\" $TOKEN '${TOKEN}' {{ env.TOKEN }} '{{ env.TOKEN }}' '$TOKEN' '${other}'"
    env = {**ENV, "TOKEN": "hunter2"}
    made = CommandTemplate(source).command({}, env)
    assert "hunter2" not in made.shown
    assert "hunter2" not in "".join(made.argv)
    assert run(made.argv, env) == "<hunter2>" * 5 + "<$TOKEN><${other}>"
    assert run(typed(made.shown), env) == run(made.argv, env)


def test_headers_of_the_request_come_in_any_case_and_are_not_shown() -> None:
    template = CommandTemplate("curl -H 'X: {{ request_context.headers[\"X-Token\"] }}' http://host/")
    made = template.command({"request_context": "the model's own"}, ENV, {"x-token": "hunter2"})
    assert made.argv == ("curl", "-H", "X: hunter2", "http://host/")
    assert "hunter2" not in made.shown


def test_what_a_template_asks_for() -> None:
    source = "a {{ kind }} {% if namespace %}{{ namespace }}{% endif %} {% for x in names %}{{ x }}{% endfor %} "
    source += "${A} $B {{ env.C }} {{ env['D'] | default('d') }} {% set y = 1 %}{{ y }} {{ request_context.headers.z }}"
    template = CommandTemplate(source, {"names": {"type": "array"}})
    assert template.undeclared == ["kind", "namespace"]
    assert template.variables == {"A", "B"}
    assert template.environment == {"C", "D"}
    assert template.needed == ["C"]


def test_a_parameter_called_namespace_is_no_global_of_jinja() -> None:
    assert command("kubectl get pods{% if namespace %} -n {{ namespace }}{% endif %}").argv == (
        "kubectl",
        "get",
        "pods",
    )


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        ("a\n{{ x", 2, "no valid template"),
        ("docker ps --format '{{.Names}}'", 1, "raw"),
        ("{{ x | nofilter }}", 1, "nofilter"),
        ("\n\n{% include 'other' %}", 3, "no files"),
    ],
)
def test_what_is_no_template(source: str, line: int, words: str) -> None:
    with pytest.raises(TemplateProblem, match=words) as caught:
        CommandTemplate(source)
    assert caught.value.line == line


def test_templates_are_sandboxed_and_their_faults_are_refusals() -> None:
    for source in ("{{ v.__class__.__mro__ }}", "{{ v.none.none }}", "{{ 1 // 0 }}", "{{ range(999999999) | list }}"):
        with pytest.raises(Refused):
            command(f"echo {source}", v="a")


def test_bash_runs_only_what_needs_a_shell() -> None:
    assert command("kubectl get {{ v }} \"a b\" 'c'", v="$(id)").argv == ("kubectl", "get", "$(id)", "a b", "c")
    for source in ("ls *", "ls | cat", "cd x", "ls ~", "A=1 ls", "ls $HOME", "ls\npwd", "ls > f", "ls \\x"):
        assert command(source).argv[0] == "bash"


def test_a_line_may_go_on_to_a_part_that_is_not_there() -> None:
    source = "kubectl get pods \\\n  {% if ns %}-n {{ ns }}{% endif %} \\\n  {% if wide %}-o wide{% endif %}\n"
    assert CommandTemplate(source).hazards() == []
    assert command(source).argv == ("kubectl", "get", "pods")
    assert run(command(source.replace("kubectl get pods", "printf '<%s>'"), ns="a").argv) == "<-n><a>"


def test_prose_keeps_placeholders_without_a_value() -> None:
    assert render_text("get {{ kind }} in {{ namespace }}", {"kind": "pods"}) == "get pods in {{ namespace }}"
    with pytest.raises(TemplateProblem):
        render_text("{{ x", {})
