"""From bytes to lines: line ends of every kind, bounded length, undecodable bytes kept visible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import regex

from triage.model import Line

LINE_LIMIT = 1 << 18
"""Bytes kept of one line; what is beyond is dropped and the line marked as cut."""

PAUSE = Line("", 0, 0, "")
"""Stands among the lines of a live input where nothing more came for a while; it is no line of the input."""

# What draws a line anew: a lone CR, the cursor sent to the first column or up, the whole line erased.
_REDRAW = regex.compile(rb"(?:\r|\x1b\[[01]?G|\x1b\[2K|\x1b\[\d{0,3}[AEF])+")
# What ends a line in text that went through a word processor, a browser or a form, besides LF.
_BREAKS = regex.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def split_lines(chunks: Iterable[bytes | None], source: str) -> Iterator[Line]:
    r"""Split bytes into lines.

    ``\n``, ``\r\n`` and ``\r\r\n`` end a line. A lone ``\r`` redraws it (progress bars), and so do cursor movements:
    each state that was drawn is given as a line of its own under the same number, since an error is often glued to a
    bar. The breaks that Unicode knows besides (U+2028, vertical tab) split in the same way. NUL bytes, which some
    collectors pad with, are left out.

    Args:
        chunks: bytes as read, borders anywhere; None among them says that nothing came for a while, and
            becomes ``PAUSE``.
        source: the source's name.
    """
    number, offset = 1, 0
    pending = bytearray()  # the line begun, at most LINE_LIMIT bytes of it
    dropped = 0
    for chunk in chunks:
        if chunk is None:
            yield PAUSE
            continue
        pieces = chunk.split(b"\n")
        for piece in pieces[:-1]:
            size = len(pending) + dropped + len(piece) + 1
            if pending:
                pending += piece[: LINE_LIMIT - len(pending)]
                piece, pending = bytes(pending), bytearray()
            else:
                piece = piece[:LINE_LIMIT]
            yield from _lines(piece, number, offset, source, size)
            number, offset, dropped = number + 1, offset + size, 0
        rest = pieces[-1]
        keep = rest[: max(0, LINE_LIMIT - len(pending))]
        pending += keep
        dropped += len(rest) - len(keep)
    if pending:
        yield from _lines(bytes(pending), number, offset, source, len(pending) + dropped)


def _lines(data: bytes, number: int, offset: int, source: str, size: int) -> Iterator[Line]:
    cut = size > len(data) + 1
    data = data.rstrip(b"\r")
    if b"\r" not in data and (b"\x1b[" not in data or not _REDRAW.search(data)):
        yield from _broken(data, number, offset, source, cut)
        return
    start = 0
    for redraw in _REDRAW.finditer(data):
        if data[start : redraw.start()].strip():
            yield from _broken(data[start : redraw.start()], number, offset + start, source, cut)
        start = redraw.end()
    if data[start:].strip() or not start:
        yield from _broken(data[start:], number, offset + start, source, cut)


def _broken(data: bytes, number: int, offset: int, source: str, cut: bool) -> Iterator[Line]:
    text = _decode(data)
    if text.isprintable() or not _BREAKS.search(text) or text.startswith("{"):  # JSON may hold U+2028 as it is
        yield Line(source, number, offset, text, cut)
        return
    for piece in _BREAKS.split(text):
        if piece.strip():
            at = max(0, data.find(piece.encode("utf-8", "replace")[:40]))
            yield Line(source, number, offset + at, piece, cut)


def _decode(data: bytes) -> str:
    # A byte that is no UTF-8 stays visible as \xNN: dropping it would quote the input wrongly.
    return data.replace(b"\0", b"").decode("utf-8", "backslashreplace")
