"""A TLS context that loads the certificate authorities when the first TLS connection is made.

Loading them costs about 30 ms, which a plain http endpoint on the same machine must not pay.
"""

from __future__ import annotations

import base64
import binascii
import ssl
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from holmes.core.errors import ConfigError, Problem


class LazyTrust(ssl.SSLContext):
    """Trusts the system's authorities, or SSL_CERT_FILE / SSL_CERT_DIR instead, and CERTIFICATE (base64 PEM) besides.

    It stands in for a context that is built at the first connection. anyio calls ``wrap_bio`` of a context that is
    not the standard one in a worker thread, so the loading blocks nobody. A variable that cannot be used raises
    ConfigError there.
    """

    _env: Mapping[str, str]
    _lock: threading.Lock
    _protocols: list[str]
    _real: ssl.SSLContext | None

    def __new__(cls, env: Mapping[str, str]) -> LazyTrust:
        """A context of that environment."""
        context = super().__new__(cls, ssl.PROTOCOL_TLS_CLIENT)
        context._env = env
        context._lock = threading.Lock()
        context._protocols = []
        context._real = None
        return context

    def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:
        """As ssl.SSLContext.set_alpn_protocols."""
        self._protocols = list(alpn_protocols)
        if self._real is not None:
            self._real.set_alpn_protocols(self._protocols)

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        """As ssl.SSLContext.wrap_bio, with the authorities loaded."""
        return self._context().wrap_bio(*args, **kwargs)

    def wrap_socket(self, *args: Any, **kwargs: Any) -> ssl.SSLSocket:
        """As ssl.SSLContext.wrap_socket, with the authorities loaded."""
        return self._context().wrap_socket(*args, **kwargs)

    def _context(self) -> ssl.SSLContext:
        with self._lock:
            if self._real is None:
                context = _trusting(self._env)
                if self._protocols:
                    context.set_alpn_protocols(self._protocols)
                self._real = context
            return self._real


def _trusting(env: Mapping[str, str]) -> ssl.SSLContext:
    context = _from_variable(env) or _of_system()
    if encoded := env.get("CERTIFICATE"):
        try:
            pem = base64.b64decode("".join(encoded.split()), validate=True).decode("ascii")
            context.load_verify_locations(cadata=pem)
        except (binascii.Error, UnicodeDecodeError, ssl.SSLError) as error:
            raise _unusable("CERTIFICATE", f"must be PEM certificates as base64 text ({error})") from error
    return context


def _from_variable(env: Mapping[str, str]) -> ssl.SSLContext | None:
    for variable in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        if path := env.get(variable):
            try:
                if Path(path).is_dir():
                    return ssl.create_default_context(capath=path)
                return ssl.create_default_context(cafile=path)
            except OSError as error:  # ssl.SSLError is one
                raise _unusable(variable, f"{path}: {error.strerror or error}") from error
    return None


def _of_system() -> ssl.SSLContext:
    import httpx2

    return httpx2.create_ssl_context(trust_env=False)


def context_with(env: Mapping[str, str], ca: str, certificate: str, key: str, verify: bool = True) -> ssl.SSLContext:
    """A context with further authorities and an identity of our own (PEM files; "" is none). It reads files.

    ConfigError names a file that cannot be used.
    """
    context = _trusting(env) if verify else unverified()
    for path, load in ((ca, context.load_verify_locations), (certificate, lambda path: _identify(context, path, key))):
        try:
            if path:
                load(str(Path(path).expanduser()))
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise _unusable(path, f"cannot be used for TLS ({getattr(error, 'strerror', '') or error})") from error
    return context


def _identify(context: ssl.SSLContext, certificate: str, key: str) -> None:
    """A key with a passphrase is an error, not a question at the terminal."""
    context.load_cert_chain(certificate, str(Path(key).expanduser()) if key else None, password=lambda: "")


def unverified() -> ssl.SSLContext:
    """A context that checks nothing, for ``verify=False``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _unusable(variable: str, message: str) -> ConfigError:
    return ConfigError([Problem(variable, message)], remedy=f"correct or unset {variable}")
