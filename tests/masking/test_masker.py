"""Placeholders, the way back, our own credentials, JSON values, secrets that line breaks cut, and limits."""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holmes.core import masking
from holmes.core.masking import Masker

KEY_ID = "AKIA" + "IOSFODNN7EXAMPLE"
SECRET_KEY = "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY"
SHARED = Masker()


def test_the_same_secret_gets_the_same_placeholder_wherever_it_stands() -> None:
    masker = Masker()
    first = masker.mask("password=Tr0ub4dor")
    second = masker.mask('{"password": "Tr0ub4dor", "other_password": "Tr0ub4dor3"}')
    placeholder = first.removeprefix("password=")
    assert re.fullmatch(r"\[MASKED:password:[0-9a-f]{4}\]", placeholder)
    assert second.count(placeholder) == 1
    assert len(re.findall(r"\[MASKED:", second)) == 2


def test_another_masker_gives_another_placeholder() -> None:
    assert len({Masker().mask("password=Tr0ub4dor") for _ in range(4)}) > 1


def test_placeholders_of_many_secrets_differ() -> None:
    masker = Masker()
    masked = masker.mask("\n".join(f"password=Tr0ub4dor{number}" for number in range(3000)))
    assert len(set(masked.splitlines())) == 3000
    assert masker.restore(masked) == "\n".join(f"password=Tr0ub4dor{number}" for number in range(3000))


def test_more_secrets_than_fit_in_memory_are_masked_but_not_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "_MOST_SECRETS", 2)
    masker = Masker()
    text = "password=Tr0ub4dor1 password=Tr0ub4dor2 password=Tr0ub4dor3"
    masked = masker.mask(text)
    assert "Tr0ub4dor" not in masked
    assert masker.mask(text) == masked
    assert masker.restore(masked).startswith("password=Tr0ub4dor1 password=Tr0ub4dor2 password=[MASKED:password:")


def test_placeholders_that_the_masker_did_not_give_out_stay() -> None:
    assert Masker().restore("psql -W [MASKED:password:1a2b]") == "psql -W [MASKED:password:1a2b]"


def test_clean_text_comes_back_as_it_is() -> None:
    text = "nothing to see here: 42 pods, naïve café \ud800"
    assert SHARED.mask(text) is text
    assert SHARED.used == frozenset()


class TestOwnCredentials:
    value = 'aK3/x"9+Zq72'

    def test_occurrences_in_any_spelling_are_masked(self) -> None:
        masker = Masker({self.value: "GRAFANA_TOKEN"})
        spellings = [
            self.value,
            quote(self.value, safe=""),
            json.dumps(self.value)[1:-1],
            base64.b64encode(self.value.encode()).decode(),
            base64.b64encode(b"user:" + self.value.encode()).decode(),
        ]
        for text in spellings:
            masked = masker.mask(f"sent {text} to the server")
            assert text not in masked
            assert "own-credential" in masked
        assert "own-credential" in masker.used

    def test_short_values_are_left_alone(self) -> None:
        assert Masker({"admin": "DB_USER_PASSWORD"}).mask("the admin logged in") == "the admin logged in"

    def test_values_in_two_pieces_are_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(masking, "_BLOCK", 1)
        stream = Masker({"correct-horse-battery": "X_TOKEN"}).stream()
        assert "horse" not in stream.feed("we sent correct-ho") + stream.feed("rse-battery again\n") + stream.finish()


class TestTree:
    def test_keys_stay_and_values_beside_secret_keys_go(self) -> None:
        masker = Masker()
        tree = {
            "user": "bob",
            "password": "plain words too",
            "nested": [{"apiKey": "a1b2c3d4e5f6g7h8", "pin": 3}, "token=ghp_" + "a1B2" * 9],
            "tokens": 512,
            "max_tokens": 4096,
            "secretName": "app-tls",
            "passwords": ["one1", "two2"],
            "enabled": True,
            "password_numeric": None,
        }
        masked = masker.mask_tree(tree)
        assert list(masked) == list(tree)
        assert masked["password"].startswith("[MASKED:password:")
        assert masked["nested"][0]["apiKey"].startswith("[MASKED:api-key:")
        assert masked["nested"][1].startswith("token=[MASKED:github-token:")
        assert all(item.startswith("[MASKED:password:") for item in masked["passwords"])
        unchanged = ("user", "tokens", "max_tokens", "secretName", "enabled", "password_numeric")
        assert {key: masked[key] for key in unchanged} == {key: tree[key] for key in unchanged}
        assert masker.restore(json.dumps(masked)) == json.dumps(tree)
        assert masker.mask_tree(masked) == masked

    def test_environment_lists(self) -> None:
        masked = SHARED.mask_tree({"env": [{"name": "DB_PASSWORD", "value": "plain"}, {"name": "MODE", "value": "x"}]})
        assert masked["env"][0]["name"] == "DB_PASSWORD"
        assert masked["env"][0]["value"].startswith("[MASKED:password:")
        assert masked["env"][1] == {"name": "MODE", "value": "x"}

    def test_kubernetes_secrets_and_no_other_data(self) -> None:
        secret = {"kind": "Secret", "data": {"user": "Ym9i"}, "stringData": {"note": "any words"}}
        masked = SHARED.mask_tree({"items": [secret, {"kind": "ConfigMap", "data": {"user": "Ym9i"}}]})["items"]
        assert masked[0]["data"]["user"].startswith("[MASKED:kubernetes-secret:")
        assert masked[0]["stringData"]["note"].startswith("[MASKED:kubernetes-secret:")
        assert masked[1]["data"] == {"user": "Ym9i"}

    def test_other_values_stay_what_they_are(self) -> None:
        assert SHARED.mask_tree({"a": [1, 2.5, None, True]}) == {"a": [1, 2.5, None, True]}
        assert SHARED.mask_tree("password=Tr0ub4dor").startswith("password=[MASKED:")


