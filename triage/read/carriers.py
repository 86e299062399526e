"""What carries a program's lines: the container's, host's or viewer's own envelope, outside of what the program prints.

A viewer or a runtime that wraps lines puts its envelope in front of each piece; the program's own prefixes stand in the
first piece only. So wraps behind a carrier are measured and undone behind it.
"""

from __future__ import annotations

from functools import cache

import regex

from triage.read.prefixes import PREFIXES

DEPTH = 4
"""Carriers, one inside the other."""

BORDERS = frozenset("│┃║")

# A carrier says where a line came from, never of what level, process or place in the sources it is.
_OF_PROGRAMS = frozenset(("level", "process", "rank", "glog", "file", "line"))
_OF_VLLM = regex.compile(r"(?:INFO|ERROR|WARNING|DEBUG)\b|\((?!pid=)")  # most lines: spared the table
_CARRIERS = tuple(prefix for prefix in PREFIXES if not _OF_PROGRAMS & set(prefix.pattern.groupindex))


def carried(text: str, learned: tuple[regex.Pattern[str], ...] = ()) -> tuple[int, str]:
    """Where the program's own text begins in a line, and whose line it is (the pod, where a carrier names one).

    Args:
        text: a line.
        learned: further prefixes, which this input has shown by their regularity.
    """
    at, pod = 0, ""
    if not learned and _OF_VLLM.match(text) is not None:
        return 0, ""
    for _ in range(DEPTH):
        if at >= len(text):
            break
        pattern = _starting(text[at])
        found = pattern.match(text, at) if pattern is not None else None
        if found is None or found.end() == at:
            found = next((f for prefix in learned if (f := prefix.match(text, at)) and f.end() > at), None)
            if found is None:
                break
        pod = found.groupdict().get("pod") or pod
        at = found.end()
    return at, pod


@cache
def _starting(character: str) -> regex.Pattern[str] | None:
    rows = [prefix.pattern.pattern for prefix in _CARRIERS if prefix.pattern.match(character, partial=True)]
    return regex.compile("|".join(f"(?:{pattern})" for pattern in rows)) if rows else None
