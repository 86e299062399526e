"""Prefixes that nobody knows, told by their regularity: the same shape in front of line after line.

A wrapper's own format (a clock in unusual order, a service name, a script's tag) is taken off only where at least
five neighbouring lines agree on its shape, digits aside, and what it covers is plainly a log: behind it, some line
begins like a traceback, a frame or a prefix that is known. Its
width is fixed by its last delimiter, so indentation survives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import regex

AGREEING = 5
"""Neighbouring lines that have to agree."""

LONGEST = 120
"""Characters that such a prefix may have."""

DEEPEST = 3
"""Prefixes, one inside the other, that are looked for."""

_DELIMITER = regex.compile(r"(?:\]:|\]|\)|\||:|>>|>| -|,|\t) ?(?=\S| |$)|(?<=\d) ")
_DIGITS = regex.compile(r"\d+")
_PROOF = regex.compile(r"Traceback \(most recent call last\):|  File \"[^\"]+\", line \d+")


def learn(texts: Sequence[str], is_known: Callable[[str], bool]) -> tuple[regex.Pattern[str], ...]:
    """Find the unknown prefixes of a stretch of log.

    Args:
        texts: lines, escape sequences off.
        is_known: whether a text begins with a prefix that is known.

    Returns:
        Patterns, the outermost first; empty in most cases.
    """
    found: list[regex.Pattern[str]] = []
    rest = [text for text in texts if text.strip()]
    for _ in range(DEEPEST):
        shape = _common_shape(rest, is_known)
        if shape is None:
            break
        body = _DIGITS.sub(r"\\d+", regex.escape(shape.rstrip(" "), special_only=True, literal_spaces=True))
        # A line without text keeps the prefix and loses the blank behind it.
        pattern = regex.compile(body + ("(?: |$)" if shape.endswith(" ") else ""))
        found.append(pattern)
        behind = (text[match.end() :] if (match := pattern.match(text)) else text for text in rest)
        rest = [text for text in behind if text.strip()]
    return tuple(found)


def _common_shape(texts: Sequence[str], is_known: Callable[[str], bool]) -> str | None:
    counts: Counter[str] = Counter()
    neighbours: Counter[str] = Counter()
    proven: set[str] = set()
    before: set[str] = set()
    for text in texts:
        shapes = set()
        if not is_known(text) and not _PROOF.match(text):
            for delimiter in _DELIMITER.finditer(text[:LONGEST]):
                shape = _DIGITS.sub("0", text[: delimiter.end()])
                if "0" not in shape and not shape.startswith("["):
                    continue  # words with a colon behind them are text; a prefix counts or is bracketed
                shapes.add(shape)
                rest = text[delimiter.end() :]
                if _PROOF.match(rest) or is_known(rest):
                    proven.add(shape)
        for shape in shapes:
            counts[shape] += 1
            if shape in before:
                neighbours[shape] += 1
        before = shapes
    good = [s for s in proven if neighbours[s] >= AGREEING - 1 and counts[s] * 2 >= len(texts)]
    return max(good, key=lambda s: (counts[s], len(s)), default=None)
