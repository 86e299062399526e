"""Hard wraps undone: a terminal or a mail client broke the lines at its width.

The width shows itself: several lines are exactly that long and none is longer. A full line is joined
with the next one, unless that begins with an envelope or is plainly a line of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

import regex

from triage.model import Line, Record
from triage.read.ansi import plain
from triage.read.carriers import BORDERS, carried
from triage.read.envelopes import Prefixes, is_prefixed, peeled, to_record, to_records
from triage.read.exports import opened
from triage.read.lines import PAUSE
from triage.read.markdown import list_marks
from triage.read.partials import WholeLine, join_partials
from triage.read.regularity import is_log, learn
from triage.read.widths import AGREEING, NARROW, WIDE, Widths

WINDOW = 400
"""Lines looked at before the first is given on, to tell the width."""

NARROW_INSIDE = 60
"""Columns that a terminal program leaves to the text inside its frame, at least."""

JOINED = 200
"""Lines joined to one at most."""

CROWD, CROWD_SHARE = 8, 0.8
"""Different lines of one length that go on in the next one, and their share of all of that length: the width of a wrap,
though what somebody wrote around it is wider."""

# A line that stands by itself even behind a full one.
_OWN = regex.compile(
    r"\s*(?:Traceback \(most|File \"|\^+|~+\^|During handling of|The above exception|Process \S+:$|usage: |\$ |```)"
    r"|(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Warning)\b(?::|$)"
    r"|[-+|=*#]{3,}|\S+ exited with code"
    r"|E {3,}\S|/[\w./-]+\.(?:cu|cuh|cc|cpp|h|hpp):\d+: |[~/][\w./-]+\.py:\d+: (?:in )?\w"
)
_FRAME = regex.compile(r'.*File "[^"]{1,400}", line \d+, in [\w.<>]+$')
# What ends a table's row: it is as long as its neighbours, and whole.
_ROW_END = frozenset("|+┤┐┘╮╯╢╣╗╝")


class _Row(NamedTuple):
    """A line while wraps are looked for: head is where the program's own text begins in text, behind carriers."""

    piece: WholeLine
    text: str
    head: int
    pod: str

    @property
    def body(self) -> str:
        """The program's own text."""
        return self.text[self.head :]


def unwrap(lines: Iterable[Line], *, window: int = WINDOW) -> Iterator[Record]:
    """Turn lines into records: pieces of container runtimes joined, hard wraps undone, envelopes off.

    Args:
        lines: lines of one source.
        window: lines to look ahead to tell the width; 0 on a live stream, where nothing may wait
            (the width is then told from the lines that went by). There a pause of the input comes through as a record
            of the line ``PAUSE``, behind everything that was held.
    """
    joiner = _Joiner(waits=window > 0)
    pieces = opened(join_partials(lines), window, lambda text: is_log(plain(text), peeled))
    joined = joiner.join(pieces, window)
    if window:
        # A paste may have been wrapped twice, by a terminal and by a form: what is joined may be full again.
        held = [piece for piece, _ in zip(joined, range(window), strict=False)]
        joined = chain(held, joined)
        if joiner.has_joined:
            joined = _Joiner(waits=True).join(joined, window)
    for piece in joined:
        if piece.lines[0] is PAUSE:
            yield Record("", piece.lines)
            continue
        yield from to_records(piece.lines, piece.text, joiner.learned)


