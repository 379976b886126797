"""What nobody may see of an object: the contents of Secrets, and copies of them in last-applied annotations.

Every reader passes each object through ``redacted`` before anything else sees it. Names of keys and sizes stay,
because they explain faults (a missing key, an empty value).
"""

from __future__ import annotations

from typing import Any

from holmes.kube.cluster import Object

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def redacted(obj: Object, kind: str = "") -> Object:
    """The object, changed in place: no Secret values, no last-applied annotation, no managedFields.

    ``kind`` is that of items of a typed list, which do not carry it. Lists are followed into their items.
    """
    kind = str(obj.get("kind") or kind)
    metadata = obj.get("metadata")
    if isinstance(metadata, dict):
        metadata.pop("managedFields", None)
        annotations = metadata.get("annotations")
        if isinstance(annotations, dict):
            annotations.pop(LAST_APPLIED, None)
    if kind == "Secret":
        _hide(obj, "data", encoded=True)
        _hide(obj, "stringData", encoded=False)
    items = obj.get("items")
    if kind.endswith("List") and isinstance(items, list):
        for item in items:
            if isinstance(item, dict):
                redacted(item, kind.removesuffix("List"))
    return obj


def _hide(obj: Object, field: str, *, encoded: bool) -> None:
    values = obj.get(field)
    if isinstance(values, dict):
        obj[field] = {key: f"(hidden, {_size(value, encoded)} bytes)" for key, value in values.items()}
    elif values is not None:
        obj[field] = "(hidden)"


def _size(value: Any, encoded: bool) -> int:
    """Bytes of a value; base64 text is counted as what it stands for."""
    text = str(value or "")
    return len(text) * 3 // 4 - text[-2:].count("=") if encoded else len(text.encode())
