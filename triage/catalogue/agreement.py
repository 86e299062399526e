"""Whether a template and a pattern say the same: reading derived patterns back, and comparing."""

from __future__ import annotations

import re

import regex

from triage.catalogue.templates import doubled, template_to_pattern
from triage.model import Hole, Template

_FILLS = ("1", "x", "1.5", "a b", "[1, 2]", "'x'", "1.5 GiB")
# Seconds that an authored pattern may take on a text of a few hundred characters.
_AGREE_TIMEOUT = 0.5
_PLAIN_GROUP = re.compile(r"(?<!\\)\((?:\?P?<\w+>)?\.[+*]\??\)")


def pattern_to_parts(pattern: str) -> tuple[str | None, ...] | None:
    """Read a derived pattern back: its literals, and None for each group.

    Args:
        pattern: a regular expression.

    Returns:
        Literals and None in turn, or None where the pattern is more than literals, white space
        and capturing groups, so that it cannot be read back.
    """
    body = pattern.removeprefix("^")
    parts: list[str | None] = []
    literal: list[str] = []
    position = 0
    while position < len(body):
        char = body[position]
        if char == "\\":
            plain = _escaped(body[position + 1 : position + 2])
            if plain is None:
                return None
            literal.append(plain)
            position += 2
            if plain == " " and body[position : position + 1] in ("+", "*"):
                position += 1
        elif char == "(":
            end = _group_end(body, position)
            if end is None:
                return None
            if literal:
                parts.append("".join(literal))
                literal.clear()
            parts.append(None)
            position = end
        elif char == "$" and position == len(body) - 1:
            position += 1
        elif char in ".*+?|[]{}()^$":
            return None
        else:
            literal.append(char)
            position += 1
    if literal:
        parts.append("".join(literal))
    return tuple(parts)


def agree(template: Template, pattern: str) -> str | None:
    """Say where a template and the pattern given for it part ways.

    White space and the form of the groups do not count. A pattern that is more than literals and
    groups agrees when it matches the template with its holes filled.

    Args:
        template: the record's ``errorMessage``.
        pattern: its ``messagePattern``.

    Returns:
        None where they agree, else the reason, one line.
    """
    if template_to_pattern(template) == pattern:
        return None
    try:
        compiled = regex.compile(pattern)
    except regex.error as error:
        return f"messagePattern is no valid regular expression: {error}"
    wanted = _normal(tuple(None if isinstance(part, Hole) else part for part in template.parts))
    given_parts = pattern_to_parts(pattern)
    if given_parts is not None:
        return _first_difference(wanted, _normal(given_parts))
    try:
        for fill in _FILLS:
            filled = "".join(fill if isinstance(part, Hole) else part for part in template.parts)
            if compiled.fullmatch(filled, timeout=_AGREE_TIMEOUT):
                return None
    except TimeoutError:
        return "messagePattern takes too long to match its own errorMessage"
    return "messagePattern does not match errorMessage with its holes filled"


def normal_key(template: Template) -> str:
    """A template without white space and without the names of its holes, to compare by.

    Args:
        template: the parsed template.

    Returns:
        Its literals without white space, a NUL for each run of holes.
    """
    return _key(tuple(None if isinstance(part, Hole) else part for part in template.parts))


def pattern_key(pattern: str) -> str:
    """The key of :func:`normal_key`, of a pattern; one that cannot be read back is its own key.

    Args:
        pattern: a regular expression.

    Returns:
        A key that equals that of the template from which the pattern was derived.
    """
    parts = pattern_to_parts(pattern)
    return "".join(pattern.split()) if parts is None else _key(parts)


def _key(parts: tuple[str | None, ...]) -> str:
    return "".join("\0" if part is None else "".join(part.split()) for part in _normal(parts))


def _normal(parts: tuple[str | None, ...]) -> tuple[str | None, ...]:
    """White space to one blank, adjacent holes to one hole: nothing between them tells them apart."""
    normal: list[str | None] = []
    for part in parts:
        if part is not None:
            normal.append(re.sub(r"\s+", " ", part))
        elif not normal or normal[-1] is not None:
            normal.append(None)
    return tuple(normal)


def _first_difference(wanted: tuple[str | None, ...], given: tuple[str | None, ...]) -> str | None:
    for index in range(max(len(wanted), len(given))):
        left = wanted[index] if index < len(wanted) else "(nothing)"
        right = given[index] if index < len(given) else "(nothing)"
        if left != right:
            shown = ["a hole" if part is None else f"{part[:60]!r}" for part in (left, right)]
            return f"errorMessage has {shown[0]} where messagePattern has {shown[1]}"
    return None


def _escaped(char: str) -> str | None:
    """The literal that a backslash and char stand for, a blank for white space, None for anything more."""
    if char in "ntrfvs" and char:
        return " "
    return None if not char or char.isalnum() else char


def _group_end(pattern: str, start: int) -> int | None:
    """The index behind the capturing group at start; None where it captures nothing or is repeated."""
    if pattern[start + 1 : start + 2] == "?" and not re.match(r"\?P?<\w", pattern[start + 1 :]):
        return None
    depth, position, in_class = 0, start, False
    while position < len(pattern):
        char = pattern[position]
        if char == "\\":
            position += 1
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if not depth:
                return None if pattern[position + 1 : position + 2] in ("*", "+", "?", "{") else position + 1
        position += 1
    return None


def group_names(pattern: str) -> tuple[str, ...]:
    """The captures of a pattern that no template explains.

    Args:
        pattern: a valid regular expression.

    Returns:
        The names of its named groups; where it has none, ``value_1``, ``value_2``, ... for its groups in order.
    """
    compiled = regex.compile(pattern)
    named = sorted(compiled.groupindex, key=lambda name: compiled.groupindex[name])
    return tuple(named) or tuple(f"value_{number}" for number in range(1, compiled.groups + 1))


def template_of(pattern: str) -> Template | None:
    """The template that a pattern was derived from, with holes named as by :func:`group_names`.

    Args:
        pattern: a valid regular expression.

    Returns:
        The template, or None where the pattern is more than literals and groups that match anything.
    """
    parts = pattern_to_parts(pattern)
    if parts is None or _PLAIN_GROUP.sub("", pattern).count("(") != pattern.count(r"\("):
        return None
    names = list(group_names(pattern))
    if len(names) != parts.count(None):
        return None
    holes = [part if part is not None else Hole(names[0], names.pop(0)) for part in parts]
    text = "".join(f"{{{part.name}}}" if isinstance(part, Hole) else doubled(part) for part in holes)
    return Template(text, tuple(holes))
