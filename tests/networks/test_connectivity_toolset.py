"""tcp_check: where it may go, what it says, and how often."""

from __future__ import annotations

import asyncio
from typing import Any

import httpcore2
import pytest

from holmes.core.http import DefaultHttp
from holmes.core.results import Status
from holmes.tools.arguments import coerce
from holmes.tools.tool import ToolContext
from holmes.toolsets.connectivity.connectivity import TcpCheck, read_config
from support.tool_context import acall, context
from support.web_server import OTHER, PUBLIC, TestNetwork, fixed, web_server

pytestmark = pytest.mark.anyio

SERVICE = "redis.shop.svc"


def tool(env: dict[str, str] | None = None, **config: Any) -> TcpCheck:
    return TcpCheck(read_config(config, env or {}))


def world(network: TestNetwork | None = None, question: str = "") -> ToolContext:
    return context(http=DefaultHttp({}, network or TestNetwork()), question=question)


class Silent(TestNetwork):
    """Connections are never answered."""

    async def connect(self, address: str, port: int, timeout: float | None) -> httpcore2.AsyncNetworkStream:
        self.connected.append((address, port))
        raise httpcore2.ConnectTimeout


class Unreachable(TestNetwork):
    """There is no route."""

    async def connect(self, address: str, port: int, timeout: float | None) -> httpcore2.AsyncNetworkStream:
        raise httpcore2.ConnectError from OSError(113, "No route to host")


class DeafDns(TestNetwork):
    """The resolver hangs."""

    async def resolve(self, host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []


@pytest.mark.parametrize(
    ("host", "question", "config", "decision"),
    [
        (SERVICE, "", {}, "allow"),
        ("redis.shop.svc.cluster.local", "", {}, "allow"),
        ("10.1.2.3", "", {}, "allow"),
        ("fd00:10::5", "", {}, "allow"),
        ("[fd00:10::5]", "", {}, "allow"),
        ("db.example.com", "", {}, "ask"),
        ("8.8.8.8", "", {}, "ask"),
        ("db.example.com", "can we reach db.example.com:5432?", {}, "allow"),
        ("db.example.com", "", {"allow_all_hosts": True}, "allow"),
        ("db.example.com", "", {"allowed_hosts": ["example.com"]}, "allow"),
        ("db.example.org", "", {"allowed_hosts": ["example.com"]}, "ask"),
        ("10.1.2.3", "", {"block_private_ips": True}, "deny"),
        ("127.0.0.1", "is 127.0.0.1:22 open?", {"allow_all_hosts": True}, "deny"),
        ("localhost", "", {"allow_all_hosts": True}, "deny"),
        ("::1", "", {}, "deny"),
        ("::ffff:127.0.0.1", "", {}, "deny"),
        ("0x7f000001", "", {}, "deny"),
        ("2130706433", "", {}, "deny"),
        ("169.254.169.254", "", {"allowed_hosts": ["169.254.0.0/16"]}, "deny"),
        ("metadata.google.internal", "", {"allow_all_hosts": True}, "deny"),
        ("fd00:ec2::254", "", {}, "deny"),
        ("127.0.0.1", "", {"allowed_hosts": ["127.0.0.1"]}, "allow"),
        ("127.0.0.1", "", {"block_internal_ips": False, "allow_all_hosts": True}, "allow"),
        ("exa mple.com", "", {}, "deny"),
        ("http://example.com/", "", {}, "deny"),
        ("x;id", "", {}, "deny"),
        ("", "", {}, "deny"),
    ],
)
def test_what_runs(host: str, question: str, config: dict[str, Any], decision: str) -> None:
    verdict = tool(**config).judge({"host": host, "port": 80}, world(question=question))
    assert verdict.decision == decision, verdict


def test_the_environment_can_open_it() -> None:
    opened = tool({"HOLMES_CONNECTIVITY_CHECK_ALLOW_ALL_HOSTS": "true"})
    assert opened.judge({"host": "db.example.com", "port": 1}, world()).decision == "allow"


async def test_an_open_port() -> None:
    async with web_server(fixed({})) as server:
        network = TestNetwork({SERVICE: [["10.96.0.9", "10.96.0.10"]]}, {"10.96.0.9": server.port})
        result = await acall(tool(), world(network), host=SERVICE, port=6379)
        assert result.text.startswith(f"{SERVICE}:6379 at 10.96.0.9: open (")
        assert "ms to connect" in result.text and "it has 1 more: 10.96.0.10" in result.text
        assert result.data["state"] == "open" and result.data["connect_ms"] >= 0
        assert network.connected == [("10.96.0.9", 6379)]
        assert not server.requests  # nothing is sent


async def test_refused_silent_and_unreachable_are_told_apart() -> None:
    names = {SERVICE: [["10.96.0.9"]]}
    for network, state, words in (
        (TestNetwork(names, {"10.96.0.9": 1}), "refused", "refused: the host answers"),
        (Silent(names), "no answer", "no answer within 3 s: filtered, or the host is down"),
        (Unreachable(names), "failed", "failed: No route to host"),
    ):
        result = await acall(tool(), world(network), host=SERVICE, port=6379)
        assert (result.status, result.data["state"]) == (Status.SUCCESS, state)
        assert words in result.text


async def test_names_that_cannot_be_resolved() -> None:
    gone = await acall(tool(), world(), host="gone.shop.svc", port=80)
    assert gone.text == "gone.shop.svc cannot be resolved: Name or service not known."
    deaf = await acall(tool(), world(DeafDns()), host=SERVICE, port=80, timeout=0.1)
    assert deaf.text == f"{SERVICE} was not resolved within 0.1 s: the DNS does not answer."


@pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254", "::1", "0.0.0.0", "100.100.100.200"])
async def test_a_name_that_leads_to_this_machine_or_metadata_is_not_tried(address: str) -> None:
    network = TestNetwork({SERVICE: [[address]]}, {address: 1})
    result = await acall(tool(allow_all_hosts=True), world(network), host=SERVICE, port=80)
    assert result.status is Status.ERROR and result.error.startswith("Not tried: ")
    assert not network.connected


async def test_the_checked_address_is_the_one_that_is_tried() -> None:
    network = Silent({"rebind.example": [[PUBLIC], ["127.0.0.1"]]})
    await acall(tool(allow_all_hosts=True), world(network), host="rebind.example", port=80)
    assert network.connected == [(PUBLIC, 80)] and network.resolved == ["rebind.example"]


async def test_probes_have_a_budget() -> None:
    network = Silent({SERVICE: [[OTHER]]})
    check = tool(max_probes=3, probe_window_seconds=1000)
    results = [await acall(check, world(network), host=SERVICE, port=port) for port in range(1, 6)]
    assert [result.status for result in results] == [Status.SUCCESS] * 3 + [Status.ERROR] * 2
    assert "3 probes in 1000 s are the limit; wait " in results[-1].error
    assert len(network.connected) == 3
    free = tool(max_probes=3, probe_window_seconds=0.000001)
    for port in range(1, 8):
        assert (await acall(free, world(network), host=SERVICE, port=port)).ok


def test_arguments_are_checked() -> None:
    assert coerce({"host": "x", "port": "443"}, tool().parameters) == ({"host": "x", "port": 443}, "")
    for port in (0, 65536, "http"):
        assert coerce({"host": "x", "port": port}, tool().parameters)[1]
