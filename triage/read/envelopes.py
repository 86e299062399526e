"""Envelopes: what Kubernetes, Docker, Ray, torch and vLLM's own logger put around a line's text.

The table of prefixes is tried until none fits any more, so they may nest in any order and depth. The
innermost says it best: its clock, process and level win.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Literal

import regex

from triage.model import Line, Record
from triage.read.ansi import plain
from triage.read.glued import behind_bars, unbroken
from triage.read.json_lines import Unwrapped, read_collected, read_quoted
from triage.read.logfmt import read_logfmt, read_row
from triage.read.prefixes import PREFIXES
from triage.read.unfold import unfold

DEPTH = 12
"""Envelopes taken off one line at most."""

HEADER_WITHIN = 400
"""Characters from a line's beginning in which the header of vLLM's logger is looked for behind what nobody knows."""

TAGS_LIMIT = 4096
"""Process tags kept."""

Prefixes = tuple[regex.Pattern[str], ...]
_LEVELS = {"WARN": "WARNING", "FATAL": "CRITICAL", "PANIC": "CRITICAL", "TRACE": "DEBUG", "ERR": "ERROR"}
_GLOG = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "CRITICAL", "C": "CRITICAL"}
# Ray, behind a text that it saw several times.
_REPEATED = regex.compile(
    r"\s*\[repeated (?P<times>\d+)x across cluster\](?: \(Ray deduplicates logs by default\..*)?$"
)
# vLLM's logger is not mistaken for anything else: what stands before its header is an envelope, if an unknown one. A
# quotation is none.
_OWN_HEADER = regex.compile(
    r"(?:\([A-Za-z][\w:.-]*(?: [A-Z]+\d+)*(?: rank=\d+)?,? pid=\d+(?:, ip=[\w.:-]+)?\) )*"
    r"\b(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) (?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? "
    r"(?:\[[\w./*<>-]+:\d+\]|[\w.*-]+\.py:\d+\]) "
)
_QUOTATION = regex.compile(r"['\"`]|\w$|^(?:[A-Za-z_]\w*\.)*\w*(?:Error|Exception|Exit|Interrupt|Warning)\b")
# What a prefix can begin with; most lines of a traceback can not.
_FIRST = frozenset("*+`•\t ([>-<#│┃║|" + string.ascii_letters + string.digits)
_BORDERS = frozenset("│┃║")
# Relays leave the line end that they were given, spelled out.
_tags: dict[str, dict[str, str]] = {}
_SPELLED_END = regex.compile(r"(?:\\r)?(?:\\n)+$")


def to_records(lines: tuple[Line, ...], text: str | None = None, learned: Prefixes = ()) -> Iterator[Record]:
    """Take the envelopes off a line; a line that holds several (JSON, escapes) gives several records.

    Args:
        lines: the input lines that it came from.
        text: the line put together again, where a wrap was undone; else the first line's own text.
        learned: further prefixes, which this input has shown by their regularity.
    """
    whole = plain(lines[0].text) if text is None else text
    if whole[:1] in _BORDERS and (inner := whole.rstrip())[-1:] in _BORDERS and len(inner) > 1:
        whole = inner[:-1].rstrip()  # a terminal program's box: its right side, and the padding up to it
    for part in unbroken(whole):
        yield from _records(lines, part, {}, learned, DEPTH)


def to_record(lines: tuple[Line, ...], text: str | None = None) -> Record:
    """Take the envelopes off a line that holds one record: the first one, where it holds several."""
    return next(to_records(lines, text))


def _records(
    lines: tuple[Line, ...], text: str, said: dict[str, str], learned: Prefixes, depth: int
) -> Iterator[Record]:
    said = dict(said)
    rest = _unwrapped(text, said, learned)
    if rest != text and rest.endswith("\\n"):
        rest = _SPELLED_END.sub("", rest)
    if depth > 0 and len(parts := behind_bars(rest, is_prefixed)) > 1:
        for part in parts:
            yield from _records(lines, part, said, learned, depth - 1)
        return
    pieces = _wrapped(rest, rest != text) or unfold(rest)
    if len(pieces) == 1 and pieces[0][0] == rest:
        if depth > 0 and "level" not in said and (own := _own_header(rest)):
            yield from _records(lines, rest[own:], said, (), depth - 1)
        else:
            yield _record(lines, rest, said)
        return
    for piece, more in pieces:
        wrapped = {**said, **more}
        if depth > 0:
            yield from _records(lines, plain(piece), wrapped, (), depth - DEPTH // 3)
        else:
            yield _record(lines, piece, wrapped)


def _own_header(text: str) -> int:
    """Where a header of vLLM's logger begins behind an envelope that nobody knows; 0 where none does."""
    if ".py:" not in text[:HEADER_WITHIN] or (own := _OWN_HEADER.search(text, 1, HEADER_WITHIN)) is None:
        return 0
    return 0 if _QUOTATION.search(text[: own.start()]) else own.start()


