"""What providers say when they refuse, and which of our errors that is.

The sentences are those that OpenAI, Azure, Anthropic, OpenRouter, vLLM, llama.cpp, Ollama, LM Studio, Groq, xAI,
Mistral, Bedrock and Gemini are seen to send.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holmes.core.errors import ContextTooLong, ModelError, ModelRefused, ModelUnavailable, RateLimited

NO_STATUS = 0  # the answer itself is the refusal: no choices, an error event in a stream, a driver's exception
_SHOWN = 300  # characters of a provider's own words

_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|context length|context window|context size|context limit"
    r"|prompt is too long|maximum prompt length|maximum model length|input is too long|input token count"
    r"|input tokens exceed|reduce the length of the messages|request too large|too many input tokens"
    r"|prompt too long|tokens per minute.*requested",
    re.IGNORECASE | re.DOTALL,
)
_LIMITS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"maximum context length (?:is|of) (?:only )?(\d+)",
        r"context length (?:is|of) (?:only )?(\d+)",
        r"(\d+) maximum context length",
        r"maximum prompt length is (\d+)",
        r"maximum model length of (\d+)",
        r"context size \((\d+)",
        r'"n_ctx": ?(\d+)',
        r"tokens > (\d+) maximum",
        r"context limit: \d+ \+ \d+ > (\d+)",
        r"tokens allowed \((\d+)\)",
        r"configured limit of (\d+)",
        r"context window (?:is|of|size is|size of) (\d+)",
        r"Limit (\d+), Requested \d+",
        r"max(?:imum)? context (?:length|window|size)\D{0,20}(\d+)",
    )
)
_INPUTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"request has (\d+) input tokens",
        r"\((\d+) in the messages",
        r"\((?:about )?(\d+) of text input",
        r"context limit: (\d+) \+ \d+ >",
    )
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is reached; ``shown`` is the URL without query and credentials, for people."""

    url: str
    model: str
    shown: str = ""
    key_name: str = ""  # the variable or setting that holds the key
    key: str = field(default="", repr=False)
    hint: str = ""  # what to do when nobody listens


class Refusal(Exception):
    """An answer with an error status, or an error object in place of an answer. Never leaves llm/."""

    def __init__(self, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(f"{status}: {text[:_SHOWN]}")
        self.status = status
        self.text = text
        self.headers = headers or {}
        self.data = _parsed(text)

    @property
    def code(self) -> str:
        """The provider's short name of the error."""
        error = self.data.get("error")
        source = error if isinstance(error, dict) else self.data
        return " ".join(str(source[key]) for key in ("code", "type") if source.get(key))

    @property
    def parameter(self) -> str:
        """The request parameter at fault when the provider names it ("temperature")."""
        error = self.data.get("error")
        name = error.get("param") if isinstance(error, dict) else None
        return re.split(r"[.\[]", name)[0] if isinstance(name, str) else ""

    @property
    def words(self) -> str:
        """The provider's message as one line."""
        return _one_line(_message(self.data) or ("" if self.text.lstrip().startswith("<") else self.text))

    @property
    def too_long(self) -> bool:
        """Whether the request did not fit the model."""
        return self.status not in (401, 403, 404, 429) and bool(_TOO_LONG.search(f"{self.code} {self.text}"))

    @property
    def limit(self) -> int | None:
        """The window in tokens when the message tells it."""
        return _first(_LIMITS, self.text)

    @property
    def room(self) -> int | None:
        """The tokens that the messages leave for an answer, None when the message does not tell."""
        limit, given = self.limit, _first(_INPUTS, self.text)
        return None if limit is None or given is None else max(0, limit - given)


def model_error(refusal: Refusal, endpoint: Endpoint) -> ModelError:
    """The error for people: what was refused, where, and what to do next."""
    words = refusal.words.replace(endpoint.key, "***") if endpoint.key else refusal.words
    said = f": {words}" if words else ""
    status, where = refusal.status, endpoint.shown or endpoint.model
    if refusal.too_long:
        return ContextTooLong(f"the request does not fit {endpoint.model}{said}", limit=refusal.limit, where=where)
    if status in (401, 403):
        return _wrong_key(status, said, endpoint, where)
    if status == 429 and "insufficient_quota" not in refusal.code:
        wait = retry_after(refusal.headers)
        return RateLimited(f"{endpoint.model} is rate limited (429){said}", retry_after=wait, where=where)
    if status in (402, 429):
        remedy = f"check credit and billing of the account behind {endpoint.key_name}"
        return ModelRefused(f"no credit left for {endpoint.model} ({status}){said}", remedy=remedy, where=where)
    if status == 404:
        remedy = "check the model's name (--model) and the base URL (--api-base)"
        return ModelRefused(f"no model {endpoint.model} there (404){said}", remedy=remedy, where=where)
    if status == NO_STATUS:
        return ModelUnavailable(f"{endpoint.model} gave no usable answer{said}", where=where)
    if 300 <= status < 400:
        target = refusal.headers.get("location", "")
        message = f"answered with a redirect{f' to {target}' if target else ''} ({status})"
        return ModelRefused(message, remedy="give the final address with --api-base", where=where)
    if status >= 500 or status in (408, 409, 425):
        return ModelUnavailable(f"{endpoint.model} cannot answer now ({status}){said}", where=where)
    return ModelRefused(f"{endpoint.model} refused the request ({status}){said}", where=where)


def _wrong_key(status: int, said: str, endpoint: Endpoint, where: str) -> ModelRefused:
    name = endpoint.key_name or "the API key"
    if not endpoint.key:
        return ModelRefused(f"a key is needed, {name} is not set ({status}){said}", remedy=f"set {name}", where=where)
    what = "has no right to" if status == 403 else "is not accepted for"
    remedy = f"check {name}" if status == 401 else f"check the rights of the key in {name}"
    return ModelRefused(f"the key in {name} {what} {endpoint.model} ({status}){said}", remedy=remedy, where=where)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait as told by ``retry-after-ms`` or ``retry-after`` (seconds or an HTTP date), else None."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        if "retry-after" not in headers:
            return None
        told = headers["retry-after"]
        if re.fullmatch(r"\d+(\.\d+)?", told.strip()):
            return float(told)
        from email.utils import parsedate_to_datetime

        return max(0.0, parsedate_to_datetime(told).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def _parsed(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if isinstance(value, list) and value:  # Gemini wraps its error in a list
        value = value[0]
    return value if isinstance(value, dict) else {}


def _message(data: Mapping[str, Any]) -> str:
    for key in ("error", "message", "detail", "msg", "error_description"):
        value = data.get(key)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, dict) and (inner := _message(value)):
            return inner
        if isinstance(value, list) and value:
            return "; ".join(json.dumps(item) if not isinstance(item, str) else item for item in value)
    return ""


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."


def _first(patterns: tuple[re.Pattern[str], ...], text: str) -> int | None:
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    for pattern in patterns:
        if found := pattern.search(plain):
            return int(found.group(1))
    return None
