"""A model's arguments against a tool's JSON Schema: safe coercion, or an error that shows how to call it right."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from holmes.tools.tool import JsonSchema

_INTEGER = re.compile(r"[+-]?\d{1,18}(\.0*)?")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
_SHOWN = 5  # problems in one answer
_LONGEST = 200  # characters of one problem


def coerce(args: Mapping[str, Any], schema: JsonSchema) -> tuple[dict[str, Any], str]:
    """The arguments as the schema wants them, and "" or what is wrong with them.

    Only what keeps the meaning is mended: ``"3"`` to 3, ``"true"`` to true, 3 to ``"3"``, JSON text to object or list,
    one value to a list of one, the case of an enum's word; null or "" for an optional parameter that cannot be that
    means "not given". With a problem the tool must not run.
    """
    import jsonschema_rs

    try:
        validator = jsonschema_rs.validator_for(dict(schema), retriever=_no_retrieval)
        fitted = _fit_object(dict(args), schema, schema)
        problems = _unknown(fitted, schema)
        for error in validator.iter_errors({name: fitted[name] for name in fitted if name not in problems}):
            path = ".".join(str(part) for part in error.instance_path)
            problems.setdefault(f"{path} {error.message}", f"{path}: {error.message}" if path else error.message)
    except ValueError as error:  # jsonschema_rs says so of a schema that is none, and of arguments that are not JSON
        reason = str(error).partition("\n")[0]
        return dict(args), f"Not run: the arguments cannot be checked against the schema ({reason})."
    if not problems:
        return fitted, ""
    listed = [text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..." for text in problems.values()]
    more = f"; and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return fitted, f"Not run: {'; '.join(listed[:_SHOWN])}{more}. Parameters: {compact(schema)}"


def compact(schema: JsonSchema) -> str:
    """A schema in one line: ``{kind: string, limit?: integer 1..100, mode?: "a" | "b"}``."""
    return _compact(schema, schema, 0)[:1500]


def _no_retrieval(uri: str) -> Any:
    raise ValueError(f"{uri} is outside the schema")


def _unknown(args: Mapping[str, Any], schema: JsonSchema) -> dict[str, str]:
    """Parameters that the tool does not have; the validator alone would let most of them pass."""
    known = schema.get("properties")
    if known is None or schema.get("additionalProperties") or schema.get("patternProperties"):
        return {}
    found = {}
    for name in (name for name in args if name not in known):
        lowered = {other.lower(): other for other in known}
        near = get_close_matches(name.lower(), lowered, n=2, cutoff=0.6)
        hint = f" (did you mean {' or '.join(lowered[other] for other in near)}?)" if near else ""
        found[name] = f"there is no parameter {name}{hint}"
    return found


def _fit(value: Any, schema: Any, root: JsonSchema) -> Any:
    schema = _resolved(schema, root)
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches:
        if any(_valid(value, branch, root) for branch in branches):
            return value
        candidates = ((_fit(value, branch, root), branch) for branch in branches)
        return next((fitted for fitted, branch in candidates if _valid(fitted, branch, root)), value)
    types = _types(schema)
    if types and not any(_is(value, name) for name in types):
        value = _converted(value, types, schema, root)
    if isinstance(value, float) and value.is_integer() and "integer" in types:
        value = int(value)
    if isinstance(value, dict):
        return _fit_object(value, schema, root)
    if isinstance(value, list):
        return [_fit(item, schema.get("items", {}), root) for item in value]
    return _spelled(value, schema.get("enum"))


def _fit_object(value: dict[str, Any], schema: JsonSchema, root: JsonSchema) -> dict[str, Any]:
    properties, required = schema.get("properties", {}), schema.get("required", ())
    fitted = {}
    for name, item in value.items():
        inner = properties.get(name, schema.get("additionalProperties", {}))
        if item in (None, "") and name in properties and name not in required and not _valid(item, inner, root):
            continue
        fitted[name] = _fit(item, inner, root)
    return fitted


def _converted(value: Any, types: list[str], schema: JsonSchema, root: JsonSchema) -> Any:
    """A value of a wrong type as one of ``types``, or as it was."""
    if isinstance(value, str):
        parsed = _parsed(value.strip(), types)
        if parsed is not None:
            return parsed
    elif "string" in types and isinstance(value, bool | int | float):
        return json.dumps(value)
    if "array" in types and not isinstance(value, list) and value not in (None, ""):
        return [_fit(value, schema.get("items", {}), root)]
    return value


def _parsed(text: str, types: list[str]) -> Any:
    if "boolean" in types and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if "integer" in types and _INTEGER.fullmatch(text):
        return int(text.partition(".")[0])
    if "number" in types and _NUMBER.fullmatch(text) and math.isfinite(float(text)):
        return int(text) if text.lstrip("+-").isdigit() and len(text) < 19 else float(text)
    if (text.startswith("{") and "object" in types) or (text.startswith("[") and "array" in types):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return None
    return None


def _spelled(value: Any, enum: Any) -> Any:
    """The enum's own spelling of a value that differs only in case or type."""
    if not isinstance(enum, list) or value in enum or not isinstance(value, str | int | float):
        return value
    matches = [word for word in enum if str(word).casefold() == str(value).strip().casefold()]
    return matches[0] if len(matches) == 1 else value


