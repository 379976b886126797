"""TLS contexts for the certificates of a kubeconfig."""

from __future__ import annotations

import re
import ssl
import tempfile
from pathlib import Path

from holmes.kube.kubeconfig import Connection

_PEM = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----.*?-----END \1-----", re.DOTALL)


def tls_context(connection: Connection, certificate: str = "", key: str = "") -> ssl.SSLContext | bool:
    """A context for one connection, or True: what the environment trusts. ValueError names an unusable certificate.

    Takes about 1 ms with a CA of the kubeconfig; the system's authorities, which only a client certificate needs
    here, take 50 ms.
    """
    identity = bool(certificate and key)
    if not connection.ca and not connection.insecure and not identity:
        return True
    context = _trusting(connection)
    if identity:
        _load_identity(context, certificate, key, connection)
    return context


def _trusting(connection: Connection) -> ssl.SSLContext:
    if not connection.ca and not connection.insecure:
        return ssl.create_default_context()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if connection.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    try:
        context.load_verify_locations(cadata=_blocks(connection.ca))
    except (ssl.SSLError, ValueError) as error:
        raise ValueError(f"certificate-authority of cluster {connection.cluster}: {_reason(error)}") from error
    return context


def _load_identity(context: ssl.SSLContext, certificate: str, key: str, connection: Connection) -> None:
    """The ssl module takes a client's key from a file alone: it is there (0600) for the moment of reading."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "identity.pem"
            path.touch(mode=0o600)
            path.write_text(f"{certificate}\n{key}\n", "utf-8")
            context.load_cert_chain(path, password=lambda: b"")  # never ask at the terminal
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        message = f"client certificate and key of user {connection.user}: {_reason(error)}"
        raise ValueError(message) from error


def _blocks(text: str) -> str:
    """The PEM blocks alone: authority files often have comments in between, which OpenSSL refuses when not ASCII."""
    return "\n".join(match[0] for match in _PEM.finditer(text)) or text


def _reason(error: Exception) -> str:
    return (error.reason or str(error)) if isinstance(error, ssl.SSLError) else str(error)
