"""Reads corpus.yaml: templates become made-up secrets, the same ones each time."""

from __future__ import annotations

import base64
import random
import re
import string
from pathlib import Path

import yaml

_ALPHABETS = {
    "an": string.ascii_letters + string.digits,
    "low": string.ascii_lowercase + string.digits,
    "up": string.ascii_uppercase + string.digits,
    "hex": "0123456789abcdef",
    "b64": string.ascii_letters + string.digits + "+/",
    "url": string.ascii_letters + string.digits + "-_",
    "num": string.digits,
    "word": string.ascii_lowercase,
}
_RANDOM = re.compile(r"\{(an|low|up|hex|b64|url|num|word):(\d+)\}")
_DASHES = re.compile(r"\{-(\d)\}")
_ENCODED = re.compile(r"\{((?:[^{}|]|\{[^|]*\})*)\|(base64|base64url)\}", re.DOTALL)


def fill(template: str, seed: str) -> str:
    """The text of a template; the same seed gives the same text."""
    chance = random.Random(seed)

    def characters(found: re.Match[str]) -> str:
        name, size = found[1], int(found[2])
        text = "".join(chance.choice(_ALPHABETS[name]) for _ in range(size))
        if name in ("url", "b64"):  # never a separator at an end: what ends there is up to the text around
            text = "a" + text[1:-1] + "7" if size > 1 else "a"
        return text if name in ("num", "word") or size < 8 else _mixed(text, name)

    def encoded(found: re.Match[str]) -> str:
        body = found[1].replace("{{", "{").replace("}}", "}")
        if found[2] == "base64":
            return base64.b64encode(body.encode()).decode()
        return base64.urlsafe_b64encode(body.encode()).decode().rstrip("=")

    text = _DASHES.sub(lambda found: "-" * int(found[1]), template)
    return _ENCODED.sub(encoded, _RANDOM.sub(characters, text))


def _mixed(text: str, name: str) -> str:
    """Random text of that length has letters and digits; make sure of it."""
    letters = {"an": "aB", "b64": "aB", "url": "aB", "low": "ab", "up": "AB", "hex": "ab"}[name]
    return text[:1] + letters[0] + "7" + letters[1] + text[4:]


def secrets() -> list[tuple[str, str, str]]:
    """(kind, text, secret) of each case."""
    cases = []
    for number, case in enumerate(_load()["secrets"]):
        secret = fill(case["secret"], str(number))
        template = case["text"]
        text = fill(template, str(number)) if case.get("same") else template.replace("{s}", secret)
        cases.append((case["kind"], text, secret))
    return cases


def harmless() -> list[str]:
    """Texts in which nothing is to be masked."""
    return [fill(text, str(number)) if "|" in text or "{-" in text else text for number, text in enumerate(_load()["harmless"])]


def _load() -> dict[str, list]:
    return yaml.safe_load((Path(__file__).parent / "corpus.yaml").read_text("utf-8"))
