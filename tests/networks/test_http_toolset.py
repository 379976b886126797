"""``type: http``: what an endpoint lets through, whose credentials go where, and what comes back."""

from __future__ import annotations

import base64
import re
from typing import Any

import httpx2
import pytest

from holmes.core.http import DefaultHttp
from holmes.core.principal import Principal
from holmes.core.results import Status
from holmes.tools.arguments import coerce
from holmes.tools.tool import Services, ToolContext, Verdict
from holmes.tools.toolset_definition import ToolsetDefinition
from holmes.toolsets.http.endpoints import HostPattern, read_endpoint
from holmes.toolsets.http.http import HttpRequest, HttpToolset, make_http
from support.tool_context import acall, context, services
from support.web_server import OTHER, PUBLIC, Request, TestNetwork, WebServer, Write, fixed, page, redirect, web_server

pytestmark = pytest.mark.anyio

HOSTS = {"api.example.com": PUBLIC, "other.example.com": OTHER, "evil.example": OTHER, "inside.example.com": "10.0.0.8"}
API = {"hosts": ["api.example.com"], "paths": ["/v1/*"]}


def network(port: int = 1) -> TestNetwork:
    return TestNetwork({name: [[address]] for name, address in HOSTS.items()}, dict.fromkeys(HOSTS.values(), port))


def toolset(*endpoints: dict[str, Any], port: int = 1, definition: dict[str, Any] | None = None, **config: Any) -> Any:
    found = ToolsetDefinition(
        "my api", "x:1", "http", config={"endpoints": list(endpoints), **config}, **(definition or {})
    )
    made = make_http(found, Services({}, services().clusters, services().process, DefaultHttp({}, network(port))))
    assert isinstance(made, HttpToolset)
    return made


def tool(*endpoints: dict[str, Any], **config: Any) -> HttpRequest:
    return toolset(*endpoints, **config).tools()[0]


def world(server: WebServer | None = None, **headers: str) -> ToolContext:
    http = DefaultHttp({}, network(server.port if server else 1))
    return context(http=http, principal=Principal(headers=headers))


def judge(endpoint: dict[str, Any], url: str, **args: Any) -> Verdict:
    return tool(endpoint).judge({"url": url, **args}, world())


@pytest.mark.parametrize(
    ("pattern", "url", "matches"),
    [
        ("api.example.com", "https://api.example.com:8443/", True),
        ("api.example.com", "http://API.example.com/", True),
        ("api.example.com", "http://api.example.com.evil.example/", False),
        ("api.example.com", "http://xapi.example.com/", False),
        ("*.example.com", "https://a.b.example.com/", True),
        ("*.example.com", "https://example.com/", False),
        ("*.example.com", "https://badexample.com/", False),
        ("api.example.com:8080", "http://api.example.com:8080/", True),
        ("api.example.com:443", "https://api.example.com/", True),
        ("api.example.com:8080", "http://api.example.com/", False),
        ("https://api.example.com", "https://api.example.com/", True),
        ("https://api.example.com", "http://api.example.com/", False),
        ("https://api.example.com", "https://api.example.com:8443/", False),
        ("https://api.example.com:*", "https://api.example.com:8443/", True),
        ("http://api.example.com", "http://api.example.com:80/", True),
        ("[fd00::1]:9200", "http://[fd00::1]:9200/", True),
        ("10.0.0.8", "http://10.0.0.8/", True),
    ],
)
def test_hosts(pattern: str, url: str, matches: bool) -> None:
    from holmes.tools.plugin_config import PluginConfig

    values = PluginConfig({"hosts": [pattern]})
    endpoint = read_endpoint(values)
    assert not values.problems
    assert endpoint.allows("GET", httpx2.URL(url)) is matches
    assert isinstance(endpoint.hosts[0], HostPattern)


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://api.example.com/v1/pods", True),
        ("https://api.example.com/v1/pods?path=../../admin", True),
        ("https://api.example.com/v1/group%2Fproject", True),
        ("https://api.example.com/v1/a%20b", True),
        ("https://api.example.com/v2/pods", False),
        ("https://api.example.com/", False),
        ("https://api.example.com/v1", False),
        ("https://api.example.com/v1/../admin", False),
        ("https://api.example.com/v1/%2e%2e/admin", False),
        ("https://api.example.com/v1/%252e%252e/admin", False),
        ("https://api.example.com/v1/..%2fadmin", False),
        ("https://api.example.com/v1/..%5cadmin", False),
        ("https://api.example.com/v1/..;/admin", False),
        ("https://api.example.com/v1/.", False),
        ("https://api.example.com//v1/pods", False),
        ("https://api.example.com@evil.example/v1/x", False),
        ("https://evil.example/v1/x", False),
        ("https://evil.example/?u=https://api.example.com/v1/x", False),
        ("file://api.example.com/v1/x", False),
        ("api.example.com/v1/x", False),
    ],
)
def test_paths(url: str, allowed: bool) -> None:
    verdict = judge(API, url)
    assert verdict.decision == ("allow" if allowed else "deny"), verdict


