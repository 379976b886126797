"""The egress guard: what a tool may connect to, decided by the address that is really connected to.

A host is resolved once, every address it has is checked, and the connection goes to one of those: a name that changes
its mind meanwhile gains nothing. Clients of ``Http.client(egress=...)`` pass here for each connection, at every
redirect too. Behind a proxy the proxy resolves: then URLs and literal addresses are checked here, and names as far as
they can be resolved on this side.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from holmes.core.errors import HolmesError

if TYPE_CHECKING:
    import httpcore2
    import httpx2

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
AddressKind = Literal["public", "private", "loopback", "link-local", "metadata", "multicast", "reserved"]

# Services that hand out credentials: AWS, GCP, Azure and others at 169.254.169.254; ECS and EKS; Alibaba; Azure's wire
# server; Oracle; the same of AWS and GCP in IPv6.
_METADATA = frozenset(
    map(
        ipaddress.ip_address,
        "169.254.169.254 169.254.170.2 169.254.170.23 100.100.100.200 168.63.129.16 192.0.0.192 "
        "fd00:ec2::254 fd00:ec2::23 fd20:ce::254".split(),
    )
)
_METADATA_NAMES = frozenset("metadata metadata.google.internal metadata.goog instance-data".split())
_LOOPBACK_NAMES = ("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback")
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")  # RFC 4291
_NAT64 = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))
_ISATAP = (0x00005EFE, 0x02005EFE)  # the middle 32 bits of an address that carries an IPv4 address (RFC 5214)
# A name that ends in a number is an address for inet_aton: decimal, hexadecimal, octal, or with parts left out.
_ENDS_IN_NUMBER = re.compile(r"(?:.*\.)?(?:0x[0-9a-f]*|[0-9]+)", re.I | re.S)

_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+(?:%\w+)?")


class EgressRefused(HolmesError):
    """The guard does not let this connection be made."""


@dataclass(frozen=True, slots=True)
class EgressPolicy:
    """Where connections may go.

    ``allowed_hosts`` are names, ``*.name`` (what is below it), addresses and networks. A name or address that is
    listed as such passes whatever its address; ``*.name`` and networks open private addresses alone.
    ``block_internal`` refuses loopback, link-local, metadata, multicast, unspecified and reserved addresses;
    ``block_private`` those that are not reachable from the internet.
    """

    allowed_hosts: tuple[str, ...] = ()
    block_internal: bool = True
    block_private: bool = True

    def named(self, host: str) -> bool:
        """Whether the host is listed itself."""
        return plain_host(host) in map(plain_host, self.allowed_hosts)

    def covered(self, host: str, address: Address | None = None) -> bool:
        """Whether the host is listed, below a listed name, or in a listed network."""
        name = plain_host(host)
        literal = address or _literal(name)
        return self.named(host) or any(_covers(pattern, name, literal) for pattern in self.allowed_hosts)

    def check_host(self, host: str) -> None:
        """What can be told before anything is resolved; EgressRefused."""
        name = plain_host(host)
        if self.named(name):
            return
        if literal := _literal(name):
            self.check_address(host, literal)
        elif _ENDS_IN_NUMBER.fullmatch(name):
            raise EgressRefused(f"{host} is a disguised address", remedy="write it as four decimal numbers")
        elif not self.block_internal:
            return
        elif name in _METADATA_NAMES or name.startswith("instance-data."):
            raise EgressRefused(f"{host} is a metadata service, which hands out credentials")
        elif name in _LOOPBACK_NAMES or name.endswith(".localhost"):
            raise EgressRefused(f"{host} is this machine itself")

    def check_address(self, host: str, address: Address) -> None:
        """Check an address that the host has; EgressRefused."""
        if self.named(host) or self.named(str(address)):
            return
        for kind in kinds(address):
            blocked = (
                self.block_private and not self.covered(host, address)
                if kind == "private"
                else (self.block_internal and kind != "public")
            )
            if blocked:
                where = host if _literal(plain_host(host)) else f"{host} ({address})"
                raise EgressRefused(f"{where} is a {kind} address", remedy="a person can list it in allowed_hosts")


class Network(Protocol):
    """Names and connections; tests bring their own, so that nothing leaves the machine."""

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """The addresses of a name in the order to try them; OSError when it has none."""
        ...

    async def connect(self, address: str, port: int, timeout: float | None) -> httpcore2.AsyncNetworkStream:
        """A TCP connection; ``timeout`` in seconds. httpcore2.ConnectError, httpcore2.ConnectTimeout."""
        ...


class SystemNetwork:
    """The resolver and the sockets of this machine."""

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """As getaddrinfo gives them."""
        import asyncio
        import socket

        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(address[0]) for *_, address in found))

    async def connect(self, address: str, port: int, timeout: float | None) -> httpcore2.AsyncNetworkStream:
        """By anyio."""
        import httpcore2

        return await httpcore2.AnyIOBackend().connect_tcp(address, port, timeout)


@dataclass(frozen=True, slots=True)
class Guard:
    """A policy at work on a network."""

    policy: EgressPolicy
    network: Network

    async def addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a host, all of them checked. EgressRefused; OSError when the name has none."""
        self.policy.check_host(host)
        name = host.strip("[]")
        found = [name] if _literal(plain_host(host)) else list(await self.network.resolve(name, port))
        for address in found:
            self.policy.check_address(host, ipaddress.ip_address(address))
        if not found:
            raise OSError(f"{host} has no address")
        return found

    async def check_proxied(self, host: str, port: int) -> None:
        """Check a host that a proxy will resolve: by name and literal, and by its addresses when it has some here."""
        try:
            await self.addresses(host, port)
        except OSError:  # the proxy may know it all the same
            return


