"""Keeps the request inside the model's window: old results shrink, then notes replace the beginning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from holmes.agent.compaction import INSTRUCTIONS, Compaction, Plan, compaction, plan, transcript
from holmes.core.errors import ContextTooLong, HolmesError
from holmes.core.events import Compacted, CompactionStart, Event
from holmes.core.messages import Message
from holmes.llm.base import LLM, ToolSchema
from holmes.llm.tokens import estimate_message, estimate_tools

if TYPE_CHECKING:
    from holmes.tools.tool import Summarize

KEPT = 2  # newest tool results that are never shrunk
SHRUNK = 400  # characters of a shrunk result that stay
TIGHT = 120  # of each result when nothing else helps
SPARE = 0.2  # of the room is won at once: shrinking a little at each step would cost the provider's cache each time
LEAST = 2_000  # tokens; a smaller window is not worth trying


@dataclass(slots=True)
class Context:
    """Measures and shortens one conversation. ``window`` may be learned from a refusal."""

    llm: LLM
    window: int = 0  # tokens; 0: what the model is known for
    summarize: Summarize | None = None  # writes the notes; without it they hold the calls alone
    emit: Callable[[Event], None] = lambda event: None
    _tools: tuple[tuple[ToolSchema, ...], int] = ((), 0)
    _compaction: Compaction | None = None
    _age: int = 2  # requests since the last compaction
    _sizes: dict[int, tuple[Message, int]] = field(default_factory=dict)
    _shrunk: dict[int, Message] = field(default_factory=dict)  # by the id of a message that is in _sizes
    _asked: int = 0  # tokens of the last request, as estimated here
    _refused: ContextTooLong | None = None  # here, not by the provider

    async def prepare(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[Message]:
        """The conversation as it fits: as it is, with shrunk results, with notes for its beginning, all shrunk.

        ContextTooLong when nothing helps.
        """
        self._age += 1
        try:
            return self.fit(self._view(messages), tools)
        except ContextTooLong:
            made = self._plan(messages, tools) if self._age > 1 else None  # never twice in a row
        if made is not None:
            await self._compact(made, messages, tools)
        return self.fit(self._view(messages), tools, tight=True)

    def fit(self, messages: Sequence[Message], tools: Sequence[ToolSchema], *, tight: bool = False) -> list[Message]:
        """The messages, old tool results shrunk to their handles when the request would not fit.

        What was shrunk once stays so. ``tight``: the newest results shrink too, and all to less. ContextTooLong, with
        the size of each part, when even that is not enough.
        """
        room = self._room(self.window or self.llm.window)
        fixed = self._fixed(tools)
        fitted = self._as_shrunk(messages)
        total = fixed + sum(map(self.size, fitted))
        if total > room:
            results = [index for index, message in enumerate(messages) if message.role == "tool"]
            for index in results if tight else results[:-KEPT]:
                small = self._shrink(messages[index], TIGHT if tight else SHRUNK)
                total += self.size(small) - self.size(fitted[index])
                fitted[index] = small
                if total <= room * (1 - SPARE):
                    break
        if total > room:
            self._refused = self._too_long(fitted, fixed, total, room)
            raise self._refused
        self._asked = total
        return fitted

    def learn(self, error: ContextTooLong) -> bool:
        """Take the real window from a provider's refusal; False when trying again is useless.

        A provider that names no limit, or one that the request kept by our estimate, counts more tokens than we do:
        then the next request is to be a quarter smaller than this one.
        """
        if error is self._refused:
            return False
        window = self.window or self.llm.window
        learned = min(error.limit or window, window)
        if self._asked <= self._room(learned):
            learned = min(learned, (self._asked or learned) * 3 // 4)
        if learned < LEAST:
            return False
        self.window = learned
        return True

    def size(self, message: Message) -> int:
        """Tokens of a message, measured once."""
        known = self._sizes.get(id(message))
        if known is None:  # the message is kept, so that its id stays its own
            known = self._sizes[id(message)] = (message, estimate_message(message))
        return known[1]

    def _view(self, messages: Sequence[Message]) -> Sequence[Message]:
        return self._compaction.view(messages) if self._compaction else messages

    def _as_shrunk(self, messages: Sequence[Message]) -> list[Message]:
        return [self._shrunk.get(id(message), message) for message in messages]

    def _plan(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Plan | None:
        fixed, total = self._fixed(tools), self._tokens(messages, tools)
        since = self._compaction.covered if self._compaction else 0
        room = self._room(self.window or self.llm.window)
        return plan(self._as_shrunk(messages), since, self.size, fixed, total, room)

    async def _compact(self, made: Plan, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> None:
        """Let notes replace the beginning; a model that fails to write them leaves the list of the calls."""
        before, window = self._tokens(messages, tools), self.window or self.llm.window
        facts = {"initial_tokens": before, "num_messages": len(messages), "max_context_size": window}
        facts["threshold_pct"] = 100 * self._room(window) // window
        self.emit(CompactionStart("shortening the conversation", facts))
        notes, problem = "", ""
        if self.summarize is not None:
            going = transcript(made, self._compaction, self._as_shrunk(messages))
            try:
                notes = await self.summarize(going, INSTRUCTIONS, made.tokens)
            except HolmesError as error:
                problem = f"; no notes could be written: {error.message}"
        self._compaction = compaction(made, notes)
        self._age = 0
        after = self._tokens(messages, tools)
        self.emit(
            Compacted(
                f"the conversation was shortened from {before:,} to {after:,} tokens{problem}",
                {
                    "initial_tokens": before,
                    "compacted_tokens": after,
                    "messages_replaced": made.cut,
                    "compaction_summary": self._compaction.notes.content,
                },
            )
        )

    def _tokens(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> int:
        return self._fixed(tools) + sum(map(self.size, self._as_shrunk(self._view(messages))))

    def _fixed(self, tools: Sequence[ToolSchema]) -> int:
        """Tokens of the tools, measured when they change."""
        if self._tools[0] != tuple(tools):
            self._tools = (tuple(tools), estimate_tools(tools))
        return self._tools[1]

    def _room(self, window: int) -> int:
        """Tokens for the request: the window without what the answer may take."""
        return window - min(self.llm.max_output, window // 4)

    def _shrink(self, message: Message, kept: int) -> Message:
        if id(message) not in self._shrunk or kept < SHRUNK:
            self._shrunk[id(message)] = shrink(message, kept)
        return self._shrunk[id(message)]

    def _too_long(self, messages: Sequence[Message], fixed: int, total: int, room: int) -> ContextTooLong:
        system = sum(self.size(message) for message in messages if message.role == "system")
        return ContextTooLong(
            f"the request needs about {total:,} tokens and the model takes {room:,}: tools {fixed:,}, "
            f"system prompt {system:,}, conversation {total - fixed - system:,}",
            limit=room,
            remedy="use a model with a larger window, fewer toolsets, or a shorter question",
        )


def shrink(message: Message, kept: int = SHRUNK) -> Message:
    """A tool message reduced to ``kept`` characters, its handle and its end marker."""
    if len(message.content) <= kept * 2 or message.result is None:
        return message
    first, _, rest = message.content.partition("\n")
    end = message.content.rstrip().rpartition("\n")[2]
    handle = message.result.reference
    note = f'... shortened to save room; read it again with read_result("{handle}") ...' if handle else "... shortened"
    return replace(message, content=f"{first}\n{rest[:kept]}\n{note}\n{end}")
