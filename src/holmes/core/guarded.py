"""httpx2 transports that pass through the egress guard."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager

import anyio
import httpcore2
import httpx2

from holmes.core.egress import EgressRefused, Guard, check_url


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Connects to checked addresses only. EgressRefused; else the exceptions of httpx2."""

    def __init__(self, guard: Guard, context: ssl.SSLContext) -> None:
        self._pool = httpcore2.AsyncConnectionPool(ssl_context=context, network_backend=_Backend(guard))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request."""
        check_url(request.url)
        url = httpcore2.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        )
        plain = httpcore2.Request(
            request.method, url, headers=request.headers.raw, content=request.stream, extensions=request.extensions
        )
        with _translated():
            response = await self._pool.handle_async_request(plain)
        return httpx2.Response(
            response.status, headers=response.headers, stream=_Stream(response), extensions=response.extensions
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._pool.aclose()


class ProxiedTransport(httpx2.AsyncBaseTransport):
    """Sends through a proxy what the guard lets pass."""

    def __init__(self, guard: Guard, proxy: httpx2.AsyncBaseTransport) -> None:
        self._guard = guard
        self._proxy = proxy

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request."""
        check_url(request.url)
        port = request.url.port or (443 if request.url.scheme == "https" else 80)
        await self._guard.check_proxied(request.url.raw_host.decode("ascii"), port)
        return await self._proxy.handle_async_request(request)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._proxy.aclose()


class _Backend(httpcore2.AsyncNetworkBackend):
    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            with anyio.fail_after(timeout):
                addresses = await self._guard.addresses(host, port)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(f"{host} was not resolved in time") from error
        except OSError as error:
            raise httpcore2.ConnectError(f"{host} cannot be resolved: {error.strerror or error}") from error
        for address in addresses[:-1]:
            try:
                return await self._guard.network.connect(address, port, timeout)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await self._guard.network.connect(addresses[-1], port, timeout)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        raise EgressRefused("a socket of this machine is not for tools")

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


class _Stream(httpx2.AsyncByteStream):
    def __init__(self, response: httpcore2.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _translated():
            async for part in self._response.aiter_stream():
                yield part

    async def aclose(self) -> None:
        await self._response.aclose()


@contextmanager
def _translated() -> Iterator[None]:
    """The exceptions of httpcore2 as those of httpx2, which have the same names."""
    try:
        yield
    except (
        httpcore2.TimeoutException,
        httpcore2.NetworkError,
        httpcore2.ProtocolError,
        httpcore2.UnsupportedProtocol,
        httpcore2.ProxyError,
    ) as error:
        same: type[httpx2.TransportError] = getattr(httpx2, type(error).__name__)
        raise same(str(error)) from error
