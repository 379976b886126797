"""One request inside its limits: redirects judged at each hop, credentials that stay, size and time."""

from __future__ import annotations

import asyncio
import gzip
import time
from collections.abc import Mapping

import httpx2
import pytest

from holmes.core.egress import EgressPolicy
from holmes.core.fetch import Ask, Fetched, FetchFailed, fetch
from holmes.core.http import DefaultHttp
from support.web_server import OTHER, PUBLIC, Request, TestNetwork, Write, fixed, page, redirect, web_server

pytestmark = pytest.mark.anyio

NAMES = {
    "first.example": [[PUBLIC]],
    "second.example": [[OTHER]],
    "inside.example": [["10.0.0.5"]],
    "this.example": [["127.0.0.1"]],
}


async def get(
    net: TestNetwork,
    url: str = "http://first.example/",
    *,
    method: str = "GET",
    max_bytes: int = 100_000,
    seconds: float = 20.0,
    policy: EgressPolicy | None = None,
    stop: str = "",
) -> Fetched:
    first = httpx2.URL(url)

    def headers(target: httpx2.URL) -> Mapping[str, str]:
        return {"x-api-key": "s3cret"} if target.host == first.host else {}

    ask = Ask(method, first, headers, lambda target: stop, body="text" if method == "POST" else None)
    async with DefaultHttp({}, net).client(egress=policy or EgressPolicy()) as client:
        return await fetch(client, ask, max_bytes=max_bytes, deadline=time.monotonic() + seconds)


def network(port: int) -> TestNetwork:
    return TestNetwork({name: list(answers) for name, answers in NAMES.items()}, {PUBLIC: port, OTHER: port})


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://inside.example/",
        "http://this.example/",
        "http://[::ffff:127.0.0.1]/",
        "http://2130706433/",
        "http://user@first.example/",
        "//localhost/",
        "file:///etc/passwd",
        "gopher://first.example/",
        "http://first.example:0/",
    ],
)
async def test_a_redirect_to_the_inside_is_refused(target: str) -> None:
    async with web_server(fixed({"/": redirect(target)})) as server:
        net = network(server.port)
        with pytest.raises(FetchFailed):
            await get(net)
        assert {address for address, _ in net.connected} == {PUBLIC}


async def test_a_listed_host_does_not_open_the_inside_for_its_redirects() -> None:
    async with web_server(fixed({"/": redirect("http://127.0.0.1:9/")})) as server:
        with pytest.raises(FetchFailed, match="loopback"):
            await get(network(server.port), policy=EgressPolicy(("first.example",)))


async def test_the_second_and_later_hops_are_judged_too() -> None:
    pages = {
        "/": redirect("/b"),
        "/b": redirect("http://second.example/c", "307 Temporary Redirect"),
        "/c": redirect("http://127.0.0.1/"),
    }
    async with web_server(fixed(pages)) as server:
        with pytest.raises(FetchFailed, match="loopback"):
            await get(network(server.port))
        assert [request.target for request in server.requests] == ["/", "/b", "/c"]


async def test_headers_are_asked_for_at_each_hop_and_credentials_stay() -> None:
    pages = {"/": redirect("/same"), "/same": redirect("http://second.example/other"), "/other": page("there")}
    async with web_server(fixed(pages)) as server:
        found = await get(network(server.port))
        assert (found.url, found.text) == ("http://second.example/other", "there")
        keys = [(request.headers["host"], request.headers.get("x-api-key")) for request in server.requests]
        assert keys == [("first.example", "s3cret"), ("first.example", "s3cret"), ("second.example", None)]


async def test_cookies_of_one_host_do_not_reach_another() -> None:
    first = page("", status="302 Found", location="http://second.example/x", set_cookie="session=1; Domain=example")
    async with web_server(fixed({"/": first, "/x": page("ok")})) as server:
        await get(network(server.port))
        assert "cookie" not in server.requests[1].headers


