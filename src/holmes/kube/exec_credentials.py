"""Credentials of a context: fixed ones, those of a token file, or those that an exec plugin gives.

Exec plugins speak client.authentication.k8s.io/v1 or v1beta1
(https://kubernetes.io/docs/reference/config-api/client-authentication.v1/). A plugin is the user's own program: it
gets the whole environment less the models' keys, runs once for parallel requests, and again when its credentials
end or are refused.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio

from holmes.core.env import without_model_keys
from holmes.core.process import Exit, Process
from holmes.kube.cluster import Gap
from holmes.kube.kubeconfig import Connection, ExecSpec
from holmes.kube.related import parse_time

_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_MARGIN = timedelta(seconds=30)  # credentials this close to their end are renewed
_REREAD_SECONDS = 60.0  # mounted tokens rotate long before they end
_MAX_OUTPUT = 1 << 20


@dataclass(frozen=True, slots=True)
class Credentials:
    """What proves who we are; ``expires`` is None when the plugin named no end."""

    token: str = field(default="", repr=False)
    certificate: str = ""  # PEM
    key: str = field(default="", repr=False)
    expires: datetime | None = None


class CredentialSource:
    """Gives the credentials of one connection, fresh when they have to be."""

    def __init__(self, connection: Connection, process: Process, env: Mapping[str, str], timeout: float = 30.0) -> None:
        self._connection = connection
        self._process = process
        self._env = env
        self._timeout = timeout  # seconds that a plugin may take
        self._lock = anyio.Lock()
        self._cached: Credentials | None = None
        self._read_at = 0.0

    @property
    def renewable(self) -> bool:
        """Whether asking again can give other credentials."""
        return bool(self._connection.exec or self._connection.token_file)

    async def get(self, refused: Credentials | None = None) -> Credentials | Gap:
        """The credentials; those that the server has just ``refused`` are not given again while others can be had."""
        async with self._lock:
            if self._cached is not None and self._cached is not refused and self._good(self._cached):
                return self._cached
            if self._connection.exec is not None:
                found = await self._run(self._connection.exec)
            else:
                found = self._fixed()
            if isinstance(found, Credentials):
                self._cached, self._read_at = found, time.monotonic()
            return found

    def _good(self, credentials: Credentials) -> bool:
        if self._connection.exec is None:
            return not self._connection.token_file or time.monotonic() - self._read_at < _REREAD_SECONDS
        return credentials.expires is None or datetime.now(UTC) + _MARGIN < credentials.expires

    def _fixed(self) -> Credentials | Gap:
        connection = self._connection
        token = connection.token
        if connection.token_file:
            try:
                token = Path(connection.token_file).read_text("utf-8").strip() or token
            except (OSError, UnicodeDecodeError) as error:
                if not token:
                    return self._gap("error", f"the token file {connection.token_file} cannot be read: {error}")
        return Credentials(token, connection.client_certificate, connection.client_key)

    async def _run(self, spec: ExecSpec) -> Credentials | Gap:
        if spec.api_version not in _VERSIONS:
            wanted = spec.api_version or "no apiVersion"
            message = f"exec plugin {spec.command} wants {wanted}; known are {' and '.join(_VERSIONS)}"
            return self._gap("unsupported", f"{message}; write the kubeconfig anew with a current tool")
        if spec.interactive_mode == "Always":
            message = f"exec plugin {spec.command} asks for a terminal; log in by hand, or use a context without it"
            return self._gap("unsupported", message)
        output, errors = _Bounded(), _Bounded()
        end = await self._process.run(
            [spec.command, *spec.args],
            env={**without_model_keys(self._env), **dict(spec.env), "KUBERNETES_EXEC_INFO": self._exec_info(spec)},
            deadline=time.monotonic() + self._timeout,
            write=output.write,
            write_error=errors.write,
        )
        if end.cause or end.code:
            return self._failed(spec, end, errors.text())
        return self._parsed(spec, output.text())

    def _exec_info(self, spec: ExecSpec) -> str:
        """The request that a plugin finds in its environment; the cluster only when its entry asks for that."""
        asked: dict[str, Any] = {"interactive": False}
        if spec.provide_cluster_info:
            connection = self._connection
            cluster = {
                "server": connection.server,
                "tls-server-name": connection.tls_server_name,
                "insecure-skip-tls-verify": connection.insecure,
                "certificate-authority-data": base64.b64encode(connection.ca.encode()).decode(),
                "proxy-url": connection.proxy_url,
                "config": spec.config,
            }
            asked["cluster"] = {key: value for key, value in cluster.items() if value}
        return json.dumps({"kind": "ExecCredential", "apiVersion": spec.api_version, "spec": asked})

    def _failed(self, spec: ExecSpec, end: Exit, errors: str) -> Gap:
        hint = f"\n{spec.install_hint}" if spec.install_hint else ""
        if end.cause == "not found":
            message = f"exec plugin {spec.command} is not installed or not on PATH; install it{hint}"
            return self._gap("unauthorized", message)
        last = "\n".join(errors.strip().splitlines()[-5:])
        if end.cause == "timeout":
            what = f"gave no credentials within {self._timeout:g} s"
        else:
            what = f"failed ({end.cause or f'exit code {end.code}'})"
        message = f"exec plugin {spec.command} {what}: {last or 'it wrote no reason'}"
        return self._gap("unauthorized", f"{message}\nlog in again, then try: {_command_line(spec)}{hint}")

    def _parsed(self, spec: ExecSpec, text: str) -> Credentials | Gap:
        try:
            answer = json.loads(text)
            status = answer.get("status") or {}
            version = str(answer.get("apiVersion"))
            found = Credentials(
                str(status.get("token") or ""),
                str(status.get("clientCertificateData") or ""),
                str(status.get("clientKeyData") or ""),
                parse_time(status.get("expirationTimestamp")),
            )
        except (ValueError, AttributeError):
            return self._gap("error", f"exec plugin {spec.command} wrote no ExecCredential; try: {_command_line(spec)}")
        if version != spec.api_version:
            message = f"exec plugin {spec.command} answers as {version}, the kubeconfig says {spec.api_version}"
            return self._gap("error", f"{message}; make them agree")
        if not found.token and not (found.certificate and found.key):
            return self._gap("error", f"exec plugin {spec.command} gave neither a token nor a certificate with its key")
        return found

    def _gap(self, reason: Any, message: str) -> Gap:
        return Gap(f"context {self._connection.context}", reason, message)


class _Bounded:
    """Keeps the first megabyte of what a program writes."""

    def __init__(self) -> None:
        self._data = bytearray()

    def write(self, chunk: bytes) -> None:
        self._data += chunk[: max(0, _MAX_OUTPUT - len(self._data))]

    def text(self) -> str:
        return self._data.decode("utf-8", "replace")


def _command_line(spec: ExecSpec) -> str:
    import shlex

    return shlex.join([spec.command, *spec.args])
