"""The trials of ``holmes model test``: what Holmes needs of a model, asked for in five short requests."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holmes.core.config import Config
from holmes.core.errors import HolmesError, ModelError
from holmes.core.http import DefaultHttp
from holmes.core.messages import Message, Turn
from holmes.llm.base import LLM, Request, ToolSchema
from holmes.llm.catalogue import Prices
from holmes.llm.choice import OFFLINE, choose, known_models, named
from holmes.llm.default import DefaultLLM, Retry
from holmes.llm.models import ModelEntry
from holmes.llm.text_calls import find_calls

PATIENCE = 60.0  # seconds for one request: a local server may have to load the model first
_RETRY = Retry(tries=2, wait=1.0, cap=5.0)

_POD = {
    "type": "object",
    "properties": {"pod": {"type": "string", "description": "name of the pod"}},
    "required": ["pod"],
    "additionalProperties": False,
}
_TOOL = ToolSchema("pod_status", "Status of one pod.", _POD)
_VERDICT: dict[str, Any] = {
    "name": "verdict",
    "schema": {
        "type": "object",
        "properties": {"healthy": {"type": "boolean"}, "pods": {"type": "integer"}},
        "required": ["healthy", "pods"],
        "additionalProperties": False,
    },
}


@dataclass(frozen=True, slots=True)
class Fault:
    """What did not work, and what to do about it."""

    what: str
    message: str
    remedy: str = ""


@dataclass(slots=True)
class Trial:
    """What one model was seen to do; None is "not tried". ``seconds`` is how long its first answer took."""

    name: str
    answers: bool | None = None
    calls_tool: bool | None = None
    parallel: bool | None = None
    json_schema: bool | None = None
    window: int | None = None  # tokens
    window_known: bool = False
    prices: Prices | None = None
    seconds: float | None = None
    faults: list[Fault] = field(default_factory=list)

    @property
    def usable(self) -> bool:
        """It can investigate: it answers and calls tools. The rest is good to have."""
        return self.name == OFFLINE or bool(self.answers and self.calls_tool)


async def try_models(
    config: Config, env: Mapping[str, str], names: Sequence[str], seconds: float, say: Callable[[str], None]
) -> list[Trial]:
    """Try the named models side by side, or the one that would be used. All is over after ``seconds``.

    Raises ConfigError when the model list cannot be read, and what ``choose`` raises when no name is given.
    """
    models, deadline = known_models(env), time.monotonic() + seconds
    if not names:
        choice = choose(config, env, models)
        say(choice.reason)
        return [await _try(choice.entry, env, deadline)]
    trials = []
    for name in names:
        try:
            trials.append(_try(named(name, config, env, models), env, deadline))
        except HolmesError as error:
            trials.append(_unknown(name, error))
    return list(await asyncio.gather(*trials))


async def _unknown(name: str, error: HolmesError) -> Trial:
    return Trial(name, faults=[Fault("configuration", error.message, error.remedy)])


async def _try(entry: ModelEntry | None, env: Mapping[str, str], deadline: float) -> Trial:
    if entry is None:
        return Trial(OFFLINE)
    facts = entry.facts
    trial = Trial(entry.name, window=facts.window, prices=facts.prices)
    trial.window_known = facts.known or entry.max_context is not None
    llm = DefaultLLM(entry, DefaultHttp(env), env, retry=_RETRY)
    try:
        await _Steps(llm, trial, deadline).run()
    finally:
        await llm.close()
    trial.name = llm.name
    return trial


class _Steps:
    """The requests to one model, one after the other."""

    def __init__(self, llm: LLM, trial: Trial, deadline: float) -> None:
        self._llm = llm
        self._trial = trial
        self._deadline = deadline

    async def run(self) -> None:
        """Fill in the trial; a model that does not answer is asked nothing more."""
        trial, started = self._trial, time.monotonic()
        trial.answers = bool(await self._ask("answers", "Answer with the single word: ready", _spoken))
        if not trial.answers:
            return
        trial.seconds = round(time.monotonic() - started, 1)
        one = "What is the status of the pod web-1? Use the tool."
        turn = await self._ask("calls a tool", one, lambda turn: _called(turn, {"web-1"}), [_TOOL])
        trial.calls_tool = bool(turn and await self._read(one, turn))
        if trial.calls_tool:
            two = "What are the statuses of the pods web-1 and web-2? Call the tool for both of them at once."
            trial.parallel = bool(
                await self._ask("two calls at once", two, lambda turn: _called(turn, {"web-1", "web-2"}), [_TOOL])
            )
        verdict = "Two pods are running and nothing is wrong. Give the verdict as JSON: healthy and pods."
        trial.json_schema = bool(await self._ask("JSON schema", verdict, _fits, schema=_VERDICT))

    async def _read(self, question: str, turn: Turn) -> bool:
        """Whether the server takes the results back and the model goes on."""
        results = [
            Message("tool", "web-1 CrashLoopBackOff, 12 restarts", tool_call_id=call.id, tool_name=call.name)
            for call in turn.message.tool_calls
        ]
        history = [Message("user", question), turn.message, *results]
        return bool(await self._send("calls a tool", Request(history, [_TOOL]), lambda turn: ""))

    async def _ask(
        self,
        what: str,
        question: str,
        judge: Callable[[Turn], str],
        tools: Sequence[ToolSchema] = (),
        schema: Mapping[str, Any] | None = None,
    ) -> Turn | None:
        return await self._send(what, Request([Message("user", question)], tools, response_format=schema), judge)

    async def _send(self, what: str, request: Request, judge: Callable[[Turn], str]) -> Turn | None:
        """The turn, None when the model failed or the judge has something to say."""
        try:
            turn = await self._llm.complete(request, None, min(self._deadline, time.monotonic() + PATIENCE))
        except ModelError as error:
            place = f"{error.where}: " if error.where else ""
            self._trial.faults.append(Fault(what, f"{place}{error.message}", error.remedy or "try again later"))
            return None
        if problem := judge(turn):
            self._trial.faults.append(Fault(what, problem, _REMEDIES.get(problem, "")))
            return None
        return turn


_SILENT = "answered nothing"
_NO_CALL = "called no tool"
_AS_TEXT = "writes its calls as text"
_ONE = "made one call only"
_BAD_CALL = "made a call that cannot be run"
_NO_JSON = "did not keep to the schema"
_REMEDIES = {
    _SILENT: "use another model",
    _NO_CALL: "use a model made for tool calls, and switch them on in its server (vLLM: --enable-auto-tool-choice "
    "--tool-call-parser, llama.cpp: --jinja)",
    _AS_TEXT: "set text_calls: true for it in the model list",
    _BAD_CALL: "use a larger model",
    _ONE: "it works, with more steps",
    _NO_JSON: "it works, for Holmes does not depend on it",
}


def _spoken(turn: Turn) -> str:
    return "" if turn.message.content.strip() else _SILENT


def _called(turn: Turn, pods: set[str]) -> str:
    calls = turn.message.tool_calls
    if not calls:
        return _AS_TEXT if find_calls(turn.message.content, [_TOOL.name]) else _NO_CALL
    given = [str(call.arguments.get("pod")) for call in calls if call.name == _TOOL.name and not call.problem]
    right = {pod for pod in pods if any(pod in each for each in given)}
    return "" if right == pods else _ONE if right else _BAD_CALL


def _fits(turn: Turn) -> str:
    import jsonschema_rs

    try:
        value = json.loads(turn.message.content)
    except ValueError:
        return _NO_JSON
    return "" if jsonschema_rs.is_valid(_VERDICT["schema"], value) else _NO_JSON
