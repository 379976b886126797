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
    """# {{ kind }}\nif [ "{{ ns }}" = x ]; then kubectl get; fi; for i in {{ kind }} '{{ pat }}'; do echo "$i"; done""",
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
    | st.sampled_from(["\"$(printf %s M)\"", '"`printf %s M`"', "\\M", '"\\\\M"', "\"it's M\"", "'M'M'M'", '${x:-M}'])
    | st.sampled_from(['"${x:-M}"', '"${x:-"M"}"', "\"${x:-'M'}\"", "$(printf %s 'M')", '"a\\"M\\""', "x'\"'M", "#M", "a#M"]),
)
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
NASTY = st.lists(st.sampled_from("' \" $ ` \\ \n ; & | ( ) { } * ? ~ ! # $(id) EOF a - < > % é".split(" ")), max_size=8)


@settings(deadline=None, database=None, max_examples=1500, suppress_health_check=list(HealthCheck))
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
    if "'M'}" not in written and not ("{x" in written and value.endswith("\n")):  # what nobody writes
        assert run(typed(made.shown)) == plain.replace(stand_in, value)
