"""Tools written in YAML, run for real."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from holmes.core.principal import Principal
from holmes.core.results import Status, StructuredToolResult
from holmes.core.yaml_marks import load
from holmes.tools.arguments import coerce
from holmes.tools.tool import Health, ToolContext
from holmes.tools.yaml_loader import load_toolsets
from holmes.tools.yaml_toolset import YAMLTool, YAMLToolset
from support.tool_context import call, context, services

SYSTEM = "/usr/local/bin:/usr/bin:/bin"
Program = Callable[[str, str], None]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "bin").mkdir()
    return {"PATH": f"{tmp_path / 'bin'}:{SYSTEM}", "HOME": str(tmp_path), "LANG": "C.UTF-8"}


@pytest.fixture
def program(tmp_path: Path, env: Mapping[str, str]) -> Program:
    """Puts a bash program on PATH."""

    def put(name: str, body: str) -> None:
        path = tmp_path / "bin" / name
        path.write_text(f"#!/bin/bash\n{body}\n")
        path.chmod(0o755)

    return put


def toolset(text: str, env: Mapping[str, str]) -> YAMLToolset:
    found, problems = load_toolsets(load(text, "demo.yaml"), env)
    assert not [str(problem) for problem in problems if not problem.warning]
    return YAMLToolset(found[0], services(env=env))


def tool(command: str, env: Mapping[str, str], more: str = "") -> YAMLTool:
    indented = "\n".join(f"          {line}" for line in command.splitlines())
    text = f"demo:\n  tools:\n    - name: it\n      description: does it\n      script: |\n{indented}\n{more}"
    (found,) = toolset(text, env).tools()
    assert isinstance(found, YAMLTool)
    return found


def run(
    command: str, env: Mapping[str, str], /, seconds: float = 20, more: str = "", **args: Any
) -> StructuredToolResult:
    return call(tool(command, env, more), context(env=env, seconds=seconds), **args)


def opened(text: str, env: Mapping[str, str]) -> Health:
    return anyio.run(toolset(text, env).open)


EXAMPLE = """
toolsets:
  kubernetes/own:
    description: Queries over Kubernetes objects
    tools:
      - name: kubernetes_jq_query
        description: Runs a jq expression over all objects of a kind
        user_description: "jq {{ jq_expr }} over {{ kind }}"
        parameters:
          kind: {type: string, description: plural, required: true}
          jq_expr: {type: string, description: jq expression, required: true}
        script: kubectl get {{ kind }} -o json | jq '{{ jq_expr }}'
        transformers: [{type: llm_summarize, max_tokens: 2000}]
