"""Printed Python values read under bounds: their quotes, brackets, commas, and literals. Imports nothing of ours.

The texts are out of somebody's log, so nothing is evaluated: ``ast.literal_eval`` reads constants alone.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

LENGTH_LIMIT = 20_000
"""Characters of one value that are read."""

OPEN = {"(": ")", "[": "]", "{": "}"}
"""Brackets, and what closes them."""

CLOSE = frozenset(OPEN.values())


class UnreadableError(ValueError):
    """A printed value cannot be turned back."""


def literal(text: str) -> object:
    """Read a constant: a number, a text, or lists, tuples, sets and dictionaries of them.

    Args:
        text: the value as printed, at most ``LENGTH_LIMIT`` characters.

    Raises:
        UnreadableError: the text is longer, or no constant (an object's repr, a cut text).
    """
    if len(text) > LENGTH_LIMIT:
        raise UnreadableError(text[:80])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that Python does not know: the text is no code of ours
            value: object = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise UnreadableError(text[:80]) from None
    return value


def outside_quotes(text: str) -> Iterator[tuple[int, str]]:
    """Give the characters outside quoted strings, with their places; the quotes themselves are left out."""
    quote, escaped = "", False
    for place, char in enumerate(text):
        if quote:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        else:
            yield place, char


def split(text: str, *, lenient: bool = False, depth_limit: int | None = None) -> Iterator[str]:
    """Give the pieces between a text's own commas, those inside brackets and quotes aside.

    Args:
        text: what stands between a value's brackets.
        lenient: for dumps of objects that may be damaged: angle brackets (``<Enum: 1>``) count as brackets, and a
            closing bracket too many is passed over.
        depth_limit: brackets that may be open at a time; None for any number.

    Raises:
        UnreadableError: more brackets are open.
    """
    depth = start = 0
    for place, char in outside_quotes(text):
        if char in OPEN or (lenient and char == "<"):
            depth += 1
            if depth_limit is not None and depth > depth_limit:
                raise UnreadableError(text[:80])
        elif char in CLOSE or (lenient and char == ">" and text[place - 1 : place] not in ("-", "=")):
            depth = max(0, depth - 1) if lenient else depth - 1
        elif char == "," and depth == 0:
            yield text[start:place]
            start = place + 1
    if text[start:].strip():
        yield text[start:]


def closing(text: str, depth_limit: int) -> int:
    """Find where the bracket that a text begins with is closed.

    Args:
        text: from the bracket on.
        depth_limit: brackets that may be open at a time.

    Returns:
        The place behind the closing bracket; 0 where it was cut or is too deep.
    """
    depth = 0
    for place, char in outside_quotes(text):
        if char in OPEN:
            depth += 1
            if depth > depth_limit:
                return 0
        elif char in CLOSE:
            depth -= 1
            if depth == 0:
                return place + 1
    return 0


def depth_of(text: str) -> int:
    """How many brackets, minus signs and the like are nested in a text at most.

    Quotes are ignored on purpose: more brackets than there are is the safe side.
    """
    deepest = depth = 0
    for char in text:
        if char in OPEN:
            depth += 1
            deepest = max(deepest, depth)
        elif char in CLOSE:
            depth -= 1
    return max(deepest, text.count("--"), text.count("- -"))
