"""Authenticated GETs to one API server. Nothing here can change anything in a cluster; failures are values."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import anyio

from holmes import __version__
from holmes.core.errors import ConfigError
from holmes.core.http import Http
from holmes.core.process import Process
from holmes.kube.cluster import Gap, Object
from holmes.kube.exec_credentials import Credentials, CredentialSource
from holmes.kube.failures import Failure, from_answer, from_exception, not_json
from holmes.kube.kubeconfig import Connection
from holmes.kube.tls import tls_context

if TYPE_CHECKING:
    import ssl

    import httpx2

Params = Sequence[tuple[str, str]]
JSON = "application/json"
_MAX_BODY = 128 << 20  # bytes of one answer
_MAX_ERROR = 64 << 10
_CONNECT_SECONDS = 10.0
_SAME_TIME = timedelta(seconds=2)
_TRIES = 3
_MAX_WAIT = 5.0  # seconds that a busy server (429, 503) may ask for between tries


@dataclass(frozen=True, slots=True)
class _Request:
    path: str
    params: Params
    accept: str
    what: str


class ApiServer:
    """One API server as one user. Connects on the first request; parallel requests share the connections."""

    def __init__(
        self, connection: Connection, http: Http, process: Process, env: Mapping[str, str], timeout: float = 30.0
    ) -> None:
        self.connection = connection
        self.credentials = CredentialSource(connection, process, env)
        self._http = http
        self._timeout = timeout  # seconds without a byte
        self._client: httpx2.AsyncClient | None = None
        self._old: list[httpx2.AsyncClient] = []
        self._identity = ("", "")  # certificate and key of the client
        self._lock = anyio.Lock()
        self._drift = timedelta()

    @property
    def now(self) -> datetime:
        """The server's time as far as its Date headers tell, else this machine's."""
        return datetime.now(UTC) + self._drift

    async def get(self, path: str, params: Params = (), *, what: str, accept: str = JSON) -> Object | Failure:
        """The JSON object at a path of the API. ``what`` names it in messages."""
        body = bytearray()
        answer = await self._exchange(_Request(path, params, accept, what), body.extend, _MAX_BODY)
        if isinstance(answer, Failure):
            return answer
        try:
            found = json.loads(body)
        except ValueError:
            found = None
        return found if isinstance(found, dict) else not_json(bytes(body), answer, what, self.connection)

    async def stream(self, path: str, params: Params, take: Callable[[bytes], object], *, what: str) -> Failure | None:
        """Hand a body of any length to ``take`` piece by piece."""
        answer = await self._exchange(_Request(path, params, "*/*", what), take, None)
        return answer if isinstance(answer, Failure) else None

    async def close(self) -> None:
        """Close all connections."""
        clients = [*self._old, *([self._client] if self._client else [])]
        self._client, self._old = None, []
        for client in clients:
            await client.aclose()

    async def _exchange(
        self, request: _Request, take: Callable[[bytes], object], limit: int | None
    ) -> Mapping[str, str] | Failure:
        """Headers of a good answer whose body went to ``take``. What may pass (refused token, busy) is tried again."""
        refused: Credentials | None = None
        for attempt in range(1, _TRIES + 1):
            credentials = await self.credentials.get(refused)
            if isinstance(credentials, Gap):
                return Failure(credentials)
            outcome = await self._once(request, credentials, take, limit)
            if not isinstance(outcome, Failure) or attempt == _TRIES:
                return outcome
            if outcome.status == 401 and refused is None and self.credentials.renewable:
                refused = credentials
            elif outcome.retry_after is None:
                return outcome
            else:
                await anyio.sleep(min(outcome.retry_after, _MAX_WAIT))
        raise AssertionError("the last try returns")

    async def _once(
        self, request: _Request, credentials: Credentials, take: Callable[[bytes], object], limit: int | None
    ) -> Mapping[str, str] | Failure:
        import httpx2

        client = await self._connected(credentials)
        if isinstance(client, Gap):
            return Failure(client)
        size = 0
        try:
            async with self._open(client, request, credentials) as response:
                self._set_clock(response.headers.get("date", ""))
                if not response.is_success:
                    content = await _start_of(response)
                    return from_answer(response.status_code, content, response.headers, request.what, self.connection)
                async for chunk in response.aiter_bytes():
                    size += len(chunk)
                    if limit is not None and size > limit:
                        message = f"the answer is larger than {limit >> 20} MB; narrow it by namespace or selector"
                        return Failure(Gap(request.what, "error", message))
                    take(chunk)
                return response.headers
        except httpx2.HTTPError as error:
            failure = from_exception(error, request.what, self.connection, self._timeout)
            return replace(failure, retry_after=None) if size else failure
        except (httpx2.InvalidURL, UnicodeError) as error:
            connection = self.connection
            message = f"{connection.server} is no usable address ({error}); correct the server in {connection.source}"
            return Failure(Gap(request.what, "error", message))
        except ConfigError as error:  # SSL_CERT_FILE and the like are read at the first TLS connection
            return Failure(Gap(request.what, "error", str(error)))

    def _open(
        self, client: httpx2.AsyncClient, request: _Request, credentials: Credentials
    ) -> AbstractAsyncContextManager[httpx2.Response]:
        import httpx2

        connection = self.connection
        headers = [("accept", request.accept), ("user-agent", f"holmes-sre/{__version__}"), *connection.impersonate]
        if credentials.token:
            headers.append(("authorization", f"Bearer {credentials.token}"))
        elif connection.username:
            pair = base64.b64encode(f"{connection.username}:{connection.password}".encode()).decode()
            headers.append(("authorization", f"Basic {pair}"))
        return client.stream(
            "GET",
            connection.server + request.path,
            params=list(request.params) or None,
            headers=headers,
            timeout=httpx2.Timeout(self._timeout, connect=min(self._timeout, _CONNECT_SECONDS)),
            extensions={"sni_hostname": connection.tls_server_name} if connection.tls_server_name else {},
        )

    async def _connected(self, credentials: Credentials) -> httpx2.AsyncClient | Gap:
        """The client for these credentials; a new client certificate needs a new one."""
        identity = (credentials.certificate, credentials.key)
        async with self._lock:
            if self._client is None or identity != self._identity:
                connection = self.connection
                try:
                    context = await anyio.to_thread.run_sync(tls_context, connection, *identity)
                    client = self._new_client(context)
                except ValueError as error:
                    return Gap(f"context {connection.context}", "error", f"{error}; see {connection.source}")
                except ImportError as error:  # socks proxies need a package of their own
                    return Gap(f"context {connection.context}", "unsupported", f"proxy-url: {error}")
                if self._client is not None:
                    self._old.append(self._client)  # may still be answering
                self._client, self._identity = client, identity
            return self._client

    def _new_client(self, context: ssl.SSLContext | bool) -> httpx2.AsyncClient:
        if self.connection.proxy_url:
            import httpx2

            # The seam knows the proxies of the environment only; this one belongs to the cluster.
            return httpx2.AsyncClient(proxy=self.connection.proxy_url, verify=context, trust_env=False)
        return self._http.client(timeout=self._timeout, verify=context)

    def _set_clock(self, date: str) -> None:
        """Learn how far the server's clock is from ours. The header has whole seconds: less than that is no drift."""
        try:
            drift = parsedate_to_datetime(date) + timedelta(seconds=0.5) - datetime.now(UTC)
        except (TypeError, ValueError):
            return
        self._drift = drift if abs(drift) > _SAME_TIME else timedelta()


async def _start_of(response: httpx2.Response) -> bytes:
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > _MAX_ERROR:
            break
    return bytes(content[:_MAX_ERROR])
