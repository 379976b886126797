"""Where requests may go: literal URLs to the cluster's services and to configured hosts."""

from __future__ import annotations

import ipaddress
import re

from holmes.tools.policy.settings import Ruling, ask, deny

_URL = re.compile(
    r"(?:(https?)://)?([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:[/?#][!-~]*)?", re.IGNORECASE
)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(//)?(?![0-9]+(/|$))")
_METADATA = frozenset(
    [
        "metadata",
        "metadata.google.internal",
        "instance-data",
        "instance-data.ec2.internal",
        "100.100.100.200",
        "fd00:ec2::254",
    ]
)
_GUESSED = ("ftp.", "dict.", "ldap.", "imap.", "smtp.", "pop3.")  # curl guesses a protocol by these names


def judge_url(url: str, hosts: frozenset[str]) -> Ruling | None:
    """What speaks against a GET of a URL as curl reads it."""
    scheme = _SCHEME.match(url)
    if scheme and scheme[1].lower() not in ("http", "https") and scheme[2]:
        return deny(f"{scheme[1]}: is not a way to read a web page", "url")
    if "@" in url.partition("?")[0]:
        return deny("the URL has credentials, or hides its host", "url")
    match = _URL.fullmatch(url)
    if match is None:
        return ask(f"{url} is not a plain URL", "url")
    if re.search(r"[\[\]{}]", url[match.end(2) :]):
        return ask("the URL stands for many", "url")
    return judge_host(match[2], hosts, guessed=match[1] is None)


def judge_host(host: str, hosts: frozenset[str], *, guessed: bool = False) -> Ruling | None:
    """What speaks against talking to a host: metadata services never, unknown hosts with a person."""
    name = host.strip("[]").rstrip(".").lower()
    if name in _METADATA:
        return deny(f"{host} hands out credentials", "metadata service")
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        if re.fullmatch(r"(0x[0-9a-f]+|[0-9]+)(\.(0x[0-9a-f]+|[0-9]+))*", name):
            return deny(f"{host} is a disguised address", "metadata service")
    else:
        mapped = getattr(address, "ipv4_mapped", None) or address
        if mapped.is_link_local or mapped.is_unspecified or mapped.is_multicast:
            return deny(f"{host} is the address of a metadata service, or of none", "metadata service")
    if guessed and name.startswith(_GUESSED):
        return ask(f"{host}: write the protocol", "url")
    if name in hosts or (name.endswith((".svc", ".cluster.local")) and "." in name):
        return None
    return ask(f"{host} is neither a service of the cluster nor a configured host", "host")


def judge_header(header: str) -> Ruling | None:
    """What speaks against a header of a request."""
    if header.startswith("@"):
        return deny("it reads headers from a file", "curl -H")
    if re.match(
        r"\s*(authorization|proxy-authorization|cookie|x-[a-z-]*(token|key|auth)[a-z-]*)\s*:", header, re.IGNORECASE
    ):
        return ask("it sends credentials", "curl -H")
    if re.search(r"method|impersonate|[\r\n]", header, re.IGNORECASE):
        return ask(f"the header {header} may change what the request does", "curl -H")
    return None
