"""Envelopes: what Kubernetes, Docker, Ray, torch and vLLM's own logger put around a line's text.

The table of prefixes is tried until none fits any more, so they may nest in any order and depth. The
innermost says it best: its clock, process and level win.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from functools import cache

import regex

from triage.model import Line, Record
from triage.read.ansi import strip_ansi
from triage.read.prefixes import PREFIXES
from triage.read.unfold import unfold

DEPTH = 12
"""Envelopes taken off one line at most."""

Prefixes = tuple[regex.Pattern[str], ...]
_PREFIXES: Prefixes = tuple(prefix.pattern for prefix in PREFIXES)
_LEVELS = {"WARN": "WARNING", "FATAL": "CRITICAL", "PANIC": "CRITICAL", "TRACE": "DEBUG", "ERR": "ERROR"}
_GLOG = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "CRITICAL"}
# Ray, behind a text that it saw several times.
_REPEATED = regex.compile(
    r"\s*\[repeated (?P<times>\d+)x across cluster\](?: \(Ray deduplicates logs by default\..*)?$"
)
# What a prefix can begin with; most lines of a traceback can not.
_FIRST = frozenset("([>-<#│┃║|" + string.ascii_letters + string.digits)


def to_records(lines: tuple[Line, ...], text: str | None = None, learned: Prefixes = ()) -> Iterator[Record]:
    """Take the envelopes off a line; a line that holds several (JSON, escapes) gives several records.

    Args:
        lines: the input lines that it came from.
        text: the line put together again, where a wrap was undone; else the first line's own text.
        learned: further prefixes, which this input has shown by their regularity.
    """
    whole = strip_ansi(lines[0].text) if text is None else text
    if whole[:1] in _BORDERS and (inner := whole.rstrip())[-1:] in _BORDERS and len(inner) > 1:
        whole = inner[:-1].rstrip()  # a terminal program's box: its right side, and the padding up to it
    yield from _records(lines, whole, {}, learned, DEPTH)


def to_record(lines: tuple[Line, ...], text: str | None = None) -> Record:
    """Take the envelopes off a line that holds one record: the first one, where it holds several."""
    return next(to_records(lines, text))


def _records(
    lines: tuple[Line, ...], text: str, said: dict[str, str], learned: Prefixes, depth: int
) -> Iterator[Record]:
    said = dict(said)
    rest = _unwrapped(text, said, learned)
    pieces = unfold(rest)
    if len(pieces) == 1 and pieces[0][0] == rest:
        yield _record(lines, rest, said)
        return
    for piece, more in pieces:
        wrapped = {**said, **more}
        if "level" in more:
            wrapped["level"] = more["level"].upper()
        if depth > 0:
            yield from _records(lines, strip_ansi(piece), wrapped, (), depth - DEPTH // 3)
        else:
            yield _record(lines, piece, wrapped)


def _unwrapped(rest: str, said: dict[str, str], learned: Prefixes) -> str:
    """Take prefixes off until none fits; what they say goes into said."""
    for _ in range(DEPTH):
        if not rest or rest[0] not in _FIRST:
            break
        for prefix in (*_starting(rest[0]), *learned):
            if (found := prefix.match(rest)) and found.end():
                said.update((name, value) for name, value in found.groupdict().items() if value is not None)
                if letter := said.pop("glog", None):
                    said["level"] = _GLOG[letter]
                rest = rest[found.end() :]
                break
        else:
            break
    return rest


_BORDERS = frozenset("│┃║")


def _record(lines: tuple[Line, ...], rest: str, said: Mapping[str, str]) -> Record:
    repeats = 1
    if rest.endswith((")", "]")) and (found := _REPEATED.search(rest)):
        repeats, rest = 1 + int(found["times"]), rest[: found.start()]
    level = said.get("level", "").upper()
    return Record(
        text=rest,
        lines=lines,
        process=said.get("process"),
        pid=_number(said.get("pid")),
        rank=_number(said.get("rank")),
        pod=said.get("pod"),
        time=said.get("time"),
        level=_LEVELS.get(level, level) or None,
        logger_file=said.get("file"),
        logger_line=_number(said.get("line")),
        repeats=repeats,
    )


def is_prefixed(text: str) -> bool:
    """Whether a text begins with an envelope (a wrapped line's continuation does not)."""
    return bool(text) and text[0] in _FIRST and any(prefix.match(text) for prefix in _starting(text[0]))


@cache
def _starting(character: str) -> Prefixes:
    """The known prefixes that can begin with a character: most lines are spared most of the table."""
    return tuple(prefix for prefix in _PREFIXES if prefix.match(character, partial=True))


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and len(text) < 16 else None
