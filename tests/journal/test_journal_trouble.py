"""Full disks, files of others, damage: a cause and a remedy, and no run that ends because of it."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from holmes.core.errors import StoreError
from holmes.core.journal import Journal
from holmes.core.journal_schema import connect


def refusal(file: Path) -> StoreError:
    with pytest.raises(StoreError) as caught:
        Journal.open(file)
    assert str(file.parent) in caught.value.where
    assert caught.value.remedy
    return caught.value


def fill(journal: Journal, entries: int, size: int = 1000) -> None:
    for number in range(entries):
        journal.append("r", "a", {"n": number, "text": "x" * size})


def small_disk(file: Path, pages: int) -> Journal:
    """A journal that SQLite lets grow to so many pages; then it says what it says for a full disk."""
    db = connect(file)
    db.execute(f"PRAGMA max_page_count = {pages}")
    return Journal(db, file, time.time)


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    file = tmp_path / "journal.db"
    file.write_text("these are my notes, and I want to keep them\n" * 100)
    assert "not a journal" in refusal(file).message
    assert file.read_text().startswith("these are my notes")


def test_a_database_of_another_program(tmp_path: Path) -> None:
    file = tmp_path / "journal.db"
    other = sqlite3.connect(file)
    other.execute("CREATE TABLE bookmarks (url)")
    other.commit()
    other.close()
    before = file.read_bytes()
    assert "another program" in refusal(file).message
    assert file.read_bytes() == before


def test_a_journal_of_a_newer_holmes(tmp_path: Path) -> None:
    file = tmp_path / "journal.db"
    Journal.open(file).close()
    newer = sqlite3.connect(file)
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    error = refusal(file)
    assert "newer Holmes (version 99" in error.message
    assert "update Holmes" in error.remedy


def test_a_damaged_journal(tmp_path: Path) -> None:
    file = tmp_path / "journal.db"
    with Journal.open(file) as journal:
        journal.start_run("r", "q")
        fill(journal, 200)
    content = bytearray(file.read_bytes())
    content[4096:] = random.Random(1).randbytes(len(content) - 4096)
    file.write_bytes(content)
    with pytest.raises(StoreError, match="damaged") as caught, Journal.open(file) as journal:
        list(journal.read("r"))
    assert "move the file away" in caught.value.remedy


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "journal.db").mkdir()
    assert "Is a directory" in refusal(tmp_path / "journal.db").message


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("x")
    assert "this is a file" in refusal(tmp_path / "home" / "journal.db").message


def test_a_read_only_folder_and_file(user_folder: Path, as_user: Callable[..., list[str]]) -> None:
    Journal.open(user_folder / "journal.db").close()

    def work(report: Callable[[str], None]) -> None:
        try:
            Journal.open(user_folder / "journal.db")
        except StoreError as error:
            report(error.message)

    user_folder.chmod(0o777)
    (user_folder / "journal.db").chmod(0o400)
    assert as_user(work) == ["cannot be written: Permission denied"]
    user_folder.chmod(0o555)
    assert as_user(work) == ["the folder is not writable"]


def check_going_on(journal: Journal, written: int, kept: int) -> None:
    """After the disk failed: all is readable here, the seqs count on, the problem is there once."""
    problem = journal.problem
    assert problem is not None
    assert journal.append("r", "after", {}) == written + 1
    assert journal.problem is problem
    assert [entry.seq for entry in journal.read("r")] == list(range(1, written + 2))
    assert [entry.seq for entry in journal.read("r", after=kept + 1)] == list(range(kept + 2, written + 2))
    journal.finish_run("r", "answered")
    assert [(run.run_id, run.question, run.status) for run in journal.runs()] == [("r", "q", "answered")]
    journal.start_run("next", "q2")
    assert journal.append("next", "a", {}) == 1
    with pytest.raises(StoreError):
        journal.delete("r")


def test_a_full_disk_is_a_message_not_a_loss(tmp_path: Path) -> None:
    file = tmp_path / "journal.db"
    with small_disk(file, 40) as journal:
        journal.start_run("r", "q")
        fill(journal, 300)
        assert journal.problem is not None
        assert "the disk is full" in journal.problem.message
        assert "free some space" in journal.problem.remedy
        with Journal.open(file) as second:
            kept = len(list(second.read("r")))
        assert 50 < kept < 300
        check_going_on(journal, 300, kept)


def test_a_lease_holds_on_when_the_disk_is_full(tmp_path: Path) -> None:
    with small_disk(tmp_path / "journal.db", 9) as journal:
        journal.start_run("r", "q")
        lease = journal.lease("r", "me", 60)
        assert journal.append("r", "a", {"text": "x" * 100_000}, lease=lease) == 1
        assert journal.problem is not None
        with pytest.raises(StoreError, match="under a lease"):
            journal.append("r", "b", {})
        assert journal.lease("r", "you", 60) is None
        assert journal.append("r", "b", {}, lease=lease) == 2


def test_a_real_write_error(tmp_path: Path) -> None:
    """The system refuses to let any file grow: what a quota does."""
    code = """
import json, resource, sys
from pathlib import Path
from holmes.core.journal import Journal
journal = Journal.open(Path(sys.argv[1]))
journal.start_run("r", "q")
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
for n in range(300):
    journal.append("r", "a", {"n": n, "text": "x" * 1000})
print(json.dumps([journal.problem.message, [entry.payload["n"] for entry in journal.read("r")]]))
journal.close()
"""
    file = tmp_path / "journal.db"
    done = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True)
    assert done.stderr == ""
    message, numbers = json.loads(done.stdout)
    assert "not kept" in message
    assert numbers == list(range(300))
    with Journal.open(file) as journal:
        kept = [entry.payload["n"] for entry in journal.read("r")]
    assert kept == list(range(len(kept)))
    assert 0 < len(kept) < 300


def test_a_journal_that_another_program_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holmes.core.journal_schema.BUSY_SECONDS", 0.05)
    file = tmp_path / "journal.db"
    with Journal.open(file) as journal:
        journal.start_run("r", "q")
        fill(journal, 3)
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        fill(journal, 3)
        assert journal.problem is not None
        assert "another process holds the journal" in journal.problem.message
        other.close()
        check_going_on(journal, 6, 3)


def test_looking_and_cleaning_up_raise(tmp_path: Path) -> None:
    file = tmp_path / "journal.db"
    with Journal.open(file) as journal:
        journal.start_run("r", "q")
        other = sqlite3.connect(file)
        other.execute("DROP TABLE entries")
        other.close()
        for attempt in (lambda: list(journal.read("r")), lambda: journal.delete("r")):
            with pytest.raises(StoreError, match="does not work"):
                attempt()
        assert journal.problem is None


def test_writing_to_a_closed_journal_is_a_bug() -> None:
    journal = Journal.open(None)
    journal.close()
    with pytest.raises(sqlite3.ProgrammingError):
        journal.start_run("r", "q")