class _Joiner:
    """Holds the line that may go on, and what is known of the width and of a paste's indentation."""

    def __init__(self, *, waits: bool) -> None:
        self.learned: Prefixes = ()
        self.has_joined = False
        self._totals = Widths()
        self._bodies = Widths(NARROW_INSIDE)
        # What folds lines without knowing escape sequences counts them as columns.
        self._raw = Widths()
        self._has_escapes = False
        self._lines = self._prefixed = 0
        self._indent: int | None = None
        self._hanging = ""
        self._settled = self._whole_input_known = False
        self._parts: list[_Row] = []
        self._texts: list[str] = []
        self._rewrapped = 0
        self._waits = waits

    def join(self, pieces: Iterable[WholeLine], window: int) -> Iterator[WholeLine]:
        """Give the pieces, wraps undone."""
        stream = iter(pieces)
        held: list[tuple[WholeLine, str]] = []
        for piece in stream:
            held.append((piece, plain(piece.text)))
            if len(held) >= window:
                break
        if len(held) > 1:
            texts = [text for _, text in held]
            marks = list_marks(texts)
            if marks:
                texts = [marks[0].sub("", text, count=1) for text in texts]
            self.learned = (*marks, *learn(texts, peeled))
        rows = [self._row(piece, text) for piece, text in held]
        for row in rows:
            self._measure(row)
        self._settle(rows, len(held) < window)
        for row in rows:
            yield from self._feed(row)
        for piece in stream:
            if piece.lines[0] is PAUSE:
                yield from self._end()
                yield piece
                continue
            row = self._row(piece, plain(piece.text))
            self._measure(row)
            yield from self._feed(row)
        yield from self._end()

    def _row(self, piece: WholeLine, text: str) -> _Row:
        if text[:1] in BORDERS and (inner := text.rstrip())[-1:] in BORDERS and len(inner) > 1:
            text = inner[:-1].removesuffix(" ")  # a terminal program's box: its right side
        return _Row(piece, text, *carried(text, self.learned))

    def _measure(self, row: _Row) -> None:
        """Count a line's length on the screen."""
        text = row.text
        self._totals.measure(text)
        if row.head:
            self._bodies.measure(row.body)
        self._raw.measure(row.piece.text)
        self._has_escapes = self._has_escapes or "\x1b" in row.piece.text
        if not self._settled and (stripped := text.lstrip(" ")):
            indent = len(text) - len(stripped)
            self._indent = indent if self._indent is None else min(indent, self._indent)
            self._lines += 1
            self._prefixed += is_prefixed(stripped)

    def _settle(self, rows: Sequence[_Row], whole: bool) -> None:
        """Take the lines looked at ahead, and whether they are all; from here on indentation stands."""
        self._whole_input_known = whole
        self._settled = True
        # A quoted or indented paste: every line has the blanks. One traceback by itself starts in column 0.
        self._indent = self._indent if self._lines > 1 else 0
        self._settle_width(rows)
        # What indents continuations indents all of them alike.
        continued = {
            before.text: len(after.body) - len(after.body.lstrip(" ")) - (0 if after.head else self._indent or 0)
            for before, after in pairwise(rows)
            if after.body.strip() and self._is_full(before, after) and not self._begins(after.body.lstrip(" "))
        }
        # Below a frame stands its source, indented: frames of one length alone show no wrap.
        is_shown = len(continued) > 1 and not all(_FRAME.match(text) for text in continued)
        if is_shown and (hanging := min(continued.values())) > 1:
            self._hanging = " " * hanging

    def _settle_width(self, rows: Sequence[_Row]) -> None:
        """Find the width of a wrapped log that stands among wider lines: a report's own words, a listing of files."""
        lines = Counter(len(text) for text in {row.text for row in rows})
        goes_on = Counter(
            len(before.text)
            for before, after in pairwise(rows)
            if after.body.strip() and not after.body.startswith("  ") and not self._begins(after.body.lstrip(" "))
        )
        crowds = [
            size
            for size, count in lines.items()
            if NARROW <= size <= WIDE and count >= CROWD and goes_on[size] >= max(CROWD, CROWD_SHARE * count)
        ]
        if crowds and (size := max(crowds, key=lambda size: lines[size])) < max(lines):
            self._totals.settle(size, lines[size])

    def _feed(self, row: _Row) -> Iterator[WholeLine]:
        """Give the piece that the new line shows to be complete, if any."""
        text = row.text
        if self._indent and text[: self._indent].isspace():
            text = text[self._indent :]
        if self._parts and (joint := self._joint(row, text)) is not None:
            self._parts.append(row)
            self._texts.append(joint + (row.body if row.head else text).removeprefix(self._hanging))
            self.has_joined = True
            return
        yield from self._end()
        self._parts, self._texts = [row], [text]
        if not self._waits and not self._is_full(row):
            yield from self._end()

    def _end(self) -> Iterator[WholeLine]:
        """Give the piece that is held, if any."""
        if not self._parts:
            return
        if len(self._parts) == 1:
            yield WholeLine(self._parts[0].piece.lines, self._texts[0].rstrip())
        else:
            lines = tuple(line for row in self._parts for line in row.piece.lines)
            text = "".join(self._texts)
            if self._is_folded_raw and not any(row.head for row in self._parts[1:]):
                text = plain("".join(row.piece.text for row in self._parts))
            yield WholeLine(lines, text.rstrip())
        self._parts = []

    @property
    def _is_folded_raw(self) -> bool:
        return self._has_escapes and self._raw.may_be_wrapped and self._raw.agreeing >= AGREEING

    def _is_full(self, row: _Row, after: _Row | None = None) -> bool:
        """Whether a line reaches the width; behind carriers, where the next line has one too, of what they carry."""
        inside = row.head > 0 and after is not None and after.head > 0
        if not inside and self._is_folded_raw and self._raw.is_full(row.piece.text):
            return True
        text, widths = (row.body, self._bodies) if inside else (row.text, self._totals)
        if not widths.may_be_wrapped or not widths.is_full(text, after.body if after is not None else ""):
            return False
        # A padded line (a TUI copy) is as long as the widest; several blanks at its end tell. One is where it broke.
        return not text.endswith("  ") and text[-1:] not in _ROW_END

    def _begins(self, body: str) -> bool:
        return bool(_OWN.match(body)) or is_prefixed(body) or any(prefix.match(body) for prefix in self.learned)

    def _joint(self, row: _Row, text: str) -> str | None:
        """What stands between the line held and the next one; None where they do not belong together."""
        before, inside = self._parts[-1], row.head > 0
        after = row.body if inside else text
        if len(self._parts) >= JOINED or not after.strip() or (inside and (not before.head or before.pod != row.pod)):
            return None
        is_full = self._is_full(before, row)
        if not is_full and not self._may_be_mail:
            return None
        if self._begins(after):
            # Cut right behind the prefix, which no line ends with.
            return "" if is_full and self._is_sure(inside) and self._is_bare_prefix(before) else None
        first = self._parts[0].text.lstrip(" ")
        if is_full:
            if before.body.startswith("{") and after.startswith("{"):
                return None  # JSON lines are often equally long
            if self._hanging:
                return "" if after.startswith(self._hanging) else None
            if self._is_sure(inside):
                whole_frame = after.startswith("  ") and _FRAME.match("".join(self._texts))
                return None if whole_frame else ""
            # One or two full lines may be chance; a prefixed or exception line with a bare one behind it is not.
            starts = is_prefixed(before.body if inside else first) or bool(_OWN.match(first))
            ended = before.body.endswith((".", ")", "]", "}", '"', "'", ";"))
            return "" if self._whole_input_known and starts and not ended and not after.startswith("  ") else None
        return None if inside else self._mail_joint(before, after, first)

    @property
    def _may_be_mail(self) -> bool:
        """Whether the input is short and most of its lines have a prefix, so that one without goes on."""
        return self._whole_input_known and self._totals.may_be_wrapped and 2 * self._prefixed >= self._lines > 4

    def _mail_joint(self, before: _Row, after: str, first: str) -> str | None:
        """Mail and issue forms wrap between words: the next word would not have fitted."""
        if not is_prefixed(first) or after.startswith(" "):
            return None
        word, body = after.split(maxsplit=1)[0], before.text.rstrip()
        # A form may wrap what was wrapped already: once the paste is known to be, a line without prefix goes on.
        if len(body) + 1 + len(word) > self._totals.width or self._rewrapped >= 2:
            self._rewrapped += 1
            return "" if before.text.endswith(" ") else " "
        return None

    def _is_sure(self, inside: bool) -> bool:
        if inside:
            return self._bodies.agreeing >= AGREEING
        return self._is_folded_raw or self._totals.agreeing >= AGREEING

    def _is_bare_prefix(self, row: _Row) -> bool:
        return is_prefixed(row.body) and not to_record(row.piece.lines, row.body).text.strip()
