"""Events as lines: equal ones together, oldest first, so that the last line is what happened last."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from holmes.kube.cluster import Gap, Object
from holmes.kube.layout import indented, joined, short
from holmes.kube.related import duration, parse_time

_RANDOM = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b")  # the alphabet of generated names
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def event_lines(
    events: Sequence[Object] | Gap, now: datetime, *, title: str = "events", named: bool = False, limit: int = 12
) -> list[str]:
    """A title and a line for each kind of event; ``named`` says whom it is about."""
    if isinstance(events, Gap):
        return [f"{title}: not known: {events.message}"]
    if not events:
        return [f"{title}: none (API servers keep them for an hour)"]
    groups: dict[tuple[str, ...], list[Object]] = {}
    for event in sorted(events, key=last_seen):
        key = (str(event.get("type")), str(event.get("reason")), _without_random(str(event.get("message") or "")))
        groups.setdefault((*key, involved(event)) if named else key, []).append(event)
    ordered = sorted(groups.values(), key=lambda group: last_seen(group[-1]))
    older = len(ordered) - limit
    left = [f"({older} older ones left out)"] if older > 0 else []
    return [f"{title}:", *indented([*left, *(_line(group, now, named) for group in ordered[-limit:])])]


def _line(group: Sequence[Object], now: datetime, named: bool) -> str:
    """``Warning BackOff, 12 times in 5m, last 30s ago: Back-off restarting failed container``."""
    last, count = group[-1], sum(map(times, group))
    seen = last_seen(last)
    ago = f"{duration((now - seen).total_seconds())} ago" if seen > _LONG_AGO else "at an unknown time"
    whom = f" {involved(last)}" if named else ""
    when = ago
    if count > 1:
        span = (seen - min(map(first_seen, group))).total_seconds()
        when = f"{count} times in {duration(span)}, last {ago}"
    return joined(
        f"{last.get('type')} {last.get('reason')}{whom}, {when}", short(last.get("message") or "", 500), separator=": "
    )


def _without_random(message: str) -> str:
    """A message without what differs between equal ones: the random end of pod names, and the recorder's remark."""
    return _RANDOM.sub("-*", message.removeprefix("(combined from similar events): "))


def involved(event: Object) -> str:
    """``Pod web-1``: what the event is about."""
    about = event.get("involvedObject") or event.get("regarding") or {}
    return f"{about.get('kind')} {about.get('name')}"


def times(event: Object) -> int:
    """How often it happened."""
    return int(event.get("count") or (event.get("series") or {}).get("count") or 1)


def last_seen(event: Object) -> datetime:
    """When it happened last; long ago when the event has no time at all."""
    places = (
        event.get("lastTimestamp"),
        (event.get("series") or {}).get("lastObservedTime"),
        event.get("eventTime"),
        (event.get("metadata") or {}).get("creationTimestamp"),
    )
    return next((found for place in places if (found := parse_time(place))), _LONG_AGO)


def first_seen(event: Object) -> datetime:
    """When it happened first."""
    places = (event.get("firstTimestamp"), event.get("eventTime"))
    return next((found for place in places if (found := parse_time(place))), last_seen(event))
