"""Templates taken apart again, and brought into the form in which they are compared."""

from __future__ import annotations

from triage.source.templates import Hole, Parts, merge

_BRACKETS = {"(": ")", "[": "]", "{": "}"}


def split(template: str) -> Parts:
    """Take a template's text apart into literals and holes; the reverse of `render`.

    A brace that opens no hole is taken as literal text, so that no text fails.
    """
    out: list[str | Hole] = []
    literal: list[str] = []
    index = 0
    while index < len(template):
        pair = template[index : index + 2]
        if pair in ("{{", "}}"):
            literal.append(pair[0])
            index += 2
            continue
        if template[index] == "{":
            end = _hole_end(template, index)
            if end is not None:
                out.extend(("".join(literal), Hole(template[index + 1 : end])))
                literal = []
                index = end + 1
                continue
        literal.append(template[index])
        index += 1
    out.append("".join(literal))
    return merge(tuple(out))


def skeleton(parts: Parts) -> tuple[str, ...]:
    """The literals of a template without white space; an empty text at an end means a hole there.

    ``"a {x}{y} b"`` gives ``("a", "b")``, ``"{x} b"`` gives ``("", "b")``. Two templates with the same skeleton say
    the same thing, whatever their holes are called.
    """
    runs: list[list[str]] = [[]]
    after_hole = False
    for part in parts:
        if isinstance(part, Hole):
            if not after_hole:
                runs.append([])
            after_hole = True
            continue
        text = "".join(part.split())
        if text:
            runs[-1].append(text)
            after_hole = False
    return tuple("".join(run) for run in runs)


def _hole_end(template: str, start: int) -> int | None:
    closing: list[str] = []
    quote = ""
    for index in range(start, len(template)):
        char = template[index]
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in _BRACKETS:
            closing.append(_BRACKETS[char])
        elif char in ")]}":
            if closing.pop() != char:
                return None
            if not closing:
                return index if index > start + 1 else None
    return None
