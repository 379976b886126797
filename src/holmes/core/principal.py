"""On whose behalf a run works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Principal:
    """Tenant, user and the credentials that came with the request (header names in lower case)."""

    tenant: str = "local"
    user: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