def _resolved(schema: Any, root: JsonSchema) -> Mapping[str, Any]:
    """A schema with its local reference followed; what is no mapping allows everything."""
    for _ in range(20):  # references may run in a circle
        reference = schema.get("$ref") if isinstance(schema, Mapping) else None
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        target: Any = root
        for part in reference[2:].split("/"):
            target = target.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(target, Mapping) else None
        schema = target
    return schema if isinstance(schema, Mapping) else {}


def _valid(value: Any, schema: Any, root: JsonSchema) -> bool:
    import jsonschema_rs

    if not isinstance(schema, Mapping):
        return schema is not False
    definitions = {key: root[key] for key in ("$defs", "definitions") if key in root}
    return jsonschema_rs.validator_for({**definitions, **schema}, retriever=_no_retrieval).is_valid(value)


def _types(schema: Mapping[str, Any]) -> list[str]:
    declared = schema.get("type")
    if isinstance(declared, str):
        return [declared]
    if isinstance(declared, list):
        return [str(name) for name in declared]
    return ["object"] if "properties" in schema else ["array"] if "items" in schema else []


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if isinstance(value, float):
        return name == "number" or (name == "integer" and value.is_integer())
    if isinstance(value, int):
        return name in ("integer", "number")
    return {"string": str, "object": dict, "array": list, "null": type(None)}.get(name) is type(value)


def _compact(schema: Any, root: JsonSchema, depth: int) -> str:
    schema = _resolved(schema, root)
    if enum := schema.get("enum"):
        shown = [json.dumps(word, ensure_ascii=False) for word in enum[:12]]
        return " | ".join([*shown, *(["..."] if len(enum) > 12 else [])])
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        return " | ".join(dict.fromkeys(_compact(branch, root, depth) for branch in branches))
    return " | ".join(_compact_type(name, schema, root, depth) for name in _types(schema)) or "any"


def _compact_type(name: str, schema: Mapping[str, Any], root: JsonSchema, depth: int) -> str:
    properties = schema.get("properties")
    if name == "object" and properties is not None and depth < 3:
        required = schema.get("required", ())
        pairs = (
            f"{key}{'' if key in required else '?'}: {_compact(inner, root, depth + 1)}"
            for key, inner in properties.items()
        )
        return "{" + ", ".join(pairs) + "}"
    if name == "array":
        inner = _compact(schema.get("items", {}), root, depth + 1)
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    low, high = schema.get("minimum"), schema.get("maximum")
    if name in ("integer", "number") and (low is not None or high is not None):
        return f"{name} {'' if low is None else low}..{'' if high is None else high}"
    return name
