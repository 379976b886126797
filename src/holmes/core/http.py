"""The only way our own code opens an HTTP connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import ssl

    import httpx2

    from holmes.core.egress import EgressPolicy, Guard, Network


class Http(Protocol):
    """Makes clients that honour proxies, SSL_CERT_FILE and CERTIFICATE (base64 CA bundle)."""

    def client(
        self,
        *,
        base_url: str = "",
        headers: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        verify: ssl.SSLContext | bool = True,
        follow_redirects: bool = False,
        egress: EgressPolicy | None = None,
    ) -> httpx2.AsyncClient:
        """A new client; the caller closes it. With ``egress`` its requests may raise EgressRefused."""
        ...

    def guard(self, policy: EgressPolicy) -> Guard:
        """A policy on the network of this machine, for what is not HTTP."""
        ...


class DefaultHttp:
    """``Http`` from a given environment; os.environ is never read.

    HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY (small letters win) are handed to httpx2 as mounts, because
    httpx2 itself would read them from the process. The authorities are loaded once for all clients, and only when one
    of them makes a TLS connection. ``network`` stands in for the machine's own resolver and sockets where the egress
    guard is asked.
    """

    def __init__(self, env: Mapping[str, str], network: Network | None = None) -> None:
        self._env = env
        self._network = network
        self._trust: ssl.SSLContext | None = None

    def client(
        self,
        *,
        base_url: str = "",
        headers: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        verify: ssl.SSLContext | bool = True,
        follow_redirects: bool = False,
        egress: EgressPolicy | None = None,
    ) -> httpx2.AsyncClient:
        """A new client; ``timeout`` in seconds for each of connecting, reading, writing and waiting for a slot."""
        import httpx2

        context = self._context(verify)
        mounts: dict[str, httpx2.AsyncBaseTransport | None] = {
            pattern: None if proxy is None else httpx2.AsyncHTTPTransport(verify=context, proxy=proxy, trust_env=False)
            for pattern, proxy in proxy_patterns(self._env).items()
        }
        transport: httpx2.AsyncBaseTransport | None = None
        if egress is not None:
            from holmes.core.guarded import GuardedTransport, ProxiedTransport

            guard = self.guard(egress)
            transport = GuardedTransport(guard, context)
            mounts = {name: proxy and ProxiedTransport(guard, proxy) for name, proxy in mounts.items()}
        return httpx2.AsyncClient(
            base_url=base_url,
            headers=dict(headers or {}),
            timeout=timeout,
            verify=context,
            follow_redirects=follow_redirects,
            mounts=mounts,
            transport=transport,
            trust_env=False,
        )

    def guard(self, policy: EgressPolicy) -> Guard:
        """A policy on this client's network."""
        from holmes.core.egress import Guard, SystemNetwork

        return Guard(policy, self._network or SystemNetwork())

    def _context(self, verify: ssl.SSLContext | bool) -> ssl.SSLContext:
        from holmes.core.tls import LazyTrust, unverified

        if verify is False:
            return unverified()
        if verify is not True:
            return verify
        if self._trust is None:
            self._trust = LazyTrust(self._env)
        return self._trust


def proxy_patterns(env: Mapping[str, str]) -> dict[str, str | None]:
    """Which proxy serves which addresses, as patterns of httpx2 mounts; None means directly.

    NO_PROXY takes what curl takes: ``*``, names (they cover their subdomains), addresses and networks (10.0.0.0/8).
    """
    excluded = [name.strip() for name in _variable(env, "NO_PROXY").split(",") if name.strip()]
    patterns: dict[str, str | None] = {}
    for scheme in ("http", "https", "all"):
        if proxy := _variable(env, f"{scheme.upper()}_PROXY").strip():
            patterns[f"{scheme}://"] = proxy if "://" in proxy else f"http://{proxy}"
    if not patterns or "*" in excluded:
        return {}
    return patterns | {pattern: None for name in excluded if (pattern := _excluded_pattern(name))}


def _variable(env: Mapping[str, str], name: str) -> str:
    return env.get(name.lower()) or env.get(name) or ""


def _excluded_pattern(name: str) -> str:
    import ipaddress

    host, _, prefix = name.strip("[]").partition("/")
    host = host.strip("[]")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        if prefix or "://" in name:
            return name if "://" in name else ""
        plain = name.removeprefix("*").removeprefix(".")
        return f"all://{plain}" if plain.partition(":")[0] == "localhost" else f"all://*{plain}"
    shown = f"[{host}]" if address.version == 6 else host
    return f"all://{shown}/{prefix}" if prefix else f"all://{shown}"
