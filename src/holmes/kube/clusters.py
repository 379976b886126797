"""The clusters of a run: the contexts of the user's kubeconfig, connected when they are needed."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import anyio

from holmes.core.http import Http
from holmes.core.process import Process
from holmes.kube.cluster import Gap
from holmes.kube.exec_credentials import Credentials
from holmes.kube.kubeconfig import Connection, load_connection
from holmes.kube.live import LiveCluster

_CHILD_FILE = "kubeconfig"


class LiveClusters:
    """Implements ``Clusters``. ``kubeconfig`` and ``context`` are the options of the run; "" means kubectl's default.

    A context that cannot be used is looked up again next time: the user may have logged in meanwhile.
    """

    def __init__(
        self,
        env: Mapping[str, str],
        http: Http,
        process: Process,
        kubeconfig: str = "",
        context: str = "",
        timeout: float = 30.0,
    ) -> None:
        self._env = env
        self._http = http
        self._process = process
        self._kubeconfig = kubeconfig
        self._context = context
        self._timeout = timeout  # seconds that an API server may be silent
        self._connected: dict[str, LiveCluster] = {}
        self._lock = anyio.Lock()

    async def get(self, context: str = "") -> LiveCluster | Gap:
        """The cluster of a context, "" = the run's own. Asks nothing of the network yet."""
        wanted = context or self._context
        async with self._lock:
            if wanted not in self._connected:
                found = await anyio.to_thread.run_sync(load_connection, self._env, self._kubeconfig, wanted)
                if isinstance(found, Gap):
                    return found
                # The current context asked for by name is the same cluster.
                known = self._connected.get(found.context)
                made = known or LiveCluster(found, self._http, self._process, self._env, self._timeout)
                self._connected[wanted] = self._connected[found.context] = made
            return self._connected[wanted]

    async def child_kubeconfig(self, folder: Path) -> Path | Gap:
        """Write the run's own kubeconfig for child processes: one context, readable by us alone, no exec plugin.

        Ask before each child: credentials of an exec plugin end, and the file is written again when they changed.
        OSError when the folder cannot be written.
        """
        cluster = await self.get()
        if isinstance(cluster, Gap):
            return cluster
        credentials = await cluster.server.credentials.get()
        if isinstance(credentials, Gap):
            return credentials
        content = json.dumps(_child_config(cluster.server.connection, credentials), indent=1)
        return await anyio.to_thread.run_sync(_write_private, folder / _CHILD_FILE, content)

    async def close(self) -> None:
        """Close all connections."""
        clusters = {id(cluster): cluster for cluster in self._connected.values()}
        self._connected = {}
        for cluster in clusters.values():
            await cluster.close()


def _child_config(connection: Connection, credentials: Credentials) -> dict[str, Any]:
    """A kubeconfig as JSON, which is YAML too."""
    cluster = {
        "server": connection.server,
        "certificate-authority-data": _encoded(connection.ca),
        "insecure-skip-tls-verify": connection.insecure,
        "tls-server-name": connection.tls_server_name,
        "proxy-url": connection.proxy_url,
    }
    user = {
        # A mounted token rotates: children read it where it is.
        "tokenFile": connection.token_file,
        "token": "" if connection.token_file else credentials.token,
        "client-certificate-data": _encoded(credentials.certificate),
        "client-key-data": _encoded(credentials.key),
        "username": connection.username,
        "password": connection.password,
        **_impersonation(connection),
    }
    context = {"cluster": connection.cluster, "user": "holmes", "namespace": connection.namespace}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": connection.cluster, "cluster": _given(cluster)}],
        "users": [{"name": "holmes", "user": _given(user)}],
        "contexts": [{"name": connection.context, "context": context}],
        "current-context": connection.context,
    }


def _impersonation(connection: Connection) -> dict[str, Any]:
    """The user's own ``as`` fields, back from their headers."""
    groups = [value for name, value in connection.impersonate if name == "Impersonate-Group"]
    extra: dict[str, list[str]] = {}
    for name, value in connection.impersonate:
        if name.startswith("Impersonate-Extra-"):
            extra.setdefault(unquote(name.removeprefix("Impersonate-Extra-")), []).append(value)
    single = dict(connection.impersonate)
    return {
        "as": single.get("Impersonate-User"),
        "as-uid": single.get("Impersonate-Uid"),
        "as-groups": groups,
        "as-user-extra": extra,
    }


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value}


def _encoded(pem: str) -> str:
    return base64.b64encode(pem.encode()).decode()


def _write_private(path: Path, content: str) -> Path:
    """Replace the file at once, so that a child never reads half of it; untouched when nothing changed."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if path.is_file() and path.read_text("utf-8") == content:
        return path
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(content)
    fresh.replace(path)
    return path