"""


def test_a_tool_from_beginning_to_end(env: dict[str, str], program: Program) -> None:
    program("kubectl", """[ "$*" = "get pods -o json" ] && echo '{"items": [{"name": "it'"'"'s"}, {"name": "b"}]}'""")
    (it,) = toolset(EXAMPLE, env).tools()
    assert isinstance(it, YAMLTool)
    assert it.effect == "read"
    assert it.parameters["required"] == ["kind", "jq_expr"]
    assert it.transformers == ({"type": "llm_summarize", "max_tokens": 2000},)
    args = {"kind": "pods", "jq_expr": '.items[] | select(.name == "it\'s") | .name'}
    assert it.describe_call(args) == """jq .items[] | select(.name == "it's") | .name over pods"""
    assert it.judge(args, context(env=env)).decision == "allow"
    result = call(it, context(env=env), **args)
    assert (result.status, result.text, result.return_code) == (Status.SUCCESS, '"it\'s"\n', 0)
    assert result.invocation == ("""kubectl get pods -o json | jq '.items[] | select(.name == "it'"'"'s") | .name'""")


def test_what_a_model_fills_in_touches_no_file(env: dict[str, str], program: Program, tmp_path: Path) -> None:
    program("kubectl", 'printf "<%s>\\n" "$@"')
    victim = tmp_path / "victim"
    it = tool("kubectl get {{kind}} -n \"{{ns}}\" | grep '{{pat}}'", env)
    values = [f"'; touch {victim}; '", f"$(touch {victim})", f"`touch {victim}`", f"\ntouch {victim}\n", "{{7*7}}"]
    values += ["-o=/etc/x", "--kubeconfig=/evil", "a\0b", "{% include '/etc/passwd' %}"]
    for value in values:
        for name in ("kind", "ns", "pat"):
            args, problem = coerce({"kind": "pods", "ns": "default", "pat": "pods"} | {name: value}, it.parameters)
            assert problem == ""
            result = call(it, context(env=env), **args)
            assert not victim.exists()
            if value.startswith("-") or "\0" in value:
                assert result.status is Status.ERROR
                assert result.error.startswith(f"Not run: {name}: ")
            else:
                assert result.ok
                assert "49" not in result.text


def test_the_text_that_a_person_approves_is_the_command_that_runs(env: dict[str, str], program: Program) -> None:
    program("kubectl", 'printf "<%s>" "$@"')
    more = "  approval_required_tools: ['i*']\n"
    it = tool("kubectl delete pod {{ name }} -n '{{ ns }}'", env, more)
    verdict = it.judge({"name": "a b", "ns": "$(id)"}, context(env=env))
    assert (verdict.decision, verdict.rule) == ("ask", "approval_required_tools")
    assert verdict.show == "kubectl delete pod 'a b' -n '$(id)'"
    assert it.effect == "unknown"
    assert call(it, context(env=env), name="a b", ns="$(id)").invocation == verdict.show


def test_program_text_from_a_model_needs_approval(env: dict[str, str]) -> None:
    it = tool("{% if code %}sh -c '{{ code }}'{% else %}date{% endif %}", env, "")
    assert it.effect == "unknown"
    verdict = it.judge({"code": "id"}, context(env=env))
    assert verdict.decision == "ask"
    assert "code stands in the program text of sh" in verdict.reason
    assert verdict.show == "sh -c id"
    assert it.judge({}, context(env=env)).decision == "allow"


@pytest.mark.parametrize(
    ("command", "status", "words"),
    [
        ("exit 2", Status.ERROR, "exit status 2 and printed no reason"),
        ("echo partly; echo 'no such host' >&2; exit 3", Status.ERROR, "exit status 3: no such host"),
        ("kill -9 $$", Status.ERROR, "exit status 137"),
        ("kill -11 $$", Status.ERROR, "killed by signal 11"),
        ("sh -c 'kill -9 $$'; exit $?", Status.ERROR, "exit status 137"),
        ("false | cat", Status.ERROR, "exit status 1"),
        ("(echo bad >&2; exit 4) | cat", Status.ERROR, "exit status 4: bad"),
        ("false | grep x", Status.NO_DATA, ""),  # it said nothing of a failure
        ("(echo bad >&2; exit 1) | grep x", Status.ERROR, "exit status 1: bad"),
        ("yes | head -n 1", Status.SUCCESS, ""),
        ("seq 100000 | grep -q 5", Status.NO_DATA, ""),
        ("echo a | grep b", Status.NO_DATA, ""),
        ("echo a | grep b | cat", Status.NO_DATA, ""),
        ("echo a | grep -c b", Status.SUCCESS, ""),
        ("if true; then echo a | grep b; fi", Status.NO_DATA, ""),
        ("grep nothing /dev/null", Status.NO_DATA, ""),
        ("grep x /no/such/file", Status.ERROR, "exit status 2: grep: /no/such/file: No such file"),
        ("true", Status.NO_DATA, ""),
        ("echo '  '", Status.NO_DATA, ""),
        ("no_such_program_x", Status.ERROR, "no_such_program_x is not installed"),
        ("no_such_program_x | cat", Status.ERROR, "is not installed here (not on PATH): "),
        ("echo 'No resources found in x namespace.' >&2", Status.NO_DATA, ""),
        ('read -r line; echo "got <$line>"', Status.SUCCESS, ""),  # stdin is closed: nobody is asked
        ("set -e; false; echo not reached", Status.ERROR, "exit status 1"),
        ("cat <<EOF | grep x\na\nEOF", Status.NO_DATA, ""),
        ("false | cat <<EOF\na\nEOF", Status.ERROR, "exit status 1"),
        ("echo out; exit 0 | false", Status.ERROR, "exit status 1: out"),
        ("false || echo a | grep b", Status.NO_DATA, ""),
        ("set -- a b; shift; f() { echo $#; }; f x y z; echo $# | cat", Status.SUCCESS, ""),
    ],
)
def test_how_a_command_ends(command: str, status: Status, words: str, env: dict[str, str]) -> None:
    result = run(command, env)
    assert (result.status, result.error) if words == "" else result.status == status
    assert result.status is status, result.error
    assert words in result.error


def test_output_is_kept_and_stderr_comes_behind_it(env: dict[str, str]) -> None:
    result = run("echo first >&2; printf second; echo third >&2", env)
    assert (result.status, result.text) == (Status.SUCCESS, "second\nfirst\nthird\n")
    result = run("echo partly; echo why >&2; exit 1", env)
    assert (result.status, result.text) == (Status.ERROR, "partly\nwhy\n")
    long = run("head -c 3000000 /dev/zero | tr '\\0' x >&2; echo end", env)
    assert len(long.text.replace("\n", "")) == 3_000_003


@pytest.mark.parametrize(
    "command", ["trap '' TERM; while :; do sleep 0.05; done", "sleep 60 | cat", "(sleep 60 &) ; sleep 60"]
)
def test_what_does_not_end_is_stopped_and_what_it_printed_is_kept(command: str, env: dict[str, str]) -> None:
    started = time.monotonic()
    result = run(f"echo begun\n{command}", env, seconds=0.4)
    assert time.monotonic() - started < 5
    assert result.status is Status.ERROR
    assert "did not end in time" in result.error
    assert result.text == "begun\n"


def test_output_arrives_while_the_command_runs(env: dict[str, str]) -> None:
    async def main() -> None:
        ctx = context(env=env, seconds=10)
        async with anyio.create_task_group() as group:
            group.start_soon(tool("echo early; sleep 60", env).invoke, {}, ctx)
            with anyio.fail_after(5):
                while not ctx.sink.size:
                    await anyio.sleep(0.01)
            group.cancel_scope.cancel()

    anyio.run(main)


def test_a_child_gets_only_what_its_toolset_declares(env: dict[str, str]) -> None:
    env |= {
        "DECLARED": "d1",
        "USED": "u1",
        "FROM_ENV": "f1",
        "HIDDEN": "h1",
        "OPENAI_API_KEY": "sk",
        "KUBECONFIG": "/k",
    }
    script = "echo $USED {{ env.FROM_ENV }} {{ env.OPENAI_API_KEY }} $OPENAI_API_KEY; env"
    result = run(script, env, more="  prerequisites: [{env: [DECLARED]}]\n")
    assert result.text.startswith("u1 f1\n")
    for name in ("DECLARED=d1", "USED=u1", "FROM_ENV=f1", "KUBECONFIG=/k"):
        assert name in result.text.splitlines()
    assert "HIDDEN" not in result.text
    assert "OPENAI_API_KEY" not in result.text
    assert "u1" not in result.invocation
    assert "f1" not in result.invocation


def test_jq_in_a_script_sees_no_environment_and_reads_no_files(env: dict[str, str], tmp_path: Path) -> None:
    env["TOKEN"] = "hunter2"
    (tmp_path / "secret.json").write_text('"hunter2"')
    it = tool("echo $TOKEN > /dev/null; jq -n '{{ program }}'", env)
    assert call(it, context(env=env), program="env.TOKEN").text == "null\n"
    wrong = call(it, context(env=env), program=".a | foo")
    assert wrong.error == "The command failed: exit status 3: jq: undefined filter at `foo`"
    stolen = call(it, context(env=env), program=f'import "secret" as $s {{search: "{tmp_path}"}}; $s')
    assert "hunter2" not in stolen.text
    assert "import, include and module" in stolen.error


def test_optional_parameters_given_as_empty_text_are_not_given(env: dict[str, str], program: Program) -> None:
    program("kubectl", 'printf "<%s>" "$@"')
    text = """
