"""Which tools the model is told of: a default set from the start, the rest by name only until it asks.

All tools of a conversation can be called at any time. What is declared only ever grows at its end, so that the prefix
of a request stays the same bytes and the provider's cache holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple

from holmes.core.messages import ToolCall
from holmes.core.results import StructuredToolResult
from holmes.tools.executor import Bound, Toolbox
from holmes.tools.tool import FunctionTool, Tool, ToolContext

ROOM = 1_800  # tokens of schemas that are declared from the start
LIMIT = 30_000  # tokens of schemas that are ever declared; less in a small window
MOST = 128  # tools that OpenAI takes in one request
LOADER = "load_tools"
OWN = "core_investigation"  # HolmesGPT's name for the toolset of the engine's own tools
_DESCRIPTION = "Get the tools of toolsets that the prompt lists. They can be called from then on."

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "toolsets": {"type": "array", "items": {"type": "string"}, "description": "names; all that you need at once"}
    },
    "required": ["toolsets"],
}


@dataclass(frozen=True, slots=True)
class Shelf:
    """An open toolset. ``always``: declared whatever it costs; ``named``: by the user, declared while there is room."""

    name: str
    tools: tuple[Bound, ...]
    description: str = ""
    instructions: str = ""
    always: bool = False
    named: bool = False

    def line(self) -> tuple[str, str]:
        """Name and description; without one, what its tools are called."""
        return self.name, self.description or ", ".join(bound.tool.name for bound in self.tools)


class _Need(NamedTuple):
    tools: int
    tokens: int


def always_declared(toolset: str) -> bool:
    """Whether a toolset belongs to the default set."""
    return toolset.startswith("kubernetes/") or toolset in ("bash", "skills")


class Disclosure(Toolbox):
    """The toolbox of one conversation.

    ``size`` gives the tokens of some tools' schemas. When those of all pass ``room``, the toolsets that do not belong
    to the default set become a catalogue, and the tool ``load_tools`` declares them: 128 tools and ``limit`` tokens
    at most.
    """

    def __init__(
        self,
        shelves: Sequence[Shelf],
        size: Callable[[Sequence[Tool]], int],
        room: int = ROOM,
        limit: int = LIMIT,
    ) -> None:
        loader = Bound(FunctionTool(LOADER, _DESCRIPTION, _SCHEMA, self._load_tools), OWN)
        super().__init__([*(bound for shelf in shelves for bound in shelf.tools), loader])
        self._shelves = {shelf.name: shelf for shelf in shelves}
        self._size = size
        self._limit = limit
        self._tokens = 0  # of what is declared
        self._declared: dict[str, Bound] = {}  # in the order in which the model was told
        self._whole: set[str] = set()  # toolsets that are declared with all their tools
        for shelf in self._first(shelves, room):
            self._declare(shelf)
        self._catalogue = [shelf for shelf in shelves if shelf.name not in self._whole]
        if self._catalogue:
            self._declared[LOADER] = loader
        else:
            del self._tools[LOADER]

    def _first(self, shelves: Sequence[Shelf], room: int) -> Iterator[Shelf]:
        """The toolsets to declare at the start: all when they are small, else the default set and what fits beside."""
        needs = {shelf.name: self._need(self._visible(shelf)) for shelf in shelves}
        everything = _sum(needs.values())
        small = everything.tokens <= room and everything.tools <= MOST
        taken = _sum(needs[shelf.name] for shelf in shelves if shelf.always)
        for shelf in shelves:
            more = _sum((taken, needs[shelf.name]))
            if small or shelf.always:
                yield shelf
            elif shelf.named and more.tokens <= room and more.tools < MOST:  # load_tools is one itself
                taken = more
                yield shelf

    def declared(self) -> Iterator[Bound]:
        """The tools that the model is told of; those that came later stand at the end."""
        return iter(tuple(self._declared.values()))

    def catalogue(self) -> list[tuple[str, str]]:
        """The toolsets that were not declared at the start, with what they are for."""
        return [shelf.line() for shelf in self._catalogue]

    def use(self, bound: Bound) -> None:
        """A tool was called: its toolset is declared from now on, or the tool alone when there is no room for all."""
        shelf = self._shelves.get(bound.toolset)
        if shelf is None or shelf.name in self._whole or bound.tool.name in self._declared:
            return
        if self._fits(self._missing(shelf)):
            self._declare(shelf)
        elif not _hidden(bound) and self._fits([bound]):
            self._add([bound])

    def recall(self, calls: Iterable[ToolCall]) -> None:
        """Declare again what the calls of an earlier part of the conversation brought up."""
        for call in calls:
            if call.name == LOADER:
                for name in call.arguments.get("toolsets") or ():
                    self.load(str(name))
            elif bound := self.get(call.name):
                self.use(bound)

    def load(self, name: str) -> tuple[bool, str]:
        """Declare a toolset, or one tool, by name; whether there is such a thing, and what to tell the model."""
        name = name.strip()
        shelf = self._shelves.get(name)
        bound = None if shelf else self.get(name)
        if shelf is None and bound is None:
            return False, self._unknown(name)
        missing = self._missing(shelf) if shelf else [bound] if bound and name not in self._declared else []
        if not missing:
            return True, f"{name} was loaded already."
        if not self._fits(missing):
            return True, self._no_room(name, missing)
        if shelf is None:
            self._add(missing)
            return True, f"Loaded the tool {name}."
        self._declare(shelf)
        about = f"\n{shelf.instructions.strip()}" if shelf.instructions.strip() else ""
        return True, f"Loaded {name}: {_names(self._visible(shelf))}.{about}"

    def _declare(self, shelf: Shelf) -> None:
        self._whole.add(shelf.name)
        self._add(self._missing(shelf))

    def _add(self, bounds: Sequence[Bound]) -> None:
        self._tokens += self._need(bounds).tokens
        self._declared |= {bound.tool.name: bound for bound in bounds}

    def _visible(self, shelf: Shelf) -> list[Bound]:
        """Its tools that can be declared; another toolset may have taken a name."""
        return [bound for bound in shelf.tools if not _hidden(bound) and self._tools.get(bound.tool.name) is bound]

    def _missing(self, shelf: Shelf) -> list[Bound]:
        return [bound for bound in self._visible(shelf) if bound.tool.name not in self._declared]

    def _need(self, bounds: Sequence[Bound]) -> _Need:
        return _Need(len(bounds), self._size([bound.tool for bound in bounds]) if bounds else 0)

    def _fits(self, bounds: Sequence[Bound]) -> bool:
        need = self._need(bounds)
        return len(self._declared) + need.tools <= MOST and self._tokens + need.tokens <= self._limit

    def _unknown(self, name: str) -> str:
        known = [shelf.name for shelf in self._catalogue]
        plain = {each.lower(): each for each in known}
        near = [plain[each] for each in get_close_matches(name.lower(), list(plain), 3, 0.5)]
        near += [each for each in known if name and name.lower() in each.lower() and each not in near]
        hint = f"Did you mean {' or '.join(near[:3])}?" if near else f"There are: {', '.join(known)}."
        return f"There is no toolset {name}. {hint}"

    def _no_room(self, name: str, missing: Sequence[Bound]) -> str:
        """Nothing is out of reach: a tool runs when it is called by name, declared or not."""
        lines = [
            f"- {tool.name}: {tool.description.strip()} Arguments: {json.dumps(dict(tool.parameters))}"
            for tool in (bound.tool for bound in missing)
        ]
        return "\n".join(
            [
                f"No room is left to load {name}: at most {MOST} tools and {self._limit:,} tokens of them can be "
                "loaded. Load single tools by their names, or call one as it stands here:",
                *lines,
            ]
        )

    async def _load_tools(self, args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
        answers = [self.load(str(name)) for name in args["toolsets"]]
        text = "\n\n".join(said for _, said in answers)
        if not answers:
            return StructuredToolResult.failure("Name at least one toolset.")
        if not any(known for known, _ in answers):
            return StructuredToolResult.failure(text)
        return StructuredToolResult.success(text, invocation=f"{LOADER} {' '.join(map(str, args['toolsets']))}")


def _sum(needs: Iterable[_Need]) -> _Need:
    counted = list(needs)
    return _Need(sum(need.tools for need in counted), sum(need.tokens for need in counted))


def _hidden(bound: Bound) -> bool:
    return bool(getattr(bound.tool, "hidden", False))


def _names(bounds: Iterable[Bound]) -> str:
    return ", ".join(bound.tool.name for bound in bounds)
