"""Paths and parameters of the Kubernetes API."""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, unquote, urlsplit

from holmes.kube.cluster import Kind, LogWindow

Params = list[tuple[str, str]]

# GETs that do something, or reach past the API server; and those that never end.
_NOT_READS = frozenset(["exec", "attach", "portforward", "proxy"])
_ENDLESS = ("watch", "follow")


def path_of(kind: Kind, namespace: str | None = None, name: str = "") -> str | None:
    """The path of a list or of one object; None when a name could not be one (it would change the path)."""
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    scope = ["namespaces", namespace] if kind.namespaced and namespace is not None else []
    parts = [*scope, kind.plural, *([name] if name else [])]
    if not all(_is_segment(part) for part in parts):
        return None
    return "/".join([root, *(quote(part, safe="") for part in parts)])


def _is_segment(part: str) -> bool:
    """The API's own rule for names in paths."""
    return part not in ("", ".", "..") and "/" not in part and "%" not in part


def described(kind: Kind, namespace: str | None, name: str = "") -> str:
    """What a request asks for, for messages: ``Deployment prod/checkout``, ``pods in namespace prod``."""
    if name:
        return f"{kind.kind} {namespace}/{name}" if kind.namespaced else f"{kind.kind} {name}"
    if not kind.namespaced:
        return kind.plural
    return f"{kind.plural} in namespace {namespace}" if namespace is not None else f"{kind.plural} in all namespaces"


def filters(selector: str, fields: str) -> Params:
    """Label and field selector of a list."""
    return [(key, value) for key, value in (("labelSelector", selector), ("fieldSelector", fields)) if value]


def paging(token: str, size: int = 500) -> Params:
    """The parameters of the next page."""
    return [("limit", str(size)), *([("continue", token)] if token else [])]


def log_params(container: str, window: LogWindow) -> Params:
    """Parameters of the pod log; one line more than the tail tells whether there were more."""
    wanted = {
        "container": container,
        "previous": "true" if window.previous else "",
        "tailLines": "" if window.tail is None else str(window.tail + 1),
        "sinceSeconds": "" if window.since_seconds is None else str(max(1, window.since_seconds)),
        "sinceTime": window.since_time,
        "timestamps": "true" if window.timestamps else "",
        "limitBytes": "" if window.limit_bytes is None else str(max(1, window.limit_bytes)),
    }
    return [(key, value) for key, value in wanted.items() if value]


def not_a_read(path: str) -> str:
    """Why a path given by hand is not asked for; "" when it is a plain read of this API server."""
    parts = urlsplit(path)
    segments = [unquote(part) for part in parts.path.split("/")]
    if not path.startswith("/") or parts.netloc or any(part in (".", "..") or "/" in part for part in segments):
        return "a path of the API starts with / and has no dots, such as /apis or /version"
    resource, subresource = _resource(segments)
    if subresource in _NOT_READS or resource == "proxy":
        return f"{subresource or resource} does more than read"
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    if resource == "watch" or any(query.get(word, "false") not in ("false", "0") for word in _ENDLESS):
        return "watching never ends; ask for the list"
    return ""


def _resource(segments: list[str]) -> tuple[str, str]:
    """Resource and subresource: ``pods`` and ``log`` of /api/v1/namespaces/prod/pods/web-1/log."""
    rest = segments[3:] if segments[1:2] == ["api"] else segments[4:] if segments[1:2] == ["apis"] else []
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        rest = rest[2:]
    return (rest[0] if rest else ""), (rest[2] if len(rest) > 2 else "")
