"""What may be asked of an HTTP API: hosts, paths and methods, and the credentials that belong to the hosts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

from holmes.core.config_values import FLAG, TEXT, TEXTS, choice
from holmes.core.fetch import origin
from holmes.tools.plugin_config import PluginConfig

if TYPE_CHECKING:
    import httpx2

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
READS = ("GET", "HEAD", "OPTIONS")
AuthKind = Literal["none", "basic", "bearer", "header", "digest"]
_NEEDS: Mapping[str, tuple[str, ...]] = {
    "none": (),
    "basic": ("username", "password"),
    "bearer": ("token",),
    "header": ("header_name", "header_value"),
    "digest": ("username", "password"),
}
_HOST = re.compile(
    r"(?:(?P<scheme>https?)://)?(?P<host>(?:\*\.)?[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*|\[[0-9A-Fa-f:.]+\])"
    r"(?::(?P<port>\d{1,5}|\*))?/?"
)


@dataclass(frozen=True, slots=True)
class HostPattern:
    """``name``, ``*.name``, with a port, with a scheme. A scheme without port means that scheme's own port."""

    host: str
    scheme: str = ""
    port: int = 0  # 0 is any

    def matches(self, url: httpx2.URL) -> bool:
        """Whether a URL leads there."""
        scheme, host, port = origin(url)
        if (self.scheme and scheme != self.scheme) or (self.port and port != self.port):
            return False
        return host.endswith(self.host[1:]) if self.host.startswith("*.") else host == self.host

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = {"http": 80, "https": 443}.get(self.scheme)
        port = "" if self.port in (0, usual) else f":{self.port}"
        return f"{self.scheme or 'https'}://{host}{port}"


@dataclass(frozen=True, slots=True)
class Auth:
    """Credentials of one endpoint. ``name`` and ``value`` are user and password, or header and value."""

    kind: AuthKind = "none"
    name: str = ""
    value: str = ""

    def headers(self) -> dict[str, str]:
        """The headers that carry them; basic and digest go by ``flow``."""
        if self.kind == "bearer":
            return {"authorization": f"Bearer {self.value}"}
        return {self.name: self.value} if self.kind == "header" else {}

    def flow(self) -> httpx2.Auth | None:
        """How the client authenticates where headers alone do not do."""
        import httpx2

        if self.kind == "basic":
            return httpx2.BasicAuth(self.name, self.value)
        return httpx2.DigestAuth(self.name, self.value) if self.kind == "digest" else None

    def secrets(self) -> list[str]:
        """What must not be shown, as it travels."""
        import base64

        if self.kind == "basic":
            return [base64.b64encode(f"{self.name}:{self.value}".encode()).decode(), self.value]
        return [self.value] if self.value else []


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One entry of ``endpoints``."""

    hosts: tuple[HostPattern, ...]
    paths: tuple[str, ...] = ("*",)
    methods: tuple[str, ...] = ("GET",)
    auth: Auth = Auth()
    health_check_url: str = ""
    approval_required: bool = True  # of methods that may write

    def has_host(self, url: httpx2.URL) -> bool:
        """Whether a URL leads to one of its hosts."""
        return any(host.matches(url) for host in self.hosts)

    def allows(self, method: str, url: httpx2.URL) -> bool:
        """Whether a request is among those listed. HEAD goes where GET goes."""
        wanted = "GET" if method == "HEAD" and "GET" in self.methods else method
        return wanted in self.methods and self.has_host(url) and all(map(self._has_path, readings(url)))

    def _has_path(self, path: str) -> bool:
        return any(fnmatchcase(path, pattern) for pattern in self.paths)

    def __str__(self) -> str:
        places = (f"{host}{path if path.startswith('/') else f'/{path}'}" for host in self.hosts for path in self.paths)
        return f"{'|'.join(self.methods)} {', '.join(places)}"


def read_endpoint(values: PluginConfig) -> Endpoint:
    """An endpoint of the configuration; problems are noted."""
    hosts = values.get("hosts", TEXTS, ())
    patterns = [pattern for text in hosts if (pattern := _pattern(text, values)) is not None]
    if not hosts:
        values.problem("is missing", "hosts")
    paths = values.get("paths", TEXTS, ("*",))
    methods = tuple(method.upper() for method in values.get("methods", TEXTS, ("GET",)))
    if unknown := [method for method in methods if method not in METHODS]:
        values.problem(f"{', '.join(unknown)}: expected some of {', '.join(METHODS)}", "methods")
    health = values.get("health_check_url", TEXT, "")
    approval = values.get("approval_required", FLAG, True)
    return Endpoint(tuple(patterns), paths, methods, _auth(values.part("auth")), health, approval)


def readings(url: httpx2.URL) -> list[str]:
    """The path as it is sent, and as a server may read it."""
    path = url.raw_path.decode("ascii", "replace").partition("?")[0]
    plain = path
    for _ in range(3):
        plain = unquote(plain)
    return [path, plain]


def path_problem(url: httpx2.URL) -> str:
    """What speaks against a path that could lead elsewhere than it seems; "" when nothing does."""
    if re.search(r"(?:^|[/\\])\.\.?(?:[/\\;]|$)|\\|[\x00-\x1f]", readings(url)[-1]):
        return "its path has dots or backslashes that could lead elsewhere"
    return ""


def listing(endpoints: Sequence[Endpoint]) -> str:
    """All that is allowed, in one line."""
    return "; ".join(map(str, endpoints))


def _pattern(text: str, values: PluginConfig) -> HostPattern | None:
    match = _HOST.fullmatch(text.strip())
    port = match["port"] or "" if match else ""
    if match is None or (port.isdigit() and not 0 < int(port) < 65536):
        values.problem(f"{text} is no host, such as api.example.com, *.example.com or https://host:8443", "hosts")
        return None
    scheme = match["scheme"] or ""
    own = {"http": 80, "https": 443}.get(scheme, 0)
    number = 0 if port == "*" else int(port or own)
    return HostPattern(match["host"].strip("[]").lower(), scheme, number)


def _auth(values: PluginConfig) -> Auth:
    kind = values.get("type", choice(*_NEEDS), "none")
    given: dict[str, Any] = {name: values.get(name, TEXT, "") for names in _NEEDS.values() for name in names}
    for name in _NEEDS[kind]:
        if not given[name]:
            values.problem(f"is missing for type {kind}", name)
    found = [given[name] for name in _NEEDS[kind]]
    return Auth(kind, *(found if len(found) == 2 else ["", *found]) if found else ())
