"""What the journal keeps, and who may write to it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from holmes.core.errors import StoreError
from holmes.core.journal import Journal


class Clock:
    now = 1_000_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["file", "memory"])
def journal(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Journal:
    opened = Journal.open(tmp_path / "home" / "journal.db" if request.param == "file" else None, clock)
    request.addfinalizer(opened.close)
    return opened


def test_entries_come_back_in_order(journal: Journal, clock: Clock) -> None:
    journal.start_run("r1", "why?")
    journal.start_run("r2", "what?")
    assert [journal.append("r1", "record", {"n": n}) for n in range(500)] == list(range(1, 501))
    assert journal.append("r2", "error", {}) == 1
    entries = list(journal.read("r1"))
    assert [entry.payload["n"] for entry in entries] == list(range(500))
    assert (entries[0].kind, entries[0].seq, entries[0].tenant) == ("record", 1, "local")
    assert entries[0].at.timestamp() == clock.now
    assert [entry.seq for entry in journal.read("r1", after=498)] == [499, 500]
    assert list(journal.read("nobody")) == []


def test_a_reader_sees_what_is_added_while_it_reads(journal: Journal) -> None:
    journal.start_run("r", "q")
    journal.append("r", "a", {})
    seen = []
    for entry in journal.read("r"):
        seen.append(entry.kind)
        if entry.kind == "a":
            journal.append("r", "b", {})
    assert seen == ["a", "b"]


@pytest.mark.parametrize(
    "text",
    ["für 世界 🦀", "lone \ud83d surrogate \udcff", "nul \0 and \x1b[31m", 'quote " and \\', "\u2028\ufeff", ""],
)
def test_any_text_comes_back_unchanged(journal: Journal, text: str) -> None:
    journal.start_run("r", text)
    journal.append("r", "record", {"text": text, text: [1.5, None, True, {"deep": text}]})
    assert next(journal.read("r")).payload == {"text": text, text: [1.5, None, True, {"deep": text}]}
    assert len(journal.runs()) == 1


def test_a_run_goes_on_with_its_first_question(journal: Journal, clock: Clock) -> None:
    journal.start_run("r", "first", model="m1", cluster="c")
    journal.append("r", "a", {})
    journal.finish_run("r", "answered")
    assert journal.runs()[0].status == "answered"
    clock.now += 60
    journal.start_run("r", "second", model="m2", cluster="c")
    assert journal.append("r", "b", {}) == 2
    run = journal.runs()[0]
    assert (run.question, run.model, run.cluster, run.status, run.entries) == ("first", "m2", "c", "running", 2)
    assert (run.updated - run.started).total_seconds() == 60


def test_runs_are_listed_newest_first_and_by_tenant(journal: Journal, clock: Clock) -> None:
    for number in range(5):
        clock.now += 1
        journal.start_run(f"r{number}", "q")
    journal.start_run("other", "q", tenant="acme")
    assert [run.run_id for run in journal.runs(limit=2)] == ["r4", "r3"]
    assert [run.run_id for run in journal.runs(tenant="acme")] == ["other"]


def test_another_tenant_neither_takes_over_nor_writes(journal: Journal) -> None:
    journal.start_run("r", "q")
    with pytest.raises(StoreError, match="there is no run r"):
        journal.start_run("r", "q", tenant="acme")
    with pytest.raises(StoreError, match="there is no run r"):
        journal.append("r", "a", {}, tenant="acme")
    assert list(journal.read("r")) == []


def test_an_unknown_run_is_refused(journal: Journal) -> None:
    for attempt in (
        lambda: journal.append("x", "a", {}),
        lambda: journal.finish_run("x", "failed"),
        lambda: journal.lease("x", "me", 1),
    ):
        with pytest.raises(StoreError, match="there is no run x"):
            attempt()
    assert journal.problem is None


def test_one_lease_at_a_time(journal: Journal, clock: Clock) -> None:
    journal.start_run("r", "q")
    mine = journal.lease("r", "me", 30)
    assert mine is not None
    assert journal.lease("r", "you", 30) is None
    assert journal.runs()[0].held
    clock.now += 20
    longer = journal.lease("r", "me", 30)
    assert longer is not None
    assert (longer.fence, longer.until > mine.until) == (mine.fence, True)
    clock.now += 31
    assert not journal.runs()[0].held
    yours = journal.lease("r", "you", 30)
    assert yours is not None
    assert yours.fence > mine.fence


def test_an_old_fence_is_refused(journal: Journal, clock: Clock) -> None:
    journal.start_run("r", "q")
    assert journal.append("r", "before any lease", {}) == 1
    mine = journal.lease("r", "me", 30)
    assert journal.append("r", "mine", {}, lease=mine) == 2
    with pytest.raises(StoreError, match="under a lease"):
        journal.append("r", "without", {})
    clock.now += 31
    assert journal.append("r", "late, but nobody came", {}, lease=mine) == 3
    yours = journal.lease("r", "you", 30)
    for attempt in (lambda: journal.append("r", "x", {}, lease=mine), lambda: journal.finish_run("r", "x", mine)):
        with pytest.raises(StoreError, match="belongs to you: this process no longer holds it"):
            attempt()
    assert journal.append("r", "yours", {}, lease=yours) == 4
    assert [entry.seq for entry in journal.read("r")] == [1, 2, 3, 4]
    assert journal.problem is None


def test_the_end_gives_the_lease_back(journal: Journal) -> None:
    journal.start_run("r", "q")
    mine = journal.lease("r", "me", 1000)
    journal.finish_run("r", "answered", mine)
    assert journal.lease("r", "you", 30) is not None


def test_delete(journal: Journal) -> None:
    journal.start_run("r", "q")
    journal.append("r", "a", {})
    lease = journal.lease("r", "me", 1000)
    with pytest.raises(StoreError, match="still going on"):
        journal.delete("r")
    journal.finish_run("r", "answered", lease)
    assert journal.delete("r")
    assert not journal.delete("r")
    assert list(journal.read("r")) == []
    assert journal.runs() == []


def test_prune_by_age(journal: Journal, clock: Clock) -> None:
    for name in ("old", "held", "running", "new"):
        journal.start_run(name, "q")
        clock.now += 1
    journal.finish_run("old", "answered")
    clock.now += 31 * 86_400
    journal.lease("held", "me", 60)
    journal.append("running", "a", {})
    journal.start_run("new", "q")
    journal.finish_run("new", "answered")
    assert journal.prune(days=30) == ["old"]
    assert {run.run_id for run in journal.runs()} == {"held", "running", "new"}


def test_prune_by_size_takes_the_oldest_and_gives_space_back(tmp_path: Path, clock: Clock) -> None:
    file = tmp_path / "journal.db"
    with Journal.open(file, clock) as journal:
        for number in range(10):
            clock.now += 1
            journal.start_run(f"r{number}", "q")
            for _ in range(5):
                journal.append(f"r{number}", "a", {"text": "x" * 100_000})
            journal.finish_run(f"r{number}", "answered")
        assert journal.prune(max_mb=2) == [f"r{number}" for number in range(7)]
        assert file.stat().st_size < 2_000_000
        assert len(list(journal.read("r9"))) == 5


def test_the_file_is_private(tmp_path: Path) -> None:
    file = tmp_path / "home" / "journal.db"
    with Journal.open(file) as journal:
        journal.start_run("r", "q")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir()}
        assert set(modes.values()) == {0o600}
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_it_survives_the_death_of_the_process(tmp_path: Path) -> None:
    file = tmp_path / "journal.db"
    code = f"""
