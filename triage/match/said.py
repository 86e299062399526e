"""What an event says, statement by statement, each with the causes that it may be; noise does not hide the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from triage.match.folding import fold_literal
from triage.match.matcher import Matcher
from triage.match.statements import statements
from triage.model import Event, Match, Role, Statement

PARTS_LIMIT = 8
"""Lines of noise taken out of one loose text."""


def said(event: Event, matcher: Matcher) -> Iterator[tuple[Statement, list[Match]]]:
    """Give an event's statements, each with its matches, the best first.

    A headline that a record calls harmless covers the traceback below it: what Python ignores in a destructor, or what
    ends a thread that nobody needs, has no cause of its own. Loose text is what several programs print in turn: a
    harmless line of it is taken by itself, and the rest of the text looked at without it. A headline that no record
    knows only announces the traceback below it, if that is whole.

    Args:
        event: the event.
        matcher: the catalogue, indexed.
    """
    heard = [(statement, matcher.matches(statement)) for statement in statements(event)]
    covering = [(s, found) for s, found in heard if event.raised and s.index is None and _is(found, "harmless")]
    whole = bool(event.raised) and all(raised.class_name for raised in event.raised)
    for statement, found in covering or heard:
        if whole and statement.index is None and not found:
            continue
        yield statement, found
        if event.kind == "text":
            yield from _rest(statement, found, matcher)


def _rest(statement: Statement, found: list[Match], matcher: Matcher) -> Iterator[tuple[Statement, list[Match]]]:
    """What a loose text says besides the noise in it."""
    for _ in range(PARTS_LIMIT):
        if not _is(found, "harmless", "warning"):
            return
        noise = fold_literal(found[0].message)
        lines = statement.text.split("\n")
        kept = ["" if (folded := fold_literal(line)) in noise or noise in folded else line for line in lines]
        if kept == lines or not any(kept):
            return
        statement = replace(statement, text="\n".join(kept))
        found = matcher.matches(statement)
        yield statement, found


def _is(found: list[Match], *roles: Role) -> bool:
    """Whether the best match is of a role, whatever else the run shows."""
    if not found or found[0].cause.role not in roles:
        return False
    when = found[0].cause.when
    return when is None or not (when.present or when.absent)
