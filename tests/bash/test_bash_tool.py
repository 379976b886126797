"""The tool bash, with real processes and stand-ins for cluster programs."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holmes.core.principal import Principal
from holmes.core.process import ChildProcess
from holmes.core.results import Status, StructuredToolResult
from holmes.tools.tool import ToolContext
from holmes.toolsets.bash.bash import BashTool, make_bash
from holmes.toolsets.bash.config import read_config

pytestmark = pytest.mark.anyio

# Prints its arguments, or does what a test wants it to.
KUBECTL = """#!/usr/bin/env bash
case "$*" in
  *missing*) echo 'Error from server (NotFound): pods "missing" not found' >&2; exit 1 ;;
  *silent*) exit 2 ;;
  *logs*-f*) echo line; exec sleep 60 ;;
  *endless*) while echo y; do :; done ;;
  *killed*) kill -KILL $$ ;;
  *"-o name"*) printf 'pod/a\\n--as=admin\\npod/b\\n' ;;
  *config*) echo "$KUBECONFIG" ;;
  *) printf '%s\\n' "$@" ;;
esac
"""


class Sink:
    """Keeps what it gets."""

    def __init__(self) -> None:
        self.data = b""

    @property
    def size(self) -> int:
        return len(self.data)

    def write(self, chunk: bytes | str) -> None:
        self.data += chunk.encode() if isinstance(chunk, str) else chunk

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


class Clusters:
    """Writes a kubeconfig as a live cluster does."""

    async def child_kubeconfig(self, folder: Path) -> Path:
        path = folder / "kubeconfig"
        path.write_text("{}")
        return path


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory, and a folder with programs in front of PATH."""
    programs = tmp_path / "bin"
    programs.mkdir()
    kubectl = programs / "kubectl"
    kubectl.write_text(KUBECTL)
    kubectl.chmod(kubectl.stat().st_mode | stat.S_IXUSR)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def context(world: Path, sink: Sink, seconds: float = 10.0, clusters: Any = None, **env: str) -> ToolContext:
    path = f"{world.parent / 'bin'}:{os.environ['PATH']}"
    parts: Mapping[str, Any] = {
        "run_id": "r",
        "call_id": "c",
        "principal": Principal(),
        "env": {"PATH": path, "HOME": str(world.parent), "OPENAI_API_KEY": "sk-secret", **env},
        "clusters": clusters or Clusters(),
        "process": ChildProcess(grace=0.2),
        "http": None,
        "sink": sink,
        "results": None,
        "deadline": time.monotonic() + seconds,
        "clock": lambda: datetime.now(UTC),
    }
    return ToolContext(**parts)


async def bash(
    world: Path, command: str, seconds: float = 10.0, config: Mapping[str, Any] | None = None, **env: str
) -> tuple[StructuredToolResult, str]:
    sink = Sink()
    ctx = context(world, sink, seconds, **env)
    tool = BashTool(read_config(config or {}))
    verdict = tool.judge({"command": command}, ctx)
    assert verdict.decision == "allow", verdict
    return await tool.invoke({"command": command}, ctx), sink.text


async def test_a_command_runs_and_its_output_goes_to_the_sink(world: Path) -> None:
    result, text = await bash(world, "kubectl get pods -n prod")
    assert result.status is Status.SUCCESS
    assert text.split() == ["get", "pods", "-n", "prod"]
    assert (result.invocation, result.return_code) == ("kubectl get pods -n prod", 0)


async def test_errors_of_the_program_are_failures_with_its_words(world: Path) -> None:
    result, text = await bash(world, "kubectl get pod missing")
    assert result.status is Status.ERROR
    assert result.return_code == 1
    assert "NotFound" in text


async def test_a_silent_failure_is_not_an_empty_success(world: Path) -> None:
    result, text = await bash(world, "kubectl get pod silent")
    assert result.status is Status.ERROR
    assert "Exit code 2" in result.error and "printed nothing" in result.error
    assert text == ""


