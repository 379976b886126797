"""kubernetes_jq_query and kubernetes_count: programs over the objects of a kind, and how many there are."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import anyio.to_thread

from holmes.core.results import StructuredToolResult
from holmes.kube.cluster import Cluster, Object
from holmes.tools.jq import run_jq
from holmes.tools.tool import ToolContext
from holmes.toolsets.kubernetes.absent import located, nothing_there
from holmes.toolsets.kubernetes.get import readable
from holmes.toolsets.kubernetes.lists import Listed, full_name, listed
from holmes.toolsets.kubernetes.query import Query, Unanswered, answering, read_query

_PREVIEW = 20  # names or values of a count
_MOST_VALUES = 200  # in ``data``
_INPUT = "the input is {items: [...]}, as from kubectl get -o json: begin with .items[]"

# Counts what a program gives: the values, or the elements of the one list, or the one number that it is.
_COUNT = """def named: if type == "object" and (.metadata?.name? // null) != null
  then ([.metadata.namespace? // empty, .metadata.name] | join("/")) else . end;
[PROGRAM
] | if length == 1 and (.[0] | type) == "array" then .[0] else . end
| if length == 1 and (.[0] | type) == "number" then {count: .[0], preview: []}
  else {count: length, preview: .[:SHOWN] | map(named)} end"""


@answering
async def kubernetes_jq_query(cluster: Cluster, args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
    """What a jq program prints for the list of objects of a kind."""
    program = _program(args)
    if not program:
        raise Unanswered(f'"jq_expr" is missing; {_INPUT}')
    query = await read_query(cluster, args, ctx)
    found = await _objects(cluster, query)
    shared: dict[str, Any] = {
        "invocation": f"{query.command('get', '-o', 'json')} | jq -r {shlex.quote(program)}",
        "gaps": found.told,
    }
    if not found.items:
        return StructuredToolResult.nothing(f"{await nothing_there(cluster, query)} (cluster {cluster.name})", **shared)
    answer = await run_jq(program, await _list_of(found.items), ctx.process, ctx.deadline, raw=True, arguments=["-c"])
    read = f"{len(found.items):,} {query.kind.plural} in {query.place}"
    if answer.error:
        raise Unanswered(f"{answer.error}. {_INPUT}. It read {read}", *found.gaps)
    read += f" (cluster {cluster.name})"
    shared["data"] = {"cluster": cluster.name, "read": len(found.items), "values": _values(answer.text)}
    if not answer.text.strip():
        return StructuredToolResult.nothing(f"jq printed nothing; it read {read}", **shared)
    return StructuredToolResult.success(f"jq over {read}:\n{answer.text}", **shared)


@answering
async def kubernetes_count(cluster: Cluster, args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
    """How many objects there are, or how many values a jq program gives for them, with a preview."""
    program = _program(args)
    query = await read_query(cluster, args, ctx)
    found = await _objects(cluster, query)
    read = f"{query.kind.plural} in {query.place}"
    command = query.command("get", "-o", "json")
    if program and found.items:
        counted = _COUNT.replace("PROGRAM", program).replace("SHOWN", str(_PREVIEW))
        answer = await run_jq(counted, await _list_of(found.items), ctx.process, ctx.deadline)
        if answer.error:
            raise Unanswered(f"{answer.error}. {_INPUT}. It read {len(found.items):,} {read}", *found.gaps)
        result = json.loads(answer.text)
        count, preview = result["count"], result["preview"]
        command += f" | jq {shlex.quote(f'[{program}] | length')}"
        head = f"{count:,}: what jq gives for {len(found.items):,} {read}"
    else:
        count, preview = len(found.items), [full_name(obj) for obj in found.items[:_PREVIEW]]
        command += " | jq '.items | length'"
        head = f"{count:,} {read}"
    shared: dict[str, Any] = {
        "invocation": command,
        "gaps": found.told,
        "data": {"cluster": cluster.name, "count": count, "read": len(found.items), "preview": preview},
    }
    if not found.items:
        return StructuredToolResult.nothing(
            f"0. {await nothing_there(cluster, query)} (cluster {cluster.name})", **shared
        )
    lines = [_short(value) for value in preview]
    head += f" (cluster {cluster.name})"
    more = f"\n… and {count - len(lines):,} more" if isinstance(count, int) and count > len(lines) > 0 else ""
    return StructuredToolResult.success("\n".join([head, *lines]) + more, **shared)


def _program(args: Mapping[str, Any]) -> str:
    return str(args.get("jq_expr") or "").strip()


async def _objects(cluster: Cluster, query: Query) -> Listed:
    return await located(cluster, query) if query.name else await listed(cluster, query)


async def _list_of(items: Sequence[Object]) -> bytes:
    """What ``kubectl get -o json`` prints, made in a thread."""
    return await anyio.to_thread.run_sync(_encode, items)


def _encode(items: Iterable[Object]) -> bytes:
    body = ",".join(json.dumps(readable(item), separators=(",", ":")) for item in items)
    return f'{{"apiVersion":"v1","kind":"List","items":[{body}]}}'.encode()


def _values(text: str) -> list[Any]:
    """What jq printed, value by value; a line that is no JSON is text (jq -r)."""
    decoder = json.JSONDecoder()
    values: list[Any] = []
    at = 0
    while at < len(text) and len(values) < _MOST_VALUES:
        if text[at].isspace():
            at += 1
            continue
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            value, at = text[at:end], end
        values.append(value)
    return values


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}…"
