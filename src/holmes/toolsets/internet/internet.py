"""The tool ``fetch_webpage``: one page, as Markdown."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holmes.core.config_values import FLAG, MAPPING, SECONDS, TEXTS, whole
from holmes.core.egress import EgressPolicy, EgressRefused, asked_for, cluster_name, plain_host, read_url
from holmes.core.errors import HolmesError
from holmes.core.results import StructuredToolResult
from holmes.tools.plugin_config import PluginConfig
from holmes.tools.tool import ALLOW, Services, SimpleToolset, ToolContext, Toolset, Verdict

if TYPE_CHECKING:
    import httpx2

    from holmes.core.fetch import Fetched

_SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}
_CLUSTER = ("*.svc", "*.cluster.local")  # services of the cluster have private addresses
_HARMLESS = ("accept", "accept-language", "user-agent")  # headers that may go to any host
_AGENT = {"user-agent": "holmes", "accept": "text/html, application/json;q=0.9, text/*;q=0.8, */*;q=0.5"}
_PLACEHOLDER = "[MASKED:"
_SHOWN_OF_ERROR = 2_000  # bytes of a page that came with an error


@dataclass(frozen=True, slots=True)
class InternetConfig:
    """``toolsets.internet.config``; ``timeout`` in seconds for the whole page."""

    headers: Mapping[str, str]
    policy: EgressPolicy
    timeout: float
    max_bytes: int


def read_config(config: Mapping[str, Any]) -> InternetConfig:
    """Check the raw values; ValueError says what is wrong with which key."""
    values = PluginConfig(config)
    headers = values.get("additional_headers", MAPPING, {})
    hosts = values.get("allowed_hosts", TEXTS, ())
    block = values.get("block_internal_ips", FLAG, True)
    timeout = values.get("timeout_seconds", SECONDS, 20.0)
    max_bytes = values.get("max_bytes", whole(1), 1_000_000)
    bound = [name for name in headers if name.lower() not in _HARMLESS]
    if bound and not hosts:
        values.problem(
            f"{', '.join(bound)} would go to any host; name those it is for in allowed_hosts", "additional_headers"
        )
    values.check()
    policy = EgressPolicy((*hosts, *_CLUSTER), block_internal=block, block_private=block)
    return InternetConfig({name.lower(): str(value) for name, value in headers.items()}, policy, timeout, max_bytes)


def make_internet(config: Mapping[str, Any], services: Services) -> Toolset:
    """The toolset. ValueError says what is wrong with its config."""
    return SimpleToolset((FetchWebpage(read_config(config)),))


@dataclass
class FetchWebpage:
    """Fetches what the user named, the cluster's own pages and configured hosts; a person decides on all others."""

    config: InternetConfig
    name: str = "fetch_webpage"
    description: str = "Fetch a web page (documentation, a runbook, a status page) as Markdown."
    parameters: Mapping[str, Any] = field(default_factory=lambda: _SCHEMA)
    effect: Any = "read"
    trust: Any = "data"

    def judge(self, args: Mapping[str, Any], ctx: ToolContext) -> Verdict:
        """By the host; what the guard refuses anyway is denied."""
        url = str(args["url"]).strip()
        show = f"fetch_webpage {url}"
        if _PLACEHOLDER in url:
            return Verdict("deny", "the URL would carry a secret out", "placeholder", show)
        try:
            parsed = read_url(url)
            self.config.policy.check_host(parsed.host)
        except EgressRefused as refusal:
            return Verdict("deny", _words(refusal), "egress guard", show)
        if self._known(parsed.host) or asked_for(parsed.host, ctx.question):
            return ALLOW
        reason = f"{parsed.host} is neither in the question, nor a service of the cluster, nor in allowed_hosts"
        return Verdict("ask", reason, "host", show)

    async def invoke(self, args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
        """Fetch the page. Redirects are followed to the same site and to hosts that need nobody's approval."""
        from holmes.core.fetch import Ask, FetchFailed, fetch

        shown = f"fetch_webpage {args['url']}"
        deadline = min(ctx.deadline, time.monotonic() + self.config.timeout)
        try:
            url = read_url(str(args["url"]))
            ask = Ask("GET", url, self._headers, lambda target: self._stop(url, target, ctx))
            async with ctx.http.client(timeout=self.config.timeout, egress=self.config.policy) as client:
                page = await fetch(client, ask, max_bytes=self.config.max_bytes, deadline=deadline)
        except (EgressRefused, FetchFailed) as failure:
            return StructuredToolResult.failure(_words(failure), invocation=shown)
        return await self._result(page, shown)

    def _known(self, host: str) -> bool:
        return cluster_name(host) or self.config.policy.covered(host)

    def _headers(self, url: httpx2.URL) -> Mapping[str, str]:
        wanted = {
            name: value
            for name, value in self.config.headers.items()
            if name in _HARMLESS or self.config.policy.covered(url.host)
        }
        return {**_AGENT, **wanted}

    def _stop(self, url: httpx2.URL, target: httpx2.URL, ctx: ToolContext) -> str:
        same = _site(url.host) == _site(target.host)
        if same or self._known(target.host) or asked_for(target.host, ctx.question):
            return ""
        return f"it redirects to {target}; fetch that if you need it"

    async def _result(self, page: Fetched, shown: str) -> StructuredToolResult:
        from holmes.toolsets.internet.page import readable

        text = await asyncio.to_thread(readable, page)
        common: dict[str, Any] = {"invocation": shown, "url": page.url}
        if page.stopped:
            return StructuredToolResult.failure(f"Not followed: {page.stopped}.", **common)
        if page.status >= 400:
            return StructuredToolResult.failure(f"HTTP {page.status}.", text=(text or "")[:_SHOWN_OF_ERROR], **common)
        if text is None:
            kind = page.media_type or "data"
            return StructuredToolResult.failure(
                f"It is {kind} that cannot be read as text ({len(page.body):,} bytes).", **common
            )
        if not text.strip():
            return StructuredToolResult.nothing(f"The page has no text (HTTP {page.status}).", **common)
        gaps = () if page.whole else (f"{page.url} after its first {self.config.max_bytes:,} bytes",)
        return StructuredToolResult.success(text, truncated=not page.whole, gaps=gaps, **common)


def _site(host: str) -> str:
    return plain_host(host).removeprefix("www.")


def _words(error: HolmesError) -> str:
    return f"{error.message}; {error.remedy}" if error.remedy else error.message
