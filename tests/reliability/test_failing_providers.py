"""Providers that fail: tried again when that may help, replaced when it does not, never a tool run twice."""

from __future__ import annotations

import json
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.openai_server import OpenAIServer

HALF = "It says half of"
PODS = {"calls": [("pods", {})]}
DOWN = {"status": 503, "message": "the service is overloaded"}


def dripping() -> Iterator[Any]:
    """A stream that is never silent and never comes to its end."""
    while True:
        yield {"choices": [{"index": 0, "delta": {"content": HALF}}]}
        time.sleep(0.1)


PASSING: dict[str, list[Any]] = {
    "busy": [
        {"status": 429, "message": "slow down", "headers": {"Retry-After": "0.1"}},
        {"status": 429, "message": "slow down", "headers": {"Retry-After": "7"}},
        {"status": 429, "message": "slow down"},
        {"status": 408, "message": "timeout"},
    ],
    "down": [
        {"status": 500, "message": "oops"},
        {"status": 502, "body": "<html><h1>Bad Gateway</h1></html>"},
        DOWN,
        {"status": 504, "body": ""},
        {"status": 529, "message": "Overloaded"},
    ],
    "broken connection": [
        {"reset": True},
        {"content": HALF, "cut": 2},
        {"content": HALF, "cut": 2, "clean": True},
        {"events": ['{"choices": [{"delta": {"content": "It w']},
    ],
    "no answer": [
        {"body": '{"id": "x", "choices": [{"mess'},
        {"body": "<!doctype html><title>Sign in</title>", "type": "text/html"},
        {"body": ""},
        {"body": '{"id": "x", "object": "chat.completion", "choices": []}'},
        {"body": "[]"},
    ],
    "errors with status 200": [
        {"body": '{"error": {"message": "overloaded", "code": 503}}'},
        {"events": [{"error": {"message": "the worker died", "type": "server_error"}}]},
    ],
    "silence": [{"stall": "headers"}, {"content": HALF, "stall": "stream"}],
    "dripping": [lambda body: {"events": dripping()}],
}
ANTHROPIC = {
    "busy and down": [*PASSING["busy"][:2], DOWN, {"status": 529, "message": "Overloaded"}],
    "broken": [
        *PASSING["broken connection"][:3],
        PASSING["no answer"][0],
        {"events": [{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}]},
    ],
    "silence": PASSING["silence"],
}
REFUSALS: dict[str, tuple[Any, str]] = {
    "401": ({"status": 401, "message": "Incorrect API key provided: sk-test"}, "_API_KEY is not accepted"),
    "403": ({"status": 403, "message": "no access to this region"}, "has no right to scripted"),
    "404": ({"status": 404, "message": "The model `scripted` does not exist"}, "no model scripted there"),
}


@pytest.mark.parametrize(
    ("dialect", "failures"),
    [
        *(pytest.param("openai", each, id=f"openai: {name}") for name, each in PASSING.items()),
        *(pytest.param("anthropic", each, id=f"anthropic: {name}") for name, each in ANTHROPIC.items()),
    ],
)
def test_what_may_pass_is_tried_again_and_said(ask: Any, dialect: str, failures: list[Any]) -> None:
    """A failure after each step: what was looked at is neither lost nor looked at twice."""
    slow = failures in (PASSING["silence"], PASSING["dripping"])
    steps = [[[("mark", {"what": f"{number}"})], failure] for number, failure in enumerate(failures)]
    script = [*(reply for step in steps for reply in step), "It says `marked 0` [E1]."]
    asked = ask(script, dialect=dialect, settings="model_timeout: 1.5" if slow else "")
    assert asked.code == 0, asked.err
    assert asked.marks == [f"got {number}" for number in range(len(failures))]
    for number in range(len(failures)):
        failed, again = asked.bodies[2 * number + 1 : 2 * number + 3]
        assert failed == again, failures[number]
    waits = [float(seconds) for seconds in re.findall(r"trying again in (\S+) s", asked.err)]
    assert len(waits) == len(failures) and max(waits) < 1, "a wait was not said, or is above the cap"
    assert asked.out.startswith("It says `marked 0` [E1]."), "half an answer was printed"


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_a_stream_that_breaks_inside_a_call_does_not_run_it_twice(ask: Any, dialect: str) -> None:
    call = {"calls": [("mark", {"what": "long enough to be cut"})]}
    torn = [{**call, "cut": cut} for cut in (2, 3)]
    asked = ask([*torn, call, "done"], dialect=dialect)
    assert (asked.code, asked.marks) == (0, ["got long enough to be cut"]), asked.err


