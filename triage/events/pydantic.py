"""What pydantic wraps: the message that a validator raised, and the class that it raised it as.

Most raise sites of vLLM's configuration end up inside a ``ValidationError``, since its configuration classes are
pydantic dataclasses: the class line says only how many errors there are, the text stands below it behind
"Value error, " and before "[type=...", and the validator's own frame is lost. Pydantic 1 has the text alone, before
"(type=value_error)".
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from triage.events.shapes import PYDANTIC, PYDANTIC_TAIL, PYDANTIC_URL
from triage.model import Raised, Record

_RAISED_AS = {"Value error, ": "ValueError", "Assertion failed, ": "AssertionError"}
_TYPES = {"value_error": "ValueError", "assertion_error": "AssertionError"}


class _Item(NamedTuple):
    """One error: the field, its text, pydantic's name for its kind, and the lines of the message that it spans."""

    field: str
    text: str
    kind: str | None
    start: int
    end: int


def unwrap(raised: Raised) -> tuple[Raised, ...]:
    """Give the exceptions that a pydantic error wraps, each in the wrapper's place; else the exception itself.

    A check of pydantic's own ("Input should be greater than or equal to 1") stays as it is, its field
    name in front and its dump of the input off.
    """
    found = PYDANTIC.match(raised.message)
    if found is None:
        return (raised,)
    lines = raised.message.split("\n")
    items = _items(lines)
    out = []
    for item in items:
        records = _records(raised, lines, item)
        lead = next((lead for lead in _RAISED_AS if item.text.startswith(lead)), "")
        class_name = _RAISED_AS[lead] if lead else _TYPES.get(item.kind or "")
        if class_name is not None:
            text = item.text[len(lead) :]
            out.append(replace(raised, class_name=class_name, message=text, records=records, wrapped=raised.class_name))
        else:
            head = found[0] if len(items) == 1 else f"1 validation error for {found['title']}"
            text = "\n".join(part for part in (head, item.field, f"  {item.text}") if part)
            out.append(replace(raised, message=text, records=records if len(items) > 1 else raised.records))
    return tuple(out) or (raised,)


def _records(raised: Raised, lines: list[str], item: _Item) -> tuple[Record, ...]:
    """The records of one error, where each of the message's lines has its own."""
    at = next((i for i, record in enumerate(raised.records) if record.text.endswith(lines[0])), None)
    if at is None or at + len(lines) > len(raised.records):
        return raised.records
    return raised.records[at + item.start : at + item.end] or raised.records


def _items(lines: list[str]) -> list[_Item]:
    """Split the lines below the first into the errors that they tell of."""
    items: list[_Item] = []
    field, text, start = "", [], 0
    for number, line in enumerate(lines[1:], 1):
        if PYDANTIC_URL.match(line):
            continue
        if not start and line.startswith("  ") and line.strip():
            text, start = [line.strip()], number
        elif start:
            text.append(line)
        elif line.strip():
            field = line.strip()
            continue
        if start and (tail := PYDANTIC_TAIL.search("\n".join(text))):
            items.append(_Item(field, "\n".join(text)[: tail.start()].rstrip(), tail["type"], start, number + 1))
            field, text, start = "", [], 0
    if start:  # cut before its end
        items.append(_Item(field, "\n".join(text).rstrip(), None, start, len(lines)))
    return items