async def test_a_failed_left_side_of_a_pipe_is_not_success(world: Path) -> None:
    result, text = await bash(world, "kubectl get pod silent | head -5")
    assert result.status is Status.ERROR
    assert result.return_code == 2
    assert "kubectl" in text
    result, _ = await bash(world, "kubectl get pod silent | grep x")
    assert result.status is Status.ERROR
    result, _ = await bash(world, "kubectl get pod silent 2>/dev/null | wc -l")
    assert result.status is Status.ERROR


async def test_a_reader_that_has_enough_is_no_failure(world: Path) -> None:
    result, text = await bash(world, "kubectl get endless | head -2")
    assert result.status is Status.SUCCESS
    assert text == "y\ny\n"


async def test_grep_without_a_match_found_nothing(world: Path) -> None:
    result, _ = await bash(world, "kubectl get pods | grep CrashLoop")
    assert result.status is Status.NO_DATA
    result, text = await bash(world, "kubectl get pods | grep CrashLoop | wc -l")
    assert (result.status, text.strip()) == (Status.SUCCESS, "0")


async def test_grep_without_a_match_does_not_spoil_what_came_before(world: Path) -> None:
    result, text = await bash(world, "kubectl get nodes; kubectl get pods | grep CrashLoop")
    assert result.status is Status.SUCCESS
    assert "nodes" in text
    assert result.notes == ("grep ended with exit code 1",)


async def test_success_without_output_is_said(world: Path) -> None:
    result, _ = await bash(world, "true")
    assert result.status is Status.NO_DATA
    assert "nothing" in result.text


async def test_exit_codes_that_answer(world: Path) -> None:
    (world / "a").write_text("1\n")
    (world / "b").write_text("2\n")
    result, text = await bash(world, "diff a b")
    assert result.status is Status.SUCCESS
    assert "1" in text


async def test_killed_programs_name_the_cause(world: Path) -> None:
    result, _ = await bash(world, "kubectl get killed")
    assert result.status is Status.ERROR
    assert "137" in result.error and "memory" in result.error


async def test_the_deadline_is_named(world: Path) -> None:
    result, _ = await bash(world, "kubectl get endless > /dev/null", seconds=0.3)
    assert result.status is Status.ERROR
    assert "in time" in result.error


async def test_what_a_follow_flag_brought_is_kept(world: Path) -> None:
    result, text = await bash(world, "kubectl logs -f web", seconds=0.4)
    assert result.status is Status.SUCCESS
    assert text == "line\n"
    assert result.notes


async def test_missing_programs(world: Path) -> None:
    result, _ = await bash(world, "crictl ps", PATH="/usr/bin:/bin")
    assert result.status is Status.ERROR
    assert "not installed" in result.error


async def test_our_keys_do_not_reach_the_command(world: Path) -> None:
    tool = BashTool(read_config({"pass_env": ["OPENAI_API_KEY", "MY_FLAG"]}))
    sink = Sink()
    ctx = context(world, sink, MY_FLAG="on", OTHER="off")
    await tool.invoke({"command": "python3 -c 'import os; print(dict(os.environ))'"}, ctx)
    assert "sk-secret" not in sink.text
    assert "MY_FLAG" in sink.text
    assert "OTHER" not in sink.text


async def test_the_temporary_folder_is_private_and_gone_afterwards(world: Path) -> None:
    result, text = await bash(world, "kubectl config view")
    folder = Path(text.strip()).parent
    assert result.ok
    assert folder.name.startswith("holmes-")
    assert not folder.exists()


async def test_a_snapshot_refuses_programs_of_the_live_cluster(world: Path) -> None:
    async def get() -> Any:
        return SimpleNamespace(name="saved-prod")

    sink = Sink()
    ctx = context(world, sink, clusters=SimpleNamespace(get=get))
    result = await BashTool(read_config({})).invoke({"command": "kubectl get pods"}, ctx)
    assert result.status is Status.ERROR
    assert "saved-prod" in result.error and "kubectl" in result.error
    assert sink.text == ""


async def test_a_denied_command_does_not_run_even_when_invoked(world: Path) -> None:
    sink = Sink()
    result = await BashTool(read_config({})).invoke({"command": "cat /etc/shadow"}, context(world, sink))
    assert result.status is Status.ERROR
    assert sink.text == ""


