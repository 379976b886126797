"""A small web server on the loopback, and a network in which public names and addresses lead to it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpcore2

PUBLIC = "93.184.215.14"
OTHER = "151.101.1.69"


@dataclass(frozen=True)
class Request:
    """What a client sent; names of headers in small letters."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


Write = Callable[[bytes], Awaitable[None]]
Answer = Callable[[Request, Write], Awaitable[None]]


@dataclass
class WebServer:
    """A running server with all that it was asked."""

    port: int
    requests: list[Request] = field(default_factory=list)
    written: int = 0  # bytes of answers


def page(body: bytes | str, kind: str = "text/html", status: str = "200 OK", **headers: str) -> bytes:
    """A whole answer."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"content-type: {kind}", f"content-length: {len(data)}", "connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def redirect(to: str, status: str = "302 Found") -> bytes:
    """An answer that leads elsewhere."""
    return page("", status=status, location=to)


def fixed(pages: Mapping[str, bytes]) -> Answer:
    """Answers by the path, with 404 for others."""

    async def answer(request: Request, write: Write) -> None:
        await write(pages.get(request.target.partition("?")[0], page("not here", status="404 Not Found")))

    return answer


@asynccontextmanager
async def web_server(answer: Answer) -> AsyncIterator[WebServer]:
    """Serve until the end of the block."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def write(data: bytes) -> None:
            writer.write(data)
            await writer.drain()
            running.written += len(data)

        try:
            request = await _read(reader)
            if request is not None:
                running.requests.append(request)
                await answer(request, write)
        except ConnectionError:
            pass  # the client had enough
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    running = WebServer(server.sockets[0].getsockname()[1])
    async with server:
        yield running


async def _read(reader: asyncio.StreamReader) -> Request | None:
    first = (await reader.readline()).decode("latin-1").split()
    if len(first) != 3:
        return None
    headers: dict[str, str] = {}
    while (line := (await reader.readline()).decode("latin-1").strip()) != "":
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(first[0], first[1], headers, body)


@dataclass
class TestNetwork:
    """Names have the addresses that are given (one list after the other), and addresses lead to local ports.

    Everything else has no address, or is a packet that would have left the machine: AssertionError.
    """

    __test__ = False
    names: dict[str, list[Sequence[str]]] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=dict)  # address -> local port, whatever port is asked for
    resolved: list[str] = field(default_factory=list)
    connected: list[tuple[str, int]] = field(default_factory=list)

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """The next answer for a name; the last one stays."""
        self.resolved.append(host)
        answers = self.names.get(host)
        if not answers:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def connect(self, address: str, port: int, timeout: float | None) -> httpcore2.AsyncNetworkStream:
        """A connection to the local port that stands for an address."""
        self.connected.append((address, port))
        assert address in self.ports, f"a packet to {address}:{port} would have left this machine"
        return await httpcore2.AnyIOBackend().connect_tcp("127.0.0.1", self.ports[address], timeout)
