"""The settings of a toolset of ``type: http``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holmes.core.config_values import FLAG, MAPPING, SECONDS, TEXT, whole
from holmes.core.egress import EgressPolicy
from holmes.tools.plugin_config import PluginConfig
from holmes.toolsets.http.endpoints import Endpoint, read_endpoint

_FROM_REQUEST = re.compile(r"\{\{\s*request_context\.headers(?:\[\s*['\"]([\w-]+)['\"]\s*\]|\.([\w-]+))\s*\}\}")


@dataclass(frozen=True, slots=True)
class HttpConfig:
    """What the user wrote. ``extra_headers`` may take headers of the request that Holmes itself got."""

    endpoints: tuple[Endpoint, ...]
    default_headers: Mapping[str, str]
    extra_headers: Mapping[str, str]
    verify_ssl: bool = True
    ca_cert: str = ""
    client_cert: str = ""
    client_key: str = ""
    timeout: float = 30.0  # seconds for the whole request
    max_bytes: int = 50_000_000
    block_internal_ips: bool = False

    @property
    def policy(self) -> EgressPolicy:
        """The guard's: configured names pass whatever their address, unless inside is blocked on purpose."""
        if self.block_internal_ips:
            return EgressPolicy()
        return EgressPolicy(tuple(pattern.host for each in self.endpoints for pattern in each.hosts))

    def headers(self, request: Mapping[str, str]) -> dict[str, str]:
        """The configured headers, with those of the request filled in; one that it does not have is left out."""
        found = dict(self.default_headers)
        for name, template in self.extra_headers.items():
            names = [(match[1] or match[2]).lower() for match in _FROM_REQUEST.finditer(template)]
            if all(each in request for each in names):
                found[name] = _FROM_REQUEST.sub(lambda match: request[(match[1] or match[2]).lower()], template)
        return found


def read_config(config: Mapping[str, Any]) -> HttpConfig:
    """Check the raw values; ValueError says what is wrong with which key."""
    values = PluginConfig(config)
    endpoints = tuple(map(read_endpoint, values.parts("endpoints")))
    if not endpoints and not values.problems:
        values.problem("is missing or empty", "endpoints")
    found = HttpConfig(
        endpoints,
        _headers(values, "default_headers"),
        _headers(values, "extra_headers"),
        values.get("verify_ssl", FLAG, True),
        values.get("ca_cert", TEXT, ""),
        values.get("client_cert", TEXT, ""),
        values.get("client_key", TEXT, ""),
        values.get("timeout_seconds", SECONDS, 30.0),
        values.get("max_bytes", whole(1), 50_000_000),
        values.get("block_internal_ips", FLAG, False),
    )
    if found.client_key and not found.client_cert:
        values.problem("is missing, there is only client_key", "client_cert")
    values.check()
    return found


def _headers(values: PluginConfig, key: str) -> dict[str, str]:
    return {name.lower(): str(value) for name, value in values.get(key, MAPPING, {}).items()}
