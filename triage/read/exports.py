"""Files that a log's console exports: tables with a header, JSON documents of many entries, the newest line first.

A line of such a file is no line of the program: a table has it in one of several columns, a document in a field of an
object that it lays out over several lines, or all of them on one. They are opened only where what they hold is plainly
a log. Evidence still quotes the file's own lines.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise

import orjson
import regex

from triage.model import Line
from triage.read.glued import untagged
from triage.read.partials import WholeLine

HEADER_LIMIT = 4000
"""Characters of a line that may be a table's header."""

ROW_LINES = 200
"""Lines that one row of a table may go over."""

REVERSED_LIMIT = 200_000
"""Entries that are turned round together; a longer file is turned round in blocks of so many."""

DEPTH = 6
"""Objects and lists inside each other that entries are looked for in."""

Entry = list[WholeLine]
"""What one row or object holds: the lines of one message, in their order."""

IsLog = Callable[[str], bool]
"""Whether a text is plainly a line of a log of vLLM or of a traceback."""

_ENOUGH = 3  # entries that have to agree
_JOINTS = regex.compile(r"[^a-z0-9]+")
# What consoles name the text; in objects the weak ones only beside a clock, since requests have them too.
_TEXTS = frozenset({"message", "msg", "textpayload", "raw", "line", "log", "logs", "logmessage", "content", "body"})
_STRONG = frozenset({"textpayload", "raw", "logmessage"})
_CLOCK_NAME = regex.compile(r"(?i)time|date|\bts|^t$")
_HEADING = regex.compile(r"[\w@. \[\]()%/:-]{1,60}")
_VALUE = r'(?P<value>"(?:[^"\\]|\\.)*")'
_NAMED = regex.compile(rf'\s*"(?P<name>[^"\\]{{1,80}})"\s*:\s*{_VALUE},?\s*$')
_ELEMENT = regex.compile(rf"\s+{_VALUE},?\s*$")
_PUNCTUATION = regex.compile(
    r'\s*(?:[\[\]{}]{1,4},?|[\]}],? ?[\[{]|"[^"\\]{1,80}"\s*:\s*(?:[\[{]\s*[\]}]?|-?[\d.eE+-]+|true|false|null),?)\s*$'
)
_USAGE = regex.compile(r"usage: \S|[\w. -]{1,60}: error: ")
_TRACEBACK = "Traceback (most recent call last):"
_FRAME = regex.compile(r'\bFile "[^"]{1,400}", line \d')
_CLOCK = regex.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?|(?<=[A-Z] )\d\d-\d\d \d\d:\d\d:\d\d|\b1\d{12}\b"
)


def opened(pieces: Iterable[WholeLine], window: int, is_log: IsLog) -> Iterator[WholeLine]:
    """Give what an export holds, oldest first; the pieces themselves where it is none.

    Args:
        pieces: the lines of one source.
        window: lines to look ahead to tell; 0 on a live stream, which is no export.
        is_log: tells a line of a log.
    """
    if not window:
        yield from pieces
        return
    stream = iter(pieces)
    held = [piece for piece, _ in zip(stream, range(window), strict=False)]
    entries = _entries(held, stream, is_log)
    first = [entry for entry, _ in zip(entries, range(window), strict=False)]
    if not _is_reversed(first):
        for entry in chain(first, entries):
            yield from entry
        return
    entries = chain(first, entries)
    while some := [entry for entry, _ in zip(entries, range(REVERSED_LIMIT), strict=False)]:
        last = max((line.number for entry in some for piece in entry for line in piece.lines), default=0)
        for entry in reversed(some):
            for piece in entry:
                lines = tuple(replace(line, turned=last + 1 - line.number) for line in piece.lines)
                yield WholeLine(lines, piece.text)


def _entries(held: Sequence[WholeLine], stream: Iterator[WholeLine], is_log: IsLog) -> Iterator[Entry]:
    pieces = chain(held, stream)
    if (table := _table(held)) is not None:
        return _rows(pieces, *table)
    if (name := _laid_out(held, is_log)) is not None:
        return _fields(pieces, name)
    return (entry for piece in pieces for entry in _document(WholeLine(piece.lines, untagged(piece.text)), is_log))


# --- tables ---


def _is_text(name: str) -> bool:
    plain = _JOINTS.sub("", name.lower())
    return plain in _TEXTS or (name.endswith("_s") and plain[:-1] in _TEXTS)


def _table(held: Sequence[WholeLine]) -> tuple[WholeLine, str, int, int] | None:
    """The header of a table: its line, what parts its columns, how many there are, and which of them is the text."""
    for piece in [piece for piece in held if piece.text.strip()][:1]:
        text = piece.text.lstrip("\ufeff")
        for delimiter in ",;\t" if len(text) <= HEADER_LIMIT else "":
            names = _split(text, delimiter)
            if not 2 <= len(names) <= 60 or not all(_HEADING.fullmatch(name.strip()) for name in names):
                continue
            texts = [index for index, name in enumerate(names) if _is_text(name.strip())]
            if texts and any(_CLOCK_NAME.search(name) for name in names):
                return piece, delimiter, len(names), texts[-1]
    return None


def _rows(pieces: Iterable[WholeLine], header: WholeLine, delimiter: str, count: int, column: int) -> Iterator[Entry]:
    row: list[WholeLine] = []
    quotes = 0
    for piece in pieces:
        if piece is header:
            continue
        row.append(piece)
        quotes += piece.text.count('"')
        if quotes % 2 and len(row) < ROW_LINES:
            continue
        yield _cell(row, delimiter, count, column)
        row, quotes = [], 0
    if row:
        yield row


