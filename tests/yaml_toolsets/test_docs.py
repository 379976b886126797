"""Every block of code in docs/toolsets.md works."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from holmes.app.definitions import plugins
from holmes.core.results import Status
from holmes.core.yaml_marks import load
from holmes.tools.manager import ToolsetManager
from holmes.tools.tool import Tool
from holmes.tools.yaml_loader import load_toolsets
from holmes.tools.yaml_toolset import YAMLToolset
from support.tool_context import call, context, services

PAGE = Path(__file__).parents[2] / "docs" / "toolsets.md"
BLOCKS = [(kind, text) for kind, text in re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(), re.M | re.S)]
KINDS = [kind for kind, _ in BLOCKS]
LAST = len(BLOCKS) - 1


def block(index: int, kind: str) -> str:
    assert KINDS[index] == kind
    return BLOCKS[index][1]


def test_every_block_has_its_test() -> None:
    assert KINDS == ["yaml", "console", "yaml", "yaml", "text", "yaml", "yaml", "yaml", "python", "toml", "yaml"]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    kubectl = tmp_path / "bin" / "kubectl"
    kubectl.parent.mkdir()
    kubectl.write_text('#!/bin/bash\n[ "$*" = \'get pods -o json\' ] && echo \'{"items": [{"name": "web"}]}\'\ntrue\n')
    kubectl.chmod(0o755)
    return {"PATH": f"{kubectl.parent}:/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path)}


def tools(index: int, env: dict[str, str]) -> dict[str, Tool]:
    found, problems = load_toolsets(load(block(index, "yaml"), "toolsets.yaml"), env)
    assert problems == []
    return {tool.name: tool for each in found for tool in YAMLToolset(each, services(env=env)).tools()}


def test_the_first_toolset(env: dict[str, str], tmp_path: Path) -> None:
    tool = tools(0, env)["kubernetes_jq_query"]
    assert call(tool, context(env=env), kind="pods", jq_expr=".items[].name").text == '"web"\n'


def test_the_commands(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "toolsets.yaml").write_text(block(0, "yaml"))
    lines = block(1, "console").splitlines()
    assert all(line.startswith("$ holmes ") for line in lines)
    words = lines[0].removeprefix("$ holmes ").split()
    done = subprocess.run(
        [sys.executable, "-m", "holmes", *words], env=env, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "kubernetes_jq_query" in done.stdout
    assert " -t toolsets.yaml" in lines[1]


def test_parameters(env: dict[str, str], tmp_path: Path) -> None:
    env["SHOP_LOGS"] = str(tmp_path)
    (tmp_path / "cart.log").write_text("one\ntwo -x\nthree\n")
    tool = tools(2, env)["shop_log_lines"]
    assert tool.parameters["required"] == ["service"]
    assert call(tool, context(env=env), service="cart").text == "one\ntwo -x\nthree\n"
    assert call(tool, context(env=env), service="cart", lines=1).text == "three\n"
    assert call(tool, context(env=env), service="cart", word="-x").text == "two -x\n"
    assert call(tool, context(env=env), service="cart", word="'; rm -rf /; '").status is Status.NO_DATA


def test_program_text_and_the_better_ways(env: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, problems = load_toolsets(load(block(3, "yaml"), "toolsets.yaml"), env)
    assert [str(problem) for problem in problems] == [block(4, "text").strip()]
    assert problems[0].warning
    (tmp_path / "report.txt").write_text("1 2\n3 4\n")
    monkeypatch.chdir(tmp_path)
    better = tools(5, env)
    for name, args, text in (
        ("shop_report", {"column": "2"}, "6\n"),
        ("shop_report_lines", {"first": 2, "last": 2}, "3 4\n"),
    ):
        assert better[name].judge(args, context(env=env)).decision == "allow"
        assert call(better[name], context(env=env), **args).text == text


def test_variables_prerequisites_and_approval(env: dict[str, str]) -> None:
    text = block(6, "yaml")
    found, _ = load_toolsets(load(text, "toolsets.yaml"), env)
    health = asyncio.run(YAMLToolset(found[0], services(env=env)).open())
    assert "SHOP_URL, SHOP_TOKEN are not set" in health.reason
    assert health.remedy == "set SHOP_URL to the address of the shop, and SHOP_TOKEN"
    env |= {"SHOP_URL": "http://127.0.0.1:9", "SHOP_TOKEN": "hunter2"}
    toolset = YAMLToolset(found[0], services(env=env))
    assert asyncio.run(toolset.open()).status == "enabled"
    assert toolset.instructions == "Look at the pages with shop_page before you call shop_restart."
    page, restart = toolset.tools()
    assert "hunter2" not in call(page, context(env=env), page="a").invocation
    verdict = restart.judge({"service": "cart"}, context(env=env))
    assert (verdict.decision, verdict.show) == ("ask", 'curl -sf -X POST "${SHOP_URL}/restart/cart"')


def test_shorter_results(env: dict[str, str]) -> None:
    found = tools(7, env)
    names = [[spec["name"] for spec in tool.transformers] for tool in found.values()]  # type: ignore[attr-defined]
    assert names == [["log_dedupe"], ["json_filter", "llm_summarize"]]


class Broker(BaseHTTPRequestHandler):
    """A broker with one queue."""

    def do_GET(self) -> None:
        name = parse_qs(urlsplit(self.path).query).get("name", [""])[0]
        body = json.dumps([{"name": name, "messages": 3}] if name == "orders" else []).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def broker() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Broker)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_python_toolset_by_its_entry_point(
    broker: str, tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tomllib.loads(block(9, "toml"))["project"]
    (tmp_path / "acme_queues.py").write_text(block(8, "python"))
    info = tmp_path / "acme_queues-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = project["entry-points"]["holmes.toolsets"]
    (info / "entry_points.txt").write_text(
        "[holmes.toolsets]\n" + "\n".join(f"{name} = {value}" for name, value in points.items())
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    env["BROKER_URL"] = broker
    (wanted,), problems = load_toolsets(load(block(LAST, "yaml"), "config.yaml"), env)
    assert problems == []
    plugin = next(each for each in plugins() if each.name == "queues")
    assert not plugin.enabled
    manager = ToolsetManager([replace(plugin, enabled=wanted.enabled, config=wanted.config)], services(env=env))
    (loaded,) = asyncio.run(manager.open())
    assert loaded.health.status == "enabled", loaded.health.reason
    (bound,) = manager.bound()
    assert call(bound.tool, context(env=env), queue="orders").text == "orders: 3 messages"
    assert call(bound.tool, context(env=env), queue="none").status is Status.NO_DATA
