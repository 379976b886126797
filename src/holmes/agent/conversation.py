"""A conversation: what an engine knows of a run, and how it comes back from the journal after a restart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from holmes.agent.context import Context
from holmes.agent.evidence import Evidence
from holmes.agent.history import message_from_data
from holmes.agent.run import EventLog
from holmes.core.errors import UsageError
from holmes.core.messages import Message
from holmes.core.result_store import RunResults
from holmes.tools.delivery import result_from_data
from holmes.tools.disclosure import Disclosure


class JournalEntry(Protocol):
    """What is read of core.journal.Entry."""

    @property
    def kind(self) -> str:
        """The kind of event."""
        ...

    @property
    def payload(self) -> dict[str, Any]:
        """Its data."""
        ...


@dataclass(slots=True)
class Conversation:
    """Questions and answers with the results that they stand on."""

    id: str
    log: EventLog
    results: RunResults
    evidence: Evidence
    tools: Disclosure | None = None  # which of them the model was told of
    context: Context | None = None  # what of it the model sees
    messages: list[Message] = field(default_factory=list)
    busy: bool = False
    turns: int = 0
    question: str = ""  # the last one
    answered: bool = True  # it was; else the turn was cut off by a crash, a kill or Ctrl-C

    def restore(self, entries: Iterable[JournalEntry]) -> None:
        """Fold the journal of a run into this conversation; UsageError when there is nothing of it."""
        for entry in entries:
            if entry.kind == "record":
                self._restore_record(entry.payload)
            elif entry.kind == "tool_calling_result":
                self.evidence.add(entry.payload["tool_name"], result_from_data(entry.payload["result"]))
            elif entry.kind == "ai_answer_end":
                self.answered = entry.payload["report"].get("status") == "answered"
        if not self.turns:
            raise UsageError(f"there is no run {self.id}", remedy="holmes history list shows what there is")

    def _restore_record(self, record: Mapping[str, Any]) -> None:
        if record["what"] == "message":
            self.messages.append(message_from_data(record["data"]))
        elif record["what"] == "question":
            self.turns += 1
            self.question, self.answered = record["data"]["text"], False
