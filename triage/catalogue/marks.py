"""The marks of releases, read from their generated file; what a line says is worked out when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import orjson

from triage.errors import RecordError
from triage.model import ReleaseMark

_Ranges: TypeAlias = "Mapping[str, str]"


class Order:
    """The known releases, oldest first."""

    def __init__(self, releases: Sequence[str], file: str) -> None:
        """Take the releases in their order, and the file that they are from."""
        self.releases = tuple(releases)
        self._place = {release: place for place, release in enumerate(releases)}
        self._file = file

    def between(self, ranges: str) -> frozenset[str]:
        """The releases of ranges ("0.6.3 0.11.0-0.12.0").

        Raises:
            RecordError: a range ends at a release that is not known.
        """
        found: set[str] = set()
        for span in ranges.split():
            first, _, last = span.partition("-")
            try:
                found.update(self.releases[self._place[first] : self._place[last or first] + 1])
            except KeyError as error:
                message = f"the range {span!r} names a release that is not listed"
                raise RecordError(message, "generate it again", file=self._file, field="marks") from error
        return frozenset(found)


class StatementLines(Mapping[int, frozenset[str]]):
    """The lines of a log statement. Thousands of ranges would take longer to set up than all records."""

    def __init__(self, ranges: _Ranges, order: Order) -> None:
        """Take the file's content: line to ranges of releases."""
        self._ranges = ranges
        self._order = order

    def __getitem__(self, line: int) -> frozenset[str]:
        """The releases that have the statement in a line; KeyError where none has."""
        return self._order.between(self._ranges[str(line)])

    def __iter__(self) -> Iterator[int]:
        """The lines that it has had."""
        return map(int, self._ranges)

    def __len__(self) -> int:
        """How many lines it has had."""
        return len(self._ranges)


@dataclass(frozen=True)
class FunctionLines(Mapping[int, frozenset[str]]):
    """The lines of a function that a traceback may show.

    bodies: for each form that the function has had, the lines counted from its start, and the starts with ranges of
    releases.
    """

    bodies: Sequence[tuple[Sequence[int], _Ranges]]
    order: Order

    def __getitem__(self, line: int) -> frozenset[str]:
        """The releases in which a line is the function's; KeyError where it is in none."""
        return self._lines[line]

    def __iter__(self) -> Iterator[int]:
        """The lines that it has had."""
        return iter(self._lines)

    def __len__(self) -> int:
        """How many lines it has had."""
        return len(self._lines)

    @cached_property
    def _lines(self) -> dict[int, frozenset[str]]:
        lines: dict[int, frozenset[str]] = {}
        for calls, starts in self.bodies:
            for start, ranges in starts.items():
                releases = self.order.between(ranges)
                for call in calls:
                    line = int(start) + call
                    lines[line] = lines.get(line, frozenset()) | releases
        return lines


def load_marks(path: Path) -> tuple[tuple[tuple[str, ...], ...], tuple[ReleaseMark, ...]]:
    """The known releases, oldest first, in groups that hardly differ, and the places that tell them apart.

    Args:
        path: the generated file, ``{"releases": [["0.11.0"], ["0.11.1", "0.11.2"]], "marks": [{"file", "text",
            "lines": {"233": "0.6.3 0.11.0-0.11.2"}}], "frames": [{"file", "function", "bodies": [{"calls": [4],
            "starts": {"1154": "0.11.0"}}]}]}``; releases that hardly differ stand together.

    Returns:
        Releases and marks, none where there is no file.

    Raises:
        RecordError: the file is damaged.
    """
    try:
        data = orjson.loads(path.read_bytes())
        groups = tuple(map(tuple, data["releases"]))
        order = Order([release for group in groups for release in group], str(path))
        logged = [
            ReleaseMark(mark["file"], mark["text"], None, StatementLines(mark["lines"], order))
            for mark in data["marks"]
        ]
        passed = [
            ReleaseMark(
                mark["file"],
                None,
                mark["function"],
                FunctionLines([(body["calls"], body["starts"]) for body in mark["bodies"]], order),
            )
            for mark in data["frames"]
        ]
    except FileNotFoundError:
        return (), ()
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        hint = "generate it again, or install vllm-triage again"
        raise RecordError("the list of releases' marks is damaged", hint, file=str(path)) from error
    return groups, (*logged, *passed)
