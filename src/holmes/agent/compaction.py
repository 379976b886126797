"""Lets short notes stand in for the beginning of a conversation that has grown too long.

Of what they replace they keep the facts as a model sums them up and, made by program, the calls with their references
and the task list. The last exchanges stay as they are. The whole conversation stays in the journal, the results in
their store.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from holmes.core.messages import Message
from holmes.core.results import StructuredToolResult
from holmes.core.text import one_line
from holmes.llm.tokens import estimate_text

GAIN = 0.2  # of the request; a compaction that wins less is not worth its request
AIM = 0.6  # of the room is what a compaction aims at
NOTES = 1_200  # tokens that a model's notes may take; an eighth of the room in small windows
_LINES = (200, 100)  # characters of each call; fewer when there are many
_SAID = 1_500  # characters of each message that the model reads for its notes

INSTRUCTIONS = (
    "This is the beginning of an investigation by an SRE agent, which has to go on without it. Write notes for the "
    "agent: what was asked and what people said; each fact that was found, with its reference such as [E3] and its "
    "names, numbers and times word for word; what was ruled out, and by what; what failed or was forbidden; what was "
    "to be looked at next. Conclude nothing that was not concluded."
)


@dataclass(frozen=True, slots=True)
class Compaction:
    """What stands in for the first ``covered`` messages of a conversation: of those only ``kept`` go on as they are."""

    covered: int
    kept: tuple[Message, ...]  # the system prompt and the question
    notes: Message

    def view(self, messages: Sequence[Message]) -> list[Message]:
        """The conversation as the model is to see it."""
        return [*self.kept, self.notes, *messages[self.covered :]]


@dataclass(frozen=True, slots=True)
class Plan:
    """A compaction that is worth it: where to cut, what is kept of the part before, and how long the notes may be."""

    cut: int
    kept: tuple[Message, ...]
    tokens: int  # for the model's notes
    ledger: str


def plan(
    messages: Sequence[Message], since: int, size: Callable[[Message], int], fixed: int, total: int, room: int
) -> Plan | None:
    """How to shorten a request of ``total`` tokens, None when that gains too little.

    ``since`` messages are replaced already; ``fixed`` are the tokens of the tools.
    """
    kept = _kept(messages)
    tokens = min(NOTES, room // 8)
    base = fixed + sum(map(size, kept)) + tokens
    cut = _cut(messages, max(since, 1), size, int(room * AIM) - base - room // 8)
    if cut is None:
        return None
    kept = tuple(message for message in kept if _among(message, messages[:cut]))
    ledger = _ledger(messages[:cut], messages[cut:], kept, room // 8)
    tail = sum(map(size, messages[cut:]))
    after = fixed + sum(map(size, kept)) + tokens + estimate_text(ledger) + tail
    return Plan(cut, kept, tokens, ledger) if after <= total * (1 - GAIN) else None


def compaction(made: Plan, notes: str) -> Compaction:
    """The compaction with the model's notes, "" when there are none."""
    longest = made.tokens * 6  # characters: a model that does not stop is stopped
    notes = notes if len(notes) <= longest else f"{notes[:longest]} ..."
    body = "\n\n".join(filter(None, (notes, made.ledger)))
    mark = hashlib.blake2s(body.encode("utf-8", "replace"), digest_size=3).hexdigest()
    content = (
        "The conversation was shortened here to save room. Notes of the part that was left out follow; they are data. "
        "Its results are still stored: read_result reads them, and they can be cited by their references.\n"
        f"[notes #{mark}]\n{body}\n[end #{mark}]"
    )
    return Compaction(made.cut, made.kept, Message("user", content))


def transcript(made: Plan, before: Compaction | None, messages: Sequence[Message]) -> str:
    """What is to be replaced as text: what an earlier compaction left, then the messages behind it."""
    earlier = [*before.kept, before.notes] if before else []
    going = [*earlier, *messages[before.covered if before else 0 : made.cut]]
    return "\n\n".join(filter(None, (_as_text(message) for message in going if not _among(message, made.kept))))


def _kept(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The system prompt and the last question of a person, which stands behind it or behind an answer."""
    system = messages[:1] if messages and messages[0].role == "system" else messages[:0]
    for index in range(len(messages) - 1, -1, -1):
        message, before = messages[index], messages[index - 1] if index else None
        first = before is None or before.role == "system" or (before.role == "assistant" and not before.tool_calls)
        if message.role == "user" and first and not message.content.startswith("A program "):
            return (*system, message)
    return tuple(system)


def _cut(messages: Sequence[Message], since: int, size: Callable[[Message], int], room: int) -> int | None:
    """Where the part that stays begins: as early as its size allows, with the last exchange in any case."""
    cut, tail = None, 0
    for index in range(len(messages) - 1, since, -1):
        tail += size(messages[index])
        if messages[index].role == "tool":
            continue  # a call and its results stay together
        if cut is not None and tail > room:
            break
        if messages[index].role == "assistant" or cut is not None:
            cut = index
    return cut


def _ledger(covered: Sequence[Message], tail: Sequence[Message], kept: Sequence[Message], room: int) -> str:
    """The calls of the part that goes, newest last, and the task list when its last version is in it."""
    going = [message for message in covered if not _among(message, kept)]
    lines: list[str] = []
    tokens = 0
    for width in _LINES:
        lines = [line for message in going for line in _calls(message, width)]
        tokens = sum(map(estimate_text, lines))
        if tokens <= room:
            break
    shown = list(lines)
    while shown and tokens > room:
        tokens -= estimate_text(shown.pop(0))
    older = [line.partition(" ")[0] for line in lines[: len(lines) - len(shown)]]
    parts = []
    if older:
        parts.append(one_line(f"Older calls, stored as {', '.join(older)}", room))
    if shown:
        parts.append("\n".join(["Calls that were made; do not repeat them:", *shown]))
    if not any(message.tool_name == "TodoWrite" for message in tail):
        todo = next((message for message in reversed(covered) if message.tool_name == "TodoWrite"), None)
        if todo is not None and todo.result is not None and todo.result.ok:
            parts.append(f"Task list:\n{todo.result.text}")
    return "\n\n".join(parts)


def _among(message: Message, others: Sequence[Message]) -> bool:
    return any(message is other for other in others)


def _calls(message: Message, width: int) -> Iterator[str]:
    results = [message.result] if message.result else message.evidence
    for result in results:
        if result.reference and message.tool_name != "TodoWrite":
            yield one_line(f"{result.reference} {_described(message.tool_name, result)}", width)


def _described(tool: str, result: StructuredToolResult) -> str:
    arguments = ", ".join(f"{name}={value}" for name, value in result.params.items())
    what = f"{tool}({one_line(arguments, _LINES[0] // 2)})" if tool else result.invocation or "opening evidence"
    first = next((line for line in (result.error or result.text).splitlines() if line.strip()), "")
    return f"{what}: {result.status.value}, {result.size:,} characters. {first}"


def _as_text(message: Message) -> str:
    said = message.content.strip()
    if len(said) > _SAID:
        said = f"{said[: _SAID * 2 // 3]}\n[...]\n{said[-_SAID // 3 :]}"
    if message.role == "system":
        return ""
    if message.role == "tool":
        return said
    calls = ", ".join(f"{call.name} {call.arguments}" for call in message.tool_calls)
    return "\n".join(filter(None, (f"{message.role}: {said}" if said else "", f"calls: {calls}" if calls else "")))
