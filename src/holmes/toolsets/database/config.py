"""The configuration of a database toolset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from holmes.core.config_values import FLAG, SECONDS, describe_found, whole
from holmes.core.secret import Secret

Kind = Literal["postgres", "mysql", "sqlite"]
KINDS: Mapping[str, Kind] = {
    "postgresql": "postgres",
    "postgres": "postgres",
    "mysql": "mysql",
    "mariadb": "mysql",
    "sqlite": "sqlite",
}
KNOWN = ("connection_url", "read_only", "verify_ssl", "max_rows", "timeout", "clickhouse_use_http_json")


@dataclass(frozen=True, slots=True)
class DatabaseConfig:
    """``config`` of ``database/sql`` and of toolsets of ``type: database``.

    ``verify_ssl``: True asks for TLS with a verified certificate, False for TLS at most; None leaves it to the URL and
    the driver. ``timeout`` is in seconds and bounds connecting and each statement; ``max_rows`` bounds each result.
    """

    url: Secret
    kind: Kind
    verify_ssl: bool | None = None
    max_rows: int = 200
    timeout: float = 30.0


def read_config(config: Mapping[str, Any]) -> DatabaseConfig:
    """Check the raw values; ValueError says what is wrong with which key, and never shows the URL."""
    if unknown := [str(key) for key in config if key not in KNOWN]:
        raise ValueError(f"config: unknown key {', '.join(unknown)}; known: {', '.join(KNOWN)}")
    url = config.get("connection_url")
    if not isinstance(url, str) or not url.strip():
        raise ValueError("config: connection_url is missing, such as postgresql://user:password@host:5432/database")
    if "{{" in url:
        raise ValueError("config: connection_url has a {{ ... }} that could not be filled in; is the variable set?")
    scheme, separator, _ = url.strip().partition("://")
    kind = KINDS.get(scheme.partition("+")[0].lower()) if separator else None
    if kind is None:
        shown = f", found {scheme}" if separator and scheme.replace("+", "").isalnum() else ""
        raise ValueError(f"config: connection_url: expected {', '.join(KINDS)} before ://{shown}")
    if not _value(config, "read_only", FLAG, True):
        raise ValueError(
            "config: read_only: false is refused: Holmes only reads, and opens only read-only sessions; leave it out"
        )
    verify = _value(config, "verify_ssl", FLAG, None)
    rows, seconds = _value(config, "max_rows", whole(1), 200), _value(config, "timeout", SECONDS, 30.0)
    return DatabaseConfig(Secret(url.strip()), kind, verify, rows, seconds)


def _value(config: Mapping[str, Any], key: str, kind: Any, default: Any) -> Any:
    value = config.get(key)
    if value is None:
        return default
    try:
        return kind.read(value)
    except (TypeError, ValueError):
        raise ValueError(f"config: {key}: expected {kind.expected}, found {describe_found(value)}") from None
