"""Every decision about a call is kept: by whom, about what, by which rule. And the policy explains itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holmes.agent.engine import RunOptions
from holmes.core.events import ApprovalRequired, Record
from holmes.core.messages import ToolCall
from holmes.llm.scripted import ScriptedLLM
from support.engines import engine, say
from support.openai_server import OpenAIServer
from support.subprocesses import holmes


async def decisions(mode: Any, approve: bool | None = None) -> list[dict[str, Any]]:
    llm = ScriptedLLM([[ToolCall("", "pods", {"x": "AKIAIOSFODNN7EXAMPLE"}), ToolCall("", "write", {})], "done"])
    async with engine(llm, [say("pods"), say("write", effect="write")]) as it:
        run = await it.start("go", RunOptions(approve=mode, approvals="wait" if approve is not None else "refuse"))
        async for entry in run.log.read():
            if isinstance(entry.event, ApprovalRequired):
                await run.decide(entry.event.pending_approvals[0]["tool_call_id"], bool(approve), "no")
        records = [entry.event for entry in run.log.kept() if isinstance(entry.event, Record)]
    return [dict(record.data) for record in records if record.what == "decision"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("mode", "approve", "actor", "verdict"),
    [
        ("never", None, "policy", "deny"),
        ("always", None, "policy", "allow"),
        ("ask", True, "person", "allow"),
        ("ask", False, "person", "deny"),
    ],
)
async def test_each_decision_is_recorded(mode: str, approve: bool | None, actor: str, verdict: str) -> None:
    read, write = await decisions(mode, approve)
    assert (read["actor"], read["tool"], read["verdict"]) == ("policy", "pods", "allow")
    assert (write["actor"], write["tool"], write["verdict"]) == (actor, "write", verdict)
    assert write["policy"] == "ask"
    assert "AKIAIOSFODNN7EXAMPLE" not in json.dumps(read)


def test_audit_show(tmp_path: Path) -> None:
    delete = {"calls": [{"name": "bash", "arguments": {"command": "kubectl delete pod web"}}]}
    with OpenAIServer([delete, {"content": "not done"}]) as server:
        env = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": server.key}
        holmes("ask", "tidy up", "-n", "--model", "openai/x", home=tmp_path, env=env)
    shown = holmes("audit", "show", home=tmp_path)
    assert "kubectl delete pod web" in shown.out and "deny" in shown.out
    row = holmes("audit", "show", "--json", home=tmp_path).json[0]
    assert {"at", "run_id", "actor", "tool", "args", "verdict", "policy", "rule", "reason"} <= row.keys()
    assert holmes("audit", "show", "no-such-run", home=tmp_path).code == 2


def test_policy_explain(tmp_path: Path) -> None:
    done = holmes("policy", "explain", "kubectl get pods | grep web", home=tmp_path)
    assert done.out.startswith("allow") and "part: grep web" in done.out
    lines = b"kubectl get pods\n\nkubectl delete pod web\nkubectl get secret x -o yaml\n"
    done = holmes("policy", "explain", "--json", "-", home=tmp_path, stdin=lines)
    found = [json.loads(line) for line in done.out.splitlines()]
    assert [each["verdict"] for each in found] == ["allow", "ask", "deny"]
    assert all({"command", "verdict", "reason", "rule"} <= each.keys() for each in found)
