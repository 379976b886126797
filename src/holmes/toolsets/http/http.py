"""The tool ``<toolset>_request``: one request to an HTTP API that the user has named."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from holmes.core.egress import EgressRefused, read_url
from holmes.core.errors import HolmesError
from holmes.core.fetch import origin
from holmes.core.results import StructuredToolResult
from holmes.tools.tool import ALLOW, Effect, Health, Services, Tool, ToolContext, Toolset, Verdict
from holmes.toolsets.http.config import HttpConfig, read_config
from holmes.toolsets.http.endpoints import READS, Endpoint, listing, path_problem

if TYPE_CHECKING:
    import ssl

    import httpx2

    from holmes.core.fetch import Fetched
    from holmes.core.http import Http
    from holmes.tools.toolset_definition import ToolsetDefinition

# Headers that say who asks, where to, or that the request is another one than it seems.
_RESERVED = re.compile(
    r"host|authorization|proxy-.*|cookie|connection|content-length|transfer-encoding|te|trailer|upgrade|expect|forwarded"
    r"|x-forwarded-.*|x-real-ip|x-original-.*|x-rewrite-.*|x-http-method.*|x-method-.*|impersonate-.*|accept-encoding",
    re.I,
)
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_PLACEHOLDER = "[MASKED:"
_SHOWN_OF_ERROR = 4_000  # characters of an answer that is an error


def make_http(definition: ToolsetDefinition, services: Services) -> Toolset:
    """The toolset of an entry with ``type: http``. ValueError says what is wrong with its config."""
    return HttpToolset(definition, read_config(definition.config), services)


class HttpToolset:
    """One API, one tool."""

    def __init__(self, definition: ToolsetDefinition, config: HttpConfig, services: Services) -> None:
        from holmes.tools.rendering import render_text

        self._config = config
        self._services = services
        self._tool = HttpRequest(definition, config, services.env)
        values = {"tool_names": [self._tool.name], "config": definition.config}
        self.instructions = render_text(definition.llm_instructions, values).strip()

    async def open(self) -> Health:
        """Ask each ``health_check_url`` once; without any, the API is taken to be there."""
        checks = [each for each in self._config.endpoints if each.health_check_url]
        deadline = time.monotonic() + min(self._services.deadline, self._config.timeout)
        found = await asyncio.gather(*(self._check(each.health_check_url, deadline) for each in checks))
        reason = next(filter(None, found), "")
        if reason:
            return Health("failed", reason, "check the endpoint's address and its credentials")
        return Health("enabled")

    def tools(self) -> Sequence[Tool]:
        """The one tool."""
        return (self._tool,)

    async def close(self) -> None:
        """Nothing to let go of."""

    async def _check(self, text: str, deadline: float) -> str:
        try:
            answer = await self._tool.send(self._services.http, "GET", read_url(text), {}, {}, None, deadline)
        except HolmesError as failure:
            return f"{text}: {_words(failure)}"
        if answer.stopped or answer.status >= 400:
            return f"{text} answers HTTP {answer.status}{f'; {answer.stopped}' if answer.stopped else ''}"
        return ""


@dataclass
class HttpRequest:
    """Lets requests pass that an endpoint lists; one that may write needs a person."""

    definition: ToolsetDefinition
    config: HttpConfig
    env: Mapping[str, str]
    trust: Any = "data"
    live: bool = True
    _context: ssl.SSLContext | None = None

    @property
    def name(self) -> str:
        """``<toolset>_request``."""
        return f"{re.sub(r'[^A-Za-z0-9_-]', '_', self.definition.name)[:56]}_request"

    @property
    def description(self) -> str:
        """What it is for, and where it may go."""
        what = " ".join(self.definition.description.split()) or f"HTTP requests to {self.definition.name}"
        return f"{what.rstrip('.')}. Allowed: {listing(self.config.endpoints)[:400]}. Credentials are added here."

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The methods are those of the endpoints."""
        methods = list(dict.fromkeys(method for each in self.config.endpoints for method in each.methods))
        writes = [method for method in methods if method not in ("GET", "HEAD")]
        properties: dict[str, Any] = {"url": {"type": "string"}}
        if methods != ["GET"]:
            properties["method"] = {"type": "string", "enum": methods, "description": "Default GET"}
        if writes:
            properties["body"] = {"type": "string"}
        properties |= {
            "headers": {"type": "object", "additionalProperties": {"type": "string"}},
            "jq": {"type": "string", "description": "jq program for the JSON that comes"},
            "max_depth": {"type": "integer", "minimum": 1, "description": "Cut JSON below this depth"},
        }
        return {"type": "object", "properties": properties, "required": ["url"]}

    @property
    def effect(self) -> Effect:
        """Write when an endpoint lists more than reading."""
        return "write" if any(set(each.methods) - set(READS) for each in self.config.endpoints) else "read"

    def judge(self, args: Mapping[str, Any], ctx: ToolContext) -> Verdict:
        """Deny what no endpoint lists, ask for what may write."""
        method = _method(args)
        show = f"{self.name} {method} {args['url']}"
        try:
            _, endpoint = self._allowed(args)
        except EgressRefused as refusal:
            return Verdict("deny", _words(refusal), "endpoints", show)
        if any(fnmatchcase(self.name, pattern) for pattern in self.definition.approval_required_tools):
            return Verdict("ask", f"{self.name} is in approval_required_tools", "approval_required_tools", show)
        if method not in READS and endpoint.approval_required:
            shown = f"{show} {args.get('body') or ''}".strip()
            return Verdict("ask", f"{method} may change something", "effect", shown)
        return ALLOW

    async def invoke(self, args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
        """Send the request; redirects are followed as far as the endpoints reach."""
        method, shown = _method(args), f"{_method(args)} {args['url']}"
        deadline = min(ctx.deadline, time.monotonic() + self.config.timeout)
        try:
            url, _ = self._allowed(args)
            headers = {name.lower(): str(value) for name, value in (args.get("headers") or {}).items()}
            body = args.get("body") or None
            if body and "content-type" not in headers:
                headers["content-type"] = "application/json" if body.lstrip()[:1] in "{[" else "text/plain"
            answer = await self.send(ctx.http, method, url, headers, ctx.principal.headers, body, deadline)
        except HolmesError as failure:
            return StructuredToolResult.failure(_words(failure), invocation=shown)
        return await self._result(answer, args, shown, ctx)

    async def send(
        self,
        http: Http,
        method: str,
        url: httpx2.URL,
        headers: Mapping[str, str],
        request: Mapping[str, str],  # headers of the request that Holmes got
        body: str | None,
        deadline: float,
    ) -> Fetched:
        """One request with what belongs to its endpoint; EgressRefused, FetchFailed, ConfigError."""
        from holmes.core.fetch import Ask, fetch

        own = self.config.headers(request)

        def headers_for(target: httpx2.URL) -> Mapping[str, str]:
            """The model's headers stay with the origin that they were written for."""
            endpoint = self._endpoint(method, target)
            sent = headers if origin(target) == origin(url) else {}
            return {"user-agent": "holmes", "accept": "application/json, */*;q=0.5", **sent, **own} | (
                endpoint.auth.headers() if endpoint else {}
            )

        def auth_for(target: httpx2.URL) -> httpx2.Auth | None:
            endpoint = self._endpoint(method, target)
            return endpoint.auth.flow() if endpoint else None

        def stop(target: httpx2.URL) -> str:
            reason = path_problem(target) or ("" if self._endpoint(method, target) else "no endpoint allows that")
            return reason and f"it redirects to {target}, and {reason}"

        ask = Ask(method, url, headers_for, stop, auth_for, body)
        verify = await self._verify()
        async with http.client(timeout=self.config.timeout, verify=verify, egress=self.config.policy) as client:
            return await fetch(client, ask, max_bytes=self.config.max_bytes, deadline=deadline)

    def _allowed(self, args: Mapping[str, Any]) -> tuple[httpx2.URL, Endpoint]:
        """The URL and its endpoint; EgressRefused says what is allowed instead."""
        headers = args.get("headers") or {}
        if any(_PLACEHOLDER in str(value) for value in (args["url"], args.get("body"), *headers.values())):
            raise EgressRefused("the request would carry a secret out")
        for name, value in headers.items():
            if not _HEADER.fullmatch(name) or re.search(r"[\x00-\x08\x0a-\x1f\x7f]", str(value)):
                raise EgressRefused(f"{name!r} is no header")
            if _RESERVED.fullmatch(name) or self._is_own(name):
                raise EgressRefused(f"the header {name} is not the model's to set")
        url, method = read_url(str(args["url"])), _method(args)
        if reason := path_problem(url):
            raise EgressRefused(reason)
        endpoint = self._endpoint(method, url)
        if endpoint is None:
            raise EgressRefused(f"{method} {url} is not allowed; allowed: {listing(self.config.endpoints)}")
        return url, endpoint

    def _is_own(self, name: str) -> bool:
        own = {*self.config.default_headers, *self.config.extra_headers}
        own |= {each.auth.name.lower() for each in self.config.endpoints if each.auth.kind == "header"}
        return name.lower() in own

    def _endpoint(self, method: str, url: httpx2.URL) -> Endpoint | None:
        return next((each for each in self.config.endpoints if each.allows(method, url)), None)

    async def _verify(self) -> ssl.SSLContext | bool:
        """The TLS context; loading certificates would block, so a thread does it, once."""
        config = self.config
        if not config.client_cert and not config.ca_cert:
            return config.verify_ssl
        if self._context is None:
            from holmes.core.tls import context_with

            self._context = await asyncio.to_thread(
                context_with, self.env, config.ca_cert, config.client_cert, config.client_key, config.verify_ssl
            )
        return self._context

    async def _result(
        self, answer: Fetched, args: Mapping[str, Any], shown: str, ctx: ToolContext
    ) -> StructuredToolResult:
        note = f"HTTP {answer.status}, {answer.media_type or 'no content type'}"
        common: dict[str, Any] = {"invocation": shown, "url": answer.url}
        text = self._without_credentials(answer.text)
        if answer.stopped:
            return StructuredToolResult.failure(f"Not followed: {answer.stopped}.", **common)
        if answer.status >= 400:
            return StructuredToolResult.failure(f"HTTP {answer.status}.", text=text[:_SHOWN_OF_ERROR], **common)
        if "\0" in text[:1024]:
            return StructuredToolResult.failure(f"{note}: {len(answer.body):,} bytes that are not text.", **common)
        if not text.strip():
            return StructuredToolResult.nothing(f"{note}: an empty answer.", **common)
        gaps = () if answer.whole else (f"{answer.url} after its first {self.config.max_bytes:,} bytes",)
        if args.get("jq"):
            from holmes.tools.jq import run_jq

            found = await run_jq(str(args["jq"]), text, ctx.process, ctx.deadline)
            if found.error:
                return StructuredToolResult.failure(f"{note}. {found.error}", **common)
            text = found.text
        if args.get("max_depth"):
            text = await asyncio.to_thread(_cut, text, int(args["max_depth"]))
        elif not args.get("jq"):
            text = await asyncio.to_thread(_pretty, text)
        return StructuredToolResult.success(text, notes=(note,), truncated=not answer.whole, gaps=gaps, **common)

    def _without_credentials(self, text: str) -> str:
        """An API may send back what it got."""
        secrets = {secret for each in self.config.endpoints for secret in each.auth.secrets()}
        for secret in sorted(secrets, key=len, reverse=True):
            text = text.replace(secret, "[credential]") if len(secret) >= 4 else text
        return text


def _method(args: Mapping[str, Any]) -> str:
    return str(args.get("method") or "GET").upper()


def _words(error: HolmesError) -> str:
    return f"{error.message}; {error.remedy}" if error.remedy else error.message


def _pretty(text: str) -> str:
    """JSON of one line with line breaks, so that it can be read on by lines."""
    if "\n" in text.strip() or text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _cut(text: str, levels: int) -> str:
    from holmes.toolsets.http.shape import cut

    try:
        return json.dumps(cut(json.loads(text), levels), indent=1, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text
