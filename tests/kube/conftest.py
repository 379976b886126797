"""An API server of the tests' own: real HTTP on a free port, answering what each test tells it to."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from holmes.core.http import DefaultHttp
from holmes.core.process import ChildProcess
from holmes.kube.kubeconfig import Connection
from holmes.kube.live import LiveCluster


@dataclass
class Asked:
    """One request as it arrived."""

    path: str
    query: dict[str, str]
    headers: Mapping[str, str]


# Status, body (a JSON object or text), headers.
Reply = tuple[int, Any, Mapping[str, str]]
Answer = Callable[[Asked], Reply]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, address: Any) -> None:
        """Clients that go away in the middle are part of the tests."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, address)


class FakeApi:
    """Answers by path; every path that no test has set is 404 as the API server says it."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._answers: dict[str, Answer] = {}
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.scheme = "http"

    @property
    def server(self) -> ThreadingHTTPServer:
        return self._server

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self._server.server_address[1]}"

    def on(self, path: str, body: Any, code: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """A path answers with a JSON object or with text."""
        self._answers[path] = lambda asked: (code, body, headers or {})

    def refuse(self, path: str, code: int, reason: str, message: str, **more: Any) -> None:
        """A path answers with a Status object, the API's way of saying no; ``headers`` is for its headers."""
        self.on(path, status(code, reason, message, **more), code, more.pop("headers", None))

    def answer(self, path: str, answer: Answer) -> None:
        """A path answers what a function of the request says."""
        self._answers[path] = answer

    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                asked = Asked(
                    parts.path,
                    dict(parse_qsl(parts.query)),
                    {name.lower(): value for name, value in self.headers.items()},
                )
                api.asked.append(asked)
                code, body, headers = api._answers.get(parts.path, no_such_kind)(asked)
                plain = isinstance(body, (str, bytes))
                text = body if plain else json.dumps(body)
                content = text if isinstance(text, bytes) else text.encode()
                self.send_response_only(code)
                kind = "text/plain" if plain else "application/json"
                for name, value in {"Date": self.date_time_string(), "Content-Type": kind, **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args: Any) -> None:
                pass

        return Handler


def status(code: int, reason: str, message: str, **more: Any) -> dict[str, Any]:
    """A Status object of the API."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message}
    return {**body, "metadata": {}, "details": {}, "code": code, **more}


def no_such_kind(asked: Asked) -> Reply:
    return 404, status(404, "NotFound", "the server could not find the requested resource"), {}


@pytest.fixture
def api() -> Iterator[FakeApi]:
    server = FakeApi()
    yield server
    server.close()


Connect = Callable[..., AbstractAsyncContextManager[LiveCluster]]


@pytest.fixture
def connect(api: FakeApi) -> Connect:
    """A live cluster on the fake API server; keyword arguments are fields of the Connection."""

    @asynccontextmanager
    async def connected(
        *, timeout: float = 5.0, env: Mapping[str, str] | None = None, **fields: Any
    ) -> AsyncIterator[LiveCluster]:
        defaults = {
            "context": "test",
            "cluster": "test-cluster",
            "user": "jane",
            "namespace": "prod",
            "server": api.url,
            "source": "/home/jane/.kube/config",
        }
        connection = Connection(**{**defaults, **fields})
        cluster = LiveCluster(connection, DefaultHttp({}), ChildProcess(), env or {}, timeout)
        try:
            yield cluster
        finally:
            await cluster.close()

    return connected


@pytest.fixture
def write_kubeconfig(tmp_path: Path) -> Callable[..., Path]:
    """Writes a kubeconfig with one context per keyword: name=(server, user fields, context fields)."""

    def write(name: str = "config", current: str = "", **contexts: Any) -> Path:
        clusters, users, listed = [], [], []
        for context, (server, user, more) in contexts.items():
            cluster = server if isinstance(server, dict) else {"server": server}
            clusters.append({"name": f"{context}-cluster", "cluster": cluster})
            users.append({"name": f"{context}-user", "user": user})
            fields = {"cluster": f"{context}-cluster", "user": f"{context}-user", **more}
            listed.append({"name": context, "context": fields})
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        config = {"apiVersion": "v1", "kind": "Config", "clusters": clusters, "users": users, "contexts": listed}
        path.write_text(json.dumps({**config, "current-context": current}))
        return path

    return write
