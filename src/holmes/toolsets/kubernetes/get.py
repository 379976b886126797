"""kubectl_get: tables of objects, custom columns, whole objects as YAML, and the search by keyword."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holmes.core.results import StructuredToolResult
from holmes.kube.cluster import Cluster, Gap, Object
from holmes.kube.related import name_of, namespace_of
from holmes.tools.tool import ToolContext
from holmes.toolsets.kubernetes.absent import close_names, located, not_found, nothing_there
from holmes.toolsets.kubernetes.columns import Column, cell, check_path, read_columns
from holmes.toolsets.kubernetes.events import kubectl_events
from holmes.toolsets.kubernetes.grid import Grid, Row
from holmes.toolsets.kubernetes.lists import Listed, full_name, listed, locate
from holmes.toolsets.kubernetes.patterns import compiled
from holmes.toolsets.kubernetes.query import Query, Unanswered, answering, pattern_of, read_query, text_of

_ALL = ("pods", "services", "daemonsets", "deployments", "replicasets", "statefulsets", "cronjobs", "jobs")
_MOST_YAML = 20  # objects
_FEW_ROWS = 20  # up to here the wide columns are shown as well


@dataclass(slots=True)
class Part:
    """The answer for one kind."""

    query: Query
    grid: Grid
    gaps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    empty: str = ""  # what to say when there are no rows


@answering
async def kubectl_get(cluster: Cluster, args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
    """Objects of one kind, of several (``pods,services``) or of the usual ones (``all``)."""
    output = text_of(args, "output").lower()
    if output == "yaml":
        return await _yaml(cluster, await read_query(cluster, args, ctx))
    kinds = [kind.strip() for kind in text_of(args, "kind").split(",") if kind.strip()]
    kinds = list(_ALL) if [kind.lower() for kind in kinds] == ["all"] else kinds or [""]
    queries = [await read_query(cluster, {**args, "kind": kind}, ctx) for kind in kinds]
    if len(queries) == 1 and _all_events(queries[0], args):
        return await kubectl_events({"namespace": queries[0].namespace or "all"}, ctx)
    if len(queries) == 1:
        parts = [await _part(cluster, queries[0], args)]
    else:
        parts = list(await asyncio.gather(*(_lenient_part(cluster, query, args) for query in queries)))
        if all(part.gaps and not part.grid.rows for part in parts):
            raise Unanswered("; ".join(part.gaps[0] for part in parts))
    return _result(cluster, parts, args, wide=output == "wide")


def _all_events(query: Query, args: Mapping[str, Any]) -> bool:
    """Whether the plain list of events is asked for: sorted and without repeats it says more."""
    chosen = any(args.get(name) for name in ("columns", "filter_pattern", "keyword", "output"))
    return query.kind.kind == "Event" and not (chosen or query.name or query.selector or query.fields)


async def _lenient_part(cluster: Cluster, query: Query, args: Mapping[str, Any]) -> Part:
    """One kind among others: what is missing or refused of it does not spoil the rest."""
    try:
        return await _part(cluster, query, args, among=True)
    except Unanswered as problem:
        return Part(query, Grid((), ()), problem.gaps, () if problem.gaps else (str(problem),))


async def _part(cluster: Cluster, query: Query, args: Mapping[str, Any], *, among: bool = False) -> Part:
    """One kind's rows; ``among`` others nothing is said of a kind without objects."""
    found = Listed()
    if query.name and not re.search(r"[*?]", query.name):
        found = await locate(cluster, query)
        if not found.items and among:
            return Part(query, Grid((), ()))
        if not found.items:
            raise await not_found(cluster, query)
        query = _where(query, found.items)
    notes = tuple(filter(None, [found.note]))
    if specification := text_of(args, "columns"):
        part = await _custom(cluster, query, found.items, read_columns(specification))
    else:
        part = await _served(cluster, query, found.items)
    part.notes = (*notes, *part.notes)
    part.gaps = (*found.told, *part.gaps)
    await _filter(part, args)
    if not part.grid.rows and not part.empty and not among:
        part.empty = await nothing_there(cluster, query)
    return part


