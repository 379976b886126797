"""The words of providers, and what we make of them."""

from __future__ import annotations

import json
from email.utils import formatdate
from time import time

import pytest

from holmes.core.errors import ContextTooLong, ModelRefused, ModelUnavailable
from holmes.llm.amendments import Amendments
from holmes.llm.refusals import Endpoint, Refusal, model_error, retry_after

ENDPOINT = Endpoint(
    "https://x/v1/chat/completions", "m", "https://x/v1/chat/completions", "OPENAI_API_KEY", "sk-secret"
)

TOO_LONG = [
    (400, "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000.", 128000),
    (400, "This model's maximum context length is 8,192 tokens. However, you requested 9,000 tokens.", 8192),
    (
        400,
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
        272000,
    ),
    (400, "Your input exceeds the context window of this model. Please adjust your input and try again.", None),
    (400, "prompt is too long: 210000 tokens > 200000 maximum", 200000),
    (400, "input length and `max_tokens` exceed context limit: 199990 + 20000 > 200000, decrease input", 200000),
    (400, "The decoder prompt (length 9000) is longer than the maximum model length of 8192.", 8192),
    (400, "You passed 9001 input tokens. However, the model's context length is only 8192 tokens.", 8192),
    (400, "request (5087 tokens) exceeds the available context size (4096 tokens), try increasing it", 4096),
    (500, "the request exceeds the available context size, try increasing it", None),
    (400, "the input length exceeds the context length", None),
    (400, "This model's maximum prompt length is 131072 but the request contains 200000 tokens.", 131072),
    (400, "Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32768),
    (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1048576),
    (400, "Input is too long for requested model.", None),
    (413, "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7000", 6000),
]


@pytest.mark.parametrize(("status", "message", "limit"), TOO_LONG)
def test_a_context_that_is_too_long_is_known_in_every_providers_words(
    status: int, message: str, limit: int | None
) -> None:
    for text in (message, json.dumps({"error": {"message": message}}), json.dumps({"error": message})):
        error = model_error(Refusal(status, text), ENDPOINT)
        assert isinstance(error, ContextTooLong)
        assert error.limit == limit


def test_llama_cpp_tells_its_window_in_a_field() -> None:
    body = {"error": {"code": 400, "message": "too long", "type": "exceed_context_size_error", "n_ctx": 4096}}
    assert Refusal(400, json.dumps(body)).too_long
    assert Refusal(400, json.dumps(body)).limit == 4096


@pytest.mark.parametrize(
    ("message", "room"),
    [
        ("maximum context length is 8192 tokens and your request has 6000 input tokens (4096 > 8192 - 6000)", 2192),
        (
            "maximum context length is 8192 tokens. However, you requested 9000 (6000 in the messages, 3000 in ...)",
            2192,
        ),
        ("exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens`", 10000),
        ("maximum context length is 8192 tokens and your request has 8100 input tokens", 92),
        ("maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens", None),
    ],
)
def test_the_room_for_an_answer_is_known_when_it_is_told(message: str, room: int | None) -> None:
    assert Refusal(400, message).room == room


@pytest.mark.parametrize(
    ("status", "body", "error", "words"),
    [
        (401, {"error": {"message": "Incorrect API key: sk-secret"}}, ModelRefused, "the key in OPENAI_API_KEY is not"),
        (403, {"message": "no"}, ModelRefused, "has no right to m"),
        (402, {"error": {"message": "Insufficient credits"}}, ModelRefused, "no credit left"),
        (404, {"detail": "Not Found"}, ModelRefused, "no model m there"),
        (422, {"detail": [{"loc": ["body", "x"], "msg": "bad"}]}, ModelRefused, "refused the request"),
        (408, {}, ModelUnavailable, "cannot answer now"),
        (502, [{"error": {"message": "gone"}}], ModelUnavailable, "gone"),
    ],
)
def test_errors_say_what_where_and_never_the_key(status: int, body: object, error: type, words: str) -> None:
    found = model_error(Refusal(status, json.dumps(body)), ENDPOINT)
    assert type(found) is error
    assert words in str(found)
    assert str(found).startswith("https://x/v1/chat/completions: ")
    assert "sk-secret" not in str(found)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        *[({"retry-after": "7"}, 7), ({"retry-after": "1.5"}, 1.5), ({"retry-after-ms": "250"}, 0.25), ({}, None)],
        *[({"retry-after": "soon"}, None), ({"retry-after": "-5"}, None)],
    ],
)
def test_retry_after_is_read(headers: dict, seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_retry_after_may_be_a_date() -> None:
    assert retry_after({"retry-after": formatdate(time() + 30, usegmt=True)}) == pytest.approx(30, abs=2)
    assert retry_after({"retry-after": formatdate(time() - 30, usegmt=True)}) == 0


def learn(sent: dict, message: str, status: int = 400, **more: object) -> tuple[str, dict]:
    amendments = Amendments()
    change = amendments.learn(sent, Refusal(status, json.dumps({"error": {"message": message, **more}})))
    return change, amendments.apply(sent)


@pytest.mark.parametrize(
    ("sent", "message", "expected"),
    [
        ({"max_tokens": 9}, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "renamed"),
        ({"max_completion_tokens": 9}, "max_completion_tokens: Extra inputs are not permitted", "renamed"),
        (
            {"max_tokens": 9000},
            "max_tokens is too large: 9000. This model supports at most 4096 completion tokens",
            4096,
        ),
        ({"max_tokens": 9000}, "max_tokens: 9000 > 8192, which is the maximum allowed number of output tokens", 8192),
        ({"max_tokens": 9000}, "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8192),
        ({"temperature": 0}, "Unsupported value: 'temperature' does not support 0 with this model.", "dropped"),
        ({"temperature": 0}, "`temperature` may only be set to 1 when thinking is enabled", "dropped"),
        ({"stream": True, "stream_options": {}}, "Unrecognized request argument supplied: stream_options", "dropped"),
        ({"parallel_tool_calls": True}, "unknown field `parallel_tool_calls`", "dropped"),
        ({"reasoning_effort": "low"}, "property 'reasoning_effort' is unsupported", "dropped"),
        ({"output_config": {"effort": "low"}}, "This model does not support the effort parameter.", "dropped"),
    ],
)
def test_parameters_that_are_refused_are_left_out_or_renamed(sent: dict, message: str, expected: object) -> None:
    change, applied = learn({"model": "m", "messages": [], **sent}, message)
    assert change
    last = list(sent)[-1]
    if expected == "renamed":
        assert applied.keys() >= {"max_tokens", "max_completion_tokens"} - sent.keys()
    elif expected == "dropped":
        assert last not in applied
    else:
        assert applied["max_tokens"] == expected


@pytest.mark.parametrize(
    ("given", "sent", "left"),
    [(2000, 4096, 2048), (6144, 4096, 2048), (6145, 4096, None), (2000, 2048, None), (9000, 4096, None)],
)
def test_the_share_of_the_answer_shrinks_to_a_quarter_of_the_window_and_no_further(
    given: int, sent: int, left: int | None
) -> None:
    amendments, body = Amendments(), {"model": "m", "messages": [], "max_tokens": sent}
    said = f"maximum context length is 8192 tokens and your request has {given} input tokens"
    change = amendments.make_room(body, Refusal(400, said))
    assert bool(change) is (left is not None)
    assert amendments.apply(body)["max_tokens"] == (left or sent)


@pytest.mark.parametrize("message", ["Invalid value for messages", "gemma does not support tools", "temperature rises"])
def test_other_refusals_teach_nothing(message: str) -> None:
    sent = {"model": "m", "messages": [], "tools": [], "temperature": 0}
    assert learn(sent, message) == ("", sent)


def test_the_parameter_that_the_provider_names_is_the_one() -> None:
    sent = {"model": "m", "messages": [], "temperature": 0, "seed": 1}
    change, applied = learn(sent, "temperature and seed: one is wrong", param="seed")
    assert (change, applied.keys()) == ("seed left out", {"model", "messages", "temperature"})
    assert learn(sent, "no", status=500)[0] == ""


def test_only_the_inner_key_is_left_out_when_it_is_the_one() -> None:
    sent = {"model": "m", "messages": [], "output_config": {"effort": "low", "format": {}}}
    change, applied = learn(sent, "output_config.effort: not supported by this model")
    assert change == "output_config.effort left out"
    assert applied["output_config"] == {"format": {}}
