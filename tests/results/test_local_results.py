"""Results on disk: cleaned, masked, found again, in bounded memory, and never in the way of a run."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from holmes.core import local_results
from holmes.core.errors import StoreError, UsageError
from holmes.core.local_results import LocalResults, LocalRun
from holmes.core.masking import Masker

MASKER = Masker()
TOKEN = "ghp_" + "a1B2" * 9


def keep(run: LocalRun, *chunks: bytes | str) -> str:
    """Store a result; its reference."""
    sink = run.sink(run.next_reference())
    for chunk in chunks:
        sink.write(chunk)
    return sink.finish().reference


@pytest.fixture
def run(tmp_path: Path) -> LocalRun:
    return LocalResults(tmp_path / "runs", MASKER).run("run-1")


def test_a_small_result_is_all_head(run: LocalRun) -> None:
    sink = run.sink(run.next_reference())
    sink.write(b"one\ntw")
    sink.write("o\nthree")
    stored = sink.finish()
    assert (stored.reference, stored.head, stored.tail, stored.size, stored.lines) == (
        "E1",
        "one\ntwo\nthree",
        "",
        13,
        3,
    )
    assert stored.whole
    assert sink.size == 13
    assert run.stored("E1") == stored
    assert run.path("E1").read_text() == "one\ntwo\nthree"
    assert run.read("E1") == "one\ntwo\nthree"
    assert run.read("E1", 5) == "one\nt"


def test_an_empty_result(run: LocalRun) -> None:
    stored = run.stored(keep(run))
    assert stored is not None
    assert (stored.head, stored.size, stored.lines, stored.whole) == ("", 0, 0, True)


def test_cleaned_and_masked_before_it_reaches_the_disk(run: LocalRun) -> None:
    text = f"\x1b[31merror\x1b[0m\r\nuses {TOKEN} \u202eok\0\n".encode()
    reference = keep(run, text[:20], text[20:30], text[30:])
    on_disk = run.path(reference).read_text()
    assert on_disk.startswith("error\nuses [MASKED:github-token:")
    assert on_disk.endswith("] ok\n")
    stored = run.stored(reference)
    assert stored is not None
    assert stored.masked == ("github-token",)


def test_only_the_owner_can_read_them(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        run = LocalResults(tmp_path / "runs", MASKER).run("run-1")
        keep(run, "text")
    finally:
        os.umask(before)
    assert (tmp_path / "runs/run-1").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "runs/run-1").iterdir()} == {0o600}


def test_a_large_result_has_head_and_tail(tmp_path: Path) -> None:
    run = LocalResults(tmp_path, MASKER, kept=100).run("r")
    text = "".join(f"line {number}\n" for number in range(100_000))
    reference = keep(run, *(text[start : start + 9999] for start in range(0, len(text), 9999)))
    for stored in (run.stored(reference), LocalResults(tmp_path, MASKER, kept=100).run("r").stored(reference)):
        assert stored is not None
        assert (stored.head, stored.tail) == (text[:100], text[-100:])
        assert (stored.size, stored.lines, stored.whole) == (len(text), 100_000, False)
    assert run.path(reference).read_text() == text
    assert run.read(reference) == text


def test_a_character_at_the_cut_is_not_split(tmp_path: Path) -> None:
    run = LocalResults(tmp_path, MASKER, kept=3).run("r")
    text = "😀é" * 5
    reference = keep(run, *(text.encode()[at : at + 1] for at in range(len(text.encode()))))
    stored = LocalResults(tmp_path, MASKER, kept=3).run("r").stored(reference)
    assert stored is not None
    assert (stored.head, stored.tail) == (text[:3], text[-3:])
    assert run.read(reference, 6) == "😀é"
    assert run.read(reference, 5) == "😀"


def test_a_run_that_goes_on_sees_its_old_results_and_counts_on(tmp_path: Path) -> None:
    first = LocalResults(tmp_path, MASKER).run("r")
    assert [keep(first, "one"), keep(first, f"two {TOKEN}")] == ["E1", "E2"]
    unfinished = first.sink(first.next_reference())
    unfinished.write("never finished")
    first.close()
    again = LocalResults(tmp_path, MASKER).run("r")
    assert again.next_reference() == "E4"
    stored = again.stored("E2")
    assert stored is not None
    assert stored.masked == ("github-token",)
    assert again.contains("E1", "one")
    assert again.stored("E3") is None
    assert LocalResults(tmp_path, MASKER).run("other").stored("E1") is None


def test_unknown_references_and_run_ids(run: LocalRun, tmp_path: Path) -> None:
    keep(run, "text")
    for reference in ("E2", "E0", "", "../run-1/E1", "E1.txt"):
        assert run.stored(reference) is None
        assert not run.contains(reference, "text")
        assert run.read(reference) == ""
        with pytest.raises(StoreError):
            run.path(reference)
    for run_id in ("", "..", "../x", "a/b", ".hidden", "x" * 200):
        with pytest.raises(UsageError):
            LocalResults(tmp_path, MASKER).run(run_id)


class TestContains:
    def test_white_space_does_not_matter(self, run: LocalRun) -> None:
        reference = keep(run, "NAME   READY\nweb-1  \t 0/1\n\n  CrashLoopBackOff\n")
        assert run.contains(reference, "web-1 0/1 CrashLoopBackOff")
        assert run.contains(reference, " NAME\n READY web-1")
        assert not run.contains(reference, "web-1 1/1")
        assert not run.contains(reference, "  ")

    def test_in_a_file_over_the_borders_of_its_blocks(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(local_results, "_PIECE", 5000)
        run = LocalResults(tmp_path, MASKER, kept=10).run("r")
        text = "\n".join(f"line   {number}  of é many" for number in range(2000))
        reference = keep(run, text)
        for number in range(0, 1999, 7):
            assert run.contains(reference, f"line {number} of é many line {number + 1} of")
        assert run.contains(reference, "many")
        assert not run.contains(reference, "line 5 of é much")
        assert not run.contains(reference, "line 1999 of é many line 2000")

    def test_after_many_results(self, run: LocalRun) -> None:
        references = [keep(run, f"result number {number}") for number in range(200)]
        assert all(run.contains(reference, f"number {number}") for number, reference in enumerate(references))


def test_keeping_nothing_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    run = LocalResults(None, MASKER, kept=10).run("r")
    reference = keep(run, "line\n" * 1000)
    path = run.path(reference)
    assert path.is_relative_to(tmp_path)
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert run.contains(reference, "line line line")
    run.close()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_does_not_stop_the_run(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    run = LocalResults(tmp_path / "runs", MASKER, kept=20).run("r")
    text = "head of the result\n" + "x" * 1000 + "\ntail of the result"
    reference = keep(run, text)
    assert "cannot be kept" in run.problem
    stored = run.stored(reference)
    assert stored is not None
    assert (stored.head, stored.tail, stored.size) == (text[:20], text[-20:], len(text))
    kept = run.path(reference).read_text()
    assert kept.startswith("head of the result")
    assert kept.endswith("tail of the result")
    assert "characters are lost here" in kept
    assert run.contains(reference, "tail of the result")
    assert run.next_reference() == "E2"
    path = run.path(reference)
    run.close()
    assert not path.exists()


def test_a_full_disk_does_not_stop_the_run(tmp_path: Path) -> None:
    run = LocalResults(tmp_path / "runs", MASKER, kept=50).run("r")
    assert keep(run, "fits") == "E1"
    text = "line of a result\n" * 200_000
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    try:
        reference = keep(run, *(text[start : start + 100_000] for start in range(0, len(text), 100_000)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "cannot be kept" in run.problem
    stored = run.stored(reference)
    assert stored is not None
    assert (stored.lines, stored.size, stored.head, stored.tail) == (200_000, len(text), text[:50], text[-50:])
    assert sorted(path.name for path in (tmp_path / "runs/r").iterdir()) == ["E1.json", "E1.txt"]
    assert run.contains(reference, "line of a result line of")
    assert run.read(reference).startswith("line of a result\n")
    assert keep(run, "goes on") == "E3"
    assert LocalResults(tmp_path / "runs", MASKER).run("r").contains("E3", "goes on")
    run.close()


_MEASURE = """
import resource, sys
from pathlib import Path
from holmes.core.local_results import LocalResults
from holmes.core.masking import Masker