def test_a_refusal_lists_what_is_allowed() -> None:
    verdict = judge({**API, "methods": ["GET", "POST"]}, "https://api.example.com/v2/pods")
    assert verdict.reason == (
        "GET https://api.example.com/v2/pods is not allowed; allowed: GET|POST https://api.example.com/v1/*"
    )


@pytest.mark.parametrize(
    ("methods", "more", "method", "decision"),
    [
        (["GET"], {}, "GET", "allow"),
        (["GET"], {}, "HEAD", "allow"),
        (["GET"], {}, "POST", "deny"),
        (["GET"], {}, "OPTIONS", "deny"),
        (["get", "post"], {}, "POST", "ask"),
        (["POST"], {}, "GET", "deny"),
        (["DELETE"], {}, "delete", "ask"),
        (["POST"], {"approval_required": False}, "POST", "allow"),
    ],
)
def test_methods(methods: list[str], more: dict[str, Any], method: str, decision: str) -> None:
    verdict = judge({**API, "methods": methods, **more}, "https://api.example.com/v1/x", method=method, body="{}")
    assert verdict.decision == decision, verdict
    assert decision != "ask" or verdict.show == f"my_api_request {method.upper()} https://api.example.com/v1/x {{}}"


def test_approval_required_tools_hold_here_too() -> None:
    made = tool(API, definition={"approval_required_tools": ("my_api_*",)})
    assert made.judge({"url": "https://api.example.com/v1/x"}, world()).decision == "ask"


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer mine"},
        {"HOST": "evil.example"},
        {"Cookie": "a=b"},
        {"X-HTTP-Method-Override": "DELETE"},
        {"X-Original-URL": "/admin"},
        {"X-Forwarded-For": "127.0.0.1"},
        {"Impersonate-User": "admin"},
        {"x-api-key": "mine"},
        {"x-tenant": "other"},
        {"accept": "a\r\nx-evil: 1"},
        {"bad name": "x"},
        {"x-secret": "[MASKED:github-token:1a2b]"},
    ],
)
def test_headers_that_are_not_the_models_to_set(headers: dict[str, str]) -> None:
    keyed = {**API, "auth": {"type": "header", "header_name": "X-API-Key", "header_value": "s3cret"}}
    made = tool(keyed, default_headers={"X-Tenant": "shop"})
    verdict = made.judge({"url": "https://api.example.com/v1/x", "headers": headers}, world())
    assert verdict.decision == "deny", verdict


def test_secrets_do_not_leave() -> None:
    placeholder = "[MASKED:jwt:1a2b]"
    assert judge(API, f"https://api.example.com/v1/{placeholder}").decision == "deny"
    posting = {**API, "methods": ["POST"]}
    assert judge(posting, "https://api.example.com/v1/x", method="POST", body=placeholder).decision == "deny"


BASIC = "Basic " + base64.b64encode(b"me:pa55word").decode()
AUTHS: list[tuple[dict[str, str], tuple[str, str]]] = [
    ({"type": "basic", "username": "me", "password": "pa55word"}, ("authorization", BASIC)),
    ({"type": "bearer", "token": "t0ken"}, ("authorization", "Bearer t0ken")),
    ({"type": "header", "header_name": "X-Key", "header_value": "k3y-value"}, ("x-key", "k3y-value")),
]


@pytest.mark.parametrize(("auth", "sent"), AUTHS)
async def test_credentials_go_to_their_host_and_are_not_shown(auth: dict[str, str], sent: tuple[str, str]) -> None:
    async def echo(request: Request, write: Write) -> None:
        await write(page("\n".join(f"{name}: {value}" for name, value in request.headers.items()), "text/plain"))

    async with web_server(echo) as server:
        made = tool({**API, "auth": auth}, {"hosts": ["other.example.com"]})
        mine = await acall(made, world(server), url="http://api.example.com/v1/x", headers={"X-Trace": "1"})
        other = await acall(made, world(server), url="http://other.example.com/v1/x")
        assert server.requests[0].headers[sent[0]] == sent[1]
        assert server.requests[0].headers["x-trace"] == "1"
        assert sent[0] not in server.requests[1].headers and other.ok
        secret = sent[1].removeprefix("Basic ").removeprefix("Bearer ")
        assert secret not in repr(mine) and "[credential]" in mine.text
        assert secret not in made.description and secret not in repr(made.parameters)


