"""Which URLs and addresses the egress guard refuses, whatever way they are written."""

from __future__ import annotations

import ipaddress

import pytest

from holmes.core.egress import EgressPolicy, EgressRefused, asked_for, cluster_name, kinds, read_url
from holmes.core.http import DefaultHttp
from support.web_server import PUBLIC, TestNetwork, fixed, page, web_server

pytestmark = pytest.mark.anyio

# Refused with the default policy. Names that need an address have one in NAMES.
REFUSED = """
http://127.0.0.1/
http://127.0.0.1:8080/admin
http://127.1/
http://127.255.255.254/
http://127.0.0.1./
http://2130706433/
http://0x7f000001/
http://0x7f.0.0.1/
http://0x7f.1/
http://0177.0.0.1/
http://0177.0.0.01/
http://017700000001/
http://127.0.1/
http://00000177.0.0.1/
http://0/
http://0.0.0.0/
http://0.1.2.3/
http://[::1]/
http://[0:0:0:0:0:0:0:1]/
http://[::]/
http://[::ffff:127.0.0.1]/
http://[::ffff:7f00:1]/
http://[::127.0.0.1]/
http://[::ffff:0:127.0.0.1]/
http://[::ffff:169.254.169.254]/
http://[64:ff9b::127.0.0.1]/
http://[64:ff9b::a9fe:a9fe]/
http://[64:ff9b:1::10.0.0.1]/
http://[2002:7f00:1::]/
http://[2002:a9fe:a9fe::1]/
http://[2002:a00:1::1]/
http://[2001:0:7f00:1::]/
http://[2001:0:5db8:d70e:0:0:f5ff:fffe]/
http://[fe80::5efe:127.0.0.1]/
http://[2001:db8::5efe:169.254.169.254]/
http://[fe80::1]/
http://[fe80::1%25eth0]/
http://[fd00:ec2::254]/
http://[fd20:ce::254]/
http://[fc00::1]/
http://[fd12:3456::1]/
http://[fec0::1]/
http://[ff02::1]/
http://[100::1]/
http://169.254.169.254/latest/meta-data/
http://169.254.170.2/v2/credentials
http://0xa9fea9fe/
http://2852039166/
http://0251.0376.0251.0376/
http://169.254.1.1/
http://100.100.100.200/
http://168.63.129.16/
http://192.0.0.192/
http://10.0.0.1/
http://10.255.255.255/
http://172.16.0.1/
http://172.31.255.255/
http://192.168.1.1/
http://100.64.0.1/
http://198.18.0.1/
http://192.0.2.1/
http://203.0.113.5/
http://224.0.0.1/
http://239.255.255.250/
http://255.255.255.255/
http://240.0.0.1/
http://localhost/
http://LOCALHOST/
http://localhost./
http://foo.localhost/
http://ip6-localhost/
http://metadata/
http://metadata.google.internal/computeMetadata/v1/
http://metadata.google.internal./
http://METADATA.google.internal/
http://instance-data.ec2.internal/
http://loopback.example/
http://metadata.example/
http://inside.example/
http://mixed.example/
http://mixed6.example/
http://mapped.example/
http://user@example.com/
http://user:password@example.com/
http://example.com@127.0.0.1/
http://127.0.0.1@example.com/
http://example.com\\@127.0.0.1/
http://example.com\\.evil.example/
http://:80/
http:///etc/passwd
file:///etc/passwd
FILE:///etc/passwd
ftp://example.com/
gopher://example.com:70/_GET
dict://example.com:11211/stat
ldap://example.com/
data:text/html,hello
javascript:alert(1)
unix:///var/run/docker.sock
ws://example.com/
//example.com/
example.com
http://exa mple.com/
http://example.com:99999/
http://[::1/
http://①②⑦.⓪.⓪.①/
http://127%2e0.0.1/
""".strip().splitlines()
NAMES = {
    "loopback.example": "127.0.0.1",
    "metadata.example": "169.254.169.254",
    "inside.example": "10.1.2.3",
    "mixed.example": f"{PUBLIC} 10.0.0.1",
    "mixed6.example": f"{PUBLIC} ::1",
    "mapped.example": "::ffff:127.0.0.1",
}
PASSES = """
http://example.com/
http://EXAMPLE.com./
https://example.com:8443/x?y=http://127.0.0.1/
http://example.com/user@host
http://example.com/?to=user@host
http://93.184.215.14/
http://93.184.215.14:8080/path
http://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/
http://[::ffff:93.184.215.14]/
http://[64:ff9b::5db8:d70e]/
http://10.example.com/
http://127.0.0.1.example.com/
http://0x7f.example.com/
http://localhost.example.com/
http://metadata.example.com/
http://example.com/文档
""".strip().splitlines()