def _cell(row: list[WholeLine], delimiter: str, count: int, column: int) -> Entry:
    """The lines of a row's text, each with the line of the file that it stands in; the row where it does not fit."""
    cells = _split("\n".join(piece.text for piece in row), delimiter)
    if len(cells) != count:
        return row
    before = sum(cell.count("\n") for cell in cells[:column])
    lines = cells[column].rstrip("\n").split("\n")
    return [WholeLine(row[min(before + index, len(row) - 1)].lines, line) for index, line in enumerate(lines)]


def _split(text: str, delimiter: str) -> list[str]:
    """The cells of a row; none where it is no row, or has a cell that is too long for one."""
    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:
        return []


# --- documents ---


def _laid_out(held: Sequence[WholeLine], is_log: IsLog) -> str | None:
    """The name of the field that holds the text in a document laid out over lines; empty: elements of a list."""
    sizes: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    logs: set[str] = set()
    others = lines = 0
    for piece in held:
        if not piece.text.strip():
            continue
        lines += 1
        if (found := _NAMED.match(piece.text)) or (found := _ELEMENT.match(piece.text)):
            name = found.groupdict().get("name", "")
            counts[name] += 1
            sizes[name] += len(found["value"])
            if name not in logs and _holds(_string(found["value"]).split("\n", 1)[0], is_log):
                logs.add(name)
        elif not _PUNCTUATION.match(piece.text):
            others += 1
    if 10 * others > lines:
        return None
    good = [name for name in logs if counts[name] >= _ENOUGH and (not name or _is_text(name))]
    return max(good, key=lambda name: sizes[name], default=None)


def _fields(pieces: Iterable[WholeLine], name: str) -> Iterator[Entry]:
    form = _NAMED if name else _ELEMENT
    for piece in pieces:
        if (found := form.match(piece.text)) is not None and (not name or found["name"] == name):
            yield [WholeLine(piece.lines, line) for line in _string(found["value"]).rstrip("\n").split("\n")]
        elif not (_NAMED.match(piece.text) or _ELEMENT.match(piece.text) or _PUNCTUATION.match(piece.text)):
            yield [piece]


def _holds(text: str, is_log: IsLog) -> bool:
    return is_log(text) or _USAGE.match(text) is not None


def _string(quoted: str) -> str:
    try:
        read = orjson.loads(quoted)
    except orjson.JSONDecodeError:
        return quoted[1:-1]
    return read if isinstance(read, str) else quoted[1:-1]


def _document(piece: WholeLine, is_log: IsLog) -> list[Entry]:
    """The entries of a document on one line; the piece itself where it holds no log of several entries."""
    text = piece.text.strip()
    if text[:1] not in ("[", "{") or text[-1:] not in ("]", "}") or "[" not in text:
        return [[piece]]
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError:
        return [[piece]]
    texts = list(_texts(data, DEPTH))
    if len(texts) < 2 or not any(_holds(line, is_log) for line in texts[:50]):
        return [[piece]]
    return [[WholeLine(piece.lines, line) for line in entry.rstrip("\r\n").split("\n")] for entry in texts]


def _texts(data: object, depth: int) -> Iterator[str]:
    """The texts of lists of entries: objects, pairs of a clock and a text (Loki), bare lines under a log's name."""
    if not depth:
        return
    if isinstance(data, dict):
        for name, value in data.items():
            if isinstance(value, list) and _is_text(name) and all(isinstance(each, str) for each in value):
                yield from value
            elif isinstance(value, dict | list):
                yield from _texts(value, depth - 1)
    if isinstance(data, list):
        for each in data:
            if isinstance(each, dict):
                text = _text(each, depth - 1)
                yield from [text] if text is not None else _texts(each, depth - 1)
            elif isinstance(each, list):
                is_pair = len(each) in (2, 3) and all(isinstance(part, str) for part in each[:2]) and each[0].isdigit()
                yield from [each[1]] if is_pair else _texts(each, depth - 1)


def _text(entry: dict[str, object], depth: int) -> str | None:
    for name, value in entry.items():
        if isinstance(value, str) and _is_text(name):
            plain = _JOINTS.sub("", name.lower())
            if plain in _STRONG or any(_CLOCK_NAME.search(other) for other in entry):
                return value
    if depth:
        for value in entry.values():
            if isinstance(value, dict) and (found := _text(value, depth - 1)) is not None:
                return found
    return None


# --- order ---


def _is_reversed(entries: Sequence[Entry]) -> bool:
    """Whether the newest line stands first: clocks run backwards, or tracebacks stand on their heads."""
    texts = [piece.text for entry in entries for piece in entry if piece.text.strip()]
    upright = inverted = 0
    for before, text, after in zip(texts, texts[1:], texts[2:], strict=False):
        if _TRACEBACK in text:
            upright += _FRAME.search(after[:1000]) is not None
            inverted += _FRAME.search(before[:1000]) is not None
    ups = downs = 0
    clocks = [found[0] for entry in entries if entry and (found := _CLOCK.search(_raw(entry[0].lines[0])))]
    for before, after in pairwise(clocks):
        if len(before) == len(after):
            ups += after > before
            downs += after < before
    if inverted > 2 * upright and downs >= ups:
        return True
    return downs > 4 + 10 * ups or (downs >= _ENOUGH and downs == len(clocks) - 1)


def _raw(line: Line) -> str:
    return line.text[:300]