run = LocalResults(Path(sys.argv[1]), Masker()).run("r")
sink = run.sink(run.next_reference())
sink.write(b"password=Tr0ub4dor\\n" * 100)
sink.finish()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
chunk = b"".join(b"2026-11-30T12:00:00Z level=info msg=\\"request %x served\\" pod=web-1\\n" % n for n in range(1000))
sink = run.sink(run.next_reference())
for _ in range(int(sys.argv[2]) * 1_000_000 // len(chunk)):
    sink.write(chunk)
stored = sink.finish()
assert not run.contains(stored.reference, "no such words in it")
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // (1024 if sys.platform != "darwin" else 1 << 20))
"""


def test_memory_stays_bounded(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(tmp_path), "60"], capture_output=True, text=True, check=True, timeout=50
    )
    assert int(done.stdout) < 40


def test_small_results_cost_little(run: LocalRun) -> None:
    text = b'2026-11-30T12:00:00Z level=info msg="request served" pod=web-1\n' * 30
    keep(run, text)
    best = 1.0
    for _ in range(30):
        started = time.process_time()
        keep(run, text)
        best = min(best, time.process_time() - started)
    assert best < 0.002


def test_text_with_lone_surrogates(run: LocalRun) -> None:
    """As JSON gives them: ``"\\ud800"``; a pair is one character."""
    assert run.read(keep(run, "a\ud800b \ud83d\ude00")) == "a\ufffdb 😀"
