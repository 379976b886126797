"""Keeps the request inside the model's window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from holmes.core.errors import ContextTooLong
from holmes.core.messages import Message
from holmes.llm.base import LLM, ToolSchema
from holmes.llm.tokens import estimate_message, estimate_tools

KEPT = 2  # newest tool results that are never shrunk
SHRUNK = 400  # characters of a shrunk result that stay
SPARE = 0.2  # of the room is won at once: shrinking a little at each step would cost the provider's cache each time
LEAST = 2_000  # tokens; a smaller window is not worth trying


@dataclass(slots=True)
class Context:
    """Measures and shrinks the history of one conversation. ``window`` may be learned from a refusal."""

    llm: LLM
    window: int = 0  # tokens; 0: what the model is known for
    _sizes: dict[int, tuple[Message, int]] = field(default_factory=dict)
    _shrunk: dict[int, Message] = field(default_factory=dict)  # by the id of a message that is in _sizes
    _asked: int = 0  # tokens of the last request, as estimated here
    _refused: ContextTooLong | None = None  # here, not by the provider

    def fit(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[Message]:
        """The messages, old tool results shrunk to their handles when the request would not fit.

        What was shrunk once stays so. ContextTooLong, with the size of each part, when even that is not enough.
        """
        room = self._room(self.window or self.llm.window)
        fixed = estimate_tools(tools)
        kept = [self._shrunk.get(id(message), message) for message in messages]
        total = fixed + sum(map(self.size, kept))
        if total > room:
            results = [index for index, message in enumerate(messages) if message.role == "tool"]
            for index in results[:-KEPT]:
                small = self._shrink(messages[index])
                total += self.size(small) - self.size(kept[index])
                kept[index] = small
                if total <= room * (1 - SPARE):
                    break
        if total > room:
            self._refused = self._too_long(kept, fixed, total, room)
            raise self._refused
        self._asked = total
        return kept

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

    def _room(self, window: int) -> int:
        """Tokens for the request: the window without what the answer may take."""
        return window - min(self.llm.max_output, window // 4)

    def _shrink(self, message: Message) -> Message:
        if id(message) not in self._shrunk:
            self._shrunk[id(message)] = shrink(message)
        return self._shrunk[id(message)]

    def _too_long(self, messages: Sequence[Message], fixed: int, total: int, room: int) -> ContextTooLong:
        system = sum(self.size(message) for message in messages if message.role == "system")
        return ContextTooLong(
            f"the request needs about {total:,} tokens and the model takes {room:,}: tools {fixed:,}, "
            f"system prompt {system:,}, conversation {total - fixed - system:,}",
            limit=room,
            remedy="use a model with a larger window, fewer toolsets, or a shorter question",
        )


def shrink(message: Message) -> Message:
    """A tool message reduced to its first lines, its handle and its end marker."""
    if len(message.content) <= SHRUNK * 2 or message.result is None:
        return message
    first, _, rest = message.content.partition("\n")
    end = message.content.rstrip().rpartition("\n")[2]
    handle = message.result.reference
    note = f'... shortened to save room; read it again with read_result("{handle}") ...' if handle else "... shortened"
    return replace(message, content=f"{first}\n{rest[:SHRUNK]}\n{note}\n{end}")
