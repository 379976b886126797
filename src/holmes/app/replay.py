"""Give a recorded run back byte for byte: the real loop, without model, tools and network.

Where the program now asks for something else than was recorded, ``Parted`` says where.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from holmes.agent.approval import ApprovalGate, Mode
from holmes.agent.engine import Parts
from holmes.agent.history import message_from_data
from holmes.agent.opening import Found
from holmes.agent.prompt import PromptInputs
from holmes.agent.safeguards import Limits
from holmes.agent.summaries import Summaries
from holmes.app.recording import SCHEMA, digest
from holmes.core.errors import HolmesError, ModelUnavailable, UsageError
from holmes.core.http import DefaultHttp
from holmes.core.journal import Journal
from holmes.core.local_results import LocalResults
from holmes.core.masking import Masker
from holmes.core.messages import Turn, Usage
from holmes.core.principal import Principal
from holmes.core.process import ChildProcess
from holmes.core.results import StructuredToolResult
from holmes.kube.cluster import Gap
from holmes.llm.base import Dialect, OnDelta, Request
from holmes.tools.delivery import LiveSource, result_from_data
from holmes.tools.disclosure import OWN
from holmes.tools.executor import Bound
from holmes.tools.manager import Definition, Loaded, ToolsetManager
from holmes.tools.tool import FunctionTool, Health, Services, SimpleToolset, Tool, ToolContext, Verdict


class Parted(HolmesError):
    """The program asks for something else than was recorded."""


@dataclass(slots=True)
class Recording:
    """A recording that was read: its lines by kind."""

    header: dict[str, Any]
    lines: dict[str, list[dict[str, Any]]]
    _at: dict[str, int] = field(default_factory=dict)

    def next(self, kind: str) -> dict[str, Any] | None:
        """The next line of a kind, None when there are no more."""
        index = self._at.get(kind, 0)
        self._at[kind] = index + 1
        lines = self.lines.get(kind, [])
        return lines[index] if index < len(lines) else None

    def clock(self) -> datetime:
        """The next reading of the clock."""
        line = self.next("clock") or self.lines["clock"][-1]
        return datetime.fromisoformat(line["now"])


@dataclass(frozen=True, slots=True)
class Replay:
    """What ``holmes replay`` starts."""

    parts: Parts
    question: str
    namespace: str
    files: Sequence[tuple[str, bytes]]
    approve: Mode
    max_steps: int


def read_recording(path: Path) -> Recording:
    """Read a recording; UsageError says what is wrong with the file."""
    try:
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except ValueError as error:
        raise UsageError(f"is not a recording: {error}", where=str(path)) from error
    if not lines or not isinstance(lines[0], dict) or lines[0].get("schema") != SCHEMA:
        raise UsageError(f"is not a recording: its first line does not say {SCHEMA}", where=str(path))
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for line in lines[1:]:
        by_kind.setdefault(line["kind"], []).append(line)
    if "clock" not in by_kind or "toolsets" not in by_kind:
        raise UsageError("is a recording that ends before the first question to the model", where=str(path))
    return Recording(lines[0], by_kind)


def replay_parts(path: Path, env: Mapping[str, str]) -> Replay:
    """The parts of an engine that lives in a recording."""
    recording = read_recording(path)
    header = recording.header
    process, http, clusters = ChildProcess(), DefaultHttp({}), NoClusters()
    nothing: Any = None
    masker = Masker()
    world = ToolContext("", "", Principal(), {}, clusters, process, http, nothing, nothing, 0.0, recording.clock)
    run = recording.next("run")

    async def cluster() -> str:
        line = recording.next("cluster")
        return str(line["name"]) if line else ""

    async def opening(question: str, namespace: str) -> Sequence[Found]:
        line = recording.next("opening") or {"found": []}
        return [Found(tool, args, result_from_data(result)) for tool, args, result in line["found"]]

    parts = Parts(
        llm=ReplayLLM(recording),
        opening=opening,
        manager=ReplayManager(recording, Services({}, clusters, process, http)),
        results=LocalResults(None, masker),
        journal=Journal.open(None),
        masker=masker,
        world=world,
        cluster=cluster,
        prompt=PromptInputs(additions=header["additions"], switches=header["switches"]),
        limits=Limits(header["max_steps"]),
        shown=header["shown"],
        source=ReplaySource(recording),
        summaries=Summaries(lambda name: ReplaySummaries(recording, name)) if "summary" in recording.lines else None,
        gate=lambda mode, asker: ReplayGate(recording, mode),
        new_id=lambda: str(run["id"]) if run else "replay",
        clock=recording.clock,
        now=recording.clock,
    )
    files = [(name, text.encode()) for name, text in header["files"]]
    return Replay(parts, header["question"], header["namespace"], files, header["approve"], header["max_steps"])


class NoClusters:
    """There is no cluster behind a recording."""

    async def get(self, context: str = "") -> Gap:
        """A gap."""
        return Gap("cluster", "unsupported", "this is a recording")

    async def close(self) -> None:
        """Nothing to close."""


class ReplayManager(ToolsetManager):
    """The toolsets as they were: schemas and instructions, no code behind them."""

    def __init__(self, recording: Recording, services: Services) -> None:
        super().__init__((), services)
        self._recording = recording

    async def open(self, refresh: bool = False) -> list[Loaded]:
        """What was open when the run was recorded."""
        line = self._recording.lines["toolsets"][0]
        self.loaded = [
            Loaded(
                Definition(each["name"], "", each.get("description", ""), where=each.get("where", "")),
                Health(each["status"], each["reason"]),
                SimpleToolset(tuple(map(_tool, each["tools"])), each["instructions"]),
            )
            for each in line["toolsets"]
        ]
        return self.loaded


def _tool(data: Mapping[str, Any]) -> Tool:
    async def never(args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
        raise AssertionError("a recording has no tools to run")

    return FunctionTool(
        data["name"],
        data["description"],
        data["parameters"],
        never,
        aliases=tuple(data["aliases"]),
        hidden=data["hidden"],
        transformers=tuple(data.get("transformers", ())),
    )


class ReplayLLM:
    """Gives back recorded turns; Parted when the request is not the recorded one."""

    dialect: Dialect = "openai"

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._count = 0
        self.name: str = recording.header["model"]
        self.window: int = recording.header["window"]
        self.max_output: int = recording.header["max_output"]

    async def complete(self, request: Request, on_delta: OnDelta | None = None, deadline: float | None = None) -> Turn:
        """The next recorded turn."""
        line = self._recording.next("turn")
        self._count += 1
        if line is None:
            raise Parted(f"the recording ends after {self._count - 1} model calls and the program asks once more")
        if line["request"] != digest(request):
            last = request.messages[-1]
            raise Parted(
                f"the program parts from the recording at model call {self._count}: the request is not the recorded "
                f"one; its last message, of the {last.role}, begins {' '.join(last.content.split())[:80]!r}",
                remedy="the program, its prompts or its tools have changed since; record again",
            )
        turn = _turn(line)
        if on_delta and turn.message.content:
            on_delta(turn.message.content)
        return turn

    async def close(self) -> None:
        """Nothing to close."""


class ReplaySummaries:
    """Gives back recorded summaries by what was asked."""

    dialect: Dialect = "openai"

    def __init__(self, recording: Recording, wanted: str) -> None:
        self._lines = recording.lines["summary"]
        first = next((line for line in self._lines if line["wanted"] == wanted), self._lines[0])
        self.name: str = first["model"]
        self.window: int = first["window"]
        self.max_output: int = first["max_output"]

    async def complete(self, request: Request, on_delta: OnDelta | None = None, deadline: float | None = None) -> Turn:
        """The recorded summary; ModelUnavailable when it failed then, or was never made."""
        asked = digest(request)
        line = next((line for line in self._lines if line["request"] == asked), {"error": "it is not in the recording"})
        if "error" in line:
            raise ModelUnavailable(line["error"])
        return _turn(line)

    async def close(self) -> None:
        """Nothing to close."""


class ReplaySource:
    """Gives back recorded results by tool and arguments, in order."""

    def __init__(self, recording: Recording) -> None:
        self._results = list(recording.lines.get("result", []))

    async def result(self, bound: Bound, name: str, args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
        """The recorded result of this call; a failure that says so when there is none.

        The engine's own tools run again: they work on the run itself.
        """
        if bound.toolset == OWN:
            return await LiveSource().result(bound, name, args, ctx)
        for line in self._results:
            if line["tool"] == name and line["args"] == dict(args):
                self._results.remove(line)
                ctx.sink.write(line["stored"])
                return result_from_data(line["result"])
        return StructuredToolResult.failure(f"the recording has no result of {name} {json.dumps(dict(args))}")


class ReplayGate(ApprovalGate):
    """Decides as it was decided."""

    def __init__(self, recording: Recording, mode: Mode) -> None:
        super().__init__(mode)
        self._verdicts = list(recording.lines.get("verdict", []))

    async def decide(self, tool: Tool, args: Mapping[str, Any], verdict: Verdict, ctx: ToolContext) -> Verdict:
        """The recorded decision for this tool; what was never recorded was allowed."""
        for line in self._verdicts:
            if line["tool"] == tool.name and line["call"] == ctx.call_id:
                judged, final = _verdict(line["judged"]), _verdict(line["final"])
                return final if final.decision == "allow" else self._refuse(tool, judged, final.reason)
        return verdict


def _verdict(data: Sequence[Any]) -> Verdict:
    return Verdict(data[0], data[1], data[2], data[3], tuple(data[4]))


def _turn(data: Mapping[str, Any]) -> Turn:
    return Turn(message_from_data(data["message"]), data["finish_reason"], Usage(*data["usage"]), tuple(data["notes"]))
