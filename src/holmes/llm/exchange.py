"""One request to a provider over HTTP: deadline, server-sent events, and a clear error for every way to fail."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit, urlunsplit

from holmes.core.errors import ConfigError, ModelError, ModelRefused, ModelUnavailable
from holmes.llm.refusals import Endpoint, Refusal

if TYPE_CHECKING:
    import httpx2

    from holmes.core.http import Http

_CONNECT = 15.0  # seconds to reach a host; the answer itself may take as long as the model thinks
_MAX_REFUSAL = 64 * 1024  # bytes read of an error body
_MAX_EVENT = 64 * 1024 * 1024  # bytes of one event or of an answer that is not streamed


class Reader(Protocol):
    """Takes an answer apart. ``done`` is True once the answer is known to be whole."""

    done: bool

    def chunk(self, data: dict[str, Any]) -> None:
        """One event of a stream. Raises Refusal for an error event."""
        ...

    def whole(self, data: dict[str, Any]) -> None:
        """An answer that came in one piece."""
        ...


class Exchange:
    """Requests to one endpoint, over one client that is made when it is first needed."""

    def __init__(self, http: Http, endpoint: Endpoint, headers: Mapping[str, str], timeout: float) -> None:
        self._http = http
        self.endpoint = endpoint
        self._headers = headers
        self._timeout = timeout
        self._client: httpx2.AsyncClient | None = None
        self._lock = asyncio.Lock()

    async def ask(self, body: bytes, reader: Reader, deadline: float | None) -> None:
        """Send and read to the end. Raises Refusal (the caller may mend the request) and the ModelError tree."""
        await self._within(deadline, self._converse("POST", self.endpoint.url, body, reader))
        if not reader.done:
            raise self._unavailable("the answer broke off before its end")

    async def get(self, url: str, deadline: float | None) -> dict[str, Any]:
        """A JSON document beside the endpoint. Raises as ``ask`` does."""
        reader = _Document()
        await self._within(deadline, self._converse("GET", url, None, reader))
        return reader.data

    async def close(self) -> None:
        """Close connections; the next request opens them again."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _within(self, deadline: float | None, conversation: Coroutine[Any, Any, None]) -> None:
        seconds = self._timeout if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            async with asyncio.timeout(seconds):
                await conversation
        except TimeoutError as error:
            raise self._unavailable(f"no complete answer within the time allowed ({seconds:.3g} s)") from error

    async def _converse(self, method: str, url: str, body: bytes | None, reader: Reader) -> None:
        client = await self._connected()
        import httpx2

        patience = httpx2.Timeout(self._timeout, connect=min(self._timeout, _CONNECT))
        try:
            async with client.stream(method, url, content=body, timeout=patience) as response:
                await self._read(response, reader)
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, httpx2.LocalProtocolError) as error:
            raise ModelRefused(str(error), remedy="check the base URL", where=self.endpoint.shown) from error
        except ConfigError as error:
            raise ModelRefused(error.message, remedy=error.remedy, where=self.endpoint.shown) from error
        except httpx2.HTTPError as error:
            if not reader.done:  # what follows a whole answer (usage) may break off
                raise self._broken(error) from error

    async def _connected(self) -> httpx2.AsyncClient:
        async with self._lock:
            if self._client is None:
                self._check_headers()
                # Importing httpx2 takes about 0.1 s, hence the thread.
                self._client = await asyncio.to_thread(self._http.client, headers=self._headers, timeout=self._timeout)
            return self._client

    async def _read(self, response: httpx2.Response, reader: Reader) -> None:
        if response.status_code != 200:
            text = (await _body(response, _MAX_REFUSAL)).decode("utf-8", "replace")
            raise Refusal(response.status_code, text, dict(response.headers))
        events = Events(reader, self._unavailable)
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            async for piece in response.aiter_bytes():
                events.feed(piece)
            events.end()
            return
        body = await _body(response, _MAX_EVENT)
        if body.lstrip().startswith((b"data:", b"event:", b":")):
            events.feed(body)
            events.end()
            return
        reader.whole(self._document(body))

    def _document(self, body: bytes) -> dict[str, Any]:
        text = body.decode("utf-8", "replace").strip()
        if not text:
            raise self._unavailable("answered 200 with an empty body")
        if text.startswith("<"):
            raise self._unavailable("answered 200 with a web page instead of JSON", "check the base URL (--api-base)")
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._unavailable("answered 200 with broken JSON") from error
        if not isinstance(data, dict):
            raise self._unavailable("answered 200 with JSON that is no object")
        return data

    def _check_headers(self) -> None:
        for name, value in self._headers.items():
            if not value.isascii() or not value.isprintable():
                what = self.endpoint.key_name if self.endpoint.key and self.endpoint.key in value else name
                message = f"{what} has characters that a header cannot carry (a line break, or not ASCII)"
                raise ModelRefused(message, remedy=f"correct {what}", where=self.endpoint.shown)

    def _unavailable(self, what: str, remedy: str = "") -> ModelError:
        return ModelUnavailable(what, remedy=remedy, where=self.endpoint.shown)

    def _broken(self, error: httpx2.HTTPError) -> ModelError:
        import httpx2

        place, words = _host_and_port(self.endpoint.url), " ".join(str(error).split())
        if isinstance(error, httpx2.ProxyError):
            return self._unavailable(f"the proxy refused: {words}", "check HTTPS_PROXY and NO_PROXY")
        if isinstance(error, httpx2.ConnectTimeout):
            return self._unavailable(f"no connection to {place} in time", self.endpoint.hint)
        if isinstance(error, httpx2.TimeoutException):
            return self._unavailable(f"{place} stopped answering")
        if isinstance(error, httpx2.ConnectError):
            return self._no_connection(place, words)
        return self._unavailable(f"the connection to {place} broke off{f' ({words})' if words else ''}")

    def _no_connection(self, place: str, words: str) -> ModelError:
        if "CERTIFICATE_VERIFY_FAILED" in words:
            remedy = "name the certificate authority in SSL_CERT_FILE, or put it into CERTIFICATE (base64 PEM)"
            return self._unavailable(f"the certificate of {place} is not trusted ({words})", remedy)
        if "SSL" in words:
            return self._unavailable(f"{place} does not speak TLS as expected ({words})", "http instead of https?")
        remedy = self.endpoint.hint or "check the base URL, the network, and HTTPS_PROXY / NO_PROXY"
        return self._unavailable(f"cannot connect to {place}: {_reason(words)}", remedy)