def check_url(url: httpx2.URL) -> None:
    """Only plain http and https URLs; EgressRefused."""
    host = url.raw_host.decode("ascii", "replace")
    if url.scheme not in ("http", "https"):
        raise EgressRefused(f"{url.scheme or 'a URL without a scheme'}: only http and https URLs are fetched")
    if url.userinfo:
        raise EgressRefused("the URL has a user before its host", remedy="leave out what stands before the @")
    if not _HOST.fullmatch(host):
        raise EgressRefused(f"{host or 'nothing'} is no host")
    if url.port is not None and not 0 < url.port < 65536:
        raise EgressRefused(f"there is no port {url.port}")


def read_url(text: str) -> httpx2.URL:
    """A URL from text that a model wrote; EgressRefused says what is wrong with it."""
    import httpx2

    if re.search(r"[\x00-\x20\x7f\\]", text.strip()):
        raise EgressRefused("the URL has spaces, control characters or a backslash in it")
    try:
        url = httpx2.URL(text.strip())
    except (httpx2.InvalidURL, UnicodeError) as error:
        raise EgressRefused(f"this is no URL: {error}") from error
    check_url(url)
    return url


def kinds(address: Address) -> Iterator[AddressKind]:
    """What an address is, and what the IPv4 addresses are that it carries (mapped, 6to4, Teredo, NAT64, ISATAP)."""
    carried = list(_carried(address)) if isinstance(address, ipaddress.IPv6Address) else []
    for inner in carried:
        yield from kinds(inner)
    if not carried or address.is_link_local:
        yield _kind(address)


def plain_host(host: str) -> str:
    """A host as it is compared: small letters, without brackets, last dot and zone."""
    return host.strip().strip("[]").partition("%")[0].rstrip(".").lower()


def asked_for(host: str, question: str) -> bool:
    """Whether the person who asks has written this host."""
    name = plain_host(host)
    return bool(name and re.search(rf"(?<![\w.@-]){re.escape(name)}(?![\w-]|\.\w)", question, re.I))


def cluster_name(host: str) -> bool:
    """Whether the name can only be that of a service in the cluster."""
    name = plain_host(host)
    return name.endswith((".svc", ".cluster.local")) and "." in name.removesuffix(".svc")


def _kind(address: Address) -> AddressKind:
    if address in _METADATA:
        return "metadata"
    if address.is_loopback:
        return "loopback"
    if address.is_link_local:
        return "link-local"
    if address.is_multicast:
        return "multicast"
    if address.is_unspecified or address.is_reserved or (address.version == 4 and address.packed[0] == 0):
        return "reserved"
    outside = address.is_global and not address.is_private and (address.version == 4 or address in _GLOBAL_UNICAST)
    return "public" if outside else "private"


def _carried(address: ipaddress.IPv6Address) -> Iterator[Address]:
    value = int(address)
    if address.ipv4_mapped or (value >> 32 == 0 and value > 0xFFFF) or value >> 32 == 0xFFFF0000:
        yield ipaddress.IPv4Address(value & 0xFFFFFFFF)  # ::ffff:a.b.c.d, ::a.b.c.d, ::ffff:0:a.b.c.d
    if address.sixtofour:
        yield address.sixtofour
    if address.teredo:
        yield from address.teredo
    if any(address in network for network in _NAT64) or (value >> 32) & 0xFFFFFFFF in _ISATAP:
        yield ipaddress.IPv4Address(value & 0xFFFFFFFF)


def _literal(name: str) -> Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _covers(pattern: str, name: str, address: Address | None) -> bool:
    if pattern.startswith("*."):
        return name.endswith(plain_host(pattern)[1:])
    if address is None or "/" not in pattern:
        return False
    try:
        return address in ipaddress.ip_network(pattern, strict=False)
    except ValueError:
        return False
