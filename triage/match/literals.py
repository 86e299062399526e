"""Ordered literal search: a template's literals, one behind the other, holes between them.

A regular expression with several lazy holes backtracks for seconds on a long line; finding each
literal behind the one before is linear, and finds a match wherever there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import regex

from triage.match.folding import Folded, fold_literal
from triage.model import CaptureSpec, Hole, Scalar, Template

HOLE_LIMIT = 4000
"""Characters (folded) that a hole may span."""

RAW_LIMIT = 20_000
"""Characters of a value in the message as it is reported."""

CUT_VALUE_LIMIT = 80
"""Characters (folded) of a value that was cut away behind them."""

CAPTURE_LIMIT = 2000
"""Characters of a captured text that are kept."""

STARTS_LIMIT = 20
"""Places in one text where a template is tried."""

TRUNCATED_LITERALS = 24
"""Characters of a template's literals that a truncated text must show at least."""

# What may end a template behind its last hole, and may stand in the hole's value too.
_STOPS = (".", ",", ":", ")", "'", "'.", ").")
_CUT_NUMBER = regex.compile(r"[-+]?[\d,_]*(?:\.\d*)?")
_SENTENCE = regex.compile(r"[^.…][.!?]\s+[A-Z]|[^.…\s][.!?]['\"]?\s*\Z")
_NUMBER = regex.compile(r"[-+]?(?:\d{1,3}(?:[,_]\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?")
# What encloses a message that ends in a hole: pydantic's dump, a validation error's parameter, Ray, a relay.
TAIL = regex.compile(r"\[type=\w+|\(parameter=[^()]{0,400}\)\s*\Z|\[repeated \d+x|['\"]?, please check the stack trace")


@dataclass(frozen=True, slots=True)
class Fit:
    """How a template fits a text: its span in the folded text, what the holes held, and how much was there.

    share: the part of the template's literals that the text shows, 1.0 for all; raw: the holes' texts as
    they stand in the input.
    """

    start: int
    end: int
    captures: Mapping[str, Scalar]
    raw: Mapping[str, str]
    share: float

    @property
    def whole(self) -> bool:
        """Whether nothing was cut away."""
        return self.share >= 1.0


class _Values:
    """What the holes held so far."""

    def __init__(self, holes: tuple[Hole, ...], specs: Mapping[str, CaptureSpec], text: Folded) -> None:
        self.captures: dict[str, Scalar] = {hole.name: None for hole in holes}
        self.raw: dict[str, str] = {}
        self._specs, self._text = specs, text

    def take(self, hole: Hole, start: int, end: int) -> bool:
        """Read a hole's value; False when it cannot be what the hole holds."""
        spec = self._specs.get(hole.name)
        kind = spec.type if spec is not None else "auto"
        raw = self._text.span(start, end)
        if kind in ("int", "float"):
            value = number(self._text.text[start:end], kind)
            if value is None:
                return False
            self.captures[hole.name], self.raw[hole.name] = value, "".join(raw.split())
            return True
        if not raw and kind == "message":
            return False
        self.captures[hole.name] = plain_value(raw) if kind == "auto" else on_one_line(raw) if kind == "str" else raw
        self.raw[hole.name] = raw[:RAW_LIMIT]
        return True


@dataclass(frozen=True, slots=True)
class _Compiled:
    literals: tuple[str, ...]  # one more than holes; the first and last may be empty
    holes: tuple[Hole, ...]
    size: int


@lru_cache(maxsize=8192)
def _compiled(template: Template) -> _Compiled:
    literals, holes = [""], []
    for part in template.parts:
        if isinstance(part, Hole):
            holes.append(part)
            literals.append("")
        else:
            literals[-1] += fold_literal(part)
    return _Compiled(tuple(literals), tuple(holes), sum(map(len, literals)))


def fit(template: Template, specs: Mapping[str, CaptureSpec], text: Folded) -> Fit | None:
    """Find a template in a text, whole, else with its end or its beginning cut away.

    Args:
        template: the message's template.
        specs: how its captures are typed; a number's hole must hold a number.
        text: the folded text of a statement.
    """
    compiled = _compiled(template)
    if not compiled.size:
        return None
    return _whole(compiled, specs, text) or _end_cut(compiled, specs, text) or _beginning_cut(compiled, specs, text)


def _whole(compiled: _Compiled, specs: Mapping[str, CaptureSpec], text: Folded) -> Fit | None:
    first = next(index for index, literal in enumerate(compiled.literals) if literal)
    position = -1
    for _ in range(STARTS_LIMIT):
        position = text.text.find(compiled.literals[first], position + 1)
        if position < 0:
            return None
        if (found := _from(compiled, specs, text, first, position)) is not None:
            return _nearest(compiled, specs, text, found, position) or found
    return None


