"""Analyzers come by name, those of plugins through the same door, and nothing is loaded before it is asked for."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holmes.analyzers.base import Facts
from holmes.analyzers.docs import describe
from holmes.analyzers.registry import BUILT_IN, analyzer_names, load, load_all
from holmes.core.errors import UsageError

PLUGIN = '''"""Pods are called odd.

Finds:
    odd-name: a pod has an odd name,
        as the docstring says over two lines.
From: names.
Look-alikes: even names.
Remedy: rename.
"""
from holmes.core.findings import Finding, ObjectRef

KINDS = ("Pod",)


def odd_names(facts):
    for pod in facts.all("Pod"):
        yield Finding("odd-name", ObjectRef("Pod", "x"), "info", "Pod x is odd.", ("x",), "Rename it.")
'''


def install(folder: Path, name: str, module: str, text: str) -> None:
    (folder / f"{module}.py").write_text(text)
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[holmes.analyzers]\n{name} = {module}\n")


def test_names_are_unique_and_every_built_in_has_the_form() -> None:
    assert len(set(analyzer_names())) == len(analyzer_names()) >= len(BUILT_IN)
    for analyzer in load_all(BUILT_IN):
        assert describe(analyzer).title.endswith(".")
        assert list(analyzer.analyze(Facts.from_objects([], datetime.now(UTC)))) == []


def test_a_plugin_comes_through_entry_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "odd_names", "odd_names", PLUGIN)
    install(tmp_path, "oom_killed", "taken", PLUGIN)  # a built-in's name is not given away
    monkeypatch.syspath_prepend(tmp_path)
    assert "odd_names" in analyzer_names()
    assert analyzer_names().count("oom_killed") == 1
    loaded = next(item for item in load_all() if item.name == "odd_names")
    assert (loaded.kinds, loaded.logs) == (("Pod",), False)
    assert describe(loaded).causes == {"odd-name": "a pod has an odd name, as the docstring says over two lines."}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("KINDS = ()\n", "needs a function broken(facts)"),
        ("def broken(facts): ...\n", "needs a function broken(facts) and a tuple KINDS"),
        ("import no_such_module\n", "cannot be loaded: No module named 'no_such_module'"),
    ],
)
def test_a_plugin_without_the_form_is_named(
    text: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "broken", raising=False)
    with pytest.raises(UsageError, match="broken") as raised:
        load("broken")
    assert problem in str(raised.value)


def test_a_docstring_without_a_part_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "half.py").write_text(PLUGIN.replace("Remedy: rename.\n", "").replace("odd_names", "half"))
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match="has no part Remedy"):
        describe(load("half"))


def test_names_cost_no_import() -> None:
    code = (
        "import sys; from holmes.analyzers.registry import analyzer_names; analyzer_names();"
        "print([m for m in sys.modules if m.startswith('holmes.analyzers.pods') or m in ('yaml', 'httpx2', 'anyio')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
