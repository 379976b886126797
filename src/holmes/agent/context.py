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


@dataclass(slots=True)
class Context:
    """Measures and shrinks the history of one conversation. ``window`` may be learned from a refusal."""

    llm: LLM
    window: int = 0
    _sizes: dict[int, tuple[Message, int]] = field(default_factory=dict)

    def fit(self, messages: Sequence[Message], schemas: Sequence[ToolSchema]) -> list[Message]:
        """The messages, old tool results shrunk to their handles when the request would not fit.

        ContextTooLong, with the size of each part, when even that is not enough.
        """
        room = (self.window or self.llm.window) - min(self.llm.max_output, (self.window or self.llm.window) // 4)
        fixed = estimate_tools(schemas)
        total = fixed + sum(map(self.size, messages))
        if total <= room:
            return list(messages)
        kept = list(messages)
        results = [index for index, message in enumerate(kept) if message.role == "tool"]
        for index in results[:-KEPT]:
            small = shrink(kept[index])
            total += self.size(small) - self.size(kept[index])
            kept[index] = small
            if total <= room:
                return kept
        raise ContextTooLong(
            f"the request needs about {total:,} tokens and the model takes {room:,}: "
            f"tools {fixed:,}, system prompt {self.size(kept[0]):,}, "
            f"conversation {total - fixed - self.size(kept[0]):,}",
            limit=room,
            remedy="use a model with a larger window, fewer toolsets, or a shorter question",
        )

    def learn(self, error: ContextTooLong) -> bool:
        """Take the real window from a refusal; False when nothing new was learned and trying again is useless."""
        window = self.window or self.llm.window
        learned = error.limit if error.limit and error.limit < window else window * 3 // 4
        if learned < 2_000:
            return False
        self.window = learned
        return True

    def size(self, message: Message) -> int:
        """Tokens of a message, measured once."""
        known = self._sizes.get(id(message))
        if known is None or known[0] is not message:
            known = self._sizes[id(message)] = (message, estimate_message(message))
        return known[1]


def shrink(message: Message) -> Message:
    """A tool message reduced to its first lines and its handle."""
    if len(message.content) <= SHRUNK * 2 or message.result is None:
        return message
    first, _, rest = message.content.partition("\n")
    end = message.content.rstrip().rpartition("\n")[2]
    handle = message.result.reference
    note = f'... shortened to save room; read it again with read_result("{handle}") ...' if handle else "... shortened"
    return replace(message, content=f"{first}\n{rest[:SHRUNK]}\n{note}\n{end}")
