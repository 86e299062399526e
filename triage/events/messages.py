"""Messages that Python printed in another form than they were meant: tuples, and log calls with wrong arguments.

``raise ValueError("a ", "b")`` prints a tuple; ``logger.error("rank %s", 1, 2)`` prints its template and its arguments
apart. Literals are read with ``ast.literal_eval`` under a bound on their size and depth; nothing is evaluated.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

import regex

LITERAL_LIMIT = 20_000
"""Characters of a printed tuple that are read."""

DEPTH_LIMIT = 20
"""Brackets that may be open in it."""

_HOLE = regex.compile(r"%(?:\(\w+\))?[-+ #0]*\d*(?:\.\d+)?[srdifgexXa]")
_TUPLE = regex.compile(r"\((?:'|\"|[rbu]'|[rbu]\").*\)$", regex.DOTALL)


def as_meant(message: str) -> str:
    """A message that was printed as a tuple of its parts, put together; any other as it is.

    Where the first part has holes (``%s``) the others fill them.
    """
    text = message.strip()
    if not _TUPLE.match(text):
        return message
    printed = split(text[1:-1])
    parts = [literal(part) for part in printed]
    if len(parts) < 2 or not isinstance(parts[0], str):
        return message
    if not _HOLE.search(parts[0]) and all(part.strip()[:1] in ("'", '"') for part in printed):
        return "".join(map(str, parts))  # a sentence in pieces
    return filled(parts[0], parts[1:])


def filled(template: str, arguments: Sequence[object]) -> str:
    """Fill a template's holes one after the other; arguments that are left over go behind it."""
    left = list(arguments)
    text = _HOLE.sub(lambda found: str(left.pop(0)) if left else found[0], template)
    return " ".join([text, *map(str, left)])


def literal(text: str) -> object:
    """A literal's value; what is none (the repr of an object) stays as it is printed."""
    if len(text) <= LITERAL_LIMIT:
        try:
            return ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return text.strip()
    return text.strip()


def split(text: str) -> list[str]:
    """Split what stands in a tuple's brackets at its own commas; one part where it is too long or too deep."""
    parts, depth, quote, start, escaped = [], 0, "", 0, False
    if len(text) > LITERAL_LIMIT:
        return [text]
    for index, character in enumerate(text):
        if quote:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == quote:
                quote = ""
        elif character in "'\"":
            quote = character
        elif character in "([{":
            depth += 1
            if depth > DEPTH_LIMIT:
                return [text]
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    if text[start:].strip():
        parts.append(text[start:])
    return parts
