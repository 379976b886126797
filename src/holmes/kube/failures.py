"""Turns what can go wrong with an API server into a ``Gap``: what, why, and what to do next."""

from __future__ import annotations

import base64
import json
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from holmes.kube.cluster import Gap, GapReason, Object
from holmes.kube.kubeconfig import Connection
from holmes.kube.related import age

if TYPE_CHECKING:
    import httpx2

_REASONS: dict[int, GapReason] = {401: "unauthorized", 403: "forbidden", 404: "not_found"}
_REASONS |= {302: "unauthorized", 303: "unauthorized", 307: "unauthorized"}  # on the way to a login page


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that gave nothing: the HTTP status (0 without an answer), the API's Status object, and the Gap."""

    gap: Gap
    status: int = 0
    body: Object = field(default_factory=dict)
    retry_after: float | None = None  # seconds after which another try makes sense

    @property
    def continue_token(self) -> str:
        """Where an expired list (410) may go on, "" when the server does not say."""
        return str((self.body.get("metadata") or {}).get("continue") or "")

    @property
    def kind_missing(self) -> bool:
        """A 404 for the resource type, not for one object."""
        return self.status == 404 and not (self.body.get("details") or {}).get("name")


def from_answer(status: int, content: bytes, headers: Mapping[str, str], what: str, connection: Connection) -> Failure:
    """For an HTTP status other than 2xx."""
    body = _status_object(content)
    message = str(body.get("message") or "") or _plain(content, headers)
    retry_after = None
    if 300 <= status < 400:
        place = headers.get("location", "elsewhere")
        message = f"the request is sent on to {place}, a login page or another service; {_check_server(connection)}"
    elif status == 401:
        message = _unauthorized(connection)
    elif status == 403:
        message = _forbidden(message, connection)
    elif status == 404 and not (body.get("details") or {}).get("name"):
        message = "the API server has no such resource type; `kubectl api-resources` lists those it has"
    elif status == 429 or status >= 500:
        message = f"the API server answers {status}: {message or 'no reason given'}; try again later"
        retry_after = _seconds(headers.get("retry-after", ""))
    return Failure(Gap(what, _REASONS.get(status, "error"), message or f"HTTP {status}"), status, body, retry_after)


def not_json(content: bytes, headers: Mapping[str, str], what: str, connection: Connection) -> Failure:
    """For a 2xx answer that is no JSON object: a login page, a plain text endpoint."""
    kind = headers.get("content-type", "").partition(";")[0] or "something else"
    if "html" in kind:
        text = f"{connection.server} answered with a web page: a proxy or login page, not an API server"
        return Failure(Gap(what, "unauthorized", f"{text}; {_check_server(connection)}"))
    return Failure(Gap(what, "unsupported", f"answered with {kind}, not a JSON object: {_plain(content, headers)}"))


def from_exception(error: httpx2.HTTPError, what: str, connection: Connection, timeout: float) -> Failure:
    """For a connection that could not be made or broke."""
    import httpx2

    place = _place(connection)
    causes = list(_causes(error))
    if found := next((cause for cause in causes if isinstance(cause, ssl.SSLError)), None):
        message = _tls(found, place, connection)
    elif any(isinstance(cause, socket.gaierror) for cause in causes):
        message = f"the name {place} cannot be resolved; check the VPN; {_check_server(connection)}"
    elif any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        message = f"{place}: connection refused; is the cluster running? {_check_server(connection)}"
    elif isinstance(error, httpx2.ConnectTimeout):
        message = f"{place}: no connection in time; check the VPN and the firewall; {_check_server(connection)}"
    elif isinstance(error, httpx2.TimeoutException):
        message = f"{place}: no answer within {timeout:g} s; the API server is overloaded or the network is slow"
    elif isinstance(error, httpx2.ProxyError):
        message = f"the proxy refuses the way to {place}: {error}"
    else:
        reason = next((str(cause) for cause in reversed(causes) if str(cause)), type(error).__name__)
        message = f"{place}: {reason}; {_check_server(connection)}"
    # A broken connection may be one that idled until the server closed it: worth another try at once.
    again = 0.0 if isinstance(error, (httpx2.RemoteProtocolError, httpx2.ReadError)) else None
    return Failure(Gap(what, "unreachable", message), retry_after=again)


def _causes(error: BaseException | None) -> list[BaseException]:
    """An exception and everything that led to it, groups opened."""
    found: list[BaseException] = []
    waiting = [error]
    while waiting:
        current = waiting.pop(0)
        if current is None or current in found:
            continue
        found.append(current)
        waiting += [current.__cause__ or current.__context__]
        if isinstance(current, BaseExceptionGroup):
            waiting += current.exceptions
    return found


def _tls(error: ssl.SSLError, place: str, connection: Connection) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        message = f"the certificate of {place} is not accepted: {error.verify_message}"
        return (
            f"{message}; check certificate-authority and server of cluster {connection.cluster} in {connection.source}"
        )
    if error.reason == "WRONG_VERSION_NUMBER":
        return f"{place} does not speak TLS; {_check_server(connection)}"
    return f"TLS with {place} failed: {error.reason or error}; check the certificates in {_origin(connection)}"


def _unauthorized(connection: Connection) -> str:
    user = f"user {connection.user or '(none)'} of {_origin(connection)}"
    if connection.exec:
        program = connection.exec.command
        return f"the API server refuses what {program} gave for {user}; log in again with the tool behind {program}"
    if connection.token or connection.token_file:
        return f"the API server refuses the token of {user}{_token_age(connection.token)}; get a new one (log in again)"
    if connection.client_certificate:
        return f"the API server refuses the client certificate of {user}; it may have expired: get a new kubeconfig"
    return f"the API server wants credentials and {user} has none that it accepts; log in, or choose another --context"


def _forbidden(message: str, connection: Connection) -> str:
    if "system:anonymous" in message:
        return f"{message}: no credentials reached the API server; log in, or check the user in {_origin(connection)}"
    rights = f"kubectl auth can-i --list --context {connection.context}"
    return f"{message or 'forbidden'}; ask for the right to read it (`{rights}` shows what may be done)"


def _token_age(token: str) -> str:
    """`` (it expired 3h ago)`` when the token is a JWT that says so."""
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        end = datetime.fromtimestamp(float(claims["exp"]), UTC)
    except (IndexError, ValueError, KeyError, TypeError, OverflowError):
        return ", which has expired or is not known there"
    now = datetime.now(UTC)
    return f", which expired {age(end, now)} ago" if end < now else ", which is not known there"


def _status_object(content: bytes) -> Object:
    try:
        body: Any = json.loads(content)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _plain(content: bytes, headers: Mapping[str, str]) -> str:
    """The start of a plain text body; markup is of no use to anybody."""
    if "html" in headers.get("content-type", ""):
        return "a web page"
    return content[:300].decode("utf-8", "replace").strip()


def _place(connection: Connection) -> str:
    """Host and port, also of an address that cannot be parsed."""
    return connection.server.partition("://")[2].partition("/")[0].rpartition("@")[2]


def _check_server(connection: Connection) -> str:
    return f"check the server of cluster {connection.cluster} in {connection.source}"


def _seconds(text: str) -> float | None:
    """The Retry-After header in seconds; None without one (dates are not used by API servers)."""
    return float(text) if text.isdigit() else None


def _origin(connection: Connection) -> str:
    return f"{connection.source} (context {connection.context})"
