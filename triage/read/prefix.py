"""What a row of the tables of envelopes is, and the clocks that they have in common.

Shapes and their releases come from public reports of vLLM 0.2 to 0.33. An example is a prefix with the text
"TEXT" behind it; the tests take it off, and that nothing else is left.
"""

from __future__ import annotations

from typing import NamedTuple

import regex

ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)"
"""A clock with its zone: RFC 3339, also with a zone written without a colon."""

DAY = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
"""A day and a clock, no fraction, no zone."""

CLOCK = (
    r"(?:\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"
    r"|\d\d/\d\d/\d{4},? \d\d:\d\d:\d\d(?:[.,]\d+)?(?: [AP]M)?"
    r"|\d\d/[A-Z][a-z]{2}/\d{4}[: ]\d\d:\d\d:\d\d(?: [+-]\d{4})?"
    r"|1\d{9}(?:\d{3}|[.,]\d{1,9})?)"
)
"""Any usual clock: with T or a blank, with or without zone, American, of access logs, Unix seconds or milliseconds."""

LEVEL = r"(?P<level>TRACE|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)"
ANY_LEVEL = r"(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)"
"""The level of a relay: it speaks of the channel that a line came through, not of the line."""

BEGINS = rf"(?:{ANY_LEVEL}\b|\(|\[rank\d|[A-Za-z][\w.-]*[-_]\d+ +\| |Traceback \(most| +File \"|\d{{4}}-\d\d-\d\d[ T])"
"""What plainly begins a line of a program: what stands before it is an envelope."""


class Prefix(NamedTuple):
    """An envelope.

    pattern: its groups say time, pod, process, pid, rank, level, glog (a level's first letter), file, line; inner:
    it may stand behind vLLM's own logger, too, where nearly everything else is the message's own text; ends: nothing
    but an inner one is looked for behind it; guessed: told by what stands behind it, so that not each line of a log
    that has it shows it.
    """

    name: str
    pattern: regex.Pattern[str]
    examples: tuple[str, ...]
    inner: bool = False
    ends: bool = False
    guessed: bool = False


def row(
    name: str, pattern: str, *examples: str, inner: bool = False, ends: bool = False, guessed: bool = False
) -> Prefix:
    """A row of a table: name, pattern, examples."""
    return Prefix(name, regex.compile(pattern), examples, inner, ends, guessed)
