"""Transformers: what happens to a result between the store and the model. The store keeps the whole.

A spec is ``{name: log_dedupe, config: {min_lines: 50}}`` or ``{type: log_dedupe, min_lines: 50}``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

from holmes.core.config_values import TEXT, TEXTS, Kind, describe_found, whole
from holmes.core.errors import HolmesError

if TYPE_CHECKING:
    from holmes.tools.tool import ToolContext

Spec = Mapping[str, Any]
Apply = Callable[[str, Mapping[str, Any], "ToolContext"], Awaitable[str]]

MOST = 8_000_000  # bytes of a result that are transformed
THRESHOLD = 1_000  # characters; shorter output is not summarised
SUMMARY_TOKENS = 600
_INSTRUCTIONS = (
    "Shorten the output of a tool for an engineer who looks for the cause of a fault. Keep every error, warning, "
    "unusual value, name, number and time that could matter, word for word. Group what repeats, with its count. Leave "
    "out what is normal. Add nothing that does not stand there."
)


class Complaint(NamedTuple):
    """What is wrong with a spec; ``keys`` lead to the place in it."""

    message: str
    keys: tuple[str, ...] = ()
    warning: bool = False


class Transformed(NamedTuple):
    """What the model is to read, and what it is to be told about it."""

    text: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Transformer:
    """A way to shorten; ``done`` says in a word what it did. ``old`` options are accepted and not read."""

    name: str
    done: str
    options: Mapping[str, Kind]
    apply: Apply
    old: Mapping[str, str]


def known() -> dict[str, Transformer]:
    """All transformers by name."""
    from holmes.tools.json_filter import json_filter
    from holmes.tools.log_dedupe import log_dedupe

    summarize = {"input_threshold": whole(0), "max_tokens": whole(1), "prompt": TEXT, "fast_model": TEXT}
    all_of_them = (
        Transformer(
            "llm_summarize", "summarised", summarize, _llm_summarize, {"api_key": "put the model into the model list"}
        ),
        Transformer(
            "json_filter",
            "filtered",
            {"keep": TEXTS, "drop": TEXTS, "max_depth": whole(1), "jq": TEXT},
            json_filter,
            {},
        ),
        Transformer(
            "log_dedupe",
            "shown by kinds of lines",
            {"min_lines": whole(1), "max_templates": whole(1)},
            log_dedupe,
            {},
        ),
    )
    return {each.name: each for each in all_of_them}


def complaints(spec: Spec) -> Iterator[Complaint]:
    """Everything that is wrong with a spec."""
    transformers = known()
    name, options, inside = _read(spec)
    if not name:
        yield Complaint("name: a transformer needs one, such as llm_summarize")
        return
    if name not in transformers:
        near = get_close_matches(name, transformers, 1)
        hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(transformers)}"
        yield Complaint(f"there is no transformer {name}{hint}", ("name",) if "name" in spec else ("type",))
        return
    if not isinstance(options, Mapping):
        yield Complaint(f"config: expected keys and values, found {describe_found(options)}", ("config",))
        return
    transformer = transformers[name]
    for key, value in options.items():
        kind = transformer.options.get(key)
        if kind is None:
            yield Complaint(_unknown(transformer, key), (*inside, key), warning=True)
            continue
        try:
            kind.read(value)
        except (ValueError, OverflowError):
            yield Complaint(f"{key}: expected {kind.expected}, found {describe_found(value)}", (*inside, key))


async def transform(text: str, specs: Sequence[Spec], ctx: ToolContext, reference: str) -> Transformed:
    """Apply the transformers in order. One that fails, or makes nothing shorter, leaves the text as it was."""
    transformers = known()
    notes: list[str] = []
    done: list[str] = []
    for spec in specs:
        name, options, _ = _read(spec)
        transformer = transformers.get(name)
        if transformer is None or not isinstance(options, Mapping):
            continue
        try:
            shorter = await transformer.apply(text, options, ctx)
        except HolmesError as error:
            notes.append(f"{name} was not applied: {error.message}")
            continue
        if shorter.strip() and len(shorter) < len(text):
            text = shorter
            done.append(f"{transformer.done} by {name}")
    if done:
        notes.append(f'{", ".join(done)}; read the whole with read_result("{reference}")')
    return Transformed(text, tuple(notes))


async def _llm_summarize(text: str, options: Mapping[str, Any], ctx: ToolContext) -> str:
    if ctx.summarize is None or len(text) <= int(options.get("input_threshold", THRESHOLD)):
        return text
    return await ctx.summarize(
        text,
        str(options.get("prompt") or _INSTRUCTIONS),
        int(options.get("max_tokens", SUMMARY_TOKENS)),
        str(options.get("fast_model") or ""),
    )


def _read(spec: Spec) -> tuple[str, Any, tuple[str, ...]]:
    """The name, the options, and where these stand in the spec."""
    name = str(spec.get("name") or spec.get("type") or "")
    if "config" in spec:
        return name, spec["config"] or {}, ("config",)
    return name, {key: value for key, value in spec.items() if key not in ("name", "type")}, ()


def _unknown(transformer: Transformer, key: str) -> str:
    if key in transformer.old:
        return f"{key} is not read; {transformer.old[key]}"
    near = get_close_matches(key, transformer.options, 1)
    return f"unknown key {key}{f'; did you mean {near[0]}?' if near else ''}"