def _nearest(
    compiled: _Compiled, specs: Mapping[str, CaptureSpec], text: Folded, found: Fit, position: int
) -> Fit | None:
    """The same, from a later beginning, where the first value ran over line ends and past another beginning.

    A line that begins in a template's first words is not the message that stands some lines below it.
    """
    first = compiled.literals[0]
    if not first or not compiled.holes or "\n" not in found.raw.get(compiled.holes[0].name, ""):
        return None
    nearest = None
    for _ in range(STARTS_LIMIT):
        position = text.text.find(first, position + 1, found.end)
        if position < 0:
            break
        later = _from(compiled, specs, text, 0, position)
        if later is None or later.end != found.end:
            break
        nearest = later
    return nearest


def _from(compiled: _Compiled, specs: Mapping[str, CaptureSpec], text: Folded, first: int, position: int) -> Fit | None:
    start = position
    values = _Values(compiled.holes, specs, text)
    if first:  # the template begins with a hole: it reaches back to the beginning of its line
        start = _line_start(text, position)
        if not values.take(compiled.holes[0], start, position):
            return None
    end = position + len(compiled.literals[first])
    for index in range(first + 1, len(compiled.literals)):
        literal, hole = compiled.literals[index], compiled.holes[index - 1]
        if literal:
            spec = specs.get(hole.name)
            if index == len(compiled.literals) - 1 and _is_stop(literal, spec):
                at = _find_end(text, literal, end)
            else:
                at = _find_literal(text.text, literal, end, spec)
            if at < 0:
                return None
            after = at + len(literal)
        elif index == len(compiled.literals) - 1:  # it ends with a hole, which reaches to the end of the message
            at = after = end + _tail(text, end, specs.get(hole.name))
        else:  # two holes with nothing between: the first takes a word
            at = after = _word_end(text, end)
        if not values.take(hole, end, at):
            return None
        end = after
    return Fit(start, end, values.captures, values.raw, 1.0)


def _is_stop(literal: str, spec: CaptureSpec | None) -> bool:
    """Whether a literal only ends a message behind a value of text, which may hold the same character."""
    return literal in _STOPS and (spec is None or spec.type in ("str", "auto"))


def _find_end(text: Folded, literal: str, start: int) -> int:
    """The first full stop behind which a blank or the text's end stands: "Llama-3.3." holds one that ends nothing."""
    at = text.text.find(literal, start, start + HOLE_LIMIT + len(literal))
    while at >= 0:
        following = text.original[text.offsets[at + len(literal) - 1] + 1 :][:1]
        if not following or following.isspace() or following in "'\")][(,;|<":
            return at
        at = text.text.find(literal, at + 1, start + HOLE_LIMIT + len(literal))
    return -1


def _find_literal(text: str, literal: str, start: int, spec: CaptureSpec | None) -> int:
    at = text.find(literal, start, start + HOLE_LIMIT + len(literal))
    # "4.25GiB)" behind a float: the "." of the number is not the full stop that ends the sentence.
    while (
        at >= 0
        and spec is not None
        and spec.type in ("int", "float")
        and literal[0] == "."
        and text[at + 1 : at + 2].isdigit()
    ):
        at = text.find(literal, at + 1, start + HOLE_LIMIT + len(literal))
    return at


def _end_cut(compiled: _Compiled, specs: Mapping[str, CaptureSpec], text: Folded) -> Fit | None:
    """The text ends (or was cut with an ellipsis) inside the template."""
    body = text.text.rstrip(".…")
    head = compiled.literals[0]
    if not head:
        return None
    starts = _occurrences(body, head) or [at for at in [_overlap(body, head)] if at is not None]
    for start in starts:
        if not _begins_message(text, start):
            continue  # another message may end in the words that this one begins with
        values = _Values(compiled.holes, specs, text)
        end, seen = start, 0
        if body.startswith(head, start):
            end, seen = start + len(head), len(head)
            for index, hole in enumerate(compiled.holes, 1):
                literal = compiled.literals[index]
                at = body.find(literal, end, end + HOLE_LIMIT) if literal else -1
                if index == len(compiled.holes) and _is_stop(literal, specs.get(hole.name)):
                    at = -1  # the stop that ends the message is lost; one in the value ends nothing
                if at < 0:
                    part = _partial(body, literal, end)
                    if part is not None:
                        values.take(hole, end, part)
                        end, seen = len(body), seen + len(body) - part
                    else:  # cut inside the value, unless what stands there can be none
                        cut = _may_be_cut_value(text, end, len(body), specs.get(hole.name))
                        end = len(body) if cut else -1
                    break
                if not values.take(hole, end, at):
                    end = -1
                    break
                end, seen = at + len(literal), seen + len(literal)
        else:
            end, seen = len(body), len(body) - start
        if end == len(body) and seen >= min(TRUNCATED_LITERALS, compiled.size) and seen < compiled.size:
            return Fit(start, end, values.captures, values.raw, seen / compiled.size)
    return None