demo:
  tools:
    - name: it
      description: d
      parameters:
        kind: {type: string}
        namespace: {type: string, required: false}
      command: kubectl get {{ kind }} {{ namespace }} {% if namespace %}-n {{ namespace }}{% endif %}
"""
    (it,) = toolset(text, env).tools()
    assert call(it, context(env=env), kind="", namespace="").text == "<get><>"
    assert call(it, context(env=env), kind="a").text == "<get><a>"
    assert call(it, context(env=env), kind="a", namespace="b").text == "<get><a><b><-n><b>"


def test_headers_of_the_request(env: dict[str, str]) -> None:
    it = tool("printf %s '{{ request_context.headers[\"X-User\"] }}'", env)
    ctx: ToolContext = context(env=env, principal=Principal(headers={"x-user": "ann; id"}))
    result = call(it, ctx)
    assert result.text == "ann; id"
    assert "ann" not in result.invocation


def test_instructions_know_tools_and_config_and_keep_other_placeholders(env: dict[str, str]) -> None:
    text = """
demo:
  config: {url: "http://host"}
  llm_instructions: "Use {{ tool_names | join(' and ') }} of {{ config.url }} with `logs {{ pod }}`"
  transformers: [{name: log_dedupe}]
  tools:
    - {name: one, description: d, command: date, transformers: [{name: llm_summarize, config: {input_threshold: 10}}]}
    - {name: two, description: d, command: date}
