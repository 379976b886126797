"""Kubernetes Secrets as kubectl and the API print them; whole objects, lists, annotations, pieces."""

from __future__ import annotations

import base64
import json
import os

import pytest
import yaml

from holmes.core import masking
from holmes.core.masking import Masker

PLAIN = {"username": "appuser", "password": "hunter2", "config.yaml": "a: 1\nb: two words\n", "empty": ""}
DATA = {key: base64.b64encode(value.encode()).decode() for key, value in PLAIN.items()}
APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
META = {"name": "db", "namespace": "prod", "uid": "6f1e2d3c-4b5a-4978-8a6b-1c2d3e4f5a6b", "resourceVersion": "12987"}
NEEDLES = [value for value in [*DATA.values(), *PLAIN.values(), "two words"] if value]
SHARED = Masker()


def secret(*, applied: bool = False) -> dict[str, object]:
    metadata: dict[str, object] = dict(META)
    if applied:
        source = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "stringData": PLAIN}
        metadata["annotations"] = {APPLIED: json.dumps(source, separators=(",", ":")) + "\n"}
    return {"apiVersion": "v1", "data": DATA, "kind": "Secret", "metadata": metadata, "type": "Opaque"}


def config_map() -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "data": {"mode": "fast", "blob": "aGVsbG8gd29ybGQ="},
        "kind": "ConfigMap",
        "metadata": META,
    }


def as_list(*objects: object) -> dict[str, object]:
    return {"apiVersion": "v1", "items": list(objects), "kind": "List", "metadata": {"resourceVersion": ""}}


def forms(value: object) -> dict[str, str]:
    return {
        "yaml": yaml.safe_dump(value, sort_keys=True),
        "json": json.dumps(value, indent=4, sort_keys=True),
        "compact json": json.dumps(value, separators=(",", ":")),
        "json in json": json.dumps({"message": json.dumps(value)}),
    }


OBJECTS = {
    f"{name} as {form}": text
    for name, value in {
        "secret": secret(),
        "applied secret": secret(applied=True),
        "list": as_list(secret(applied=True), config_map(), secret()),
    }.items()
    for form, text in forms(value).items()
}


@pytest.mark.parametrize("text", OBJECTS.values(), ids=OBJECTS.keys())
@pytest.mark.parametrize("block", [1, 1 << 18], ids=["small blocks", "blocks"])
def test_no_value_of_a_secret_stays(text: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "_BLOCK", block)
    stream = SHARED.stream()
    masked = "".join(stream.feed(text[start : start + 61]) for start in range(0, len(text), 61)) + stream.finish()
    assert [needle for needle in NEEDLES if needle in masked] == []
    assert masked == SHARED.mask(text)
    assert SHARED.restore(masked) == text
    for kept in ("username", "config.yaml", "prod", META["uid"], "12987", "Opaque"):
        assert kept in masked
    if "ConfigMap" in text:
        assert "aGVsbG8gd29ybGQ=" in masked


def test_a_list_of_the_api_whose_items_have_no_kind() -> None:
    item = {"metadata": META, "data": DATA, "type": "Opaque"}
    masked = SHARED.mask(json.dumps({"kind": "SecretList", "apiVersion": "v1", "items": [item, item]}))
    assert [needle for needle in NEEDLES if needle in masked] == []


def test_a_secret_without_its_end() -> None:
    """The first lines of a Secret: its kind is out of sight."""
    lines = yaml.safe_dump(secret(), sort_keys=True).splitlines()
    masked = SHARED.mask("\n".join(lines[: lines.index("kind: Secret")]))
    assert [needle for needle in NEEDLES if needle in masked] == []


def test_a_secret_that_a_go_template_prints() -> None:
    data = " ".join(f"{key}:{value}" for key, value in DATA.items())
    masked = SHARED.mask(f"map[apiVersion:v1 data:map[{data}] kind:Secret metadata:map[name:db]]")
    assert [needle for needle in NEEDLES if needle in masked] == []


def test_a_large_secret_in_pieces_does_not_leak() -> None:
    blob = base64.b64encode(os.urandom(900_000)).decode()
    value = {
        "apiVersion": "v1",
        "data": {"release": blob, "user": DATA["username"]},
        "kind": "Secret",
        "metadata": META,
    }
    for text in forms(value).values():
        stream = SHARED.stream()
        pieces = [stream.feed(text[start : start + 65_536]) for start in range(0, len(text), 65_536)]
        masked = "".join([*pieces, stream.finish()])
        assert not any(blob[start : start + 40] in masked for start in range(0, len(blob) - 40, 4000))
        assert DATA["username"] not in masked
        assert len(masked) < 1000


def test_plain_data_is_not_a_secret() -> None:
    for text in forms(config_map()).values():
        assert SHARED.mask(text) == text
    answer = json.dumps({"status": "success", "data": {"resultType": "vector", "result": [{"value": [1, "2"]}]}})
    assert SHARED.mask(answer) == answer
