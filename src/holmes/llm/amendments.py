"""Parameters that an endpoint turns out not to take: learned from its refusal, remembered, left out from then on."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from holmes.core.errors import ModelRefused
from holmes.llm.protocol import encode_body
from holmes.llm.refusals import Refusal, model_error

if TYPE_CHECKING:
    from holmes.llm.exchange import Exchange, Reader

AnyReader = TypeVar("AnyReader", bound="Reader")

_NEEDED = frozenset(["model", "messages", "system", "tools"])
_OUTPUT = ("max_tokens", "max_completion_tokens")
_COMPLAINT = re.compile(
    r"support|unknown|unrecogni[sz]ed|unexpected|extra|permitted|not allowed|invalid|deprecated|not accept|unavailable"
    r"|disallowed|does not exist|no longer|incompatible|must be|only",
    re.IGNORECASE,
)
_MIN_CAP = 64
_MOST = 8  # refusals that one request may teach from


class Amendments:
    """What one endpoint wants otherwise than documented; lives as long as the model object."""

    def __init__(self) -> None:
        self._dropped: set[str] = set()
        self._output_name = ""
        self._no_reasoning = False
        self._cap: int | None = None

    def apply(self, body: dict[str, Any]) -> dict[str, Any]:
        """The body as this endpoint takes it."""
        amended = {key: value for key, value in body.items() if key not in self._dropped}
        for key, inner in [name.split(".") for name in self._dropped if "." in name]:
            if isinstance(amended.get(key), dict):
                amended[key] = {name: value for name, value in amended[key].items() if name != inner}
                if not amended[key]:
                    del amended[key]
        if self._no_reasoning and "reasoning_effort" not in self._dropped:
            amended["reasoning_effort"] = "none"
        for name in _OUTPUT:
            if name in amended:
                limit = amended[name] if self._cap is None else min(amended[name], self._cap)
                amended[name] = limit
                if self._output_name and self._output_name != name:
                    amended[self._output_name] = amended.pop(name)
                break
        return amended

    def learn(self, sent: dict[str, Any], refusal: Refusal) -> str:
        """What was learned, in words ("temperature left out"), or "" when the refusal is about something else."""
        if refusal.status not in (400, 422):
            return ""
        return self._reasoning(refusal) or self._output(sent, refusal) or self._parameter(sent, refusal)

    def make_room(self, sent: dict[str, Any], refusal: Refusal) -> str:
        """Ask for shorter answers from now on when the answer's share is what does not fit the window.

        That share is a quarter of the window, as in agent/context.py; "" when the messages leave less than that.
        """
        name = next((name for name in _OUTPUT if name in sent), "")
        if not name or refusal.limit is None or refusal.room is None:
            return ""
        share = refusal.limit // 4
        if refusal.room < share or sent[name] <= share:
            return ""
        self._cap = share
        return f"output limit lowered to {share} tokens to fit the window of {refusal.limit}"

    def _reasoning(self, refusal: Refusal) -> str:
        """OpenAI's models from GPT-5.6 on take tools in chat completions only with the reasoning switched off."""
        if self._no_reasoning or "reasoning_effort to 'none'" not in refusal.words:
            return ""
        self._no_reasoning = True
        return "reasoning switched off, because this endpoint gives the model no tools otherwise"

    def _output(self, sent: dict[str, Any], refusal: Refusal) -> str:
        name = next((name for name in _OUTPUT if name in sent), "")
        words = refusal.text
        if not name or not (refusal.parameter in _OUTPUT or any(_mentions(words, other) for other in _OUTPUT)):
            return ""
        numbers = [int(number) for number in re.findall(r"\d+", re.sub(r"(?<=\d),(?=\d{3})", "", refusal.words))]
        smaller = [number for number in numbers if _MIN_CAP <= number < sent[name]]
        if smaller:
            self._cap = max(smaller)
            return f"{name} lowered to {self._cap}"
        if not self._output_name and _COMPLAINT.search(words):
            self._output_name = _OUTPUT[1 - _OUTPUT.index(name)]
            return f"{name} sent as {self._output_name}"
        return self._drop(name) if _COMPLAINT.search(words) else ""

    def _parameter(self, sent: dict[str, Any], refusal: Refusal) -> str:
        candidates = [key for key in sent if key not in _NEEDED]
        if refusal.parameter in candidates:
            return self._drop(refusal.parameter)
        if not _COMPLAINT.search(refusal.text):
            return ""
        if named := [key for key in candidates if _mentions(refusal.text, key)]:
            outer = max(named, key=len)
            inner = [key for key in _inner(sent, outer) if _mentions(refusal.text, key)]
            return self._drop(f"{outer}.{inner[0]}" if inner else outer)
        nested = [
            f"{key}.{inner}" for key in candidates for inner in _inner(sent, key) if _mentions(refusal.text, inner)
        ]
        return self._drop(nested[0]) if nested else ""

    def _drop(self, name: str) -> str:
        self._dropped.add(name)
        return f"{name} left out"


async def ask_amending(
    exchange: Exchange,
    amendments: Amendments,
    body: dict[str, Any],
    new_reader: Callable[[], AnyReader],
    deadline: float | None,
    mend: Callable[[dict[str, Any], Refusal], str] | None = None,
) -> tuple[AnyReader, list[str]]:
    """Ask, and ask again at once without what the endpoint does not take. Gives the reader and what was changed.

    ``mend`` knows remedies of one provider: it may change the body, and says in words what it did.
    """
    notes: list[str] = []
    body = dict(body)
    for _ in range(_MOST):
        sent = amendments.apply(body)
        reader = new_reader()
        try:
            await exchange.ask(encode_body(sent), reader, deadline)
        except Refusal as refusal:
            change = mend(body, refusal) if mend else ""
            if not change:
                change = amendments.make_room(sent, refusal) if refusal.too_long else amendments.learn(sent, refusal)
            if not change:
                raise model_error(refusal, exchange.endpoint) from refusal
            notes.append(f"{exchange.endpoint.model}: {change}")
        else:
            return reader, notes
    raise ModelRefused("refuses one parameter after the other", where=exchange.endpoint.shown)


def _inner(sent: dict[str, Any], key: str) -> list[str]:
    return list(sent[key]) if isinstance(sent[key], dict) and key in ("output_config", "reasoning", "text") else []


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", text) is not None
