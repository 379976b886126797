"""Finds kubeconfigs as kubectl does and turns one context into a ``Connection``.

Order: the option, else the files of KUBECONFIG, else ``~/.kube/config``, else the service account of the pod.
Several files are merged: for each cluster, user, context and for current-context the first file that has it wins;
relative paths start at the folder of their file. Whatever is wrong is a ``Gap`` with its cause and the next step.
Source: https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import quote

from holmes.core.errors import ConfigError
from holmes.core.yaml_marks import Document, load_file
from holmes.kube.cluster import Gap

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_EXEC_EXTENSION = "client.authentication.k8s.io/exec"


@dataclass(frozen=True, slots=True)
class ExecSpec:
    """A program that gives credentials (``users[].user.exec``)."""

    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    api_version: str = ""
    install_hint: str = ""
    interactive_mode: str = "IfAvailable"
    provide_cluster_info: bool = False
    config: Any = None  # what the cluster's entry has for exec plugins


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach one API server, and as whom. Certificates and keys are PEM text, whatever form they had."""

    context: str
    cluster: str
    user: str
    namespace: str
    server: str
    source: str  # the file that names the context, for messages
    ca: str = ""  # "" = the system's authorities
    insecure: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    client_certificate: str = ""
    client_key: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    token_file: str = ""  # read again while connected: mounted tokens rotate
    username: str = ""
    password: str = field(default="", repr=False)
    exec: ExecSpec | None = None
    impersonate: tuple[tuple[str, str], ...] = ()  # Impersonate-* headers


@dataclass(frozen=True, slots=True)
class _Entry:
    """One named cluster, user or context and the file that it stands in."""

    value: Mapping[str, Any]
    document: Document
    path: tuple[str | int, ...]

    @property
    def where(self) -> str:
        return self.document.where(*self.path)

    def file(self, name: str) -> str:
        """A path as the file means it: relative to its own folder."""
        return str(Path(self.document.file).absolute().parent / name)


class _Unusable(Exception):
    """Carries the Gap out of the depths of reading."""

    def __init__(self, reason: Any, message: str, what: str = "kubeconfig") -> None:
        super().__init__(message)
        self.gap = Gap(what, reason, message)


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """The merged files. ``files`` are those that were read."""

    files: tuple[str, ...]
    current: str
    _contexts: Mapping[str, _Entry]
    _clusters: Mapping[str, _Entry]
    _users: Mapping[str, _Entry]

    @property
    def contexts(self) -> tuple[str, ...]:
        """Names of all contexts, in the order of the files."""
        return tuple(self._contexts)

    def connection(self, context: str = "") -> Connection | Gap:
        """How to reach a context's cluster; "" is the current context."""
        try:
            return self._connection(context or self._chosen())
        except _Unusable as error:
            return error.gap

    def _chosen(self) -> str:
        if self.current:
            return self.current
        known = ", ".join(self._contexts)
        advice = f"choose one with --context: {known}" if known else "it has no contexts either"
        raise _Unusable("not_found", f"{' and '.join(self.files)} has no current-context; {advice}")

    def _connection(self, name: str) -> Connection:
        entry = self._contexts.get(name)
        if entry is None:
            raise _Unusable("not_found", self._unknown(name), f"context {name}")
        cluster = self._named(self._clusters, "cluster", entry, name)
        if cluster is None:
            raise _Unusable("not_found", f"{entry.where}: context {name} names no cluster", f"context {name}")
        user = self._named(self._users, "user", entry, name)
        server = _text(cluster.value, "server")
        if not server.startswith(("https://", "http://")):
            raise _Unusable("error", f"{cluster.where}: server is {server!r}; it must be an http(s) URL")
        return Connection(
            context=name,
            cluster=_text(entry.value, "cluster"),
            user=_text(entry.value, "user"),
            namespace=_text(entry.value, "namespace") or "default",
            server=server.rstrip("/"),
            source=entry.document.file,
            ca=_pem(cluster, "certificate-authority"),
            insecure=bool(cluster.value.get("insecure-skip-tls-verify")),
            tls_server_name=_text(cluster.value, "tls-server-name"),
            proxy_url=_text(cluster.value, "proxy-url"),
            **(_identity(user, cluster) if user else {}),
        )

    def _unknown(self, name: str) -> str:
        near = get_close_matches(name, self._contexts, n=3, cutoff=0.5)
        contained = [known for known in self._contexts if name.lower() in known.lower()]
        files = " and ".join(self.files)
        if near or contained:
            return f"{files} has no such context; did you mean {' or '.join(dict.fromkeys(near + contained))}?"
        return f"{files} has no such context; it has: {', '.join(list(self._contexts)[:20]) or 'none'}"

    def _named(self, entries: Mapping[str, _Entry], part: str, context: _Entry, name: str) -> _Entry | None:
        wanted = _text(context.value, part)
        if wanted and wanted not in entries:
            known = ", ".join(list(entries)[:20]) or "none"
            message = (
                f"{context.where}: context {name} names the {part} {wanted}, which does not exist (known: {known})"
            )
            raise _Unusable("not_found", message, f"context {name}")
        return entries.get(wanted) if wanted else None