"""
    loaded = toolset(text, env)
    assert loaded.instructions == "Use one and two of http://host with `logs {{ pod }}`"
    one, two = loaded.tools()
    assert [each["name"] for each in one.transformers] == ["log_dedupe", "llm_summarize"]  # type: ignore[attr-defined]
    assert [each["name"] for each in two.transformers] == ["log_dedupe"]  # type: ignore[attr-defined]


def prerequisites(text: str) -> str:
    return f"demo:\n  docs_url: http://docs\n  prerequisites: {text}\n  tools: []\n"


def test_prerequisites_that_are_met(env: dict[str, str], tmp_path: Path) -> None:
    env |= {"EMPTY": "", "WORD": "ready"}
    text = "[{command: 'echo is ${WORD} $EMPTY', expected_output: is ready}, {env: [EMPTY, WORD]}, {enabled: true}]"
    assert opened(prerequisites(text), env) == Health("enabled")


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ("[{env: [A_UNSET]}]", "failed", "the environment variable A_UNSET is not set"),
        ("[{env: [A_UNSET]}, {env: [HOME, B_UNSET]}]", "failed", "the environment variables A_UNSET, B_UNSET are not"),
        ("[{command: exit 1}, {env: [A_UNSET]}]", "failed", "the environment variable A_UNSET"),
        ("[{command: exit 1}, {enabled: false, disabled_reason: needs a licence}]", "disabled", "needs a licence"),
        ("[{command: 'echo no route >&2; exit 7'}]", "failed", "exit status 7: no route"),
        ("[{command: 'true'}, {command: no_such_program_x}]", "failed", "no_such_program_x is not installed"),
        ("[{command: echo 1.2, expected_output: '1.3'}]", "failed", 'echo 1.2 did not print "1.3"'),
        ("[{command: 'false | cat'}]", "failed", "exit status 1"),
    ],
)
def test_the_first_prerequisite_that_is_not_met_decides(
    text: str, status: str, reason: str, env: dict[str, str]
) -> None:
    health = opened(prerequisites(text), env)
    assert health.status == status
    assert reason in health.reason
    assert status == "disabled" or "http://docs" in health.remedy


def test_a_prerequisite_that_hangs_is_stopped_at_the_deadline(env: dict[str, str]) -> None:
    from dataclasses import replace

    found, _ = load_toolsets(load(prerequisites("[{command: sleep 60}]"), "demo.yaml"), env)
    started = time.monotonic()
    health = anyio.run(YAMLToolset(found[0], replace(services(env=env), deadline=0.3)).open)
    assert time.monotonic() - started < 5
    assert (health.status, health.reason) == ("failed", "sleep 60 did not end within 0.3 s")


def test_installation_instructions_are_the_remedy(env: dict[str, str]) -> None:
    text = "demo:\n  installation_instructions: brew install it\n  prerequisites: [{env: [A_UNSET]}]\n"
    assert opened(text, env).remedy == "brew install it"
