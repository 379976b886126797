"""The report of an investigation: data only, for people's renderers and for programs. Keys are only ever added."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from holmes.core.events import ToolCallingResult
from holmes.core.messages import Message, Usage

SCHEMA = "holmes.report/v1"

ReportStatus = Literal["answered", "cut_short", "no_answer", "failed"]
Confidence = Literal["high", "medium", "low", ""]
NumberMark = Literal["verified", "derived", "unknown"]

# HolmesGPT passes the provider's word on; these are the nearest.
_FINISH_REASONS = {"answered": "stop", "cut_short": "length", "no_answer": "stop", "failed": "error"}


@dataclass(frozen=True, slots=True)
class QuoteCheck:
    """Text that the answer quotes; ``found`` is the reference of the result that has it, "" when none has."""

    text: str
    found: str = ""


@dataclass(frozen=True, slots=True)
class NumberCheck:
    """A number of the answer: it stands in a result, follows from numbers there, or nobody knows."""

    text: str
    mark: NumberMark


@dataclass(frozen=True, slots=True)
class EvidenceItem:
    """A tool result. ``quote_checks`` are the quotes for which the answer cites it."""

    reference: str  # E1
    tool: str
    invocation: str  # what a person would type to see the same
    status: str  # success, no_data, error, ...
    cited: bool = False
    quote_checks: tuple[QuoteCheck, ...] = ()
    error: str = ""
    url: str = ""
    size: int = 0  # characters
    truncated: bool = False  # the model saw less than was stored
    elapsed_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """A call that did not run. ``ask``: a person could have allowed it, ``command`` can be copied; ``deny``: never."""

    command: str
    reason: str
    verdict: Literal["ask", "deny"] = "ask"
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What came out of one question.

    ``answer`` is Markdown, verified, in the language of the question; the other texts are taken from it or written by
    program. ``cut_short_by`` names the limit or cause, "" when none. ``missing_references`` are cited in the answer
    though no such result exists. ``gaps`` say what could not be looked at. ``remediation`` are commands to copy,
    never run. ``steps`` counts model calls. ``metadata`` has the keys of HolmesGPT's API.
    """

    question: str
    status: ReportStatus
    answer: str
    run_id: str
    model: str
    started: datetime
    finished: datetime
    cut_short_by: str = ""
    root_cause: str = ""
    confidence: Confidence = ""
    evidence: tuple[EvidenceItem, ...] = ()
    missing_references: tuple[str, ...] = ()
    number_checks: tuple[NumberCheck, ...] = ()
    ruled_out: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    remediation: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    refused: tuple[RefusedCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    steps: int = 0
    cluster: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cost(self) -> float | None:
        """US dollars, None when the price is unknown."""
        return self.usage.cost

    def as_data(self) -> dict[str, Any]:
        """JSON types, as ``report_schema`` describes them."""
        data: dict[str, Any] = json.loads(json.dumps(asdict(self), default=_timestamp))
        data["cost"] = data["usage"].pop("cost")
        data["usage"]["total_tokens"] = self.usage.total_tokens
        return {"schema": SCHEMA, **data}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Report:
        """The reverse of ``as_data``: what a journal or file has. Unknown keys of later versions are left out."""
        values = {name: _tuple(value) for name, value in _known(cls, data).items()}
        values |= {
            "started": datetime.fromisoformat(data["started"]),
            "finished": datetime.fromisoformat(data["finished"]),
            "evidence": _each(EvidenceItem, data, "evidence"),
            "number_checks": _each(NumberCheck, data, "number_checks"),
            "refused": _each(RefusedCall, data, "refused"),
            "usage": Usage(**_known(Usage, {**data.get("usage", {}), "cost": data.get("cost")})),
        }
        return cls(**values)


def report_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of ``Report.as_data``."""
    text, texts, flag = {"type": "string"}, {"type": "array", "items": {"type": "string"}}, {"type": "boolean"}
    count, amount = {"type": "integer", "minimum": 0}, {"type": "number", "minimum": 0}
    time = {"type": "string", "format": "date-time"}
    quote = _object(text=text, found=text)
    evidence = _object(
        reference={"type": "string", "pattern": "^E[0-9]+$"},
        tool=text,
        invocation=text,
        status=text,
        cited=flag,
        quote_checks={"type": "array", "items": quote},
        error=text,
        url=text,
        size=count,
        truncated=flag,
        elapsed_seconds=amount,
    )
    refused = _object(command=text, reason=text, verdict={"enum": ["ask", "deny"]}, tool=text)
    tokens = ("prompt", "completion", "cached", "cache_write", "reasoning", "total")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": SCHEMA} | _object(
        schema={"const": SCHEMA},
        question=text,
        status={"enum": list(get_args(ReportStatus))},
        answer=text,
        run_id=text,
        model=text,
        started=time,
        finished=time,
        cut_short_by=text,
        root_cause=text,
        confidence={"enum": list(get_args(Confidence))},
        evidence={"type": "array", "items": evidence},
        missing_references=texts,
        number_checks={"type": "array", "items": _object(text=text, mark={"enum": list(get_args(NumberMark))})},
        ruled_out=texts,
        gaps=texts,
        remediation=texts,
        notes=texts,
        refused={"type": "array", "items": refused},
        usage=_object(**{f"{kind}_tokens": count for kind in tokens}),
        cost={"type": ["number", "null"], "minimum": 0},
        steps=count,
        cluster=text,
        metadata={"type": "object"},
    )


def holmes_gpt_result(
    report: Report, messages: Sequence[Message], calls: Sequence[ToolCallingResult]
) -> dict[str, Any]:
    """The keys of HolmesGPT's ``--json-output-file``; ``calls`` are the run's events of finished tool calls."""
    usage = report.usage
    return {
        "result": report.answer,
        "messages": [_openai_message(message) for message in messages],
        "tool_calls": [_call_data(call) for call in calls],
        "num_llm_calls": report.steps,
        "total_cost": usage.cost,
        "total_tokens": usage.total_tokens,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cached_tokens": usage.cached_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "metadata": dict(report.metadata),
        "finish_reason": _FINISH_REASONS[report.status],
    }


def _openai_message(message: Message) -> dict[str, Any]:
    data: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.images:
        pictures = [{"type": "image_url", "image_url": {"url": image.url}} for image in message.images]
        data["content"] = [{"type": "text", "text": message.content}, *pictures]
    if message.tool_calls:
        data["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
            }
            for call in message.tool_calls
        ]
    if message.role == "tool":
        data |= {"tool_call_id": message.tool_call_id, "name": message.tool_name}
    return data


def _call_data(call: ToolCallingResult) -> dict[str, Any]:
    names = ("tool_call_id", "tool_name", "description", "result", "toolset_name")
    data = {name: value for name, value in call.as_data().items() if name in names}
    return data | {"size": call.result.get("size", len(call.result.get("data") or ""))}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _timestamp(value: Any) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return str(value)


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _known(kind: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: data[name] for name in kind.__dataclass_fields__ if name in data}


def _each(kind: Any, data: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    items = [_known(kind, item) for item in data.get(name, ())]
    for item in items:
        if "quote_checks" in item:
            item["quote_checks"] = _each(QuoteCheck, item, "quote_checks")
    return tuple(kind(**item) for item in items)
