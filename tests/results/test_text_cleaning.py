"""What programs write becomes text that neither a terminal nor a model can be driven by."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holmes.core.text import StreamCleaner, clean, head_tail, one_line

CASES = {
    "plain": (b"one\ttwo\nthree\n", "one\ttwo\nthree\n"),
    "utf-8": ("naïve 🎉 数据库".encode(), "naïve 🎉 数据库"),
    "not utf-8": (b"caf\xe9 \xff\xf0 ok", "caf\ufffd \ufffd\ufffd ok"),
    "NUL and controls": (b"before\0after\x07\x08\x0b\x0c\x7f.", "beforeafter."),
    "colours": (b"\x1b[31;1merror\x1b[0m done", "error done"),
    "cursor moves": (b"\x1b[2J\x1b[1;1Hhidden\x1b[?25l\x1b[3A", "hidden"),
    "link, ended by ST": (b"\x1b]8;;https://evil.example\x1b\\text\x1b]8;;\x1b\\ more", "text more"),
    "link, ended by BEL": (b"\x1b]8;;https://evil.example\x07text\x1b]8;;\x07 more", "text more"),
    "title": (b"\x1b]0;rm -rf\x07ok", "ok"),
    "DCS, PM, APC, SOS": (b"\x1bPq1\x1b\\\x1b^a\x1b\\\x1b_b\x1b\\\x1bXc\x1b\\ok", "ok"),
    "C1 forms": ("\x9b31mred\x9b0m \x9d0;title\x9cok\x85".encode(), "red ok"),
    "short escapes": (b"\x1b7\x1b8\x1bc\x1b(B\x1b=ok\x1b", "ok"),
    "string that never ends": (b"\x1b]0;no end\nnext line", "]0;no end\nnext line"),
    "CRLF": (b"a\r\nb\r\r\nc\r\n", "a\nb\nc\n"),
    "progress bar": (b"10%\r50%\r100%\n", "10%\n50%\n100%\n"),
    "CR at the end": (b"done\r", "done\n"),
    "bidi": ("user\u202egnp.exe\u2066x\u2069".encode(), "usergnp.exex"),
    "zero width, BOM, soft hyphen": ("\ufeffpass\u200bwo\u00adrd\u2060".encode(), "password"),
    "tag characters": ("hi\U000e0069\U000e0067 there".encode(), "hi there"),
    "variation selectors": ("a\ufe01b\U000e0101c".encode(), "abc"),
    "Unicode line ends": ("a\u2028b\u2029c".encode(), "a\nb\nc"),
    "escape in escape": (b"\x1b[\x1b[31mx", "[x"),
    "unfinished escape at the end": (b"x\x1b[31", "x[31"),
}


@pytest.mark.parametrize(("data", "text"), CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("size", [1, 2, 3, 7, 10_000])
def test_cleaned_whatever_the_cut(data: bytes, text: str, size: int) -> None:
    cleaner = StreamCleaner()
    out = "".join(cleaner.feed(data[start : start + size]) for start in range(0, len(data), size)) + cleaner.finish()
    assert out == text


def test_lone_surrogates_are_replaced_and_pairs_joined() -> None:
    assert clean(json.loads(r'"a\ud800b\udc00"')) == "a\ufffdb\ufffd"
    assert clean("\ud83d" + "\ude00") == "😀"


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.lists(st.integers(1, 9), min_size=1, max_size=40))
def test_any_bytes_in_any_pieces_give_the_same_harmless_text(data: bytes, sizes: list[int]) -> None:
    data = data.replace(b"\x30", b"\x1b").replace(b"\x31", b"]").replace(b"\x32", b"[").replace(b"\x33", b"\r")
    whole = StreamCleaner()
    expected = whole.feed(data) + whole.finish()
    cleaner, out, start = StreamCleaner(), "", 0
    while start < len(data):
        size = sizes[start % len(sizes)]
        out += cleaner.feed(data[start : start + size])
        start += size
    assert out + cleaner.finish() == expected
    assert not any((ord(char) < 32 and char not in "\n\t") or 0x7F <= ord(char) < 0xA0 for char in expected)
    expected.encode("utf-8")
    assert clean(expected) == expected


def test_a_long_string_is_held_back_no_further_than_its_limit() -> None:
    cleaner = StreamCleaner()
    out = cleaner.feed(b"\x1b]0;") + "".join(cleaner.feed(b"x" * 1000) for _ in range(20))
    assert len(out) > 10_000


def test_clean_text_is_fast() -> None:
    line = b'2026-11-30T12:00:00.000Z level=info svc=checkout msg="request served"\n'
    for text, floor in ((line, 150), (line.replace(b"served", "sérved".encode()), 60)):
        data = text * 60_000
        started = time.process_time()
        cleaner = StreamCleaner()
        for start in range(0, len(data), 65_536):
            cleaner.feed(data[start : start + 65_536])
        assert len(data) / (time.process_time() - started) / 1e6 > floor


class TestHeadTail:
    def test_a_text_that_fits_is_all_head(self) -> None:
        assert head_tail("a\nb\n", 4) == ("a\nb\n", "")

    def test_cut_at_line_ends(self) -> None:
        text = "".join(f"line {number}\n" for number in range(100))
        head, tail = head_tail(text, 100)
        assert text.startswith(head)
        assert text.endswith(tail)
        assert head.endswith("\n")
        assert tail.startswith("line ")
        assert 60 < len(head) + len(tail) <= 100

    def test_one_long_line_is_cut_where_it_must_be(self) -> None:
        head, tail = head_tail("😀" * 1000, 11)
        assert (head, tail) == ("😀" * 6, "😀" * 5)

    def test_no_room(self) -> None:
        assert head_tail("abc", 0) == ("", "")


def test_one_line() -> None:
    assert one_line("  a\n\n b\tc ", 10) == "a b c"
    assert one_line("word " * 100, 11) == "word word…"
    assert one_line("", 5) == ""
    assert len(one_line("x" * 10_000, 80)) == 80
