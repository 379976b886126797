"""The published schema is the program's own."""

from __future__ import annotations

import json
from pathlib import Path

from holmes.core.report import report_schema


def test_docs_have_the_schema_of_this_program() -> None:
    published = Path(__file__).parents[2] / "docs" / "report.schema.json"
    assert json.loads(published.read_text()) == report_schema(), "run: python scripts/report_schema.py"