def _where(query: Query, items: Sequence[Object]) -> Query:
    """The query with the namespace that its objects are in."""
    namespaces = {namespace_of(obj) for obj in items}
    namespace = namespaces.pop() if len(namespaces) == 1 else None
    name = query.name if {name_of(obj) for obj in items} == {query.name} else ""
    return replace(query, name=name, namespace=namespace or None)


async def _served(cluster: Cluster, query: Query, items: Sequence[Object]) -> Part:
    """The server's own table; only the rows of ``items`` when there are any."""
    if len(items) == 1:
        name, namespace = name_of(items[0]), namespace_of(items[0]) or None
        table = await cluster.table(query.resource, namespace, name)
    else:
        table = await cluster.table(query.resource, query.namespace, "", query.selector, query.fields)
    if isinstance(table, Gap):
        return await _from_objects(cluster, query, items, table)
    grid = Grid.of(table)
    wanted = {(namespace_of(obj), name_of(obj)) for obj in items}
    if wanted:
        grid = grid.keep([row for row in grid.rows if (row.namespace, row.name) in wanted])
    return Part(query, grid)


async def _from_objects(cluster: Cluster, query: Query, items: Sequence[Object], gap: Gap) -> Part:
    """A table made here, where the server makes none: some namespaces only, or an API without tables."""
    from holmes.kube.tables import make_table

    if items:
        return Part(query, Grid.of(make_table(query.kind.kind, items, cluster.now)))
    if gap.reason not in ("forbidden", "unsupported"):
        raise Unanswered(str(gap), gap)
    found = await listed(cluster, query)
    return Part(query, Grid.of(make_table(query.kind.kind, found.items, cluster.now)), found.told)


async def _custom(cluster: Cluster, query: Query, items: Sequence[Object], columns: Sequence[Column]) -> Part:
    """The columns that were asked for."""
    found = Listed(list(items)) if items else await listed(cluster, query)
    if not found.items:
        return Part(query, Grid((), ()), found.told)
    named = [column for column in columns if not column.path]
    served = (await _served(cluster, query, items)).grid if named else Grid((), ())
    places = {column.text: _named_column(column, served) for column in named}
    cells = {(row.namespace, row.name): row.cells for row in served.rows}
    notes = tuple(filter(None, (check_path(column, found.items) for column in columns if column.path)))
    rows = []
    for obj in found.items:
        of_server = cells.get((namespace_of(obj), name_of(obj)))
        values = [
            cell(obj, column.path) if column.path else of_server[places[column.text]] if of_server else "<unknown>"
            for column in columns
        ]
        rows.append(Row(namespace_of(obj), name_of(obj), tuple(values)))
    return Part(query, Grid(tuple(column.head for column in columns), tuple(rows)), found.told, notes)


def _named_column(column: Column, grid: Grid) -> int:
    """The place of a column that was named by its head; Unanswered names the known ones."""
    wanted = re.sub(r"[\s_-]", "", column.text.lower())
    for at, name in enumerate(grid.columns):
        if re.sub(r"[\s_-]", "", name.lower()) == wanted:
            return at
    known = ", ".join(name.upper() for name in grid.columns)
    raise Unanswered(f'there is no column "{column.text}"; known columns: {known}; any other field is HEAD:.path.to.it')


async def _filter(part: Part, args: Mapping[str, Any]) -> None:
    """Keep the rows that match filter_pattern (keyword in the older search tool) or a name with wildcards."""
    names = sorted({row.name for row in part.grid.rows})
    total = len(part.grid.rows)
    rows = list(part.grid.rows)
    if re.search(r"[*?]", part.query.name):
        from fnmatch import fnmatchcase

        rows = [row for row in rows if fnmatchcase(row.name, part.query.name)]
    text = pattern_of(args, "filter_pattern", "keyword")
    if text:
        pattern = compiled(text)
        rows = [row for row in rows if pattern.matches(f"{row.namespace} {row.name} {'  '.join(row.cells)}")]
        if pattern.literal:
            part.notes = (*part.notes, f'"{text}" is no regular expression; it was taken literally')
    if len(rows) == total:
        return
    part.grid = part.grid.keep(rows)
    wanted = text or part.query.name
    part.query = replace(part.query, name="" if re.search(r"[*?]", part.query.name) else part.query.name)
    what = f"{total} {part.query.kind.plural} in {part.query.place}"
    if rows:
        part.notes = (*part.notes, f'{len(rows)} of {what} match "{wanted}"')
    else:
        close = await close_names(wanted, names)
        part.empty = f'None of the {what} match "{wanted}".' + (f" Close names: {', '.join(close)}." if close else "")


