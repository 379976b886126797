"""What a model sends is made to fit the tool, or answered with what is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holmes.tools.arguments import coerce, compact

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "kind": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100},
        "ratio": {"type": "number"},
        "wide": {"type": "boolean"},
        "names": {"type": "array", "items": {"type": "string"}},
        "ports": {"type": "array", "items": {"type": "integer"}},
        "filter": {"type": "object", "properties": {"age": {"type": "integer"}}},
        "mode": {"type": "string", "enum": ["Fast", "slow"]},
        "since": {"type": ["string", "null"]},
        "target": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/range"}]},
    },
    "required": ["kind"],
    "additionalProperties": False,
    "$defs": {"range": {"type": "object", "properties": {"low": {"type": "integer"}}, "required": ["low"]}},
}


@pytest.mark.parametrize(
    ("given_", "wanted"),
    [
        ({"limit": "3"}, {"limit": 3}),
        ({"limit": " 3.0 "}, {"limit": 3}),
        ({"limit": 3.0}, {"limit": 3}),
        ({"ratio": "0.5"}, {"ratio": 0.5}),
        ({"ratio": "7"}, {"ratio": 7}),
        ({"wide": "True"}, {"wide": True}),
        ({"wide": "false"}, {"wide": False}),
        ({"names": "a"}, {"names": ["a"]}),
        ({"names": '["a", "b"]'}, {"names": ["a", "b"]}),
        ({"names": [1]}, {"names": ["1"]}),
        ({"ports": "80"}, {"ports": [80]}),
        ({"ports": ["80", 443]}, {"ports": [80, 443]}),
        ({"filter": '{"age": "4"}'}, {"filter": {"age": 4}}),
        ({"mode": "FAST"}, {"mode": "Fast"}),
        ({"mode": ""}, {}),
        ({"limit": None}, {}),
        ({"limit": ""}, {}),
        ({"since": None}, {"since": None}),
        ({"since": ""}, {"since": ""}),
        ({"target": "5"}, {"target": 5}),
        ({"target": '{"low": "1"}'}, {"target": {"low": 1}}),
        ({"kind": 12}, {"kind": "12"}),
        ({"kind": True}, {"kind": "true"}),
    ],
)
def test_what_keeps_its_meaning_is_mended(given_: dict[str, Any], wanted: dict[str, Any]) -> None:
    args, problem = coerce({"kind": "pods", **given_}, SCHEMA)
    assert problem == ""
    assert args == {"kind": "pods", **wanted}
    assert {name: type(value) for name, value in args.items()} == {
        name: type(value) for name, value in {"kind": "pods", **wanted}.items()
    }


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({}, ["kind", "required"]),
        ({"kind": None}, ["kind"]),
        ({"kind": "a", "namespce": "x"}, ["no parameter namespce"]),
        ({"kind": "a", "Limits": 1}, ["no parameter Limits", "did you mean limit?"]),
        ({"kind": "a", "limit": 0}, ["limit", "minimum"]),
        ({"kind": "a", "limit": "1e3"}, ["limit", "integer"]),
        ({"kind": "a", "limit": True}, ["limit", "integer"]),
        ({"kind": "a", "limit": "3 pods"}, ["limit", "integer"]),
        ({"kind": "a", "wide": "yes"}, ["wide", "boolean"]),
        ({"kind": "a", "mode": "faster"}, ["mode", '"Fast"']),
        ({"kind": "a", "ratio": "nan"}, ["ratio", "number"]),
        ({"kind": "a", "filter": "age=4"}, ["filter", "object"]),
        ({"kind": {"name": "a"}}, ["kind", "string"]),
        ({"kind": "a", "ports": ["http"]}, ["ports.0", "integer"]),
    ],
)
def test_anything_else_is_an_error_that_names_the_field_and_shows_the_schema(
    given_: dict[str, Any], words: list[str]
) -> None:
    _, problem = coerce(given_, SCHEMA)
    assert problem.startswith("Not run: ")
    for word in [*words, "limit?: integer 1..100"]:
        assert word in problem


def test_all_problems_come_at_once() -> None:
    _, problem = coerce({"limit": 0, "wide": 3, "colour": "red"}, SCHEMA)
    for word in ["kind", "limit", "wide", "colour"]:
        assert word in problem


def test_a_long_value_does_not_flood_the_answer() -> None:
    _, problem = coerce({"kind": "a", "limit": "x" * 100_000}, SCHEMA)
    assert len(problem) < 2_000


def test_parameters_are_free_only_where_the_schema_says_so() -> None:
    assert coerce({"x": 1}, {"type": "object", "properties": {}})[1]
    assert coerce({"x": 1}, {"type": "object"}) == ({"x": 1}, "")
    free = {"type": "object", "properties": {}, "additionalProperties": {"type": "integer"}}
    assert coerce({"x": "1"}, free) == ({"x": 1}, "")


def test_a_schema_that_is_none_or_that_points_outside_is_said() -> None:
    for schema in ({"type": "object", "properties": {"a": {"type": "strong"}}}, {"$ref": "http://127.0.0.1:9/schema"}):
        assert "cannot be checked" in coerce({}, schema)[1]


def test_references_in_a_circle_end() -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}}
    coerce({"a": 1}, schema)
    compact(schema)


def test_compact_schema() -> None:
    assert compact(SCHEMA) == (
        "{kind: string, limit?: integer 1..100, ratio?: number, wide?: boolean, names?: string[], ports?: integer[], "
        'filter?: {age?: integer}, mode?: "Fast" | "slow", since?: string | null, target?: integer | {low: integer}}'
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(sorted(SCHEMA["properties"])), JSON))
def test_what_passes_is_valid_and_passes_again_unchanged(args: dict[str, Any]) -> None:
    import jsonschema_rs

    before = json.dumps(args)
    fitted, problem = coerce(args, SCHEMA)
    assert json.dumps(args) == before
    if not problem:
        assert jsonschema_rs.is_valid(SCHEMA, fitted)
        assert coerce(fitted, SCHEMA) == (fitted, "")
