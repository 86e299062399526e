"""Templates that a text is from its beginning to its end: its literals in order, whatever the holes hold.

Where a site's own message is asked for, nothing may stand before it or behind it. That settles what an ordered search
has to guess at: a hole may hold line breaks, nothing at all, or the words of a literal, and the text is still covered.
"""

from __future__ import annotations

from functools import lru_cache

from triage.match.folding import Folded, fold_literal
from triage.match.literals import CAPTURE_LIMIT, Fit, plain_value
from triage.model import Hole, Template


def cover(template: Template, text: Folded) -> Fit | None:
    """Fit a template to the whole of a text.

    Args:
        template: the template; one without a literal covers nothing.
        text: the folded text.

    Returns:
        The fit, each hole with as little as it can hold; None where the text is not of the template.
    """
    literals, holes, _ = folded_parts(template)
    body = text.text
    first, last = literals[0], literals[-1]
    if not any(literals) or not body.startswith(first):
        return None
    if not holes:
        return Fit(0, len(body), {}, {}, 1.0) if body == first else None
    end = len(body) - len(last)
    if end < len(first) or not body.endswith(last):
        return None
    at, begin = len(first), len(first)
    spans: list[tuple[int, int]] = []
    for literal in literals[1:-1]:
        found = body.find(literal, at, end)
        if found < 0:
            return None
        spans.append((begin, found))
        at = begin = found + len(literal)
    spans.append((begin, end))
    raw = {hole.name: text.span(*span) for hole, span in zip(holes, spans, strict=True)}
    captures = {name: plain_value(value[:CAPTURE_LIMIT]) for name, value in raw.items()}
    return Fit(0, len(body), captures, raw, 1.0)


@lru_cache(maxsize=16_384)
def folded_parts(template: Template) -> tuple[tuple[str, ...], tuple[Hole, ...], int]:
    """A template's literals, folded, one more than the holes between them; its holes; its own letters and digits."""
    literals: list[str] = [""]
    holes: list[Hole] = []
    for part in template.parts:
        if isinstance(part, Hole):
            holes.append(part)
            literals.append("")
        else:
            literals[-1] += fold_literal(part)
    return tuple(literals), tuple(holes), sum(character.isalnum() for literal in literals for character in literal)
