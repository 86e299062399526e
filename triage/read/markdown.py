"""What Markdown, or whoever wrote it by hand, puts in front of every line of a log: list items, backticks."""

from __future__ import annotations

from collections.abc import Sequence

import regex

ENOUGH = 3
"""Lines that have to bear a mark; nearly all have to."""

_MARKS = tuple(regex.compile(mark) for mark in (r"^[-*+\u2022] (?=\S|  )", r"^\d{1,4}[.)] (?=\S|  )", r"^`(?!`)"))


def list_marks(texts: Sequence[str]) -> tuple[regex.Pattern[str], ...]:
    """Find the mark that begins all lines of a paste but a few; empty in most cases.

    Args:
        texts: the lines.
    """
    lines = [text for text in texts if text.strip()]
    if len(lines) < ENOUGH:
        return ()
    for mark in _MARKS:
        if mark.match(lines[len(lines) // 2]) and 10 * sum(mark.match(line) is not None for line in lines) >= 9 * len(
            lines
        ):
            return (mark,)
    return ()