async def test_digest() -> None:
    async def challenge(request: Request, write: Write) -> None:
        if "authorization" in request.headers:
            await write(page("in"))
        else:
            hint = 'Digest realm="r", nonce="n", algorithm=SHA-256, qop="auth"'
            await write(page("", status="401 Unauthorized", www_authenticate=hint))

    async with web_server(challenge) as server:
        made = tool({**API, "auth": {"type": "digest", "username": "me", "password": "pa55word"}})
        assert (await acall(made, world(server), url="http://api.example.com/v1/x")).text == "in"
        answer = server.requests[1].headers["authorization"]
        assert re.match(r'Digest username="me"', answer) and "pa55word" not in answer


async def test_redirects_go_as_far_as_the_endpoints_and_credentials_do_not() -> None:
    pages = {
        "/v1/a": redirect("http://other.example.com/v1/b"),
        "/v1/b": redirect("/v1/c"),
        "/v1/c": redirect("http://evil.example/v1/d?leak"),
    }
    async with web_server(fixed(pages)) as server:
        auth = {"type": "header", "header_name": "X-Key", "header_value": "k3y-one"}
        made = tool({**API, "auth": auth}, {"hosts": ["other.example.com"]})
        result = await acall(made, world(server), url="http://api.example.com/v1/a", headers={"X-Trace": "1"})
        assert "it redirects to http://evil.example/v1/d?leak, and no endpoint allows that" in result.error
        got = [
            (each.headers["host"], each.headers.get("x-key"), each.headers.get("x-trace")) for each in server.requests
        ]
        assert got == [
            ("api.example.com", "k3y-one", "1"),
            ("other.example.com", None, None),
            ("other.example.com", None, None),
        ]


async def test_another_port_is_another_origin() -> None:
    async with web_server(fixed({"/v1/a": redirect("http://api.example.com:8080/v1/b"), "/v1/b": page("b")})) as server:
        bound = {"hosts": ["http://api.example.com"], "auth": {"type": "bearer", "token": "t0ken"}}
        made = tool(bound, {"hosts": ["api.example.com:8080"]})
        assert (await acall(made, world(server), url="http://api.example.com/v1/a")).text == "b"
        assert [each.headers.get("authorization") for each in server.requests] == ["Bearer t0ken", None]


async def test_configured_headers_and_those_of_the_request() -> None:
    extra = {
        "X-User": "{{ request_context.headers['X-Forwarded-User'] }}",
        "X-Team": "team {{ request_context.headers.x-team }}",
        "X-Gone": "{{ request_context.headers['X-Absent'] }}",
    }
    async with web_server(fixed({"/v1/x": page("ok")})) as server:
        made = tool(API, default_headers={"X-Tenant": "shop"}, extra_headers=extra)
        ctx = world(server, **{"x-forwarded-user": "ann", "x-team": "sre"})
        assert (await acall(made, ctx, url="http://api.example.com/v1/x")).ok
        sent = server.requests[0].headers
        assert (sent["x-tenant"], sent["x-user"], sent["x-team"]) == ("shop", "ann", "team sre")
        assert "x-gone" not in sent


async def test_json_with_jq_and_depth() -> None:
    body = '{"items":[{"name":"a","spec":{"deep":{"er":1}}},{"name":"b","spec":{}}]}'
    async with web_server(fixed({"/v1/x": page(body, "application/json")})) as server:
        made, url = tool(API), "http://api.example.com/v1/x"
        plain = await acall(made, world(server), url=url)
        assert plain.text.startswith('{\n "items": [') and plain.notes == ("HTTP 200, application/json",)
        assert (await acall(made, world(server), url=url, jq=".items[].name")).text.split() == ['"a"', '"b"']
        cut = await acall(made, world(server), url=url, max_depth=2)
        assert "{... 2 keys}" in cut.text and "deep" not in cut.text
        wrong = await acall(made, world(server), url=url, jq=".items[")
        assert wrong.status is Status.ERROR and "jq" in wrong.error


async def test_answers_that_are_not_what_was_hoped_for() -> None:
    pages = {
        "/v1/denied": page('{"message":"token expired"}', "application/json", "403 Forbidden"),
        "/v1/empty": page("", status="204 No Content"),
        "/v1/binary": page(b"\0\1\2", "application/octet-stream"),
        "/v1/large": page("x" * 5000, "text/plain"),
    }
    async with web_server(fixed(pages)) as server:
        made, base = tool(API, max_bytes=1000), "http://api.example.com/v1"
        denied = await acall(made, world(server), url=f"{base}/denied")
        assert (denied.error, denied.text) == ("HTTP 403.", '{"message":"token expired"}')
        assert (await acall(made, world(server), url=f"{base}/empty")).status is Status.NO_DATA
        assert "not text" in (await acall(made, world(server), url=f"{base}/binary")).error
        large = await acall(made, world(server), url=f"{base}/large")
        assert large.truncated and large.gaps and len(large.text) == 1000


