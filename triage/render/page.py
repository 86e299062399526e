"""Lines of styled text for a terminal or a pipe: hanging indents, no markup, no wrapped commands."""

from __future__ import annotations

import io

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

MEASURE = 100
"""Prose is not set wider than this, however wide the terminal: longer lines are hard to read."""

_NARROWEST = 30


class Page:
    """Collects lines; knows the width that prose is set to."""

    def __init__(self, width: int | None) -> None:
        """An empty page.

        Args:
            width: columns of the terminal; None for a pipe, where nothing is wrapped.
        """
        self.width = None if width is None else max(_NARROWEST, width)
        self.measure = None if self.width is None else min(self.width, MEASURE)
        self.lines: list[Text] = []

    def blank(self) -> None:
        """An empty line, unless the last one is empty or there is none yet."""
        if self.lines and self.lines[-1].plain:
            self.lines.append(Text())

    def verbatim(self, text: Text | str, style: str = "") -> None:
        """A line that is never wrapped."""
        self.lines.append(Text(text, style=style) if isinstance(text, str) else text)

    def prose(self, text: Text, indent: int = 0, *, full: bool = False) -> None:
        """A line wrapped at blanks to the measure, continued under a hanging indent.

        Args:
            text: one line; a word longer than the measure stays whole, so that paths can be copied.
            indent: columns that the continuation lines start at.
            full: use the whole width of the terminal.
        """
        self._add(text, indent, self.width if full else self.measure, " ")

    def groups(self, text: Text, indent: int) -> None:
        """A line of groups three blanks apart, wrapped between groups only, to the whole width.

        Args:
            text: one line.
            indent: columns that the continuation lines start at.
        """
        self._add(text, indent, self.width, "   ")

    def quote(self, number: str, text: str, column: int) -> None:
        """A quoted line behind a gutter with its number, wrapped to the whole width behind the gutter.

        Args:
            number: the line's number, or nothing.
            text: the line, made visible.
            column: digits that the gutter has room for.
        """
        lead = Text.assemble((f"{number:>{column}} | ", "blue"))
        again = Text.assemble((" " * column + " | ", "blue"))
        self._add(Text.assemble(lead, text), column + 3, self.width, " ", again)

    def _add(self, text: Text, indent: int, limit: int | None, gap: str, lead: Text | None = None) -> None:
        for number, part in enumerate(_wrapped(text, indent, limit, gap)):
            self.lines.append((lead or Text(" " * indent)) + part if number else part)

    def fits(self, *parts: str) -> bool:
        """Whether the parts, side by side, stay within the measure; always in a pipe."""
        return self.measure is None or sum(map(cell_len, parts)) <= self.measure

    def extend(self, other: Page) -> None:
        """Takes over the lines of another page."""
        self.lines.extend(other.lines)

    def render(self, color: bool) -> str:
        """All lines as one string, ending in a line feed.

        Args:
            color: with ANSI colours, whatever the environment says; the caller has decided.
        """
        out = io.StringIO()
        console = Console(
            file=out,
            force_terminal=color,
            color_system="standard" if color else None,
            no_color=not color,
            width=MEASURE,
            soft_wrap=True,
            markup=False,
            emoji=False,
            highlight=False,
            legacy_windows=False,
        )
        for line in self.lines:
            console.print(line, soft_wrap=True)
        return out.getvalue()


def _wrapped(text: Text, indent: int, limit: int | None, gap: str) -> list[Text]:
    """The text in lines of at most ``limit`` columns, broken at gaps; the later ones leave room for the indent."""
    if limit is None or cell_len(text.plain) <= limit:
        return [text]
    offsets: list[int] = []
    used = at = 0
    for word in text.plain.split(gap):
        size = cell_len(word)
        # A break right behind the label would leave it alone on its line.
        if used + size > limit and text.plain[:at].strip() and used > indent:
            offsets.append(at)
            used = indent
        used += size + len(gap)
        at += len(word) + len(gap)
    parts = list(text.divide(offsets))
    for part in parts:
        part.rstrip()
    return parts