def _result(cluster: Cluster, parts: Sequence[Part], args: Mapping[str, Any], *, wide: bool) -> StructuredToolResult:
    """All kinds in one text."""
    columns = text_of(args, "columns")
    pattern = pattern_of(args, "filter_pattern", "keyword")
    more = [f"-o=custom-columns={columns}"] if columns else []
    grep = f" | grep -iE {shlex.quote(pattern)}" if pattern else ""
    shared = {
        "invocation": "; ".join(part.query.command("get", *more) + grep for part in parts),
        "gaps": tuple(dict.fromkeys(gap for part in parts for gap in part.gaps)),
        "notes": tuple(note for part in parts for note in part.notes),
        "data": {
            "cluster": cluster.name,
            "total": sum(len(part.grid.rows) for part in parts),
            "items": [item for part in parts for item in part.grid.items(part.query.kind.kind)],
        },
    }
    blocks = [_block(part, wide) for part in parts if part.grid.rows]
    if not blocks:
        places = ", ".join(part.query.kind.plural for part in parts)
        empty = " ".join(filter(None, (part.empty for part in parts))) or f"No {places} in {parts[0].query.place}."
        return StructuredToolResult.nothing(f"{empty} (cluster {cluster.name})", **shared)
    return StructuredToolResult.success(f"cluster {cluster.name}\n" + "\n\n".join(blocks), **shared)


def _block(part: Part, wide: bool) -> str:
    count = len(part.grid.rows)
    noun = part.query.kind.plural if count != 1 else part.query.kind.singular
    everywhere = part.query.kind.namespaced and part.query.namespace is None
    wide = wide or (count <= _FEW_ROWS and part.query.kind.kind != "Event")
    return f"{count:,} {noun} in {part.query.place}\n{part.grid.text(namespaces=everywhere, wide=wide)}"


@answering
async def kubectl_get_yaml(cluster: Cluster, args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
    """Whole objects as YAML."""
    return await _yaml(cluster, await read_query(cluster, args, ctx))


async def _yaml(cluster: Cluster, query: Query) -> StructuredToolResult:
    import yaml

    found = await located(cluster, query) if query.name else await listed(cluster, query)
    if not found.items:
        return StructuredToolResult.nothing(f"{await nothing_there(cluster, query)} (cluster {cluster.name})")
    if len(found.items) > _MOST_YAML:
        names = ", ".join(full_name(obj) for obj in found.items[:_MOST_YAML])
        raise Unanswered(f"{len(found.items)} objects are too many for YAML; name one of them: {names}, …")
    query = _where(query, found.items)
    texts = [
        yaml.dump(readable(obj), Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=200)
        for obj in found.items
    ]
    return StructuredToolResult.success(
        f"# cluster {cluster.name}, {query.place}\n" + "---\n".join(texts),
        invocation=query.command("get", "-o", "yaml"),
        data={"cluster": cluster.name, "total": len(found.items), "items": [readable(obj) for obj in found.items]},
        notes=tuple(filter(None, [found.note])),
        gaps=found.told,
    )


def readable(obj: Object) -> Object:
    """An object as kubectl shows it: kind first, without managedFields."""
    metadata = {key: value for key, value in obj.get("metadata", {}).items() if key != "managedFields"}
    rest = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
    return {"apiVersion": obj.get("apiVersion"), "kind": obj.get("kind"), "metadata": metadata, **rest}