def network() -> TestNetwork:
    names = {name: [addresses.split()] for name, addresses in NAMES.items()}
    public = "example.com 10.example.com 127.0.0.1.example.com 0x7f.example.com localhost.example.com"
    names |= {name: [[PUBLIC]] for name in f"{public} metadata.example.com".split()}
    return TestNetwork(names)


async def refusal(text: str, policy: EgressPolicy) -> str:
    """What the guard says of a URL; "" when a connection would be made."""
    try:
        url = read_url(text)
        await DefaultHttp({}, network()).guard(policy).addresses(url.raw_host.decode(), url.port or 80)
    except EgressRefused as refused:
        return refused.message
    return ""


def test_the_table_is_large() -> None:
    assert len(set(REFUSED)) == len(REFUSED) >= 60


@pytest.mark.parametrize("text", REFUSED)
async def test_refused(text: str) -> None:
    assert await refusal(text, EgressPolicy())


@pytest.mark.parametrize("text", PASSES)
async def test_passes(text: str) -> None:
    assert not await refusal(text.replace("EXAMPLE.com.", "EXAMPLE.com"), EgressPolicy())


@pytest.mark.parametrize("text", REFUSED)
async def test_the_client_itself_refuses_before_it_connects(text: str) -> None:
    import httpx2

    net = network()
    async with DefaultHttp({}, net).client(egress=EgressPolicy()) as client:
        with pytest.raises((EgressRefused, httpx2.InvalidURL, httpx2.UnsupportedProtocol)):
            await client.get(text)
    assert not net.connected


@pytest.mark.parametrize("text", REFUSED)
async def test_behind_a_proxy_nothing_of_it_reaches_the_proxy(text: str) -> None:
    import httpx2

    async with web_server(fixed({})) as proxy:
        env = {"HTTP_PROXY": f"http://127.0.0.1:{proxy.port}", "HTTPS_PROXY": f"http://127.0.0.1:{proxy.port}"}
        async with DefaultHttp(env, network()).client(egress=EgressPolicy()) as client:
            with pytest.raises((EgressRefused, httpx2.InvalidURL, httpx2.UnsupportedProtocol)):
                await client.get(text)
        assert not proxy.requests


async def test_a_proxy_is_used_for_what_is_allowed_and_for_names_that_only_it_knows() -> None:
    answer = page("from the proxy", "text/plain")

    async def proxied(request, write):  # type: ignore[no-untyped-def]
        await write(answer)

    async with web_server(proxied) as proxy:
        http = DefaultHttp({"HTTP_PROXY": f"http://127.0.0.1:{proxy.port}"}, network())
        async with http.client(egress=EgressPolicy()) as client:
            for host in ("example.com", "known-to-the-proxy.example"):
                assert (await client.get(f"http://{host}/x")).text == "from the proxy"
        assert [request.target for request in proxy.requests] == [
            "http://example.com/x",
            "http://known-to-the-proxy.example/x",
        ]


@pytest.mark.parametrize(
    ("allowed", "url", "passes"),
    [
        ("127.0.0.1", "http://127.0.0.1/", True),
        ("localhost", "http://localhost/", True),
        ("127.0.0.1", "http://[::ffff:127.0.0.1]/", False),
        ("127.0.0.0/8", "http://127.0.0.1/", False),  # only an exact name or address opens this machine
        ("169.254.0.0/16", "http://169.254.169.254/", False),
        ("169.254.169.254", "http://169.254.169.254/", True),
        ("10.1.0.0/16", "http://inside.example/", True),
        ("10.1.2.3", "http://inside.example/", True),
        ("10.2.0.0/16", "http://inside.example/", False),
        ("inside.example", "http://inside.example/", True),
        ("*.example", "http://inside.example/", True),
        ("*.example", "http://metadata.example/", False),
        ("*.example", "http://loopback.example/", False),
        ("metadata.example", "http://metadata.example/", True),
        ("Inside.Example.", "http://inside.example/", True),
        ("example", "http://inside.example/", False),
        ("loopback.example", "http://metadata.example/", False),
        ("2130706433", "http://2130706433/", True),
    ],
)
async def test_hosts_that_the_user_listed(allowed: str, url: str, passes: bool) -> None:
    net = network()
    net.names["localhost"] = [["127.0.0.1"]]
    net.names["2130706433"] = [["127.0.0.1"]]
    guard = DefaultHttp({}, net).guard(EgressPolicy((allowed,)))
    parsed = read_url(url)
    if passes:
        assert await guard.addresses(parsed.host, 80)
    else:
        with pytest.raises(EgressRefused):
            await guard.addresses(parsed.host, 80)


