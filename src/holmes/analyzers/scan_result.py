"""What a scan or an inspection gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from holmes.analyzers.graph import Cause
from holmes.core.findings import Finding
from holmes.kube.cluster import Gap

SCHEMA = "holmes.scan/v1"


@dataclass(frozen=True)
class ScanResult:
    """What the analyzers say.

    ``causes`` come with their symptoms, the worst first. ``looked_at`` and ``healthy`` count objects by kind: all, and
    those that no fault names. ``state`` is what an inspected object is like. ``gaps`` are what could not be looked at.
    """

    scope: str
    cluster: str
    now: datetime
    causes: tuple[Cause, ...] = ()
    looked_at: Mapping[str, int] = field(default_factory=dict)
    healthy: Mapping[str, int] = field(default_factory=dict)
    gaps: tuple[Gap, ...] = ()
    state: tuple[str, ...] = ()
    missing: bool = False  # the inspected object does not exist

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings that nothing else explains."""
        return tuple(cause.finding for cause in self.causes)

    @property
    def faults(self) -> tuple[Cause, ...]:
        """Causes that are more than information."""
        return tuple(cause for cause in self.causes if cause.severity != "info")

    @property
    def blind(self) -> bool:
        """Nothing could be looked at."""
        return bool(self.gaps) and not sum(self.looked_at.values())

    def as_data(self) -> dict[str, Any]:
        """JSON types, for results and reports."""
        return {
            "schema": SCHEMA,
            "scope": self.scope,
            "cluster": self.cluster,
            "now": self.now.isoformat(),
            "causes": [cause.as_data() for cause in self.causes],
            "looked_at": dict(self.looked_at),
            "healthy": dict(self.healthy),
            "state": list(self.state),
            "missing": self.missing,
            "gaps": [{"what": gap.what, "reason": gap.reason, "message": gap.message} for gap in self.gaps],
        }
