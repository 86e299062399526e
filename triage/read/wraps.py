"""Hard wraps undone: a terminal or a mail client broke the lines at its width.

The width shows itself: several lines are exactly that long and none is longer. A full line is joined
with the next one, unless that begins with an envelope or is plainly a line of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import regex

from triage.model import Line, Record
from triage.read.ansi import strip_ansi
from triage.read.envelopes import Prefixes, is_prefixed, to_records
from triage.read.regularity import learn

WINDOW = 400
"""Lines looked at before the first is given on, to tell the width."""

NARROW, WIDE = 80, 250
"""Widths that terminals wrap at, in columns."""

JOINED = 200
"""Lines joined to one at most."""

# A line that stands by itself even behind a full one.
_OWN = regex.compile(
    r"\s*(?:Traceback \(most|File \"|\^+|~+\^|During handling of|The above exception|Process \S+:$|usage: |\$ |```)"
    r"|(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Warning)\b(?::|$)"
    r"|[-+|=*#]{3,}|\S+ exited with code"
)


def unwrap(lines: Iterable[Line], *, window: int = WINDOW) -> Iterator[Record]:
    """Turn lines into records, hard wraps undone.

    Args:
        lines: lines of one source.
        window: lines to look ahead to tell the width; 0 on a live stream, where nothing may wait
            (the width is then told from the lines that went by).
    """
    joiner = _Joiner(waits=window > 0)
    held: list[Line] = []
    stream = iter(lines)
    for line in stream:
        held.append(line)
        joiner.measure(line)
        if len(held) >= window:
            break
    joiner.settle(held, len(held) < window)
    for line in held:
        yield from joiner.feed(line)
    for line in stream:
        joiner.measure(line)
        yield from joiner.feed(line)
    yield from joiner.end()


class _Joiner:
    """Holds the line that may go on, and what is known of the width and of a paste's indentation."""

    def __init__(self, *, waits: bool) -> None:
        self._lengths: Counter[int] = Counter()
        self._longest = 0
        # What folds lines without knowing escape sequences counts them as columns.
        self._raw_lengths: Counter[int] = Counter()
        self._raw_longest = 0
        self._lines = self._prefixed = 0
        self._indent: int | None = None
        self._whole_input_known = False
        self._parts: list[tuple[Line, str]] = []
        self._rewrapped = 0
        self._learned: Prefixes = ()
        self._waits = waits

    def measure(self, line: Line) -> None:
        """Count a line's length on the screen, in columns."""
        text = strip_ansi(line.text)
        self._longest = max(self._longest, len(text))
        if NARROW <= len(text) <= WIDE:
            self._lengths[len(text)] += 1
        if len(line.text) != len(text):
            self._raw_lengths[len(line.text)] += 1
        self._raw_longest = max(self._raw_longest, len(line.text))
        if stripped := text.lstrip(" "):
            indent = len(text) - len(stripped)
            self._indent = indent if self._indent is None else min(indent, self._indent)
            self._lines += 1
            self._prefixed += is_prefixed(stripped)

    def settle(self, held: Sequence[Line], whole: bool) -> None:
        """Take the lines looked at ahead, and whether they are all; from here on indentation and prefixes stand."""
        self._whole_input_known = whole
        if len(held) > 1:
            self._learned = learn([strip_ansi(line.text) for line in held], is_prefixed)
        # A quoted or indented paste: every line has the blanks. One traceback by itself starts in column 0.
        self._indent = self._indent if self._lines > 1 else 0

    def feed(self, line: Line) -> Iterator[Record]:
        """Give the record that the new line shows to be complete, if any."""
        text = strip_ansi(line.text)
        if self._indent and text[: self._indent].isspace():
            text = text[self._indent :]
        if self._parts and (joint := self._joint(*self._parts[-1], text)) is not None:
            self._parts.append((line, joint + text))
            return
        yield from self.end()
        self._parts = [(line, text)]
        if not self._waits and not self._is_full(line, text):
            yield from self.end()

    def end(self) -> Iterator[Record]:
        """Give the record that is held, if any."""
        if self._parts:
            lines = tuple(line for line, _ in self._parts)
            yield from to_records(lines, "".join(text for _, text in self._parts).rstrip(), self._learned)
            self._parts = []

    @property
    def _width(self) -> int:
        return self._longest - (self._indent or 0)

    @property
    def _is_folded_raw(self) -> bool:
        return NARROW <= self._raw_longest <= WIDE and self._raw_lengths[self._raw_longest] >= 3

    def _is_full(self, line: Line, text: str) -> bool:
        if self._is_folded_raw and len(line.text) == self._raw_longest:
            return True
        # A padded line (a TUI copy) is as long as the widest; several blanks at its end tell. One is where it broke.
        return len(text) >= self._width and NARROW <= self._longest <= WIDE and not text.endswith("  ")

    def _joint(self, line: Line, before: str, after: str) -> str | None:
        """What stands between two lines that belong together; None where they do not."""
        if len(self._parts) >= JOINED or not after.strip() or not NARROW <= self._longest <= WIDE:
            return None
        if _OWN.match(after) or is_prefixed(after) or any(prefix.match(after) for prefix in self._learned):
            return None
        first = self._parts[0][1]
        if self._is_full(line, before):
            if self._lengths[self._longest] >= 3 or self._is_folded_raw:
                return ""
            # One or two full lines may be chance; a prefixed or exception line with a bare one behind it is not.
            starts = is_prefixed(first) or bool(_OWN.match(first))
            return "" if self._whole_input_known and not after.startswith("  ") and starts else None
        # Mail and issue forms wrap between words: the next word would not have fitted, and most lines have a prefix.
        if self._whole_input_known and 2 * self._prefixed >= self._lines > 4 and is_prefixed(first):
            word, body = after.split(maxsplit=1)[0], before.rstrip()
            # A form may wrap what was wrapped already: once the paste is known to be, a line without prefix goes on.
            if not after.startswith(" ") and (len(body) + 1 + len(word) > self._width or self._rewrapped >= 2):
                self._rewrapped += 1
                return "" if before.endswith(" ") else " "
        return None
