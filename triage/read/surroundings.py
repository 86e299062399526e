"""Input lines around those that say something, kept while an input goes by."""

from __future__ import annotations

from collections.abc import Sequence

from triage.model import Line

KEPT = 1 << 25
"""Characters of the latest lines that are kept."""

WANTED = 200_000
"""Lines that are kept longer because an error stands near them; later errors get what is left among the latest."""

OWN = 24
"""Lines that a message of several lines may reach over, among those of other processes."""

_Place = tuple[str, int]


class Surroundings:
    """The lines around errors.

    Args:
        count: lines wanted on each side; 0 keeps nothing.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._recent: dict[_Place, list[str]] = {}
        self._kept: dict[_Place, list[str]] = {}
        self._wanted: set[_Place] = set()
        self._size = 0

    def add(self, line: Line) -> None:
        """Take a line as read."""
        self._recent.setdefault((line.source, line.number), []).append(line.text)
        self._size += len(line.text) + 1
        while self._size > KEPT and len(self._recent) > 1:
            place = next(iter(self._recent))
            texts = self._recent.pop(place)
            self._size -= sum(map(len, texts)) + len(texts)
            if place in self._wanted:
                self._kept[place] = texts

    def keep(self, first: Line) -> None:
        """Keep the lines around one, those to come too."""
        if len(self._wanted) < WANTED:
            near = range(first.number - self._count, first.number + OWN + self._count)
            self._wanted.update((first.source, number) for number in near)

    def of(self, first: Line, own: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The lines before and behind a message, as far as they came and are kept.

        Args:
            first: the line that the message begins in.
            own: the texts of the message's lines.
        """
        last, left = first.number, list(own)
        for number in range(first.number, first.number + OWN):
            texts = self._at(first.source, number)
            while left and left[0] in texts:
                last = number
                del left[0]
        return self._between(first, first.number - self._count, first.number), self._between(
            first, last + 1, last + 1 + self._count
        )

    def _between(self, first: Line, start: int, end: int) -> tuple[str, ...]:
        return tuple(text for number in range(start, end) for text in self._at(first.source, number))

    def _at(self, source: str, number: int) -> list[str]:
        return self._recent.get((source, number)) or self._kept.get((source, number)) or []
