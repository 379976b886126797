"""sed programs: allowed unless they run, write or read something."""

from __future__ import annotations

import re

from holmes.tools.policy.settings import Ruling, ask, deny

_SIMPLE = frozenset("=dDgGhHnNpPxzF{}")
_ADDRESS = re.compile(r"[0-9]+(~[0-9]+)?|\$|[+~][0-9]+")
_SPACE = " \t"


class _Odd(Exception):
    """A program that this reader does not follow."""


class _Denied(Exception):
    """A program that runs or writes."""


def judge_sed(program: str) -> Ruling | None:
    """What speaks against a sed program."""
    try:
        _Reader(program).read()
    except _Denied as reason:
        return deny(f"the sed program {reason}", "sed program")
    except _Odd as reason:
        return ask(f"the sed program {reason}", "sed program")
    return None


class _Reader:
    def __init__(self, program: str) -> None:
        self.text = program
        self.at = 0

    def read(self) -> None:
        while self._skip(_SPACE + ";\n"):
            if self._address():
                self._skip(_SPACE)
                if self._peek() == ",":
                    self.at += 1
                    self._skip(_SPACE)
                    if not self._address():
                        raise _Odd("has an address that is not understood")
            self._skip(_SPACE + "!")
            self._command(self._next())

    def _command(self, letter: str) -> None:
        if letter in ("w", "W"):
            raise _Denied("writes a file")
        if letter == "e":
            raise _Denied("runs a command")
        if letter in ("r", "R"):
            raise _Denied("reads another file")
        if letter == "s":
            self._substitute()
        elif letter == "y":
            delimiter = self._next()
            self._until(delimiter, pattern=False)
            self._until(delimiter, pattern=False)
            self._end()
        elif letter in ("a", "i", "c", "#"):
            self._line()
        elif letter in (":", "b", "t", "T", "v"):
            self._skip(_SPACE)
            while self._peek() and self._peek() not in "; \t\n}":
                self.at += 1
        elif letter in ("q", "Q", "l", "L"):
            self._skip(_SPACE + "0123456789")
            self._end()
        elif letter in _SIMPLE:
            if letter not in "{}":
                self._end()
        else:
            raise _Odd(f"has the command {letter!r}, which is not understood")

    def _substitute(self) -> None:
        delimiter = self._next()
        if delimiter in ("\n", "\\", "", "[", "]"):
            raise _Odd("is not understood")
        self._until(delimiter, pattern=True)
        self._until(delimiter, pattern=False)
        while self._peek() and self._peek() not in " \t;\n}#":
            flag = self._next()
            if flag in "ew":
                raise _Denied("runs a command" if flag == "e" else "writes a file")
            if flag not in "gpiImM0123456789":
                raise _Odd(f"has the flag {flag!r}, which is not understood")
        self._end()

    def _address(self) -> bool:
        match = _ADDRESS.match(self.text, self.at)
        if match:
            self.at = match.end()
            return True
        if self._peek() not in ("/", "\\"):
            return False
        delimiter = self._next()
        if delimiter == "\\":
            delimiter = self._next()
        self._until(delimiter, pattern=True)
        while self._peek() in ("I", "M") and self._peek():
            self.at += 1
        return True

    def _until(self, delimiter: str, *, pattern: bool) -> None:
        """Skip to behind the delimiter; in a pattern, one between brackets is itself."""
        while True:
            char = self._next()
            if char == "":
                raise _Odd("does not end")
            if char == "\\":
                self.at += 1
            elif char == delimiter:
                return
            elif char == "[" and pattern:
                self._bracket()

    def _bracket(self) -> None:
        """Skip a bracket expression: ``[^]a]`` and ``[[:space:]/]`` are whole ones."""
        if self._peek() == "^":
            self.at += 1
        if self._peek() == "]":
            self.at += 1
        while (char := self._next()) != "]":
            if char in ("", "\n") or (char == "\\" and self._peek() == "]"):
                raise _Odd("has brackets that are not understood")
            if char == "[" and self._peek() in (":", ".", "="):
                end = self.text.find(self._peek() + "]", self.at + 1)
                if end < 0:
                    raise _Odd("has brackets that are not understood")
                self.at = end + 2

    def _line(self) -> None:
        """Text up to the end of the line; a backslash carries it on."""
        while (char := self._next()) not in ("", "\n"):
            if char == "\\":
                self.at += 1

    def _end(self) -> None:
        self._skip(_SPACE)
        if self._peek() and self._peek() not in ";\n}#":
            raise _Odd("is not understood")

    def _skip(self, chars: str) -> bool:
        while self.at < len(self.text) and self.text[self.at] in chars:
            self.at += 1
        return self.at < len(self.text)

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _next(self) -> str:
        self.at += 1
        return self.text[self.at - 1 : self.at]
