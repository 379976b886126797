"""The command as people start it, and a terminal to look at."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TextIO

import pyte
import pytest

from support.openai_server import OpenAIServer

Holmes = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An environment with nothing in it that the tests do not know."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "HOLMES_HOME": str(tmp_path / "state"),
        "KUBECONFIG": str(tmp_path / "no-kubeconfig"),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
    }


@pytest.fixture
def command() -> list[str]:
    return [sys.executable, "-m", "holmes"]


@pytest.fixture
def holmes(env: dict[str, str], command: list[str], tmp_path: Path) -> Holmes:
    """Run the command to its end; ``given`` is what is piped in, None is no input at all."""

    def run(*arguments: str, given: str | None = None, more: Mapping[str, str] | None = None, **options: Any) -> Any:
        settings = {"stdin": subprocess.DEVNULL} if given is None else {"input": given}
        return subprocess.run(
            [*command, *arguments],
            env={**env, **(more or {})},
            cwd=tmp_path,
            text=True,
            encoding="utf-8",
            timeout=30,
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **settings, **options},
        )

    return run


@dataclass
class Window:
    """A terminal window: what is written to ``stream`` is on the screen."""

    columns: int
    stream: TextIO
    _master: int
    _received: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def raw(self) -> bytes:
        """All bytes that were sent; the window is closed for writing."""
        if not self.stream.closed:
            self.stream.close()
        self._reader.join()
        return bytes(self._received)

    def lines(self) -> list[str]:
        """The lines on the screen; the window is closed for writing."""
        screen = pyte.Screen(self.columns, 50)
        pyte.ByteStream(screen).feed(self.raw())
        return [line.rstrip() for line in screen.display[: screen.cursor.y + 1]]

    def _read(self) -> None:
        while True:
            try:
                chunk = os.read(self._master, 65536)
            except OSError:  # the other end is closed
                return
            self._received += chunk


@pytest.fixture
def window() -> Iterator[Callable[..., Window]]:
    opened: list[Window] = []

    def make(columns: int = 80) -> Window:
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        made = Window(columns, os.fdopen(slave, "w", encoding="utf-8"), master)
        opened.append(made)
        return made

    yield make
    for each in opened:
        each.raw()
        os.close(each._master)


@pytest.fixture
def model(env: dict[str, str]) -> Iterator[Callable[..., OpenAIServer]]:
    """Start a model that follows a script; the environment names it."""
    started: list[OpenAIServer] = []

    def start(script: Any) -> OpenAIServer:
        server: OpenAIServer = OpenAIServer(script).__enter__()
        started.append(server)
        env.update(OPENAI_BASE_URL=server.url, OPENAI_API_KEY="sk-no-real-key", MODEL="openai/test-model")
        return server

    yield start
    for server in started:
        server.__exit__()


TABLE = {
    "kind": "Table",
    "apiVersion": "meta.k8s.io/v1",
    "metadata": {},
    "columnDefinitions": [{"name": "Name", "type": "string", "priority": 0}],
    "rows": [{"cells": [name], "object": {"metadata": {"name": name, "namespace": "prod"}}} for name in ("web", "db")],
}
PODS = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1"} | {
    "resources": [{"name": "pods", "singularName": "pod", "kind": "Pod", "namespaced": True, "verbs": ["get", "list"]}]
}


class ApiServer(BaseHTTPRequestHandler):
    """A Kubernetes API with two pods."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        answers = {"/version": {"gitVersion": "v1.34.0"}, "/api/v1": PODS, "/api/v1/pods": TABLE}
        body = json.dumps(answers.get(path, {"kind": "Status", "code": 404})).encode()
        self.send_response(200 if path in answers else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def cluster(env: dict[str, str]) -> Iterator[list[str]]:
    """A kubeconfig with two contexts, the second one current, and the API server behind them."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), ApiServer)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    names = ["staging", "prod"]
    Path(env["KUBECONFIG"]).write_text(
        json.dumps(
            {
                "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_address[1]}"}}],
                "users": [{"name": "u", "user": {}}],
                "contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in names],
                "current-context": "prod",
            }
        )
    )
    yield names
    server.shutdown()
    server.server_close()
    thread.join()