@pytest.mark.parametrize(("dialect", "name"), [*(("openai", name) for name in REFUSALS), ("anthropic", "401")])
def test_what_will_not_pass_fails_at_once_with_the_remedy(ask: Any, name: str, dialect: str) -> None:
    reply, words = REFUSALS[name]
    asked = ask([reply] * 3, dialect=dialect)
    assert (asked.code, len(asked.bodies), asked.out) == (1, 1, ""), asked.err
    assert words in asked.err and "→" in asked.err
    assert "sk-test" not in asked.err


def test_no_credit_left_is_no_reason_to_wait(ask: Any) -> None:
    asked = ask([{"status": 429, "message": "You exceeded your current quota", "code": "insufficient_quota"}])
    assert (asked.code, len(asked.bodies)) == (1, 1), asked.err
    assert "no credit left" in asked.err and "billing" in asked.err


@pytest.mark.parametrize("failure", [DOWN, REFUSALS["401"][0]], ids=["503", "401"])
def test_with_findings_in_hand_they_are_printed(ask: Any, failure: Any) -> None:
    asked = ask([PODS, *[failure] * 3])
    assert asked.code == 3, asked.err
    assert "OOMKilled exit 137" in asked.out and str(failure["status"]) in asked.out


def test_a_server_that_stays_down_is_given_up(ask: Any) -> None:
    asked = ask([DOWN] * 9)
    assert (asked.code, len(asked.bodies), asked.out) == (1, 3, ""), asked.err
    assert "cannot answer now (503): the service is overloaded" in asked.err


def test_the_total_deadline_holds(ask: Any) -> None:
    busy = {"status": 429, "message": "slow down", "headers": {"Retry-After": "0.2"}}
    settings = "model_retry: {tries: 1000, wait: 0.1, cap: 0.2}"
    asked = ask(lambda body: busy, "--max-seconds", "1", settings=settings)
    assert asked.code == 1, asked.err
    assert asked.seconds < 8
    assert len(asked.bodies) > 2 and "rate limited (429): slow down" in asked.err


@pytest.fixture
def second(tmp_path: Path) -> Iterator[OpenAIServer]:
    """Another model, named "second" in the model list."""
    with OpenAIServer(["The other says `marked once` [E1]."]) as server:
        (tmp_path / ".holmes").mkdir()
        entry = {"model": "openai/other", "api_base": server.url, "api_key": "k"}
        (tmp_path / ".holmes" / "model_list.yaml").write_text(json.dumps({"second": entry}))
        yield server


@pytest.mark.parametrize("failure", [DOWN, {"stall": "headers"}], ids=["down", "silent"])
def test_a_fallback_model_takes_over_with_what_was_found(ask: Any, second: OpenAIServer, failure: Any) -> None:
    settings = "model_timeout: 1\nmodel_retry: {tries: 2, wait: 0.02}\nfallback_models: [second]"
    asked = ask([[("mark", {"what": "once"})], *[failure] * 2], settings=settings)
    assert asked.code == 0, asked.err
    assert asked.out.startswith("The other says") and asked.marks == ["got once"]
    assert "is down" in asked.err and "second goes on" in asked.err
    assert second.refused == [] and "marked once" in str(second.bodies[0]["messages"])


def test_a_fallback_model_that_fails_too_leaves_what_was_found(ask: Any, second: OpenAIServer) -> None:
    second.script = [DOWN] * 3
    asked = ask([PODS, *[DOWN] * 3], settings="fallback_models: [second]")
    assert asked.code == 3, asked.err
    assert "OOMKilled exit 137" in asked.out


def test_https_to_a_server_that_speaks_http(ask: Any) -> None:
    asked = ask([], url=lambda url: url.replace("http:", "https:"))
    assert asked.code == 1
    assert "http instead of https?" in asked.err


def test_a_certificate_that_is_not_trusted(ask: Any, tmp_path: Path) -> None:
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    files = ["-keyout", key, "-out", certificate]
    subprocess.run(
        ["openssl", "req", "-x509", "-days", "2", "-subj", "/CN=x", *curve, *files], check=True, capture_output=True
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_shake_hands, args=(listener, context))
        thread.start()
        asked = ask([], url=lambda _: f"https://127.0.0.1:{listener.getsockname()[1]}/v1")
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert asked.code == 1
    assert "is not trusted" in asked.err and "SSL_CERT_FILE" in asked.err


def _shake_hands(listener: socket.socket, context: ssl.SSLContext) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:  # the test is over
            return
        try:
            context.wrap_socket(connection, server_side=True).close()
        except OSError:  # the client did not trust us
            connection.close()
