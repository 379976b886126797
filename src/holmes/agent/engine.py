"""The engine: owns the tasks, the tools and the conversations; everybody else starts runs and reads events."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol

from holmes.agent.approval import ApprovalGate, Asker, Mode
from holmes.agent.context import Context
from holmes.agent.conversation import Conversation, JournalEntry
from holmes.agent.engine_tools import engine_toolset
from holmes.agent.evidence import Evidence
from holmes.agent.history import Facts, message_data, usage_data
from holmes.agent.loop import Answer, ToolCallingLLM
from holmes.agent.opening import Found, Opening, nothing
from holmes.agent.prompt import PromptInputs, system_prompt, user_message
from holmes.agent.reporting import build_report
from holmes.agent.run import EventLog, Run
from holmes.agent.safeguards import DuplicateGuard, Limits
from holmes.agent.summaries import Summaries, Summarizer
from holmes.core.errors import HolmesError, UsageError
from holmes.core.events import AnswerEnd, ErrorEvent, Event, Record, StartToolCalling, ToolCallingResult
from holmes.core.messages import ImagePart, Message, ToolCall
from holmes.core.principal import Principal
from holmes.core.results import StructuredToolResult
from holmes.llm.base import LLM, ToolSchema
from holmes.llm.tokens import estimate_tools
from holmes.tools.delivery import Delivery, Source, Tap
from holmes.tools.disclosure import LIMIT, OWN, ROOM, Disclosure, Shelf
from holmes.tools.executor import Bound, Toolbox, ToolExecutor
from holmes.tools.tool import Tool, ToolContext

if TYPE_CHECKING:
    from holmes.core.masking import Masker
    from holmes.core.report import Report
    from holmes.core.result_store import ResultSink, ResultStore, RunResults
    from holmes.tools.manager import ToolsetManager


class JournalLike(Protocol):
    """What the engine needs of core.journal.Journal."""

    def start_run(self, run_id: str, question: str, *, model: str = "", cluster: str = "") -> None:
        """Register a conversation, or go on with it."""
        ...

    def append(self, run_id: str, kind: str, payload: dict[str, Any]) -> int:
        """Append an entry; its number."""
        ...

    def finish_run(self, run_id: str, status: str) -> None:
        """Note how it ended."""
        ...

    def read(self, run_id: str) -> Iterator[JournalEntry]:
        """All entries of a run."""
        ...


@dataclass(frozen=True)
class Parts:
    """What an engine is made of; app/wiring.py builds it from the configuration."""

    llm: LLM
    manager: ToolsetManager
    results: ResultStore
    journal: JournalLike
    masker: Masker
    world: ToolContext  # the template of every call's context
    cluster: Callable[[], Any]  # awaitable: the cluster's name for the prompt, "" without one
    prompt: PromptInputs = field(default_factory=PromptInputs)
    limits: Limits = field(default_factory=Limits)
    shown: int = 24_000  # characters that the model sees of a result
    tool_timeout: float = 60.0
    refresh_toolsets: bool = False
    summaries: Summaries | None = None  # None: nothing is summarised by a model
    source: Source | None = None  # replay stands in for the tools here
    tap: Tap | None = None  # recording listens here
    opening: Opening = nothing
    gate: Callable[[Mode, Asker | None], ApprovalGate] = ApprovalGate
    new_id: Callable[[], str] = field(default=lambda: f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}")
    clock: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))  # of the data: a snapshot's capture time


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How one question is to be worked on. ``run_id`` goes on with a conversation of this engine or, with ``resume``,
    of an earlier process; then an empty question goes on where the last turn was cut off.
    """

    run_id: str = ""
    approve: Mode = "never"
    approvals: Literal["refuse", "wait"] = "refuse"
    files: Sequence[tuple[str, bytes]] = ()  # name, content
    images: Sequence[str] = ()  # URLs
    max_steps: int | None = None
    namespace: str = ""
    resume: bool = False


