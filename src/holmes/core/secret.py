"""Values that must not be printed."""

from __future__ import annotations

import re

_USER_INFO = re.compile(r"(?<=://)[^/\s@]+@")


class Secret:
    """A text that shows itself as ``****`` everywhere; only ``reveal()`` gives it out.

    It is no ``str``: formatting, ``repr``, logging and ``json.dumps`` cannot let it slip.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself."""
        return self._text

    def __str__(self) -> str:
        return "****"

    __repr__ = __str__

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(("Secret", self._text))


def without_user_info(text: str) -> str:
    """The text with user and password taken out of its URLs."""
    return _USER_INFO.sub("****@", text)
