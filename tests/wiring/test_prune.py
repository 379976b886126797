"""Old runs are forgotten, journal and stored results alike, at most once a day."""

from __future__ import annotations

import time
from pathlib import Path

from holmes.app.wiring import prune
from holmes.core.config import load_config
from holmes.core.journal import Journal


def test_old_runs_go_new_ones_stay(tmp_path: Path) -> None:
    config, _ = load_config(None, {"HOME": str(tmp_path)}, {})
    now = [time.time() - 40 * 86_400]
    with Journal.open(tmp_path / "journal.db", clock=lambda: now[0]) as journal:
        for run in ("old", "new"):
            (tmp_path / "runs" / run).mkdir(parents=True)
            journal.start_run(run, "why?")
            journal.finish_run(run, "answered")
            now[0] = time.time()
        prune(journal, tmp_path, config)
        assert [run.run_id for run in journal.runs()] == ["new"]
        assert not (tmp_path / "runs" / "old").exists() and (tmp_path / "runs" / "new").exists()
        now[0] += 40 * 86_400
        prune(journal, tmp_path, config)
        assert [run.run_id for run in journal.runs()] == ["new"], "not twice a day"
        prune(journal, tmp_path, config, every=0.0)
        assert journal.runs() == []
