"""Every kind of secret is found and nothing else: the labelled corpus, whole and in pieces."""

from __future__ import annotations

import base64
import random
import re
import string
from pathlib import Path
from typing import Any

import pytest
import yaml

from holmes.core import masking, secret_keys, secret_kinds
from holmes.core.masking import Masker

_ALPHABETS = {
    "an": string.ascii_letters + string.digits,
    "low": string.ascii_lowercase + string.digits,
    "up": string.ascii_uppercase + string.digits,
    "hex": "0123456789abcdef",
    "b64": string.ascii_letters + string.digits + "+/",
    "url": string.ascii_letters + string.digits + "-_",
    "num": string.digits,
}
_RANDOM = re.compile(r"\{(an|low|up|hex|b64|url|num):(\d+)\}")
_DASHES = re.compile(r"\{-(\d)\}")
_ENCODED = re.compile(r"\{((?:[^{}|]|\{[^|]*\})*)\|(base64|base64url)\}", re.DOTALL)
_PLACEHOLDER = re.compile(r"\[MASKED:([a-z0-9-]+):[0-9a-f]{4,16}\]")


def fill(template: str, seed: str) -> str:
    """The text of a template; the same seed gives the same text."""
    chance = random.Random(seed)

    def characters(found: re.Match[str]) -> str:
        name, size = found[1], int(found[2])
        text = "".join(chance.choice(_ALPHABETS[name]) for _ in range(size))
        if name == "num" or size < 8:
            return text
        # Letters and digits, as long random text has them, and no separator at an end.
        letters = {"up": "AB", "hex": "ab", "low": "ab"}.get(name, "aB")
        return f"{letters[0]}{text[1:2] if text[1].isalnum() else 'x'}{letters[1]}7{text[4:-1]}{letters[0]}"

    def encoded(found: re.Match[str]) -> str:
        body = found[1].replace("{{", "{").replace("}}", "}").encode()
        return (
            base64.b64encode(body).decode()
            if found[2] == "base64"
            else base64.urlsafe_b64encode(body).decode().rstrip("=")
        )

    text = _DASHES.sub(lambda found: "-" * int(found[1]), template)
    return _ENCODED.sub(encoded, _RANDOM.sub(characters, text))


def corpus() -> dict[str, list[Any]]:
    return yaml.safe_load((Path(__file__).parent / "corpus.yaml").read_text("utf-8"))


def secrets() -> list[tuple[str, str, str]]:
    """(kind, text, secret) of each case."""
    cases = []
    for number, case in enumerate(corpus()["secrets"]):
        secret = fill(case["secret"], str(number))
        text = fill(case["text"], str(number)) if case.get("same") else case["text"].replace("{s}", secret)
        cases.append((case["kind"], text, secret))
    return cases


def harmless() -> list[str]:
    return [
        fill(text, str(number)) if "|base64" in text or "{-" in text else text
        for number, text in enumerate(corpus()["harmless"])
    ]


SECRETS = secrets()
HARMLESS = harmless()
# Compiled once for all tests here; placeholders of one case do not matter to another.
MASKER = Masker()


@pytest.mark.parametrize(("kind", "text", "secret"), SECRETS, ids=[f"{n}-{case[0]}" for n, case in enumerate(SECRETS)])
def test_a_secret_is_masked_and_nothing_around_it(kind: str, text: str, secret: str) -> None:
    masker = Masker()
    masked = masker.mask(text)
    assert secret in text
    assert secret not in masked
    assert _PLACEHOLDER.sub("*", masked) == text.replace(secret, "*")
    assert _PLACEHOLDER.findall(masked) == [kind]
    assert masker.used == {kind}
    assert masker.restore(masked) == text


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert MASKER.mask(text) == text


def test_the_corpus_has_at_least_25_kinds() -> None:
    assert len({kind for kind, _, _ in SECRETS}) >= 60


def test_all_kinds_are_documented() -> None:
    kinds = {token.kind for token in secret_kinds.TOKENS} | {shape.kind for shape in secret_kinds.SHAPES}
    kinds |= {kind for _, kind in secret_keys._KINDS} | {"kubernetes-secret", "own-credential", "encoded-secret"}
    assert kinds - set(re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)*", secret_kinds.__doc__ or "")) == set()


def test_masking_twice_changes_nothing() -> None:
    for _, text, _ in SECRETS:
        once = MASKER.mask(text)
        assert MASKER.mask(once) == once


@pytest.mark.parametrize("block", [1, 13, 400])
def test_pieces_give_the_same_as_the_whole(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """Whatever the cut: also when the stream looks at very small blocks."""
    monkeypatch.setattr(masking, "_BLOCK", block)
    chance = random.Random(block)
    for text in [text for _, text, _ in SECRETS] + HARMLESS:
        document = f"the line before\n{text}\nthe line behind\n"
        stream = MASKER.stream()
        out, position = "", 0
        while position < len(document):
            size = chance.randint(1, 50)
            out += stream.feed(document[position : position + size])
            position += size
        assert out + stream.finish() == MASKER.mask(document)


def test_a_long_log_with_a_secret_here_and_there_is_masked_across_all_blocks() -> None:
    lines = []
    for number in range(20_000):
        lines.append(f'2026-11-30T12:00:00Z level=info msg="request {number:x} served" pod=web-{number % 97}')
        if number % 1000 == 999:
            lines.append(SECRETS[number // 1000][1])
    document = "\n".join(lines)
    stream = MASKER.stream()
    out = "".join(stream.feed(document[start : start + 65_537]) for start in range(0, len(document), 65_537))
    out += stream.finish()
    assert out == MASKER.mask(document)
    assert not any(secret in out for _, _, secret in SECRETS[:20])
    assert stream.kinds == {kind for kind, _, _ in SECRETS[:20]}


def test_a_line_without_end_is_masked_across_all_blocks() -> None:
    pieces = [f'{{"id":{number},"note":"nothing to see"}}' for number in range(40_000)]
    for number, (_, text, _) in enumerate(SECRETS[:5]):
        pieces.insert(7000 * (number + 1), f'{{"text":"{text}"}}'.replace("\n", " "))
    document = ",".join(pieces)
    stream = MASKER.stream()
    out = "".join(stream.feed(document[start : start + 50_000]) for start in range(0, len(document), 50_000))
    out += stream.finish()
    assert not any(secret in out for _, _, secret in SECRETS[:5])
    assert MASKER.restore(out) == document