async def test_private_addresses_can_be_opened_without_those_of_this_machine() -> None:
    policy = EgressPolicy(block_private=False)
    assert not await refusal("http://10.0.0.1/", policy)
    assert not await refusal("http://[fd12::1]/", policy)
    assert not await refusal("http://inside.example/", policy)
    for text in ("http://127.0.0.1/", "http://[fd00:ec2::254]/", "http://100.100.100.200/", "http://169.254.0.1/"):
        assert await refusal(text, policy)


async def test_a_name_is_resolved_once_and_the_checked_address_is_connected_to() -> None:
    """A name that is public when it is checked and internal when it is used gains nothing."""
    async with web_server(fixed({"/": page("public")})) as server:
        net = TestNetwork({"rebind.example": [[PUBLIC], ["127.0.0.1"], ["169.254.169.254"]]}, {PUBLIC: server.port})
        async with DefaultHttp({}, net).client(egress=EgressPolicy()) as client:
            assert (await client.get("http://rebind.example/")).text == "public"
            with pytest.raises(EgressRefused, match="loopback"):
                await client.get("http://rebind.example/")
        assert net.connected == [(PUBLIC, 80)]
        assert net.resolved == ["rebind.example"] * 2


async def test_the_next_address_is_tried_when_the_first_does_not_answer() -> None:
    async with web_server(fixed({"/": page("second")})) as server:
        closed = TestNetwork({"two.example": [["8.8.8.8", PUBLIC]]}, {"8.8.8.8": 1, PUBLIC: server.port})
        async with DefaultHttp({}, closed).client(egress=EgressPolicy()) as client:
            assert (await client.get("http://two.example/")).text == "second"
        assert [address for address, _ in closed.connected] == ["8.8.8.8", PUBLIC]


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("8.8.8.8", {"public"}),
        ("2002:808:808::1", {"public"}),
        ("64:ff9b::8.8.8.8", {"public"}),
        ("fe80::5efe:8.8.8.8", {"public", "link-local"}),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", {"public", "private"}),  # Teredo: server and client
        ("::2", {"reserved"}),
    ],
)
def test_kinds_of_addresses(address: str, found: set[str]) -> None:
    assert set(kinds(ipaddress.ip_address(address))) == found


@pytest.mark.parametrize(
    ("host", "question", "named"),
    [
        ("grafana.corp.example", "what does https://grafana.corp.example/d/1 show?", True),
        ("grafana.corp.example", "see grafana.corp.example.", True),
        ("GRAFANA.corp.example.", "see Grafana.Corp.Example, please", True),
        ("corp.example", "see grafana.corp.example", False),
        ("grafana.corp", "see grafana.corp.example", False),
        ("corp.example", "mail me@corp.example", False),
        ("redis", "is redis:6379 up?", True),
        ("redis", "is redis-master:6379 up?", False),
        ("10.0.0.1", "10.0.0.12 is slow", False),
        ("10.0.0.1", "ping 10.0.0.1", True),
        ("", "anything", False),
        ("evil.example", "", False),
    ],
)
def test_hosts_of_the_question(host: str, question: str, named: bool) -> None:
    assert asked_for(host, question) is named


def test_names_of_the_cluster() -> None:
    assert cluster_name("redis.shop.svc")
    assert cluster_name("redis.shop.svc.cluster.local")
    assert not cluster_name("redis.shop.svc.example.com")
    assert not cluster_name("svc")
    assert not cluster_name("shop.svc")
