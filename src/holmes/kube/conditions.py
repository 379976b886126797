"""Which status conditions are not as they should be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from holmes.kube.cluster import Object
from holmes.kube.related import age

# Conditions that should be False or absent; all others should be True.
_BAD_WHEN_TRUE = re.compile(
    r"(Memory|Disk|PID)Pressure|NetworkUnavailable|.*(Fail(ed|ure|ureTarget)|Failing|Degraded|Stalled|Error|Limited"
    r"|NonStructuralSchema|Terminating|DeletionContentFailure|Conflict(s|ing)?|Unavailable|DisruptionTarget|Suspended"
    r"|FileSystemResizePending|Resizing|DeletionDiscoveryFailure|ParsingFailure|FinalizersRemaining|ContentRemaining)"
)
_DONE = ("PodCompleted",)  # reasons for which False is right


def is_fine(condition: Mapping[str, Any]) -> bool:
    """Whether a condition is as it should be. Unknown is never fine."""
    status = condition.get("status")
    if condition.get("reason") in _DONE:
        return True
    return bool(status == ("False" if _BAD_WHEN_TRUE.fullmatch(str(condition.get("type"))) else "True"))


def not_fine(obj: Object) -> list[Mapping[str, Any]]:
    """The conditions of an object's status that are not as they should be, each reason once."""
    conditions = (obj.get("status") or {}).get("conditions") or []
    found: dict[object, Mapping[str, Any]] = {}
    for item in conditions:
        if isinstance(item, Mapping) and not is_fine(item):
            # A pod's Ready and ContainersReady say the same.
            found.setdefault((item.get("status"), item.get("reason"), item.get("message")), item)
    return list(found.values())


def condition_line(condition: Mapping[str, Any], now: datetime) -> str:
    """``Ready=False ContainersNotReady (containers with unready status: [app]) for 3m``."""
    text = f"{condition.get('type')}={condition.get('status')}"
    if condition.get("reason"):
        text += f" {condition['reason']}"
    if condition.get("message"):
        text += f" ({' '.join(str(condition['message']).split())})"
    since = age(condition.get("lastTransitionTime"), now)
    return f"{text} for {since}" if since else text
