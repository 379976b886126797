"""A model provider on loopback, played by a script: common part of the OpenAI and the Anthropic server.

``script`` is a list of replies, used one after the other, or one function that is given each request body and
returns a reply. A reply is a text, a list of calls, or a dict:

    {"content": "...", "calls": [("tool", {"a": 1}), {"id": "x", "name": "tool", "arguments": "raw text"}],
     "reasoning": "...", "finish_reason": "length", "usage": {...}}      an answer
    {"status": 429, "headers": {"Retry-After": "1"}, "message": "...", "code": "...", "param": "..."}
    {"body": "<html>...", "type": "text/html"}                            any body with status 200
    {"reset": True}                                                       the connection is reset instead of an answer
    {"stall": "headers"} or {"stall": "stream"}                           nothing (more) comes until the server closes
    {**answer, "cut": 2}                                                  the stream ends after that many events
    {**answer, "whole": True}                                             JSON although a stream was asked for
    {"events": [...]}                                                     exactly these events
    a function of the request body that returns one of these

With ``strict`` (the default) a request that ``holmes.llm.strict.violations`` complains of is answered 400 and noted
in ``refused``.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from holmes.llm.base import Dialect
from holmes.llm.strict import violations

Body = dict[str, Any]
Reply = Any


class ModelServer:
    """Base: ``with OpenAIServer([...]) as server: ... server.url``. ``requests`` holds (path, headers, body)."""

    dialect: ClassVar[Dialect]
    base_path: ClassVar[str] = ""

    def __init__(
        self,
        script: Sequence[Reply] | Callable[[Body], Reply] = (),
        *,
        strict: bool = True,
        key: str = "",
        models: Sequence[str] = ("test-model",),
        unsupported: Sequence[str] = (),
    ) -> None:
        self.script = script
        self.strict = strict
        self.key = key
        self.models = list(models)
        self.unsupported = list(unsupported)
        self.requests: list[tuple[str, dict[str, str], Body]] = []
        self.refused: list[list[str]] = []
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._step = 0
        self._http = _QuietServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Any:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def abandon(self) -> None:
        """Free the port of a server that was never entered."""
        self._http.server_close()

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        """The base URL to configure."""
        return f"http://127.0.0.1:{self.port}{self.base_path}"

    @property
    def bodies(self) -> list[Body]:
        return [body for _, _, body in self.requests]

    @property
    def headers(self) -> list[dict[str, str]]:
        return [headers for _, headers, _ in self.requests]

    def next_reply(self, path: str, headers: dict[str, str], body: Body) -> Reply:
        with self._lock:
            self.requests.append((path, headers, body))
            if self.key and not self.authorised(headers):
                return {"status": 401, "message": "Incorrect API key provided", "code": "invalid_api_key"}
            for name in self.unsupported:
                if name in body:
                    return self.unsupported_reply(name)
            if self.strict and (wrong := self.violations(body)):
                self.refused.append(wrong)
                return {"status": 400, "message": "; ".join(wrong)}
            if callable(self.script):
                reply = self.script
            elif self._step < len(self.script):
                reply = self.script[self._step]
                self._step += 1
            else:
                reply = {"status": 400, "message": f"the script has only {len(self.script)} replies"}
        while callable(reply):
            reply = reply(body)
        if isinstance(reply, str):
            return {"content": reply}
        return {"calls": reply} if isinstance(reply, list) else reply

    def violations(self, body: Body) -> list[str]:
        """What a strict provider would refuse."""
        return violations(body, self.dialect)

    def authorised(self, headers: dict[str, str]) -> bool:
        raise NotImplementedError

    def unsupported_reply(self, name: str) -> Reply:
        raise NotImplementedError

    def serves(self, path: str) -> bool:
        raise NotImplementedError

    def whole(self, reply: Body, body: Body) -> Body:
        """The answer in one piece."""
        raise NotImplementedError

    def events(self, reply: Body, body: Body) -> Iterator[Body | str]:
        """The answer as events: a dict, or text sent as it is."""
        raise NotImplementedError

    def error(self, reply: Body) -> Body:
        """The body of a refusal."""
        raise NotImplementedError

    def frame(self, event: Body | str) -> bytes:
        """One event on the wire."""
        return f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode()

    def model_list(self) -> Body:
        return {"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]}


class _QuietServer(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are part of the play."""


def calls_of(reply: Body, prefix: str, number: int) -> list[dict[str, Any]]:
    """The calls of a reply with id, name and arguments; ids are made up unless given."""
    calls = []
    for index, call in enumerate(reply.get("calls", ())):
        if not isinstance(call, dict):
            call = {"name": call[0], "arguments": call[1] if len(call) > 1 else {}}
        calls.append({"id": f"{prefix}{number}_{index}", "arguments": {}} | call)
    return calls


class _Handler(BaseHTTPRequestHandler):
    """One connection; ``model`` is the server that plays the script."""

    model: ModelServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        if self.path.endswith("/models"):
            self._send(200, json.dumps(self.model.model_list()))
        else:
            self._send(404, json.dumps(self.model.error({"message": f"no such path {self.path}"})))

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.model.serves(self.path):
            self._send(404, json.dumps(self.model.error({"message": f"no such path {self.path}"})))
            return
        try:
            body = json.loads(raw.decode())
        except ValueError as error:
            self.model.refused.append([f"the body is not UTF-8 JSON: {error}"])
            self._send(400, json.dumps(self.model.error({"message": "could not parse the body as JSON"})))
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            self._play(self.model.next_reply(self.path, headers, body), body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _play(self, reply: Body, body: Body) -> None:
        if reply.get("reset"):
            self._reset()
        elif reply.get("stall") == "headers":
            self.model.closing.wait(30)
            self.close_connection = True
        elif "status" in reply:
            content = reply["body"] if "body" in reply else json.dumps(self.model.error(reply))
            self._send(reply["status"], content, headers=reply.get("headers", {}))
        elif "body" in reply:
            self._send(200, reply["body"], reply.get("type", "application/json"))
        elif body.get("stream") and not reply.get("whole"):
            self._stream(reply, body)
        else:
            self._send(200, json.dumps(self.model.whole(reply, body)))

    def _send(self, status: int, content: str, kind: str = "application/json", headers: Any = ()) -> None:
        data = content.encode()
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, reply: Body, body: Body) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, event in enumerate(reply.get("events") or self.model.events(reply, body)):
            if number == reply.get("cut"):
                self.close_connection = True
                if reply.get("clean"):  # the stream ends properly for HTTP, too early for the protocol
                    self.wfile.write(b"0\r\n\r\n")
                return
            if reply.get("stall") == "stream" and number == 2:
                self.model.closing.wait(30)
                self.close_connection = True
                return
            frame = self.model.frame(event)
            self.wfile.write(f"{len(frame):x}\r\n".encode() + frame + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")

    def _reset(self) -> None:
        # A linger time of zero makes close() send a reset.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.rfile.close()
        self.connection.close()


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    return type("Handler", (_Handler,), {"model": server})
