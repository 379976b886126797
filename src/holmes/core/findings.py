"""What an analyzer says about the objects that it looked at."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["critical", "warning", "info"]


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """Which object: ``Deployment prod/checkout``; cluster-wide objects have no namespace."""

    kind: str
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault, with the facts that show it.

    ``cause`` is a short stable name (``oom-killed``); ``explanation`` is one sentence for people; ``evidence`` are
    lines copied from the data; ``remedy`` says what to change; ``commands`` can be copied and only read or explain.
    ``confidence`` is between 0 and 1.
    """

    cause: str
    object: ObjectRef
    severity: Severity
    explanation: str
    evidence: tuple[str, ...]
    remedy: str
    confidence: float = 0.9
    analyzer: str = ""
    commands: tuple[str, ...] = ()
    related: tuple[ObjectRef, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """JSON types, for results and reports."""
        return asdict(self)
