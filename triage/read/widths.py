"""Columns of a text, and the width that several lines of a log show by being exactly that long."""

from __future__ import annotations

import unicodedata

import regex

NARROW, WIDE = 80, 250
"""Widths that terminals wrap at, in columns."""

AGREEING = 3
"""Different lines that have to be exactly as long as the longest one."""

KEPT = 64
"""Different lines of one width that are counted."""

_WIDE = regex.compile(r"[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]")


def columns(text: str) -> int:
    """How many columns of a terminal a text takes: ideographs and most pictures take two, combining marks none."""
    if text.isascii():
        return len(text)
    return len(text) + sum(
        1 if unicodedata.east_asian_width(character) in "WF" else -1
        for character in text
        if not character.isascii()
        and (unicodedata.east_asian_width(character) in "WF" or unicodedata.combining(character))
    )


class Widths:
    """The longest line seen, and how many different ones are just as long: counted in characters and in columns.

    Args:
        narrow: the least width that counts, in columns.
    """

    def __init__(self, narrow: int = NARROW) -> None:
        self._narrow = narrow
        self._longest = [0, 0]
        self._at: list[set[int]] = [set(), set()]
        self._wide = False
        self._settled: tuple[int, int] | None = None

    def settle(self, width: int, agreeing: int) -> None:
        """Take a width that is known though some lines are longer: they were written around what is wrapped.

        Args:
            width: in characters.
            agreeing: how many different lines have it.
        """
        self._settled = width, agreeing

    def measure(self, text: str) -> None:
        """Count a line."""
        size = len(text)
        if not text.isascii() and (width := columns(text)) != size:
            self._wide = True
            self._count(1, width, text)
        elif size >= self._longest[1]:
            self._count(1, size, text)
        if size >= self._longest[0]:
            self._count(0, size, text)

    def _count(self, system: int, size: int, text: str) -> None:
        if size > self._longest[system]:
            self._longest[system] = size
            self._at[system] = {hash(text)}
        elif size == self._longest[system] and len(self._at[system]) < KEPT:
            self._at[system].add(hash(text))  # a line that is repeated says nothing of the width

    @property
    def _system(self) -> int:
        """What the lines were wrapped by: what more lines agree on; terminals count columns, ``fold`` characters."""
        return 1 if self._wide and len(self._at[1]) >= len(self._at[0]) else 0

    @property
    def width(self) -> int:
        """The longest line's width, or the one that was settled."""
        return self._settled[0] if self._settled else self._longest[self._system]

    @property
    def agreeing(self) -> int:
        """How many different lines have that width, at most KEPT."""
        return self._settled[1] if self._settled else len(self._at[self._system])

    @property
    def may_be_wrapped(self) -> bool:
        """Whether the longest line is as long as terminals are wide."""
        return self._narrow <= self.width <= WIDE

    def is_full(self, text: str, after: str = "") -> bool:
        """Whether a line reaches the width, or would have with the wide character that the next one begins with."""
        size = columns(text) if self._system else len(text)
        if self._settled:
            return len(text) == self._settled[0]
        return size >= self.width or (self._wide and size == self.width - 1 and _WIDE.match(after) is not None)