class Engine:
    """Use as ``async with Engine(parts) as engine``."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._tasks: set[asyncio.Task[None]] = set()
        self._conversations: dict[str, Conversation] = {}
        self._opening: asyncio.Task[None] | None = None
        self._shelves: list[Shelf] = []

    async def __aenter__(self) -> Engine:
        self._opening = asyncio.create_task(self._open())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        tasks = [*self._tasks, *([self._opening] if self._opening else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for conversation in self._conversations.values():
            conversation.results.close()
        await self.parts.manager.close()
        await self.parts.llm.close()
        if self.parts.summaries is not None:
            await self.parts.summaries.close()
        await self.parts.world.clusters.close()

    async def start(self, question: str, options: RunOptions = RunOptions()) -> Run:
        """Begin a turn; it goes on in the engine's tasks. UsageError when the question is empty or the run is busy."""
        question = self.parts.masker.mask(question.strip())
        if not question and not options.resume:
            raise UsageError("the question is empty", remedy='ask something: holmes ask "why is checkout failing?"')
        conversation = self._conversation(options)
        if conversation.busy:
            raise UsageError(f"run {conversation.id} is still at work", remedy="wait for it, or cancel it")
        if not question and conversation.answered:
            raise UsageError(f"run {conversation.id} is finished", remedy="ask a follow-up question with --resume")
        conversation.busy = True
        self.parts.journal.start_run(conversation.id, question or conversation.question, model=self.parts.llm.name)
        if question:
            conversation.turns += 1
            conversation.question = question
            conversation.evidence.begin_turn()
        run = Run(conversation.id, conversation.question, conversation.log, conversation.turns)
        run.log.emit(Record("question" if question else "resumed", {"text": run.question}))
        task = asyncio.create_task(self._drive(run, conversation, options, fresh=bool(question)))
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._settle(done, run, conversation))
        run.attach(task)
        return run

    async def call_stream(self, question: str, options: RunOptions = RunOptions()) -> AsyncIterator[Event]:
        """Start a run and iterate over its events."""
        run = await self.start(question, options)
        async for event in run.events():
            yield event

    def transcript(self, run_id: str) -> tuple[list[Message], list[ToolCallingResult]]:
        """The messages of a conversation and the events of its finished tool calls."""
        conversation = self._conversations[run_id]
        events = (entry.event for entry in conversation.log.kept())
        return list(conversation.messages), [event for event in events if isinstance(event, ToolCallingResult)]

    def toolbox(self) -> Toolbox:
        """The tools that are open now."""
        return Toolbox([bound for shelf in self._shelves for bound in shelf.tools])

    async def ready(self) -> None:
        """Wait until the toolsets are open."""
        if self._opening is not None:
            await asyncio.shield(self._opening)

    async def _open(self) -> None:
        await self.parts.manager.open(self.parts.refresh_toolsets)
        own = tuple(Bound(tool, OWN) for tool in engine_toolset().tools())
        self._shelves = [Shelf(OWN, own, always=True), *self.parts.manager.shelves()]

    def _conversation(self, options: RunOptions) -> Conversation:
        run_id = options.run_id
        if run_id in self._conversations:
            known = self._conversations[run_id]
            known.log.reopen()
            return known
        new = run_id or self.parts.new_id()
        results = self.parts.results.run(new)
        log = EventLog(lambda event: self.parts.journal.append(new, event.kind, event.as_data()))
        conversation = Conversation(new, log, results, Evidence(results))
        if options.resume:
            conversation.restore(self.parts.journal.read(new))
        self._conversations[new] = conversation
        return conversation

    def _tools(self, conversation: Conversation) -> Disclosure:
        """What the conversation can call; what it had loaded before a restart is loaded again."""
        if conversation.tools is None:
            window = self.parts.llm.window
            conversation.tools = Disclosure(
                self._shelves,
                lambda tools: estimate_tools(map(schema, tools)),
                min(ROOM, window // 6),
                min(LIMIT, window // 3),
            )
            for message in conversation.messages:
                conversation.tools.recall(message.tool_calls)
        return conversation.tools

    async def _drive(self, run: Run, conversation: Conversation, options: RunOptions, *, fresh: bool) -> None:
        started = self.parts.clock()
        cluster = ""
        gate = self.parts.gate(options.approve, self._asker(run, options))
        loop: ToolCallingLLM | None = None
        report: Report | None = None
        error: BaseException | None = None
        try:
            await self.ready()
            cluster = await self.parts.cluster()
            messages = conversation.messages
            if fresh or not messages:
                namespace = options.namespace or self.parts.world.namespace
                found = await self.parts.opening(run.question, namespace)
                messages = self._messages(run, conversation, options, cluster, found)
            loop = self._loop(run, conversation, gate, options)
            answer = await loop.answer(messages, run.question)
            report = self._report(run, answer, loop, conversation, gate, cluster, started)
        except asyncio.CancelledError:
            error = self._interrupted(run)
            if loop is not None and conversation.evidence.calls:
                stopped = Answer.cut(run.cancelled, loop.steps)
                report = self._report(run, stopped, loop, conversation, gate, cluster, started)
        except HolmesError as failure:
            error = failure
        finally:
            conversation.busy = False
            if loop is not None:
                conversation.messages = loop.messages
            self._end(run, report, error)

    def _report(
        self,
        run: Run,
        answer: Answer,
        loop: ToolCallingLLM,
        conversation: Conversation,
        gate: ApprovalGate,
        cluster: str,
        started: datetime,
    ) -> Report:
        metadata = usage_data(loop.usage, self.parts.llm)
        facts = Facts(run.id, self.parts.llm.name, cluster, loop.usage, metadata)
        finished = self.parts.clock()
        return build_report(run.question, answer, conversation.evidence, gate.refusals, facts, started, finished)

    def _end(self, run: Run, report: Report | None, error: BaseException | None) -> None:
        if report is not None:
            run.log.emit(AnswerEnd(report.answer, report.as_data(), {"run_id": run.id}))
        if error is not None:
            run.log.emit(ErrorEvent(self.parts.masker.mask(str(error))))
        self.parts.journal.finish_run(run.id, report.status if report else "failed")
        run.finish(report, None if report is not None else error)

    def _settle(self, task: asyncio.Task[None], run: Run, conversation: Conversation) -> None:
        """A task that was cancelled before its first step never came to its end."""
        self._tasks.discard(task)
        if task.cancelled() and not run.finished:
            conversation.busy = False
            self._end(run, None, self._interrupted(run))

    def _interrupted(self, run: Run) -> HolmesError:
        run.cancelled = run.cancelled or "cancelled"
        return HolmesError(f"the investigation was stopped: {run.cancelled}")

    def _messages(
        self, run: Run, conversation: Conversation, options: RunOptions, cluster: str, found: Sequence[Found]
    ) -> list[Message]:
        """The conversation so far and the new question, with what comes along with it."""
        messages = conversation.messages
        if not messages:
            system = Message("system", system_prompt(self._inputs(self._tools(conversation))))
            run.log.emit(Record("message", message_data(system)))
            messages = [system]
        delivery = Delivery(conversation.id, self.parts.masker, self.parts.shown)
        files = [self._attach(name, content, conversation, delivery) for name, content in options.files]
        evidence = [self._tell(each, number, run, conversation, delivery) for number, each in enumerate(found, 1)]
        text = user_message(
            run.question,
            self.parts.now(),
            cluster,
            options.namespace or self.parts.world.namespace,
            files,
            "\n".join(evidence),
            on=self.parts.prompt.switches,
        )
        images = tuple(ImagePart(url) for url in options.images)
        question = Message("user", text, images, evidence=tuple(each.result for each in found))
        run.log.emit(Record("message", message_data(question)))
        return [*messages, question]

    def _attach(self, name: str, content: bytes, conversation: Conversation, delivery: Delivery) -> tuple[str, str]:
        """Store an attached file as a result: it can be cited and read on like any other."""
        sink = conversation.results.sink(conversation.results.next_reference())
        sink.write(content)
        result = StructuredToolResult.success(invocation=f"attached: {name}")
        delivery.deliver(result, sink)
        conversation.evidence.add("attached file", result)
        return f"{result.reference} {self.parts.masker.mask(name)}", result.text

    def _tell(self, found: Found, number: int, run: Run, conversation: Conversation, delivery: Delivery) -> str:
        """Store a piece of opening evidence and show it as the call that it could have been."""
        delivery.deliver(found.result, conversation.results.sink(conversation.results.next_reference()))
        call = ToolCall(f"opening-{run.turn}-{number}", found.tool, dict(found.args))
        found.result.params = dict(found.args)
        conversation.evidence.add(found.tool, found.result)
        run.log.emit(StartToolCalling(call.id, call.name, dict(found.args), found.result.reference))
        run.log.emit(delivery.event(call, found.result, "opening evidence"))
        return delivery.message(call, found.result).content

    def _inputs(self, tools: Disclosure) -> PromptInputs:
        loaded, catalogue = self.parts.manager.loaded, tools.catalogue()
        later = {name for name, _ in catalogue}  # they bring their instructions when they are loaded
        return replace(
            self.parts.prompt,
            instructions=[
                (each.definition.name, each.toolset.instructions)
                for each in loaded
                if each.toolset is not None and each.health.status == "enabled" and each.definition.name not in later
            ],
            catalogue=catalogue,
            failed=[(each.definition.name, each.health.reason) for each in loaded if each.health.status == "failed"],
        )

    def _loop(self, run: Run, conversation: Conversation, gate: ApprovalGate, options: RunOptions) -> ToolCallingLLM:
        parts = self.parts
        guard, tools = DuplicateGuard(), self._tools(conversation)
        summarize = Summarizer(parts.summaries) if parts.summaries else None
        executor = ToolExecutor(
            tools,
            self._contexts(run, conversation.results, options, summarize),
            conversation.results,
            Delivery(run.id, parts.masker, parts.shown, parts.source, parts.tap),
            guard,
            run.log.emit,
            parts.tool_timeout,
        )
        context = conversation.context = conversation.context or Context(parts.llm)
        context.summarize, context.emit = summarize, run.log.emit
        limits = replace(parts.limits, max_steps=options.max_steps or parts.limits.max_steps)
        loop = ToolCallingLLM(
            parts.llm,
            executor,
            gate,
            guard,
            limits,
            context,
            conversation.evidence,
            lambda: schemas(tools),
            run.log.emit,
            run.take_said,
        )
        if summarize is not None:
            summarize.spend, summarize.deadline = loop.spend, lambda: loop.deadline
        return loop

    def _contexts(
        self, run: Run, results: RunResults, options: RunOptions, summarize: Summarizer | None
    ) -> Callable[[str, str, float], ToolContext]:
        def context(call_id: str, reference: str, deadline: float) -> ToolContext:
            sink: ResultSink = results.sink(reference)
            return replace(
                self.parts.world,
                run_id=run.id,
                call_id=call_id,
                principal=Principal(),
                sink=sink,
                results=results,
                deadline=deadline,
                namespace=options.namespace or self.parts.world.namespace,
                summarize=summarize,
                emit=run.log.emit,
            )

        return context

    def _asker(self, run: Run, options: RunOptions) -> Asker | None:
        return run.ask_person if options.approvals == "wait" else None


def schemas(toolbox: Toolbox) -> list[ToolSchema]:
    """The declared tools as the model sees them."""
    return [schema(bound.tool) for bound in toolbox.declared()]


def call(parts: Parts, question: str, options: RunOptions = RunOptions()) -> Report:
    """One question, waited for: the face for scripts. RuntimeError inside of a running event loop: use Engine there."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_call(parts, question, options))
    raise RuntimeError("call() waits, and would stop this event loop; use: async with Engine(parts) as engine")


async def _call(parts: Parts, question: str, options: RunOptions) -> Report:
    async with Engine(parts) as engine:
        run = await engine.start(question, options)
        return await run.wait()


def schema(tool: Tool) -> ToolSchema:
    """A tool as the model sees it."""
    return ToolSchema(tool.name, tool.description, tool.parameters)