def load_connection(
    env: Mapping[str, str], kubeconfig: str = "", context: str = "", service_account: Path = SERVICE_ACCOUNT
) -> Connection | Gap:
    """The connection of a context ("" = the current one) by kubectl's order of places."""
    found = find(env, kubeconfig)
    if isinstance(found, Kubeconfig):
        return found.connection(context)
    if found.reason != "not_found" or kubeconfig or context:
        return found
    inside = in_cluster(env, service_account)
    return inside or found


def find(env: Mapping[str, str], kubeconfig: str = "") -> Kubeconfig | Gap:
    """Read and merge the files; ``not_found`` when there is none."""
    try:
        files = _files(env, kubeconfig)
        merged = _merge([load_file(path) for path in files])
    except ConfigError as error:
        return Gap("kubeconfig", "error", "; ".join(str(problem) for problem in error.problems))
    except _Unusable as error:
        return error.gap
    return merged


def in_cluster(env: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> Connection | None:
    """The pod's own service account; None outside of a pod."""
    host, port = env.get("KUBERNETES_SERVICE_HOST", ""), env.get("KUBERNETES_SERVICE_PORT", "443")
    if not host or not (folder / "token").is_file():
        return None
    return Connection(
        context="in-cluster",
        cluster="in-cluster",
        user="service account of this pod",
        namespace=_optional(folder / "namespace").strip() or "default",
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        source=str(folder),
        ca=_optional(folder / "ca.crt"),
        token_file=str(folder / "token"),
    )


def _files(env: Mapping[str, str], kubeconfig: str) -> list[Path]:
    home = Path(env.get("HOME") or Path.home())
    if kubeconfig:
        path = home / kubeconfig[2:] if kubeconfig.startswith("~/") else Path(kubeconfig)
        if not path.is_file():
            raise _Unusable("not_found", f"{path} does not exist; check --kubeconfig")
        return [path]
    listed = [name for name in env.get("KUBECONFIG", "").split(os.pathsep) if name]
    places = [Path(name) for name in dict.fromkeys(listed)] or [home / ".kube" / "config"]
    files = [path for path in places if path.is_file()]
    if not files:
        origin = " (from KUBECONFIG)" if listed else ""
        names = ", ".join(str(path) for path in places)
        raise _Unusable("not_found", f"{names}{origin} does not exist; give --kubeconfig FILE or set KUBECONFIG")
    return files


def _merge(documents: Iterable[Document]) -> Kubeconfig:
    parts: dict[str, dict[str, _Entry]] = {"contexts": {}, "clusters": {}, "users": {}}
    current = ""
    files = []
    for document in documents:
        files.append(document.file)
        value = {} if document.value is None else document.value
        if not isinstance(value, Mapping):
            raise _Unusable("error", f"{document.file}:1: this is not a kubeconfig (a mapping with contexts, ...)")
        current = current or _text(value, "current-context")
        for part, entries in parts.items():
            for name, entry in _entries(document, part):
                entries.setdefault(name, entry)
    return Kubeconfig(tuple(files), current, parts["contexts"], parts["clusters"], parts["users"])


def _entries(document: Document, part: str) -> Iterable[tuple[str, _Entry]]:
    listed = (document.value or {}).get(part) or []
    if not isinstance(listed, list):
        raise _Unusable("error", f"{document.where(part)}: {part} must be a list")
    for index, item in enumerate(listed):
        if not isinstance(item, Mapping) or not item.get("name"):
            raise _Unusable("error", f"{document.where(part, index)}: each of {part} needs a name")
        value = item.get(part[:-1]) or {}
        if not isinstance(value, Mapping):
            raise _Unusable("error", f"{document.where(part, index, part[:-1])}: {part[:-1]} must be a mapping")
        yield str(item["name"]), _Entry(value, document, (part, index))


def _identity(user: _Entry, cluster: _Entry) -> dict[str, Any]:
    """The part of a Connection that says who asks."""
    value = user.value
    if value.get("auth-provider"):
        name = _text(value["auth-provider"], "name") if isinstance(value["auth-provider"], Mapping) else ""
        message = f"{user.where}: auth-provider {name} was removed from Kubernetes 1.26; use its exec plugin instead"
        raise _Unusable("unsupported", message)
    return {
        "client_certificate": _pem(user, "client-certificate"),
        "client_key": _pem(user, "client-key"),
        "token": _text(value, "token"),
        "token_file": user.file(_text(value, "tokenFile")) if value.get("tokenFile") else "",
        "username": _text(value, "username"),
        "password": _text(value, "password"),
        "exec": _exec(user, cluster) if value.get("exec") else None,
        "impersonate": _impersonation(value),
    }


def _exec(user: _Entry, cluster: _Entry) -> ExecSpec:
    spec = user.value["exec"]
    if not isinstance(spec, Mapping) or not spec.get("command"):
        raise _Unusable("error", f"{user.where}: exec needs a command")
    command = _text(spec, "command")
    extensions = cluster.value.get("extensions") or []
    config = next((item.get("extension") for item in extensions if item.get("name") == _EXEC_EXTENSION), None)
    return ExecSpec(
        # A name without a slash is looked up on PATH, everything else starts at the kubeconfig's folder.
        command=user.file(command) if os.sep in command else command,
        args=tuple(str(argument) for argument in spec.get("args") or []),
        env=tuple((str(item.get("name")), str(item.get("value") or "")) for item in spec.get("env") or []),
        api_version=_text(spec, "apiVersion"),
        install_hint=_text(spec, "installHint").strip(),
        interactive_mode=_text(spec, "interactiveMode") or "IfAvailable",
        provide_cluster_info=bool(spec.get("provideClusterInfo")),
        config=config,
    )


def _impersonation(user: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    headers = [("Impersonate-User", _text(user, "as")), ("Impersonate-Uid", _text(user, "as-uid"))]
    headers += [("Impersonate-Group", str(group)) for group in user.get("as-groups") or []]
    for key, values in (user.get("as-user-extra") or {}).items():
        headers += [(f"Impersonate-Extra-{quote(key, safe='')}", str(value)) for value in values]
    return tuple((name, value) for name, value in headers if value)


def _pem(entry: _Entry, key: str) -> str:
    """``<key>-data`` (base64) or the file that ``<key>`` names, "" without either."""
    data = _text(entry.value, f"{key}-data")
    path = _text(entry.value, key)
    try:
        if data:
            return base64.b64decode("".join(data.split()), validate=True).decode("utf-8")
        return Path(entry.file(path)).read_text("utf-8") if path else ""
    except (binascii.Error, UnicodeDecodeError) as error:
        source = f"{key}-data is not base64 of PEM text" if data else f"{key}: {path} is not PEM text"
        raise _Unusable("error", f"{entry.where}: {source}") from error
    except OSError as error:
        file = entry.file(path)
        raise _Unusable("error", f"{entry.where}: {key}: {file} cannot be read: {error.strerror}") from error


def _text(mapping: Mapping[str, Any], key: str) -> str:
    value = mapping.get(key)
    return "" if value is None else str(value)


def _optional(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError:
        return ""
