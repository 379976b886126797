"""Reading on in a stored result."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from holmes.core import result_query, result_stats
from holmes.core.errors import StoreError
from holmes.core.local_results import LocalResults
from holmes.core.masking import Masker
from holmes.core.result_query import grep, lines, stats

pytestmark = pytest.mark.anyio
MASKER = Masker()


def stored(tmp_path: Path, text: str) -> Path:
    run = LocalResults(tmp_path, MASKER).run("r")
    sink = run.sink(run.next_reference())
    sink.write(text)
    return run.path(sink.finish().reference)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """12,000 lines, one of them an error."""
    text = [
        f"2026-11-30T12:{n // 60 % 60:02}:{n % 60:02}Z INFO request {n} served in {n % 90} ms" for n in range(12_000)
    ]
    text[5_000] = "2026-11-30T12:23:20Z ERROR checkout: connection to db-0 refused"
    return stored(tmp_path, "\n".join(text) + "\n")


@pytest.fixture
def long_line(tmp_path: Path) -> Path:
    """One line of 9 MB without a space."""
    return stored(tmp_path, "a1b2," * 1_000_000 + "NEEDLE" + ",c3d4" * 800_000)


class TestLines:
    async def test_a_range(self, log: Path) -> None:
        shown = await lines(log, 5_000, 5_002)
        assert shown.splitlines() == [
            "5000: 2026-11-30T12:23:19Z INFO request 4999 served in 49 ms",
            "5001: 2026-11-30T12:23:20Z ERROR checkout: connection to db-0 refused",
            "5002: 2026-11-30T12:23:21Z INFO request 5001 served in 51 ms",
        ]

    async def test_every_line_is_found_by_its_number(self, tmp_path: Path) -> None:
        text = [f"{number} {'x' * (number % 500)}" for number in range(1, 20_001)]
        path = stored(tmp_path, "\n".join(text))
        marks = json.loads(path.with_suffix(".json").read_text())["marks"]
        assert len(marks) > 3
        around = [before + more for before, _ in marks for more in (-1, 0, 1, 2, 3) if before + more <= 20_000]
        for number in [1, 2, 3, 9_999, 19_999, 20_000, *around]:
            assert (await lines(path, number, number)).startswith(f"{number}: {number} x"[: len(str(number)) * 2 + 2])

    async def test_the_end(self, log: Path) -> None:
        assert (await lines(log, 12_000, 13_000)).splitlines() == [
            "12000: 2026-11-30T12:19:59Z INFO request 11999 served in 29 ms"
        ]
        assert await lines(log, 12_001, 12_010) == "There are only 12,000 lines."
        assert await lines(log, 10, 5) == "No lines from 10 to 5."
        assert (await lines(log, -5, 1)).startswith("1: ")

    async def test_bounded_and_says_where_to_go_on(self, log: Path) -> None:
        shown = await lines(log, 1, 12_000)
        assert len(shown) < 21_000
        last = shown.splitlines()[-2].split(":")[0]
        assert shown.endswith(f"go on at line {int(last) + 1}")

    async def test_a_long_line_is_cut(self, long_line: Path) -> None:
        shown = await lines(long_line, 1, 1)
        assert shown.startswith("1: a1b2,a1b2")
        assert shown.endswith("bytes of this line)")
        assert len(shown) < 3_000

    async def test_an_empty_result(self, tmp_path: Path) -> None:
        assert await lines(stored(tmp_path, ""), 1, 10) == "There are only 0 lines."

    async def test_a_file_that_is_gone(self, tmp_path: Path) -> None:
        with pytest.raises(StoreError):
            await lines(tmp_path / "E1.txt", 1, 2)


class TestGrep:
    async def test_the_one_line(self, log: Path) -> None:
        found = await grep(log, r"ERROR\b.*refused$")
        assert found.matches == 1
        assert found.text.splitlines() == [
            "5001: 2026-11-30T12:23:20Z ERROR checkout: connection to db-0 refused",
            "(1 matching lines of 12,000)",
        ]

    async def test_context(self, log: Path) -> None:
        found = await grep(log, "ERROR|request (5002|6000) ", context=1)
        assert [line.split(" ")[0] for line in found.text.splitlines()[:-1]] == [
            *("5000-", "5001:", "5002-", "5003:", "5004-"),
            "--",
            *("6000-", "6001:", "6002-"),
        ]

    async def test_context_at_both_ends(self, tmp_path: Path) -> None:
        found = await grep(stored(tmp_path, "first\nmiddle\nlast"), "first|last", context=3)
        assert found.text.splitlines()[:-1] == ["1: first", "2- middle", "3: last"]

    async def test_many_matches_are_counted(self, log: Path) -> None:
        found = await grep(log, "served", limit=3)
        assert found.matches == 11_999
        assert found.text.splitlines()[3] == "(11,999 matching lines of 12,000; the first 3 are shown)"

    async def test_counting_ends(self, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(result_query, "_MOST_COUNTED", 100)
        found = await grep(log, "served", limit=3)
        assert found.matches == 100
        assert "at least 100 matching lines of 12,000" in found.text

    async def test_across_blocks(self, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(result_query, "_BLOCK", 1000)
        found = await grep(log, "request (17|11999) ", limit=5)
        assert [line.split(":")[0] for line in found.text.splitlines()[:2]] == ["18", "12000"]

    async def test_nothing_found(self, log: Path) -> None:
        found = await grep(log, "no such thing")
        assert (found.matches, found.text) == (0, "No line of 12,000 matches 'no such thing'.")
        assert "not \\|" in (await grep(log, r"foo\|bar")).text

    async def test_case(self, log: Path) -> None:
        assert (await grep(log, "error checkout", ignore_case=True)).matches == 1
        found = await grep(log, "error checkout")
        assert found.matches == 1
        assert "without regard to case" in found.text

    async def test_an_invalid_pattern_is_plain_text(self, tmp_path: Path) -> None:
        found = await grep(stored(tmp_path, "a call f(x[0]) here\n"), "f(x[0")
        assert found.matches == 1
        assert "not a valid RE2 pattern" in found.text
        assert (await grep(stored(tmp_path, "abc"), "(?<=a)b")).matches == 0

    async def test_a_pattern_cannot_hang(self, tmp_path: Path) -> None:
        started = time.monotonic()
        found = await grep(stored(tmp_path, "a" * 200_000 + "\n"), "(a+)+$b", limit=1)
        assert found.matches == 0
        assert time.monotonic() - started < 5

    async def test_empty_matches(self, tmp_path: Path) -> None:
        path = stored(tmp_path, "a\n\nb\n")
        assert (await grep(path, "^$")).text.startswith("2: \n")
        assert (await grep(path, "x*")).matches == 3
        assert (await grep(stored(tmp_path, ""), "x*")).matches == 0

    async def test_in_a_long_line(self, long_line: Path) -> None:
        found = await grep(long_line, "NEEDLE")
        assert found.matches == 1
        assert "a1b2,NEEDLE,c3d4" in found.text
        assert len(found.text) < 1_500

    async def test_the_answer_is_bounded(self, tmp_path: Path) -> None:
        path = stored(tmp_path, "\n".join("word " * 300 for _ in range(200)))
        found = await grep(path, "word", limit=200)
        assert len(found.text) < 21_000
        assert "more lines of this answer left out" in found.text


class TestStats:
    async def test_counts_patterns_times_and_errors(self, log: Path) -> None:
        shown = (await stats(log)).splitlines()
        assert shown[0].startswith("12,000 lines, ")
        assert shown[1] == "from 2026-11-30T12:00:00Z to 2026-11-30T12:19:59Z"
        assert shown[2] == "1 lines look like errors"
        assert "   11,999  <time> INFO request <n> served in <n> ms" in shown
        assert "        1  <time> ERROR checkout: connection to db-<n> refused" in shown

    async def test_lines_that_only_mention_errors_are_none(self, tmp_path: Path) -> None:
        shown = await stats(stored(tmp_path, 'level=info msg="0 errors"\nlevel=info msg="retry after error"\n'))
        assert "0 lines look like errors" in shown

    async def test_many_different_lines_stay_in_bounds(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(result_stats, "_MOST_KINDS", 50)
        monkeypatch.setattr(result_stats, "_KEPT_KINDS", 10)
        monkeypatch.setattr(result_stats, "_BLOCK", 2_000)
        words = [f"{chr(103 + n % 19)}{chr(103 + n // 19 % 19)}{chr(103 + n // 361)} is new" for n in range(3_000)]
        text = "\n".join(line for word in words for line in (word, "the same again"))
        shown = await stats(stored(tmp_path, text))
        assert shown.startswith("6,000 lines")
        assert "rare ones left out" in shown
        assert "    3,000  the same again" in shown

    async def test_a_long_line_and_nothing(self, long_line: Path, tmp_path: Path) -> None:
        shown = await stats(long_line)
        assert shown.startswith("1 lines, 9,000,006 bytes")
        assert len(shown) < 1_000
        assert (await stats(stored(tmp_path, ""))).startswith("0 lines, 0 bytes")

    async def test_fast(self, log: Path) -> None:
        started = time.process_time()
        await stats(log)
        assert log.stat().st_size / (time.process_time() - started) / 1e6 > 20
