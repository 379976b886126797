"""No file over 500 lines, no function over 60, no ``global``: what a reader can hold in mind."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

FILE_LINES = 500
FUNCTION_LINES = 60
LOOP_LINES = 250


def faults(path: Path) -> list[str]:
    """What is too large in one file."""
    text = path.read_text("utf-8")
    lines = text.count("\n") + 1
    limit = LOOP_LINES if path.name == "loop.py" else FILE_LINES
    found = [f"{path}: {lines} lines, at most {limit}"] if lines > limit else []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                found.append(f"{path}:{node.lineno}: {node.name} has {length} lines, at most {FUNCTION_LINES}")
        if isinstance(node, ast.Global):
            found.append(f"{path}:{node.lineno}: global")
    return found


if __name__ == "__main__":
    everything = [fault for root in sys.argv[1:] for path in sorted(Path(root).rglob("*.py")) for fault in faults(path)]
    print("\n".join(everything) or "sizes: fine")
    sys.exit(bool(everything))
