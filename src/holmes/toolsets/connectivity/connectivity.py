"""The tool ``tcp_check``: open, refused or silent, at which address and how fast. No byte is sent."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holmes.core.config_values import FLAG, SECONDS, TEXTS, whole
from holmes.core.egress import EgressPolicy, EgressRefused, asked_for, cluster_name, kinds, plain_host
from holmes.core.results import StructuredToolResult
from holmes.tools.plugin_config import PluginConfig
from holmes.tools.tool import ALLOW, Services, SimpleToolset, ToolContext, Toolset, Verdict

_ALLOW_ALL = "HOLMES_CONNECTIVITY_CHECK_ALLOW_ALL_HOSTS"
_LONGEST = 30.0  # seconds for one connection
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[?[0-9A-Fa-f:.]+(%\w+)?\]?")
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "host": {"type": "string", "description": "Name or address; of a service name.namespace.svc"},
        "port": {"type": "integer", "minimum": 1, "maximum": 65535},
        "timeout": {"type": "number", "description": "Seconds, default 3"},
    },
    "required": ["host", "port"],
}


@dataclass(frozen=True, slots=True)
class ConnectivityConfig:
    """``toolsets.connectivity_check.config``; ``max_probes`` 0 is no limit, ``window`` is in seconds."""

    policy: EgressPolicy
    allow_all: bool
    max_probes: int
    window: float


def read_config(config: Mapping[str, Any], env: Mapping[str, str]) -> ConnectivityConfig:
    """Check the raw values; ValueError says what is wrong with which key."""
    values = PluginConfig(config)
    hosts = values.get("allowed_hosts", TEXTS, ())
    allow_all = values.get("allow_all_hosts", FLAG, env.get(_ALLOW_ALL, "").lower() in ("1", "true", "yes", "on"))
    internal = values.get("block_internal_ips", FLAG, True)
    private = values.get("block_private_ips", FLAG, False)
    probes = values.get("max_probes", whole(0), 60)
    window = values.get("probe_window_seconds", SECONDS, 60.0)
    values.check()
    below = (f"*.{host}" for host in hosts if host[:1].isalpha())  # as HolmesGPT reads its names
    return ConnectivityConfig(EgressPolicy((*hosts, *below), internal, private), allow_all, probes, window)


def make_connectivity(config: Mapping[str, Any], services: Services) -> Toolset:
    """The toolset. ValueError says what is wrong with its config."""
    return SimpleToolset((TcpCheck(read_config(config, services.env)),))


@dataclass
class TcpCheck:
    """Private and cluster addresses, configured hosts and those of the question are free; others need a person."""

    config: ConnectivityConfig
    name: str = "tcp_check"
    description: str = "Try a TCP connection from here: open, refused or no answer, with address and time."
    parameters: Mapping[str, Any] = field(default_factory=lambda: _SCHEMA)
    effect: Any = "read"
    trust: Any = "data"
    live: bool = True
    _probes: deque[float] = field(default_factory=deque)

    def judge(self, args: Mapping[str, Any], ctx: ToolContext) -> Verdict:
        """By the host; what the guard refuses anyway is denied."""
        host = str(args["host"]).strip()
        show = f"tcp_check {host}:{args['port']}"
        if not _HOST.fullmatch(host):
            return Verdict("deny", f"{host or 'nothing'} is no host name", "host", show)
        try:
            self.config.policy.check_host(host)
        except EgressRefused as refusal:
            return Verdict("deny", refusal.message, "egress guard", show)
        if self.config.allow_all or self._known(host) or asked_for(host, ctx.question):
            return ALLOW
        return Verdict("ask", f"{host} is neither in the question nor inside, nor in allowed_hosts", "host", show)

    async def invoke(self, args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
        """Resolve, check the addresses, and try the first."""
        host, port = str(args["host"]).strip(), int(args["port"])
        shown = f"tcp_check {host}:{port}"
        if wait := self._over_budget():
            limit = f"{self.config.max_probes} probes in {self.config.window:g} s are the limit"
            return StructuredToolResult.failure(f"Not tried: {limit}; wait {wait:.0f} s.", invocation=shown)
        timeout = min(float(args.get("timeout") or 3), _LONGEST)
        guard = ctx.http.guard(self.config.policy)
        started = time.monotonic()
        try:
            async with asyncio.timeout(timeout):
                addresses = await guard.addresses(host, port)
        except EgressRefused as refusal:
            return StructuredToolResult.failure(f"Not tried: {refusal.message}.", invocation=shown)
        except TimeoutError:
            return _outcome(shown, f"{host} was not resolved within {timeout:g} s: the DNS does not answer.", "dns")
        except OSError as error:
            return _outcome(shown, f"{host} cannot be resolved: {error.strerror or error}.", "dns")
        resolved = round((time.monotonic() - started) * 1000, 1)
        return await self._try(host, port, addresses, timeout, resolved, ctx)

    async def _try(
        self, host: str, port: int, addresses: list[str], timeout: float, resolved: float, ctx: ToolContext
    ) -> StructuredToolResult:
        import httpcore2

        shown, address = f"tcp_check {host}:{port}", addresses[0]
        network = ctx.http.guard(self.config.policy).network
        started = time.monotonic()
        try:
            stream = await network.connect(address, port, timeout)
            await stream.aclose()
            state, words = "open", "open"
        except httpcore2.ConnectTimeout:
            state = "no answer"
            words = f"no answer within {timeout:g} s: filtered, or the host is down"
        except httpcore2.ConnectError as error:
            state, words = _failure(error)
        took = round((time.monotonic() - started) * 1000, 1)
        more = f"; it has {len(addresses) - 1} more: {', '.join(addresses[1:5])}" if addresses[1:] else ""
        text = f"{host}:{port} at {address}: {words} ({took:g} ms to connect, {resolved:g} ms to resolve){more}"
        return _outcome(shown, text, state, address=address, connect_ms=took, resolve_ms=resolved)

    def _known(self, host: str) -> bool:
        if cluster_name(host) or self.config.policy.covered(host):
            return True
        try:
            return set(kinds(ipaddress.ip_address(plain_host(host)))) == {"private"}
        except ValueError:
            return False

    def _over_budget(self) -> float:
        """Seconds to wait until a probe is free again; 0 takes one."""
        now = time.monotonic()
        while self._probes and now - self._probes[0] >= self.config.window:
            self._probes.popleft()
        if self.config.max_probes and len(self._probes) >= self.config.max_probes:
            return self.config.window - (now - self._probes[0])
        self._probes.append(now)
        return 0.0


def _failure(error: Exception) -> tuple[str, str]:
    """State and words of a connection that was not made."""
    from holmes.core.fetch import chain

    cause = next((each for each in chain(error) if isinstance(each, OSError) and each.errno), None)
    if isinstance(cause, ConnectionRefusedError):
        return "refused", "refused: the host answers, nothing listens on that port"
    reason = (cause.strerror or str(cause)) if cause is not None else str(error)
    return "failed", f"failed: {reason}"


def _outcome(shown: str, text: str, state: str, **more: Any) -> StructuredToolResult:
    """What came of it is an answer, whatever it is."""
    return StructuredToolResult.success(text, invocation=shown, data={"state": state, **more})
