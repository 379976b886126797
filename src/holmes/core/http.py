"""The only way our own code opens an HTTP connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import ssl

    import httpx2


class Http(Protocol):
    """Makes clients that honour proxies, SSL_CERT_FILE and CERTIFICATE (base64 CA bundle)."""

    def client(
        self,
        *,
        base_url: str = "",
        headers: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        verify: ssl.SSLContext | bool = True,
        follow_redirects: bool = False,
    ) -> httpx2.AsyncClient:
        """A new client; the caller closes it. Imports httpx2 on first use."""
        ...