import os
from pathlib import Path
from holmes.core.journal import Journal
journal = Journal.open(Path({str(file)!r}))
journal.start_run("r", "q")
for n in range(100):
    journal.append("r", "a", {{"n": n}})
os._exit(9)
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == 9
    with Journal.open(file) as journal:
        assert [entry.payload["n"] for entry in journal.read("r")] == list(range(100))
        assert journal.append("r", "b", {}) == 101


def test_many_processes_make_and_share_one_journal(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from holmes.core.journal import Journal
sys.stdin.readline()
with Journal.open(Path(sys.argv[1])) as journal:
    journal.start_run("shared", "q")
    journal.start_run(sys.argv[2], "q")
    for n in range(200):
        journal.append(sys.argv[2], "a", {"n": n})
        journal.append("shared", "a", {"who": sys.argv[2]})
    sys.exit(str(journal.problem) if journal.problem else 0)
"""
    file = tmp_path / "journal.db"
    command = [sys.executable, "-c", code, str(file)]
    children = [subprocess.Popen([*command, f"r{n}"], stdin=subprocess.PIPE, stderr=subprocess.PIPE) for n in range(4)]
    for child in children:
        assert child.stdin is not None
        os.write(child.stdin.fileno(), b"go\n")
    assert [child.communicate(timeout=50)[1] for child in children] == [b""] * 4
    assert [child.returncode for child in children] == [0] * 4
    with Journal.open(file) as journal:
        assert [entry.seq for entry in journal.read("shared")] == list(range(1, 801))
        for number in range(4):
            assert [entry.payload["n"] for entry in journal.read(f"r{number}")] == list(range(200))
