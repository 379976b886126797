"""Writes docs/report.schema.json: the JSON Schema of ``-o json``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from holmes.core.report import report_schema

TARGET = Path(__file__).parent.parent / "docs" / "report.schema.json"


def text() -> str:
    """The file's content."""
    return json.dumps(report_schema(), indent=1) + "\n"


if __name__ == "__main__":
    TARGET.write_text(text())
    sys.stdout.write(f"{TARGET}\n")
