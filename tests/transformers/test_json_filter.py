"""json_filter: the parts that matter, as the source writes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holmes.core.errors import UsageError
from holmes.tools.json_filter import json_filter
from support.tool_context import context

pytestmark = pytest.mark.anyio

PODS = {
    "kind": "List",
    "items": [
        {
            "metadata": {"name": f"web-{number}", "uid": "0b1c", "labels": {"app": "web"}},
            "status": {"phase": "Running", "containerStatuses": [{"restartCount": number, "state": {"running": {}}}]},
        }
        for number in (0, 3)
    ],
}


async def filtered(text: str, **options: Any) -> str:
    return await json_filter(text, options, context())


async def value(**options: Any) -> Any:
    return json.loads(await filtered(json.dumps(PODS), **options))


async def test_keep_leaves_the_named_keys_and_what_leads_to_them() -> None:
    assert await value(keep=["name", "restartCount"]) == {
        "items": [
            {"metadata": {"name": "web-0"}, "status": {"containerStatuses": [{"restartCount": 0}]}},
            {"metadata": {"name": "web-3"}, "status": {"containerStatuses": [{"restartCount": 3}]}},
        ]
    }


async def test_a_key_to_keep_is_kept_whole() -> None:
    assert (await value(keep=["labels"]))["items"][0] == {"metadata": {"labels": {"app": "web"}}}


async def test_the_end_of_a_path_tells_equal_keys_apart() -> None:
    text = json.dumps({"spec": {"phase": "a"}, "status": {"phase": "b"}})
    assert json.loads(await filtered(text, keep=["status.phase"])) == {"status": {"phase": "b"}}


async def test_drop_removes_keys_at_any_depth() -> None:
    item = (await value(drop=["uid", "containerStatuses.state"]))["items"][1]
    assert item["metadata"] == {"name": "web-3", "labels": {"app": "web"}}
    assert item["status"]["containerStatuses"] == [{"restartCount": 3}]


async def test_max_depth_replaces_what_lies_deeper_by_its_size() -> None:
    assert await value(max_depth=1) == {"kind": "List", "items": "[2 items]"}
    item = (await value(max_depth=2))["items"][0]
    assert item == {"metadata": "{3 keys}", "status": "{2 keys}"}


async def test_jq_comes_first() -> None:
    text = json.dumps(PODS, separators=(",", ":"))
    assert await filtered(text, jq=".items[].metadata", keep=["name"]) == '{"name":"web-0"}\n{"name":"web-3"}'


async def test_a_wrong_jq_program_is_said() -> None:
    with pytest.raises(UsageError, match="jq"):
        await filtered(json.dumps(PODS), jq=".items[")


@pytest.mark.parametrize(("separators", "indent"), [((",", ":"), None), ((", ", ": "), None), (None, 2), (None, 4)])
async def test_what_stays_is_written_as_the_source_wrote_it(separators: Any, indent: int | None) -> None:
    text = json.dumps(PODS, separators=separators, indent=indent)
    part = await filtered(text, keep=["metadata.name", "labels"])
    flat = " ".join(text.split())
    for quote in ('"labels": {"app": "web"}', '"labels":{"app":"web"}', '"labels": { "app": "web" }'):
        assert (quote in " ".join(part.split())) == (quote in flat)


async def test_lines_of_json_are_filtered_one_by_one() -> None:
    text = '{"level":"info","msg":"a","x":1}\n\n{"level":"error","msg":"b"}\n{"x":2}'
    assert await filtered(text, keep=["level", "msg"]) == '{"level":"info","msg":"a"}\n{"level":"error","msg":"b"}'


@pytest.mark.parametrize("text", ["NAME READY\nweb 1/1", '{"cut": [1, 2', "", "[" * 100_000])
async def test_what_is_no_json_is_said(text: str) -> None:
    with pytest.raises(UsageError, match=r"no JSON|none of the keys"):
        await filtered(text, keep=["name"])


async def test_keys_that_do_not_occur_leave_nothing_and_that_is_said() -> None:
    with pytest.raises(UsageError, match="none of the keys"):
        await filtered(json.dumps(PODS), keep=["nodeName"])


async def test_other_languages_and_one_key_as_text() -> None:
    assert await filtered('{"原因":"内存","x":1}', keep="原因") == '{"原因":"内存"}'
