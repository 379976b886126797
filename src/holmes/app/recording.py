"""Record a whole run.

The file is JSON lines: a header with the question and how it was asked, then, in the order in which the engine asked
for them: toolsets, cluster, clock readings, verdicts, results (after masking, with what was stored of them) and model
turns. app/replay.py gives them back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from holmes.agent.approval import ApprovalGate, Asker, Mode
from holmes.agent.engine import Parts, RunOptions
from holmes.agent.history import message_data
from holmes.agent.opening import Found
from holmes.agent.summaries import Summaries
from holmes.core.errors import ModelError, UsageError
from holmes.core.messages import Turn, Usage
from holmes.core.results import StructuredToolResult
from holmes.llm.base import LLM, Dialect, OnDelta, Request
from holmes.tools.delivery import result_data
from holmes.tools.manager import ToolsetManager
from holmes.tools.tool import Tool, ToolContext, Verdict

SCHEMA = "holmes.recording/v1"


class Recorder:
    """Writes a recording; every line is flushed, so that a run that dies leaves what it had."""

    def __init__(self, path: Path) -> None:
        try:
            self._file: TextIO = path.open("w", encoding="utf-8")
            path.chmod(0o600)
        except OSError as error:
            raise UsageError(f"cannot be written: {error.strerror}", where=str(path)) from error

    def write(self, kind: str, **line: Any) -> None:
        """Append a line."""
        text = json.dumps({"kind": kind, **line}, ensure_ascii=False, default=str)
        self._file.write(text.encode("utf-8", "replace").decode() + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def recorded(parts: Parts, recorder: Recorder, question: str, options: RunOptions) -> Parts:
    """The same parts, with everything that comes in from the world written down."""
    recorder.write(
        "header",
        schema=SCHEMA,
        question=parts.masker.mask(question),
        model=parts.llm.name,
        window=parts.llm.window,
        max_output=parts.llm.max_output,
        approve=options.approve,
        max_steps=parts.limits.max_steps,
        namespace=options.namespace or parts.world.namespace,
        files=[[name, parts.masker.mask(content.decode("utf-8", "replace"))] for name, content in options.files],
        additions=parts.prompt.additions,
        switches=dict(parts.prompt.switches),
        shown=parts.shown,
    )

    def kept(clock: Callable[[], datetime]) -> Callable[[], datetime]:
        def read() -> datetime:
            now = clock()
            recorder.write("clock", now=now.isoformat())
            return now

        return read

    def new_id() -> str:
        made = parts.new_id()
        recorder.write("run", id=made)
        return made

    async def cluster() -> str:
        name: str = await parts.cluster()
        recorder.write("cluster", name=name)
        return name

    async def opening(question: str, namespace: str) -> Sequence[Found]:
        found = await parts.opening(question, namespace)
        mask = parts.masker.mask_tree
        looks = [[each.tool, mask(dict(each.args)), mask(result_data(each.result))] for each in found]
        recorder.write("opening", found=looks)
        return found

    return replace(
        parts,
        opening=opening,
        llm=RecordingLLM(parts.llm, recorder, parts.manager),
        summaries=_summaries(parts.summaries, recorder),
        tap=_tap(recorder),
        gate=lambda mode, asker: RecordingGate(recorder, mode, asker),
        clock=kept(parts.clock),
        now=kept(parts.now),
        new_id=new_id,
        cluster=cluster,
    )


def _tap(recorder: Recorder) -> Callable[[str, Mapping[str, Any], StructuredToolResult, str], None]:
    def tap(name: str, args: Mapping[str, Any], result: StructuredToolResult, stored: str) -> None:
        recorder.write("result", tool=name, args=args, result=result_data(result), stored=stored)

    return tap


class RecordingLLM:
    """An LLM that writes down every turn, and before the first one the toolsets that are open."""

    def __init__(self, llm: LLM, recorder: Recorder, manager: ToolsetManager) -> None:
        self._llm = llm
        self._recorder = recorder
        self._manager = manager
        self._first = True
        self.name, self.window, self.max_output = llm.name, llm.window, llm.max_output
        self.dialect: Dialect = llm.dialect

    async def complete(self, request: Request, on_delta: OnDelta | None = None, deadline: float | None = None) -> Turn:
        """Ask the model and keep what it said."""
        if self._first:
            self._recorder.write("toolsets", toolsets=toolsets_data(self._manager))
            self._first = False
        turn = await self._llm.complete(request, on_delta, deadline)
        self._recorder.write("turn", request=digest(request), **turn_data(turn))
        return turn

    async def close(self) -> None:
        """Close the model and the file."""
        await self._llm.close()
        self._recorder.close()


def _summaries(summaries: Summaries | None, recorder: Recorder) -> Summaries | None:
    if summaries is None:
        return None
    return Summaries(lambda name: RecordingSummaries(name, summaries.model(name), recorder))


class RecordingSummaries:
    """An LLM that writes down its summaries by what was asked: calls that run side by side have no order."""

    def __init__(self, wanted: str, llm: LLM, recorder: Recorder) -> None:
        self._wanted = wanted
        self._llm = llm
        self._recorder = recorder
        self.name, self.window, self.max_output = llm.name, llm.window, llm.max_output
        self.dialect: Dialect = llm.dialect

    async def complete(self, request: Request, on_delta: OnDelta | None = None, deadline: float | None = None) -> Turn:
        """Ask the model and keep what it said, or why it failed."""
        line = {"wanted": self._wanted, "model": self.name, "window": self.window, "max_output": self.max_output}
        line["request"] = digest(request)
        try:
            turn = await self._llm.complete(request, on_delta, deadline)
        except ModelError as error:
            self._recorder.write("summary", **line, error=error.message)
            raise
        self._recorder.write("summary", **line, **turn_data(turn))
        return turn

    async def close(self) -> None:
        """Close the model."""
        await self._llm.close()


class RecordingGate(ApprovalGate):
    """A gate that writes down what was decided."""

    def __init__(self, recorder: Recorder, mode: Mode, asker: Asker | None) -> None:
        super().__init__(mode, asker)
        self._recorder = recorder

    async def decide(self, tool: Tool, args: Mapping[str, Any], verdict: Verdict, ctx: ToolContext) -> Verdict:
        """Decide, and keep both verdicts."""
        final = await super().decide(tool, args, verdict, ctx)
        if verdict.decision != "allow":
            self._recorder.write(
                "verdict", tool=tool.name, call=ctx.call_id, judged=verdict_data(verdict), final=verdict_data(final)
            )
        return final


def toolsets_data(manager: ToolsetManager) -> list[dict[str, Any]]:
    """The toolsets as a request shows them: status, instructions, schemas."""
    return [
        {
            "name": each.definition.name,
            "description": each.definition.description,
            "where": each.definition.where,
            "status": each.health.status,
            "reason": each.health.reason,
            "instructions": each.toolset.instructions if each.toolset else "",
            "tools": [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.parameters),
                    "aliases": list(getattr(tool, "aliases", ())),
                    "hidden": bool(getattr(tool, "hidden", False)),
                    "transformers": [
                        _without_key(spec)
                        for spec in (*each.definition.transformers, *getattr(tool, "transformers", ()))
                    ],
                }
                for tool in (each.toolset.tools() if each.toolset else ())
            ],
        }
        for each in manager.loaded
    ]


def _without_key(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A transformer's spec without the model's key that HolmesGPT's may have."""
    return {
        name: _without_key(value) if isinstance(value, Mapping) else value
        for name, value in spec.items()
        if name != "api_key"
    }


def verdict_data(verdict: Verdict) -> list[Any]:
    """JSON types of a verdict."""
    return [verdict.decision, verdict.reason, verdict.rule, verdict.show, list(verdict.prefixes)]


def digest(request: Request) -> str:
    """A fingerprint of what a model is asked: messages, tools and how it may use them."""
    body = {
        "messages": [{k: v for k, v in message_data(m).items() if k != "result"} for m in request.messages],
        "tools": [[tool.name, tool.description, dict(tool.parameters)] for tool in request.tools],
        "tool_choice": request.tool_choice,
        "response_format": request.response_format,
    }
    text = json.dumps(body, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.blake2s(text.encode("utf-8", "replace"), digest_size=12).hexdigest()


def turn_data(turn: Turn) -> dict[str, Any]:
    """JSON types of a turn."""
    return {
        "message": message_data(turn.message),
        "finish_reason": turn.finish_reason,
        "usage": [getattr(turn.usage, name) for name in Usage.__dataclass_fields__],
        "notes": list(turn.notes),
    }