def _beginning_cut(compiled: _Compiled, specs: Mapping[str, CaptureSpec], text: Folded) -> Fit | None:
    """The text begins inside the template: the paste lost the line before."""
    body = text.text
    for first, literal in enumerate(compiled.literals):
        size = next((size for size in range(len(literal) - 1, 7, -1) if body.startswith(literal[-size:])), 0)
        if not size:
            continue
        values = _Values(compiled.holes, specs, text)
        end, seen = size, size
        for index in range(first + 1, len(compiled.literals)):
            following, hole = compiled.literals[index], compiled.holes[index - 1]
            at = (
                body.find(following, end, end + HOLE_LIMIT)
                if following
                else end + _tail(text, end, specs.get(hole.name))
            )
            if at < 0 or not values.take(hole, end, at):
                break
            end, seen = at + len(following), seen + len(following)
        else:
            if seen >= min(TRUNCATED_LITERALS, compiled.size):
                return Fit(0, end, values.captures, values.raw, seen / compiled.size)
    return None


def _may_be_cut_value(text: Folded, start: int, end: int, spec: CaptureSpec | None) -> bool:
    """Whether what a text holds between two folded offsets can be the beginning of a value; a sentence is none.

    A text that shares a template's first words and then goes on in its own to a full stop was not cut.
    """
    rest = text.text[start:end]
    if spec is not None and spec.type in ("int", "float"):
        return not rest or _CUT_NUMBER.fullmatch(rest) is not None
    if len(rest) > CUT_VALUE_LIMIT:
        return False
    original = text.original[text.offsets[start] :] if start < len(text.offsets) else ""
    return not rest or _SENTENCE.search(original) is None


def _begins_message(text: Folded, start: int) -> bool:
    """Whether a message may begin at a folded offset: at the start of a line, behind a class, a quote or a bracket."""
    before = text.original[: text.offsets[start]].rstrip(" \t")
    return not before or before[-1] in "\n:'\"([{|>]-,"


def _occurrences(text: str, literal: str) -> list[int]:
    found: list[int] = []
    at = text.find(literal)
    while at >= 0 and len(found) < STARTS_LIMIT:
        found.append(at)
        at = text.find(literal, at + 1)
    return found


def _overlap(text: str, literal: str) -> int | None:
    """Where a text's end is a literal's beginning of at least TRUNCATED_LITERALS characters."""
    for size in range(min(len(literal) - 1, len(text)), TRUNCATED_LITERALS - 1, -1):
        if text.endswith(literal[:size]):
            return len(text) - size
    return None


def _partial(text: str, literal: str, start: int) -> int | None:
    """Where, behind start, the text's end is the beginning of a literal."""
    for size in range(min(len(literal) - 1, len(text) - start), 0, -1):
        if text.endswith(literal[:size]):
            return len(text) - size
    return None


def _line_start(text: Folded, position: int) -> int:
    """The folded offset at which the line that holds position begins."""
    begin = text.original.rfind("\n", 0, text.offsets[position]) + 1
    while position > 0 and text.offsets[position - 1] >= begin:
        position -= 1
    return position


def _tail(text: Folded, start: int, spec: CaptureSpec | None) -> int:
    """How many folded characters a hole at the end of a template takes."""
    rest = text.text[start : start + HOLE_LIMIT]
    if spec is not None and spec.type in ("int", "float"):
        found = _NUMBER.match(rest)
        return found.end() if found else 0
    if not rest:
        return 0
    found = TAIL.search(text.original, text.offsets[start])
    limit = found.start() if found else len(text.original)
    count = 0
    while count < len(rest) and text.offsets[start + count] < limit:
        count += 1
    return count


def _word_end(text: Folded, start: int) -> int:
    end = start
    while end < len(text.text) and (
        end == start or not regex.search(r"\s", text.original[text.offsets[end - 1] + 1 : text.offsets[end]])
    ):
        end += 1
    return end


def number(text: str, kind: str) -> int | float | None:
    """Read a number, None where the text is none; thousands separators are allowed."""
    if len(text) > 40 or not _NUMBER.fullmatch(text):
        return None
    value = float(text.replace(",", "").replace("_", ""))
    if kind == "int" or ("." not in text and "e" not in text.lower()):
        return int(value) if value.is_integer() and abs(value) < 2**53 else None
    return value if abs(value) < 1e300 else None


_PLAIN_INT = regex.compile(r"-?\d{1,15}")
_PLAIN_FLOAT = regex.compile(r"-?\d{1,15}\.\d{1,15}")


def plain_value(raw: str) -> Scalar:
    """A captured text as a value: a number where it is one and no more, else the text on one line."""
    text = raw.strip()
    squeezed = "".join(text.split())
    if _PLAIN_INT.fullmatch(squeezed):
        return int(squeezed)
    if _PLAIN_FLOAT.fullmatch(squeezed):
        return float(squeezed)
    return on_one_line(text)


def on_one_line(text: str) -> str:
    """A captured text without the line breaks that it was wrapped at."""
    return regex.sub(r"\s*\n\s*", " ", text).strip()[:CAPTURE_LIMIT]
