"""Message templates: f-string-shaped text to literals and holes, and to the regex that records carry.

The grammar is that of an f-string: ``{expression!r:format}``, doubled braces for literal ones, and
``{x=}``, which prints ``x=`` before the value. Text that was never an f-string may hold lone braces;
those are taken as they are, for such a record must load all the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from triage.catalogue.names import hole_name
from triage.model import Hole, Template

HOLE = "(.+?)"
"""What stands for a hole in a derived pattern, as in the records' ``messagePattern``."""

# Nine holes in ten are a dotted name: no need to walk through those by character.
_SIMPLE = re.compile(r"([A-Za-z_][\w.]*)(?:![rsa])?(?::[^{}]*)?\}", re.ASCII)
_BRACE = re.compile(r"[{}]")
_SPECIAL = re.compile(r"[.*+?^${}()|\[\]\\]")
_DEBUG_END = re.compile(r"\s*(?=[!:}])")
_CONVERSION = re.compile(r"[rsa]\s*(?=[:}])")
_PRINTF = re.compile(r"%(?:\((?P<name>\w+)\))?[-+ #0]*(?:\d+|\*)?(?:\.\d+)?[sdrifgxX]|%%")
_DOUBLED_NAME = re.compile(r"(?<!\{)\{\{([A-Za-z_]\w{0,80})\}\}(?!\})")
_OPEN, _CLOSE = "([{", ")]}"


def parse_template(text: str) -> Template:
    """Split an f-string-shaped message into literals and holes.

    Args:
        text: the template, literal braces doubled.

    Returns:
        The template; adjacent literals are joined, and no two holes share a name: the second
        ``{x}`` is ``x_2``. A brace that opens or closes nothing is literal.
    """
    parts: list[str | Hole] = []
    literal: list[str] = []
    taken: set[str] = set()
    position = 0
    while (brace := _BRACE.search(text, position)) is not None:
        start = brace.start()
        literal.append(text[position:start])
        if text[start : start + 2] in ("{{", "}}"):
            literal.append(text[start])
            position = start + 2
            continue
        hole = _scan_hole(text, start + 1) if text[start] == "{" else None
        if hole is None:
            literal.append(text[start])
            position = start + 1
            continue
        expression, shown, position = hole
        literal.append(shown)
        _flush(parts, literal)
        parts.append(Hole(_unique(hole_name(expression), taken), expression))
    literal.append(text[position:])
    _flush(parts, literal)
    return Template(text, tuple(parts))


def parse_printf(text: str) -> Template:
    """Split a message in the logger's style (``%s``, ``%(name)d``, ``%%``) into literals and holes.

    Args:
        text: the format as passed to the logger.

    Returns:
        The template; a hole without a name is ``value``, ``value_2``, and so on.
    """
    parts: list[str | Hole] = []
    literal: list[str] = []
    taken: set[str] = set()
    position = 0
    for found in _PRINTF.finditer(text):
        literal.append(text[position : found.start()])
        position = found.end()
        if found.group() == "%%":
            literal.append("%")
            continue
        _flush(parts, literal)
        name = found["name"] or "value"
        parts.append(Hole(_unique(name, taken), name))
    literal.append(text[position:])
    _flush(parts, literal)
    return Template(text, tuple(parts))


def template_to_pattern(template: Template) -> str:
    """The regular expression of a template: literals escaped, each hole ``(.+?)``.

    Args:
        template: the parsed template.

    Returns:
        The text that belongs into ``messagePattern``.
    """
    return "".join(HOLE if isinstance(part, Hole) else _SPECIAL.sub(r"\\\g<0>", part) for part in template.parts)


def doubled(text: str) -> str:
    """Text in which braces are doubled, so that none of it is taken for a hole."""
    return text.replace("{", "{{").replace("}", "}}")


def with_captures(text: str, names: Collection[str]) -> str:
    """Advice of a record as the title of a fix: its captures are holes, braces around anything else are text.

    Args:
        text: the advice, which may quote JSON.
        names: the captures of the record.
    """
    return _DOUBLED_NAME.sub(lambda found: f"{{{found[1]}}}" if found[1] in names else found[0], doubled(text))


def _flush(parts: list[str | Hole], literal: list[str]) -> None:
    text = "".join(literal)
    literal.clear()
    if text:
        parts.append(text)


def _unique(name: str, taken: set[str]) -> str:
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{name}_{number}"
    taken.add(unique)
    return unique


def _scan_hole(text: str, start: int) -> tuple[str, str, int] | None:
    """The hole whose content starts at start: expression, text that ``=`` shows, end; None if there is none."""
    simple = _SIMPLE.match(text, start)
    if simple is not None:
        return simple[1], "", simple.end()
    end, depth = start, 0
    while end < len(text):
        char = text[end]
        if char in "'\"":
            closing = _string_end(text, end)
            if closing is None:
                return _plain_hole(text, start)
            end = closing
            continue
        if char in _OPEN:
            depth += 1
        elif char in _CLOSE and depth:
            depth -= 1
        elif char == "}":
            return text[start:end].strip(), "", end + 1
        elif char in _CLOSE:
            return _plain_hole(text, start)
        elif not depth:
            if char == "=" and text[end - 1] not in "=!<>" and text[end + 1 : end + 2] != "=":
                rest = _DEBUG_END.match(text, end + 1)
                if rest:
                    return _close(text, text[start:end], text[start : rest.end()], rest.end())
            elif char == "!" and text[end + 1 : end + 2] != "=":
                if _CONVERSION.match(text, end + 1):
                    return _close(text, text[start:end], "", end)
            elif char == ":":
                return _close(text, text[start:end], "", end)
        end += 1
    return _plain_hole(text, start)


def _close(text: str, expression: str, shown: str, position: int) -> tuple[str, str, int] | None:
    """Skip conversion and format, the holes that the format may hold included."""
    depth = 0
    for end in range(position, len(text)):
        if text[end] == "{":
            depth += 1
        elif text[end] == "}":
            if not depth:
                return expression.strip(), shown, end + 1
            depth -= 1
    return None


def _plain_hole(text: str, start: int) -> tuple[str, str, int] | None:
    """What is no Python expression (``{don't}``) is a hole up to the next brace, if it closes one."""
    brace = _BRACE.search(text, start)
    if brace is None or brace.group() == "{" or not text[start : brace.start()].strip():
        return None
    return text[start : brace.start()].strip(), "", brace.end()


def _string_end(text: str, start: int) -> int | None:
    """The index behind the string literal at start, or None where it does not end."""
    quote = text[start] * 3 if text[start : start + 3] == text[start] * 3 else text[start]
    position = start + len(quote)
    while position < len(text):
        if text[position] == "\\":
            position += 2
        elif text.startswith(quote, position):
            return position + len(quote)
        else:
            position += 1
    return None