async def test_a_body_is_sent_as_it_is() -> None:
    async with web_server(fixed({"/v1/search": page("[]", "application/json")})) as server:
        made = tool({**API, "methods": ["POST"], "approval_required": False})
        args, problem = coerce(
            {"url": "http://api.example.com/v1/search", "method": "post", "body": '{"q": 1}'}, made.parameters
        )
        assert not problem
        assert (await acall(made, world(server), **args)).ok
        got = server.requests[0]
        assert (got.method, got.body, got.headers["content-type"]) == ("POST", b'{"q": 1}', "application/json")


async def test_inside_addresses() -> None:
    url = "http://inside.example.com/v1/x"
    async with web_server(fixed({"/v1/x": page("inside")})) as server:
        named, below = {"hosts": ["inside.example.com"]}, {"hosts": ["*.example.com"]}
        for endpoint in (named, below):
            assert (await acall(tool(endpoint), world(server), url=url)).text == "inside"
            blocked = await acall(tool(endpoint, block_internal_ips=True), world(server), url=url)
            assert "private address" in blocked.error


async def test_a_wildcard_does_not_open_metadata_services() -> None:
    net = TestNetwork({"x.example.com": [["169.254.169.254"]]}, {"169.254.169.254": 1})
    ctx = context(http=DefaultHttp({}, net))
    result = await acall(tool({"hosts": ["*.example.com"]}), ctx, url="http://x.example.com/")
    assert "metadata" in result.error and not net.connected


async def test_health_checks() -> None:
    auth = {"type": "bearer", "token": "t0ken"}
    async with web_server(fixed({"/v1/ok": page("ok")})) as server:
        for path, status, reason in (
            ("/v1/ok", "enabled", ""),
            ("/v1/none", "failed", "http://api.example.com/v1/none answers HTTP 404"),
        ):
            endpoint = {**API, "auth": auth, "health_check_url": f"http://api.example.com{path}"}
            health = await toolset(endpoint, port=server.port).open()
            assert (health.status, health.reason) == (status, reason)
        assert {each.headers["authorization"] for each in server.requests} == {"Bearer t0ken"}
    down = {**API, "health_check_url": "http://api.example.com/v1/ok"}
    assert "refused" in (await toolset(down).open()).reason
    assert (await toolset(API).open()).status == "enabled"


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, "config.endpoints: is missing or empty"),
        ({"endpoints": [{"paths": ["/x"]}]}, "config.endpoints.1.hosts: is missing"),
        ({"endpoints": [{"hosts": ["a.*.com"]}]}, "a.*.com is no host"),
        ({"endpoints": [{"hosts": ["*"]}]}, "* is no host"),
        ({"endpoints": [{"hosts": ["ftp://x"]}]}, "ftp://x is no host"),
        ({"endpoints": [{"hosts": ["x:70000"]}]}, "x:70000 is no host"),
        ({"endpoints": [{"hosts": ["x"], "methods": ["FETCH"]}]}, "methods: FETCH: expected some of GET"),
        ({"endpoints": [{"hosts": ["x"], "auth": {"type": "bearer"}}]}, "auth.token: is missing for type bearer"),
        ({"endpoints": [{"hosts": ["x"], "auth": {"type": "oauth"}}]}, "auth.type: expected one of none, basic"),
        ({"endpoints": [{"host": ["x"]}]}, "unknown key host; did you mean hosts?"),
        ({"endpoints": [{"hosts": ["x"]}], "verify_sll": True}, "unknown key verify_sll; did you mean verify_ssl?"),
        ({"endpoints": [{"hosts": ["x"]}], "client_key": "k.pem"}, "client_cert: is missing"),
    ],
)
def test_wrong_settings_are_named(config: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        make_http(ToolsetDefinition("x", "f:1", "http", config=config), services())


def test_the_schema_has_what_can_be_used() -> None:
    reading, writing = tool(API), tool({**API, "methods": ["GET", "POST"]})
    assert list(reading.parameters["properties"]) == ["url", "headers", "jq", "max_depth"]
    assert writing.parameters["properties"]["method"]["enum"] == ["GET", "POST"]
    assert (reading.effect, writing.effect) == ("read", "write")
    assert "GET https://api.example.com/v1/*" in reading.description
