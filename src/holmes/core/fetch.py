"""One HTTP request with its redirects, inside limits of size and time. Redirects are followed by hand and judged."""

from __future__ import annotations

import asyncio
import codecs
import ssl
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holmes.core.egress import EgressRefused, check_url
from holmes.core.errors import HolmesError

if TYPE_CHECKING:
    import httpx2

MAX_REDIRECTS = 5
_FOLLOWED = (301, 302, 303, 307, 308)


class FetchFailed(HolmesError):
    """No answer came, or none that can be used."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer. ``stopped`` says why a redirect was not followed; then the answer is the redirect itself."""

    url: str
    status: int
    headers: Mapping[str, str]  # names in small letters
    body: bytes
    whole: bool  # False when the answer was larger than the limit
    stopped: str = ""

    @property
    def media_type(self) -> str:
        """The type without parameters, in small letters; "" when the server named none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def charset(self) -> str:
        """How the text is encoded, as the server says; "" when it does not, or names what nobody knows."""
        name = self.headers.get("content-type", "").lower().partition("charset=")[2].partition(";")[0].strip(" \"'")
        try:
            return codecs.lookup(name).name if name else ""
        except LookupError:
            return ""

    @property
    def text(self) -> str:
        """The body decoded as the server says, else as UTF-8."""
        return self.body.decode(self.charset or "utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Ask:
    """What to ask for.

    ``headers`` and ``auth`` are asked anew for each URL on the way, so that credentials go only where they belong.
    ``stop`` says what speaks against following a redirect to a URL, "" when nothing does.
    """

    method: str
    url: httpx2.URL
    headers: Callable[[httpx2.URL], Mapping[str, str]]
    stop: Callable[[httpx2.URL], str]
    auth: Callable[[httpx2.URL], httpx2.Auth | None] = lambda url: None
    body: str | None = None


async def fetch(client: httpx2.AsyncClient, ask: Ask, *, max_bytes: int, deadline: float) -> Fetched:
    """Ask, and follow redirects of GET and HEAD. ``deadline`` in seconds of time.monotonic(); FetchFailed."""
    started = time.monotonic()
    try:
        async with asyncio.timeout(max(deadline - started, 0.0)):
            return await _follow(client, ask, max_bytes)
    except TimeoutError as error:
        raise FetchFailed(f"no whole answer came within {deadline - started:.3g} s") from error
    except EgressRefused as error:
        raise FetchFailed(error.message, remedy=error.remedy) from error
    except (zlib.error, UnicodeError) as error:
        raise FetchFailed(f"the answer cannot be read: {error}") from error


async def _follow(client: httpx2.AsyncClient, ask: Ask, max_bytes: int) -> Fetched:
    import httpx2

    url = ask.url
    for _ in range(MAX_REDIRECTS + 1):
        headers = {"accept-encoding": "identity", **ask.headers(url)}
        try:
            request = client.build_request(ask.method, url, headers=headers, content=ask.body)
            response = await client.send(request, stream=True, auth=ask.auth(url), follow_redirects=False)
            try:
                target = _target(response, ask.method)
                stopped = _speaks_against(url, target, ask) if target is not None else ""
                if target is None or stopped:
                    body, whole = await _read(response, max_bytes)
                    return Fetched(str(url), response.status_code, _headers(response), body, whole, stopped)
            finally:
                await response.aclose()
        except (httpx2.TransportError, httpx2.InvalidURL) as error:
            raise FetchFailed(f"{url.host}: {_cause(error)}") from error
        url = target
    raise FetchFailed(f"more than {MAX_REDIRECTS} redirects")


def _target(response: httpx2.Response, method: str) -> httpx2.URL | None:
    """Where a redirect leads; None for other answers, and for a redirect that cannot be followed."""
    location = response.headers.get("location", "")
    if response.status_code not in _FOLLOWED or not location or method not in ("GET", "HEAD"):
        return None
    return response.request.url.join(location)


def _speaks_against(url: httpx2.URL, target: httpx2.URL, ask: Ask) -> str:
    check_url(target)
    if url.scheme == "https" and target.scheme == "http":
        return f"it redirects to {target}, which is not encrypted"
    return ask.stop(target)


def _headers(response: httpx2.Response) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


async def _read(response: httpx2.Response, limit: int) -> tuple[bytes, bool]:
    """At most ``limit`` bytes, however much they were packed, and whether that is all."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "", "gzip", "x-gzip", "deflate"):
        raise FetchFailed(f"the answer is packed as {encoding}, which was not asked for")
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 32) if encoding not in ("identity", "") else None
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += inflate.decompress(chunk, limit + 1 - len(body)) if inflate else chunk
        if len(body) > limit:
            return bytes(body[:limit]), False
    return bytes(body), True


def origin(url: httpx2.URL) -> tuple[str, str, int]:
    """Scheme, host and port: what credentials belong to."""
    return url.scheme, url.host.lower(), url.port or (443 if url.scheme == "https" else 80)


def _cause(error: Exception) -> str:
    """What went wrong, in words for people."""
    causes = list(chain(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted ({cause.verify_message})"
        if isinstance(cause, ssl.SSLError):
            return f"TLS failed ({cause.reason or cause})"
    if refused := next((cause for cause in causes if isinstance(cause, ConnectionRefusedError)), None):
        return f"the connection was refused ({refused.strerror})"
    name = type(error).__name__
    if "Timeout" in name:
        return "it did not answer in time"
    return str(error) or name


def chain(error: BaseException) -> Iterator[BaseException]:
    """An exception and all that led to it."""
    waiting: list[BaseException] = [error]
    seen: set[int] = set()
    while waiting:
        cause = waiting.pop(0)
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        if isinstance(cause, BaseExceptionGroup):
            waiting += cause.exceptions
        waiting += [each for each in (cause.__cause__, cause.__context__) if each is not None]