def _wrapped(text: str, is_behind_prefix: bool) -> list[Unwrapped] | None:
    """The lines of a text that a collector, a logger of pairs or an export wrapped whole."""
    if not text:
        return None
    if text[0] == '"':
        quoted = read_quoted(text) if is_behind_prefix else read_row(text)
        return quoted if quoted and (len(quoted) > 1 or not is_behind_prefix) else None
    if text[-1] in "}]" and text[0] in "[0123456789":
        return read_collected(text)
    if text[0].isdigit():
        return read_row(text)
    return read_logfmt(text) if "=" in text and text[0].isalpha() else None


def _unwrapped(rest: str, said: dict[str, str], learned: Prefixes = ()) -> str:
    """Take prefixes off until none fits; what they say goes into said."""
    inner = False
    for _ in range(DEPTH):
        if not rest or rest[0] not in _FIRST:
            break
        if (tag := _tag(rest)) is not None:
            says, end = tag
            said.update(says)
            rest = rest[end:]
            continue
        known = _starting(rest[0], "inner" if inner else "all")
        found = known.match(rest) if known is not None else None
        if found is None or not found.end():
            found = None if inner else next((f for prefix in learned if (f := prefix.match(rest)) and f.end()), None)
            if found is None:
                break
        for name, value in found.groupdict().items():
            if value is not None:
                said[name] = value
        if letter := said.pop("glog", None):
            said["level"] = _GLOG[letter]
        inner = said.pop("ends", None) is not None or inner
        rest = rest[found.end() :]
    return rest


def _tag(text: str) -> tuple[dict[str, str], int] | None:
    """What a process tag says, and its length: the same few stand before nearly every line, so they are kept."""
    if text[0] != "(" or not (end := text.find(") ", 0, 80) + 2) > 1:
        return None
    head = text[:end]
    if (says := _tags.get(head)) is None:
        if len(_tags) >= TAGS_LIMIT:
            _tags.clear()
        known = _starting("(", "inner")
        found = known.fullmatch(head) if known is not None else None
        says = {} if found is None else {name: said for name, said in found.groupdict().items() if said is not None}
        _tags[head] = says
    return (says, end) if says else None


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
    if not text or text[0] not in _FIRST:
        return False
    if _tag(text) is not None:
        return True
    known = _starting(text[0], "all")
    return known is not None and known.match(text) is not None


def peeled(text: str) -> tuple[str, bool]:
    """Take the known carriers off a text (containers, hosts, relays); say whether one of vLLM's own stands behind.

    Args:
        text: a line, escape sequences off.
    """
    for _ in range(DEPTH):
        if not text or text[0] not in _FIRST:
            return text, False
        own = _starting(text[0], "inner")
        if own is not None and own.match(text):
            return text, True
        known = _starting(text[0], "sure")
        found = known.match(text) if known is not None else None
        if found is None or not found.end():
            return text, False
        text = text[found.end() :]
    return text, False


@cache
def _starting(character: str, which: Literal["all", "inner", "sure"]) -> regex.Pattern[str] | None:
    """The known prefixes that can begin with a character, as one pattern: most lines are spared most of the table.

    Args:
        character: a line's first.
        which: all; those that may stand behind vLLM's own logger; those that every line of a log shows.
    """
    rows = [
        f"(?:{prefix.pattern.pattern})(?P<ends>)" if prefix.ends else prefix.pattern.pattern
        for prefix in PREFIXES
        if {"all": True, "inner": prefix.inner, "sure": not prefix.guessed}[which]
        and prefix.pattern.match(character, partial=True)
    ]
    return regex.compile("|".join(f"(?:{pattern})" for pattern in rows)) if rows else None


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and len(text) < 16 else None
