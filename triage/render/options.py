"""How a report is to be shown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """How a report is to be shown.

    color: ANSI colours; width: columns of the terminal, None when the output is not one (then nothing
    is wrapped); show_all: every finding and every fix in full; context: input lines to quote on each
    side of the one that says what failed.
    """

    color: bool = False
    width: int | None = None
    show_all: bool = False
    context: int = 0
