"""What pydantic wraps: the message that a validator raised, and the class that it raised it as.

Most raise sites of vLLM's configuration end up inside a ``ValidationError``, since its configuration classes are
pydantic dataclasses: the class line says only how many errors there are, the text stands below it behind
"Value error, " and before "[type=...", and the validator's own frame is lost.
"""

from __future__ import annotations

from dataclasses import replace

from triage.events.shapes import PYDANTIC, PYDANTIC_TAIL, PYDANTIC_URL
from triage.model import Raised

_RAISED_AS = {"Value error, ": "ValueError", "Assertion failed, ": "AssertionError"}


def unwrap(raised: Raised) -> tuple[Raised, ...]:
    """Give the exceptions that a pydantic error wraps, each in the wrapper's place; else the exception itself.

    A check of pydantic's own ("Input should be greater than or equal to 1") stays as it is, its field
    name in front and its dump of the input off.
    """
    found = PYDANTIC.match(raised.message)
    if found is None:
        return (raised,)
    items = _items(raised.message[found.end() :])
    out = []
    for field, text in items:
        for lead, class_name in _RAISED_AS.items():
            if text.startswith(lead):
                out.append(replace(raised, class_name=class_name, message=text[len(lead) :], wrapped=raised.class_name))
                break
        else:
            head = found[0] if len(items) == 1 else f"1 validation error for {found['title']}"
            out.append(replace(raised, message="\n".join(part for part in (head, field, f"  {text}") if part)))
    return tuple(out) or (raised,)


def _items(body: str) -> list[tuple[str, str]]:
    """Split the part below the first line into (field, message) pairs."""
    items: list[tuple[str, str]] = []
    field, text, inside = "", [], False
    for line in body.split("\n"):
        if PYDANTIC_URL.match(line):
            continue
        if line.startswith("  ") and not inside and line.strip():
            text, inside = [line.strip()], True
        elif inside and (line.strip() and (text or line.startswith(" "))):
            text.append(line)
        elif line.strip():
            field = line.strip()
            continue
        if inside and (tail := PYDANTIC_TAIL.search("\n".join(text))):
            items.append((field, "\n".join(text)[: tail.start()].rstrip()))
            field, text, inside = "", [], False
    if inside and text:  # cut before its end
        items.append((field, "\n".join(text).rstrip()))
    return items
