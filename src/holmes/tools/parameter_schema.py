"""The ``parameters`` of a YAML tool as JSON Schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from holmes.tools.yaml_entry import Entry

_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
_OTHER_NAMES = {"any_of": "anyOf", "one_of": "oneOf", "additional_properties": "additionalProperties"}
_PLAIN = (
    "description enum default const format pattern minimum maximum minLength maxLength minItems maxItems title "
    "examples additionalProperties"
).split()
_KEYS = [*_PLAIN, *_OTHER_NAMES, "anyOf", "oneOf", "type", "required", "items", "properties"]


@dataclass(frozen=True, slots=True)
class Parameters:
    """The declared parameters: their schemas by name, and which of them must be given."""

    properties: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...]

    def with_placeholders(self, names: Iterable[str]) -> dict[str, Any]:
        """The schema of the tool; placeholders that nobody declared are required texts."""
        found = list(names)
        properties = {**self.properties, **{name: {"type": "string"} for name in found}}
        required = [*self.required, *found]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def read_parameters(tool: Entry) -> Parameters:
    """The key ``parameters`` of a tool."""
    if tool.value.get("parameters") is None:
        return Parameters({}, ())
    return _properties(tool.inner("parameters"))


def _properties(entry: Entry) -> Parameters:
    properties, required = {}, []
    for name in entry.names():
        part = entry.inner(name)
        if part.value is None:
            properties[name] = {"type": "string"}
            required.append(name)
        elif part.is_mapping():
            properties[name] = _schema(part)
            if part.value.get("required", True) is not False:
                required.append(name)
    return Parameters(properties, tuple(required))


def _schema(entry: Entry) -> dict[str, Any]:
    value = entry.value
    entry.name_unknown(_KEYS)
    schema: dict[str, Any] = {"type": _type(entry)} if _type_fits(entry) else {}
    schema |= {_OTHER_NAMES.get(key, key): value[key] for key in value if _OTHER_NAMES.get(key, key) in _PLAIN}
    if "description" in value:
        schema["description"] = entry.text("description")
    if "enum" in value and not isinstance(value["enum"], list):
        entry.wrong_type("a list", "enum")
        del schema["enum"]
    if isinstance(value.get("required"), list):
        schema["required"] = value["required"]
    elif not isinstance(value.get("required", True), bool):
        entry.wrong_type("true or false", "required")
    if value.get("properties") is not None:
        inner = _properties(entry.inner("properties"))
        schema["properties"] = dict(inner.properties)
        schema.setdefault("required", list(inner.required))
    if value.get("items") is not None:
        items = entry.inner("items")
        schema["items"] = _schema(items) if items.is_mapping() else {}
    for key in ("any_of", "anyOf", "one_of", "oneOf"):
        branches = [_schema(branch) for branch in entry.items(key) if branch.is_mapping()]
        if branches:
            schema[_OTHER_NAMES.get(key, key)] = branches
    return schema


def _type_fits(entry: Entry) -> bool:
    """Whether a type is to be named: alternatives and an enum of other things than texts speak for themselves."""
    value = entry.value
    if "type" in value:
        return True
    enum = value.get("enum")
    other = isinstance(enum, list) and not all(isinstance(word, str) for word in enum)
    return not other and not any(key in value for key in ("any_of", "anyOf", "one_of", "oneOf"))


def _type(entry: Entry) -> Any:
    value = entry.value
    name = value.get("type", "object" if "properties" in value else "array" if "items" in value else "string")
    names = name if isinstance(name, list) else [name]
    if not names or not all(one in _TYPES for one in names):
        entry.problem(f"type: expected one of {', '.join(_TYPES)}, found {name}", "type")
        return "string"
    return name