async def test_an_approved_command_runs_as_it_was_shown(world: Path) -> None:
    sink = Sink()
    ctx = context(world, sink)
    tool = BashTool(read_config({}))
    verdict = tool.judge({"command": "touch 'a b' && echo *"}, ctx)
    assert (verdict.decision, verdict.show) == ("ask", "touch 'a b' && echo *")
    result = await tool.invoke({"command": "touch 'a b' && echo *"}, ctx)
    assert result.ok
    assert sink.text == "a b\n"


async def test_suggested_prefixes_count_only_when_they_occur(world: Path) -> None:
    tool = BashTool(read_config({}))
    ctx = context(world, Sink())
    args = {"command": "kubectl delete pod x", "suggested_prefixes": ["kubectl delete pod", "kubectl get", "rm"]}
    assert tool.judge(args, ctx).prefixes == ("kubectl delete pod",)
    assert tool.judge({"command": "kubectl delete pod x"}, ctx).prefixes == ("kubectl",)


async def test_allow_and_deny_of_the_configuration(world: Path) -> None:
    result, text = await bash(world, "seq 3 | tee /dev/null", config={"allow": ["tee"]})
    assert result.ok
    assert text == "1\n2\n3\n"
    tool = BashTool(read_config({"allow": ["kubectl"], "deny": ["kubectl delete", "kubectl get secret"]}))
    ctx = context(world, Sink())
    for command in (
        "kubectl delete pod x",
        "kubectl -n x delete pod y",
        "kubectl get secrets",
        "kubectl get po,secret",
    ):
        assert tool.judge({"command": command}, ctx).decision == "deny", command
    assert tool.judge({"command": "kubectl scale deploy x"}, ctx).decision == "allow"
    assert tool.judge({"command": "kubectl get secret -o yaml"}, ctx).decision == "deny"


async def test_options_cannot_come_from_data(world: Path) -> None:
    for command in (
        "for p in $(kubectl get pods -o name); do kubectl logs $p; done",
        "kubectl get pods -o name | xargs -n1 kubectl logs",
        "kubectl get pods -o name | xargs -I{} kubectl logs {}",
        "kubectl get pods -o name | while read -r p; do kubectl logs $p; done",
        'kubectl get pods -o name | while read -r p; do kubectl logs "$p"; done',
        "kubectl logs $(kubectl get pods -o name)",
        'kubectl logs "$(kubectl get pods -o name | tail -2 | head -1)"',
        "P=$(kubectl get pods -o name); kubectl logs $P",
    ):
        _, text = await bash(world, command)
        assert "logs" in text, command
        assert "--as=admin" not in text.split(), command


async def test_jq_is_ours(world: Path) -> None:
    result, text = await bash(world, "echo '{\"a\": [1, 2]}' | jq -c .a")
    assert (result.status, text) == (Status.SUCCESS, "[1,2]\n")
    result, text = await bash(world, "echo '{}' | /usr/bin/jq '.a.b'")
    assert (result.status, text) == (Status.SUCCESS, "null\n")


def test_a_wrong_configuration_is_named(world: Path) -> None:
    for config, word in (({"allow": "x"}, "allow"), ({"builtin_allowlist": "all"}, "core"), ({"alow": []}, "alow")):
        with pytest.raises(ValueError, match=word):
            make_bash(config, None)  # type: ignore[arg-type]


def test_the_schema_is_small(world: Path) -> None:
    (tool,) = make_bash({}, None).tools()  # type: ignore[arg-type]
    declared = json.dumps({"name": tool.name, "description": tool.description, "parameters": tool.parameters})
    assert len(declared) / 4 <= 150
    assert tool.parameters["required"] == ["command"]


async def test_endless_output_is_stopped(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holmes.toolsets.bash.bash._OUTPUT", 200_000)
    result, text = await bash(world, "kubectl get endless")
    assert result.status is Status.ERROR
    assert "printed more than" in result.error
    assert 200_000 < len(text) < 2_000_000