class TestCutByALineBreak:
    def test_a_key_on_two_lines(self) -> None:
        masked = SHARED.mask(f"id {KEY_ID[:12]}\n{KEY_ID[12:]} end")
        assert re.fullmatch(r"id (\[MASKED:aws-access-key-id:[0-9a-f]+\])\n\1 end", masked)

    def test_a_key_on_two_log_lines(self) -> None:
        masked = SHARED.mask(f"2026-11-30T12:00:00Z got {KEY_ID[:12]}\n2026-11-30T12:00:01Z {KEY_ID[12:]}\nok")
        assert KEY_ID[:12] not in masked
        assert KEY_ID[12:] not in masked
        assert masked.startswith("2026-11-30T12:00:00Z got [MASKED")
        assert "2026-11-30T12:00:01Z [MASKED" in masked

    def test_a_value_on_two_lines(self) -> None:
        masked = SHARED.mask(f"aws_secret_access_key={SECRET_KEY[:22]}\n{SECRET_KEY[22:]}\nnext=1")
        assert SECRET_KEY[:22] not in masked
        assert SECRET_KEY[22:] not in masked
        assert masked.endswith("\nnext=1")

    def test_a_token_cut_short(self) -> None:
        assert "a1B2" not in SHARED.mask("token ghp_" + "a1B2" * 7 + "...")

    def test_a_secret_key_beside_its_id(self) -> None:
        masked = SHARED.mask(f"{KEY_ID},{SECRET_KEY},eu-west-1")
        assert re.fullmatch(r"\[MASKED:aws-access-key-id:\w+\],\[MASKED:aws-secret-key:\w+\],eu-west-1", masked)


@settings(max_examples=150, deadline=None)
@given(
    st.text(alphabet=st.sampled_from("ab1:=\"'{}[]\n \\/+-._@é😀") | st.sampled_from("AKpwd"), max_size=300),
    st.sampled_from(
        ["password=", '"token": "', "Authorization: Bearer ", "data:\n  ", "-----BEGIN RSA PRIVATE KEY-----\n"]
    ),
    st.integers(1, 40),
)
def test_any_text_in_any_pieces(text: str, start: str, size: int) -> None:
    """Nothing is lost or doubled, pieces give the same as the whole, and masking again changes nothing."""
    document = f"{text}\n{start}{text}\n"
    whole = SHARED.mask(document)
    stream = SHARED.stream()
    pieces = "".join(stream.feed(document[at : at + size]) for at in range(0, len(document), size)) + stream.finish()
    assert pieces == whole
    assert SHARED.restore(whole) == document
    assert SHARED.mask(whole) == whole


def test_several_threads_agree() -> None:
    masker = Masker()
    text = "\n".join(f"password=Tr0ub4dor{number}" for number in range(300))
    results: list[str] = []
    threads = [threading.Thread(target=lambda: results.append(masker.mask(text))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(results)) == 1
    assert masker.restore(results[0]) == text


HOSTILE = {
    "one letter": "a",
    "path": "/a.a_b",
    "open json": '{"data":{"a":"dGVzdA=="},',
    "secrets as YAML": "data:\n  a: dGVzdA==\n",
    "begin without end": "-----BEGIN " + "PRIVATE KEY-----\n",
    "open quotes": 'password="',
    "block scalars": "password: |\n",
    "base64": "cGFzc3dvcmQ",
    "hashes": "$1$",
    "commands": "curl -u a:$b ",
    "urls": "://a:b",
    "compared": "'a' == password ",
    "tokens": "ghp_abcdef\n",
    "keys": "_key:",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_takes_linear_time(piece: str) -> None:
    """Four times the text takes about four times the time, not sixteen."""
    text = f"password={piece * (60_000 // len(piece))}"
    masker = Masker()
    masker.mask(text[:1000])
    started = time.process_time()
    masker.mask(text[: len(text) // 4])
    quarter = time.process_time() - started
    started = time.process_time()
    masker.mask(text)
    assert time.process_time() - started < 10 * quarter + 0.2
