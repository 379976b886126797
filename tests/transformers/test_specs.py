"""Specs of transformers: both ways of writing them, and what is wrong with them where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holmes.app.definitions import definitions
from holmes.core.config import load_config
from holmes.core.yaml_marks import load
from holmes.tools.transformers import complaints
from holmes.tools.yaml_loader import load_toolsets

FILE = """\
toolsets:
  demo:
    transformers:
      - name: log_dedupe
        config:
          min_lines: 10
    tools:
      - name: one
        description: d
        command: date
        transformers:
          - {type: llm_summarize, max_tokens: 2000}
"""


def problems(text: str) -> list[str]:
    return [str(problem) for problem in load_toolsets(load(text, "t.yaml"), {})[1]]


def test_good_specs_have_no_problems() -> None:
    assert problems(FILE) == []


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("log_dedupe", "log_dedup", "t.yaml:4: demo.transformers.0: there is no transformer log_dedup; did you mean"),
        ("log_dedupe", "xyz", "t.yaml:4: demo.transformers.0: there is no transformer xyz; there are llm_summarize,"),
        ("name: log_dedupe", "id: log_dedupe", "demo.transformers.0: name: a transformer needs one"),
        ("min_lines: 10", "min_lines: many", "t.yaml:6: demo.transformers.0: min_lines: expected a whole number from"),
        ("min_lines: 10", "lines: 10", "t.yaml:6: demo.transformers.0: unknown key lines; did you mean min_lines?"),
        ("config:\n          min_lines: 10", "config: 7", "config: expected keys and values, found the number 7"),
        ("max_tokens: 2000", "max_tokens: 0", "t.yaml:12: demo.tools.0.transformers.0: max_tokens: expected a whole"),
        ("max_tokens: 2000", "api_key: x", "api_key is not read; put the model into the model list"),
    ],
)
def test_what_is_wrong_is_said_at_its_line(old: str, new: str, complaint: str) -> None:
    assert old in FILE
    found = problems(FILE.replace(old, new))
    assert len(found) == 1
    assert complaint in found[0]


def test_unknown_keys_warn_and_wrong_values_disable_the_toolset() -> None:
    (warned,), _ = load_toolsets(load(FILE.replace("min_lines: 10", "lines: 10"), "t.yaml"), {})
    assert warned.problems == ()
    (wrong,), _ = load_toolsets(load(FILE.replace("min_lines: 10", "min_lines: -1"), "t.yaml"), {})
    assert len(wrong.problems) == 1


@pytest.mark.parametrize(
    "spec",
    [
        {"name": "llm_summarize"},
        {"name": "llm_summarize", "config": {"input_threshold": 500, "prompt": "p", "fast_model": "m"}},
        {"name": "llm_summarize", "max_tokens": 9},
        {"type": "json_filter", "keep": ["a"], "drop": ["b"], "max_depth": 3, "jq": ".a"},
        {"name": "log_dedupe", "min_lines": 5, "max_templates": 7},
    ],
)
def test_all_options(spec: dict[str, Any]) -> None:
    assert list(complaints(spec)) == []


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("[{name: log_dedupe}]", ({"name": "log_dedupe"},)),
        ("[{name: log_dedup}]", "transformers: there is no transformer log_dedup; did you mean log_dedupe?"),
        ("log_dedupe", "transformers: expected a list of keys and values"),
    ],
)
def test_a_built_in_toolset_gets_them_from_the_configuration(written: str, wanted: Any, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(f"toolsets:\n  kubernetes/logs:\n    transformers: {written}\n")
    config, _ = load_config(file, {"HOLMES_HOME": str(tmp_path)}, {})
    found, _ = definitions(config, {})
    logs = next(each for each in found if each.name == "kubernetes/logs")
    if isinstance(wanted, str):
        assert logs.problem.startswith(f"{file}:2: ")
        assert wanted in logs.problem
    else:
        assert (logs.transformers, logs.problem) == (wanted, "")
