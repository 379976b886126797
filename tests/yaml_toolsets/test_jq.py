"""jq runs as a child that sees no environment, reads no files, and ends in time."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from holmes.core.process import ChildProcess
from holmes.tools.jq import LARGEST, JqResult, jaq_path, jq_environment, run_jq

pytestmark = pytest.mark.anyio
POD = {
    "metadata": {"name": "web-1", "labels": {"app": "web", "module": "a"}},
    "spec": {"containers": [{"image": "x:1"}]},
}


async def jq(program: str, data: bytes | str = "", seconds: float = 10, **more: object) -> JqResult:
    text = data or json.dumps({"items": [POD]})
    return await run_jq(program, text, ChildProcess(), time.monotonic() + seconds, **more)  # type: ignore[arg-type]


async def test_programs() -> None:
    assert await jq(".items | length") == JqResult("1\n")
    assert await jq(".items[].metadata.name", raw=True) == JqResult("web-1\n")
    assert await jq('.items[] | "\\(.metadata.name)=\\(.spec.containers[0].image)"') == JqResult('"web-1=x:1"\n')
    assert (await jq(".items | group_by(.metadata.labels.app) | map(length)", arguments=["-c"])).text == "[1]\n"
    assert (await jq("$name", arguments=["--arg", "name", "-f"])).text == '"-f"\n'
    assert (await jq(".a", '{"a":1}{"a":2}')).text == "1\n2\n"
    assert (await jq("-.items[0].x + 1")).error.startswith("jq: ")
    assert (await jq("-(1)")).text == "-1\n"
    assert (await jq(".none", arguments=["-e"])) == JqResult("null\n")


async def test_errors_are_short_and_show_the_program() -> None:
    assert (await jq(".items[0].metadata.name.x")).error == (
        'jq: cannot index "web-1" with "x"; program: `.items[0].metadata.name.x`'
    )
    assert (await jq(".items | fold(1)")).error == "jq: undefined filter at `fold`; program: `.items | fold(1)`"
    assert "at its end" in (await jq(".items |")).error
    assert "failed to parse" in (await jq(".", '{"a": ')).error
    long = ".items" + " | .[0:1]" * 500 + " | fold"
    assert len((await jq(long)).error) < 400


async def test_what_came_before_an_error_is_kept() -> None:
    result = await jq(".[].a", '[{"a": 1}, 2]')
    assert result.text == "1\n"
    assert result.error


async def test_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert await jq("env, $ENV", arguments=["-c"]) == JqResult("{}\n{}\n")


@pytest.mark.parametrize(
    "program",
    [
        'import "secret" as $s {search: "FOLDER"}; $s',
        '  import "secret" as $s {search: "FOLDER"}; $s',
        '# comment\nimport"secret"as $s{search:"FOLDER"};$s',
        '# comment \\\n . |\nimport "secret" as $s {search: "FOLDER"}; $s',
        'import # comment\n "secret" as $s {search: "FOLDER"}; $s',
        '\u00a0import "secret" as $s {search: "FOLDER"}; $s',
        'module {a: 1}; import "secret" as $s {search: "FOLDER"}; $s',
        'include "functions" {search: "FOLDER"}; leak',
        '\n\n\tinclude\n"functions" {search: "FOLDER"}; leak',
    ],
)
async def test_programs_that_read_files_are_refused(program: str, tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text('"hunter2"')
    (tmp_path / "functions.jq").write_text('def leak: "hunter2";')
    real = program.replace("FOLDER", str(tmp_path))
    bare = subprocess.run([jaq_path({}), "-n", real], capture_output=True, text=True, check=False)
    assert "hunter2" in bare.stdout, "the program does read the file when nobody stops it"
    result = await jq(real)
    assert result.text == ""
    assert "import, include and module" in result.error


@pytest.mark.parametrize(
    "arguments",
    [["-f"], ["-nf"], ["-L", "."], ["--from-file"], ["--rawfile", "a", "x"], ["--slurpfile", "a", "x"], ["-i"]],
)
async def test_options_that_touch_files_are_refused(arguments: list[str]) -> None:
    assert "refused" in (await jq(".", arguments=arguments)).error


async def test_the_words_import_and_module_elsewhere_are_fine() -> None:
    assert (await jq('.items[0].metadata.labels.module, "import \\"x\\""')).error == ""
    assert (await jq("{\n  module: 1,\n  import: .items[0].metadata.labels\n    .module\n} | length")).text == "2\n"


@pytest.mark.parametrize("program", ["def f: f; f", "repeat(1) | empty", "[range(1e12)] | length"])
async def test_programs_without_end_are_stopped(program: str) -> None:
    started = time.monotonic()
    result = await jq(program, seconds=0.3)
    assert "did not end in time" in result.error or "MB" in result.error
    assert time.monotonic() - started < 5


async def test_endless_output_and_too_much_data_name_what_to_do() -> None:
    assert "gives more than 50 MB" in (await jq(f'repeat("{"x" * 1000}")', seconds=30)).error
    assert "use grep" in (await jq(".", b"1" * (LARGEST + 1))).error


async def test_odd_input_is_an_error_and_no_crash() -> None:
    assert "NUL" in (await jq(".\0")).error
    assert "stack" in (await jq("def f: 1 + f; f")).error
    assert (await jq('"\ud800"')).error == ""
    assert (await jq(".", b"\xff\xfe{")).error


async def test_the_word_jq_in_a_script_is_the_same_program(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text('{"a": 1}')
    env = jq_environment({"PATH": "/usr/bin:/bin", "TOKEN": "hunter2"})

    def script(text: str) -> str:
        done = subprocess.run(["bash", "-c", text], env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    assert script("jq .a secret.json") == "1\n"
    assert script("echo 1 | timeout 5 jq -n 'env | length'") == "0\n"
    assert script("printf secret.json | xargs jq .a") == "1\n"
    assert script("echo 1 | jq --unbuffered -c '[.]'") == "[1]\n"
    assert "refused" in script("jq -n --rawfile a secret.json '$a'")
    assert "refused" in script("jq -nrf secret.json")
    assert "refused" in script("""jq -n 'import "secret" as $s {search: "./"}; $s'""")
    assert "no such option" not in script("echo '{}' | jq")
    assert "jaq is missing" in script("HOLMES_JAQ= jq .")
