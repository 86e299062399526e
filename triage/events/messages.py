"""Messages that Python printed in another form than they were meant: tuples, and log calls with wrong arguments.

``raise ValueError("a ", "b")`` prints a tuple; ``logger.error("rank %s", 1, 2)`` prints its template and its arguments
apart. Literals are read under a bound on their size and depth; nothing is evaluated.
"""

from __future__ import annotations

from collections.abc import Sequence

import regex

from triage.values import LENGTH_LIMIT, UnreadableError
from triage.values import literal as constant
from triage.values import split as pieces

LITERAL_LIMIT = LENGTH_LIMIT
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
    if len(text) > LITERAL_LIMIT:
        return text.strip()
    try:
        return constant(text.strip())
    except UnreadableError:
        return text.strip()


def split(text: str) -> list[str]:
    """Split what stands in a tuple's brackets at its own commas; one part where it is too long or too deep."""
    if len(text) > LITERAL_LIMIT:
        return [text]
    try:
        return list(pieces(text, depth_limit=DEPTH_LIMIT))
    except UnreadableError:
        return [text]