class _Document:
    """Reads one JSON document."""

    done = False

    def __init__(self) -> None:
        self.data: dict[str, Any] = {}

    def chunk(self, data: dict[str, Any]) -> None:
        self.data = data

    whole = chunk


class Events:
    """Server-sent events out of bytes that are cut anywhere; lines end with LF, CRLF or CR LF cut in two."""

    def __init__(self, reader: Reader, unavailable: Any) -> None:
        self._reader = reader
        self._unavailable = unavailable
        self._rest: list[bytes] = []  # pieces of a line whose end has not come yet
        self._size = 0
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> None:
        """Take the next bytes."""
        self._rest.append(piece)
        self._size += len(piece)
        if self._size > _MAX_EVENT:
            raise self._unavailable("sent an event that is too large")
        if b"\n" in piece:
            *lines, rest = b"".join(self._rest).split(b"\n")
            self._rest, self._size = [rest], len(rest)
            for line in lines:
                self._line(line.removesuffix(b"\r"))

    def end(self) -> None:
        """The stream is over; its last event may lack the blank line."""
        self._line(b"".join(self._rest).strip())
        self._line(b"")

    def _line(self, line: bytes) -> None:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            event, self._data = b"\n".join(self._data), []
            self._event(event)

    def _event(self, event: bytes) -> None:
        if event.strip() == b"[DONE]":
            self._reader.done = True
            return
        if not event.strip():
            return
        try:
            data = json.loads(event.decode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            raise self._unavailable("sent an event with broken JSON") from error
        if isinstance(data, dict):
            self._reader.chunk(data)


async def _body(response: httpx2.Response, limit: int) -> bytes:
    pieces, size = [], 0
    async for piece in response.aiter_bytes():
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            break
    return b"".join(pieces)[:limit]


def for_people(url: str) -> str:
    """A URL without credentials, query and fragment."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _host_and_port(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"


def _reason(words: str) -> str:
    known = {
        "All connection attempts failed": "connection refused",
        "Name or service not known": "no such host",
        "nodename nor servname": "no such host",
        "Temporary failure in name resolution": "the name cannot be resolved",
        "No address associated": "no such host",
    }
    return next((reason for sign, reason in known.items() if sign in words), words or "no connection")
