"""``holmes version``."""

from __future__ import annotations

from collections.abc import Sequence


def app(arguments: Sequence[str], prog_name: str) -> int:
    """Print the version; too small for a parser."""
    from holmes import __version__

    if arguments and arguments[0] in ("-h", "--help"):
        print(f"Usage: {prog_name}\n\n  Print the version.")
    else:
        print(__version__)
    return 0