async def test_redirects_end() -> None:
    async with web_server(fixed({"/": redirect("/")})) as server:
        with pytest.raises(FetchFailed, match="more than 5 redirects"):
            await get(network(server.port))
        assert len(server.requests) == 6


async def test_a_redirect_that_the_caller_does_not_want_is_the_answer() -> None:
    async with web_server(fixed({"/": redirect("http://second.example/")})) as server:
        found = await get(network(server.port), stop="no")
        assert (found.status, found.stopped, len(server.requests)) == (302, "no", 1)


async def test_what_was_posted_is_not_sent_on() -> None:
    async with web_server(fixed({"/": redirect("http://second.example/", "307 Temporary Redirect")})) as server:
        found = await get(network(server.port), method="POST")
        assert (found.status, len(server.requests)) == (307, 1)


async def test_an_endless_body_is_cut() -> None:
    async def endless(request: Request, write: Write) -> None:
        await write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 1000000000\r\n\r\n")
        while True:
            await write(b"x" * 65536)

    async with web_server(endless) as server:
        found = await get(network(server.port), max_bytes=300_000)
        assert (len(found.body), found.whole) == (300_000, False)
        assert server.written < 20_000_000


async def test_a_packed_body_is_cut_while_it_is_unpacked() -> None:
    packed = gzip.compress(b"\0" * 200_000_000, 1)
    assert len(packed) < 2_000_000
    async with web_server(fixed({"/": page(packed, "text/plain", content_encoding="gzip")})) as server:
        found = await get(network(server.port), max_bytes=100_000)
        assert (len(found.body), found.whole) == (100_000, False)
        assert server.requests[0].headers["accept-encoding"] == "identity"


async def test_a_packed_body_is_unpacked_although_nobody_asked() -> None:
    async with web_server(fixed({"/": page(gzip.compress(b"text"), "text/plain", content_encoding="gzip")})) as server:
        assert (await get(network(server.port))).text == "text"


@pytest.mark.parametrize(("encoding", "body"), [("br", b"\x0b\x02\x80text\x03"), ("gzip", b"no gzip")])
async def test_a_packing_that_cannot_be_read_is_said(encoding: str, body: bytes) -> None:
    async with web_server(fixed({"/": page(body, content_encoding=encoding)})) as server:
        with pytest.raises(FetchFailed):
            await get(network(server.port))


@pytest.mark.parametrize("where", ["headers", "body", "nothing"])
async def test_a_slow_drip_ends_at_the_deadline(where: str) -> None:
    async def drip(request: Request, write: Write) -> None:
        if where == "nothing":
            await asyncio.Event().wait()
        if where == "body":
            await write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")
        else:
            await write(b"HTTP/1.1 200 OK\r\n")
        while True:
            await write(b"x: y\r\n" if where == "headers" else b"x")
            await asyncio.sleep(0.02)

    async with web_server(drip) as server:
        started = time.monotonic()
        with pytest.raises(FetchFailed, match="no whole answer came within"):
            await get(network(server.port), seconds=0.4)
        assert time.monotonic() - started < 10


async def test_failures_are_words() -> None:
    refused = TestNetwork({"first.example": [[PUBLIC]]}, {PUBLIC: 1})
    with pytest.raises(FetchFailed, match=r"first\.example: the connection was refused"):
        await get(refused)
    with pytest.raises(FetchFailed, match=r"nowhere\.example cannot be resolved: Name or service not known"):
        await get(TestNetwork(), "http://nowhere.example/")

    async def rubbish(request: Request, write: Write) -> None:
        await write(b"SSH-2.0-OpenSSH_9.6\r\n")

    async with web_server(rubbish) as server:
        with pytest.raises(FetchFailed, match=r"first\.example: "):
            await get(network(server.port))
        with pytest.raises(FetchFailed, match="TLS failed"):
            await get(network(server.port), "https://first.example/")
