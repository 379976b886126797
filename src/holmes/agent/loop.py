"""The loop: ask the model, run its tools, until it answers or a limit is reached. Everything else is elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from holmes.agent.approval import ApprovalGate
from holmes.agent.context import Context
from holmes.agent.evidence import Check, Evidence
from holmes.agent.history import flatten, message_data, usage_data
from holmes.agent.safeguards import DuplicateGuard, Limits
from holmes.core.errors import ContextTooLong, ModelError
from holmes.core.events import AiMessage, AnswerDelta, AnswerReset, Event, EvidenceVerified, Record, TokenCount
from holmes.core.messages import Message, Turn, Usage
from holmes.llm.base import LLM, Request, ToolSchema
from holmes.llm.text_calls import is_only_calls
from holmes.tools.executor import ToolExecutor

CONCLUDING = 60.0  # seconds that the last request may take beyond the limit
AnswerStatus = Literal["answered", "cut_short", "no_answer"]
WRITES_CALLS = "the model writes its tool calls as text; give it text_calls: true in the model list"


@dataclass(frozen=True, slots=True)
class Answer:
    """How a turn ended. ``why`` says what cut it short; ``check`` is of the final text."""

    text: str
    status: AnswerStatus
    why: str
    check: Check
    steps: int

    @classmethod
    def cut(cls, why: str, steps: int) -> Answer:
        """No words of the model, only what was found."""
        return cls("", "cut_short", why, Check(), steps)


class ToolCallingLLM:
    """A model with tools, working on one question. ``messages`` is the conversation and grows as it works."""

    def __init__(
        self,
        llm: LLM,
        executor: ToolExecutor,
        gate: ApprovalGate,
        guard: DuplicateGuard,
        limits: Limits,
        context: Context,
        evidence: Evidence,
        tools: Callable[[], Sequence[ToolSchema]],
        emit: Callable[[Event], None],
        said: Callable[[], Sequence[str]] = tuple,  # what people said meanwhile
    ) -> None:
        self._llm = llm
        self._executor = executor
        self._gate = gate
        self._guard = guard
        self._limits = limits
        self._context = context
        self._evidence = evidence
        self._tools = tools
        self._emit = emit
        self._said = said
        self._streamed = False
        self.deadline: float | None = None  # of time.monotonic()
        self.messages: list[Message] = []
        self.usage = Usage(cost=0.0)
        self.steps = 0

    async def answer(self, messages: Sequence[Message], question: str) -> Answer:
        """Work until there is an answer. Raises ModelError when the model fails before anything was found."""
        self.messages = list(messages)
        started, reminded = time.monotonic(), False
        if self._limits.max_seconds is not None:
            self.deadline = started + self._limits.max_seconds
        while True:
            limit = self._limits.reached(self.steps + 1, started, self.usage)
            if not limit and self._guard.stubborn:
                limit = "the model kept repeating calls that were already answered"
            if limit:
                return await self._conclude(limit, question)
            for text in self._said():
                self._keep(Message("user", text))
            try:
                turn = await self._complete()
            except ModelError as error:
                return self._without_model(error)
            if turn.message.tool_calls:
                await self._run_tools(turn)
            elif self._writes_calls(turn) and not reminded:
                reminded = True
                self._remind(turn)
            else:
                return await self._finish(turn, question)

    def spend(self, usage: Usage) -> None:
        """Count what others spent for this turn: summaries."""
        self.usage += usage
        self._count()

    async def _run_tools(self, turn: Turn) -> None:
        self._take_back()
        if turn.message.content.strip() or turn.message.reasoning:
            self._emit(AiMessage(turn.message.content, turn.message.reasoning))
        self._keep(turn.message)
        for message in await self._executor.run(turn.message.tool_calls, self._gate):
            self._keep(message)
            if message.result is not None:
                self._evidence.add(message.tool_name, message.result)
        self._count()

    async def _complete(
        self, tool_choice: Literal["auto", "none"] = "auto", *, flat: bool = False, learned: bool = False
    ) -> Turn:
        """One model call, the request fitted to the window; a refusal for its size teaches the window once."""
        self.steps += 1
        tools = () if flat else self._tools()
        try:
            messages = await self._context.prepare(self.messages, tools)
            request = Request(flatten(messages) if flat else messages, tools, tool_choice)
            turn = await self._llm.complete(request, self._stream, self.deadline)
        except ContextTooLong as error:
            if learned or not self._context.learn(error):
                raise
            self.steps -= 1
            return await self._complete(tool_choice, flat=flat, learned=True)
        self.usage += turn.usage
        self._count()
        for note in turn.notes:
            self._emit(AiMessage(f"({note})"))
        return turn

    async def _finish(self, turn: Turn, question: str, status: AnswerStatus = "answered", why: str = "") -> Answer:
        """Take a text as the answer: ask again once when it is none, and once when its evidence is false."""
        if not self._answers(turn):
            self._take_back()
            self._keep(Message("user", "You gave no answer. Give the final answer now, in words."))
            turn = await self._again(turn)
            if not self._answers(turn):
                wrote = self._writes_calls(turn)
                return Answer("", "no_answer", why or (WRITES_CALLS if wrote else ""), Check(), self.steps)
        check = self._evidence.check(turn.message.content, question)
        if check.false and status == "answered":
            mended, better = await self._mend(turn, check, question)
            turn, check = (mended, better) if not _worse(better, check) else (turn, check)
        self._keep(turn.message)
        self._emit(EvidenceVerified(check.as_data()))
        degraded = getattr(self._llm, "degraded", "")  # the last resort answered (llm/fallback.py)
        if turn.finish_reason == "length" or degraded:
            status, why = "cut_short", why or degraded or "the model's output limit"
        return Answer(turn.message.content, status, why, check, self.steps)

    async def _mend(self, turn: Turn, check: Check, question: str) -> tuple[Turn, Check]:
        faults = [f"there is no result {reference}" for reference in check.missing]
        faults += [f"no result contains `{quote}`" for quote in check.false_quotes]
        self._take_back()
        self._keep(turn.message)
        self._keep(
            Message(
                "user",
                f"A program checked your answer: {'; '.join(faults)}. "
                "Give the whole answer again with quotes and references that are exact, or without them.",
            )
        )
        mended = await self._again(turn)
        return mended, self._evidence.check(mended.message.content, question)

    async def _again(self, turn: Turn) -> Turn:
        """Ask for the text once more; what we have stands when that fails or is no text."""
        try:
            again = await self._complete("none")
        except ModelError:
            return turn
        return again if self._answers(again) and not again.message.tool_calls else turn

    def _answers(self, turn: Turn) -> bool:
        return bool(turn.message.content.strip()) and not self._writes_calls(turn)

    def _writes_calls(self, turn: Turn) -> bool:
        return is_only_calls(turn.message.content, self._executor.toolbox.names())

    def _remind(self, turn: Turn) -> None:
        """A call that is written as text does nothing: say so, once."""
        self._take_back()
        self._keep(turn.message)
        self._keep(
            Message(
                "user",
                "A program read your answer: it is a tool call written as text, so nothing was run. "
                "Call the tool, do not write the call. Or give the final answer in words.",
            )
        )

    async def _conclude(self, why: str, question: str) -> Answer:
        """The final request: tools stay declared and forbidden; a model that insists loses them."""
        self._keep(
            Message("user", f"Stop here: {why}. Give the final answer now from the results above. Call no tool.")
        )
        if self.deadline is not None:
            self.deadline = max(self.deadline, time.monotonic() + CONCLUDING)
        try:
            turn = await self._complete("none")
            if turn.message.tool_calls:
                self._keep(turn.message)
                for call in turn.message.tool_calls:
                    self._keep(Message("tool", f"not run: {why}", tool_call_id=call.id, tool_name=call.name))
                turn = await self._complete("none", flat=True)
        except ModelError as error:
            return self._without_model(error, why)
        final = replace(turn, message=replace(turn.message, tool_calls=()))
        return await self._finish(final, question, "cut_short", why)

    def _without_model(self, error: ModelError, why: str = "") -> Answer:
        """The model is gone. With results in hand that is a cut answer, without them it is a failure."""
        if not self._evidence.calls:
            raise error
        self._take_back()
        return Answer.cut("; ".join(filter(None, (why, error.message))), self.steps)

    def _keep(self, message: Message) -> None:
        self.messages.append(message)
        self._emit(Record("message", message_data(message)))

    def _stream(self, text: str) -> None:
        self._streamed = True
        self._emit(AnswerDelta(text))

    def _take_back(self) -> None:
        if self._streamed:
            self._emit(AnswerReset())
        self._streamed = False

    def _count(self) -> None:
        self._emit(TokenCount(usage_data(self.usage, self._llm)))


def _worse(new: Check, old: Check) -> bool:
    return len(new.missing) + len(new.false_quotes) > len(old.missing) + len(old.false_quotes)
