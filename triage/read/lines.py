"""From bytes to lines: line ends of every kind, bounded length, undecodable bytes kept visible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from triage.model import Line

LINE_LIMIT = 1 << 18
"""Bytes kept of one line; what is beyond is dropped and the line marked as cut."""


def split_lines(chunks: Iterable[bytes], source: str) -> Iterator[Line]:
    r"""Split bytes into lines.

    ``\n``, ``\r\n`` and ``\r\r\n`` end a line. A lone ``\r`` redraws it (progress bars): each state that was drawn
    is given as a line of its own under the same number, since an error is often glued to a bar. NUL
    bytes, which some collectors pad with, are left out.

    Args:
        chunks: bytes as read, borders anywhere.
        source: the source's name.
    """
    number, offset = 1, 0
    pending = b""  # the line begun, at most LINE_LIMIT bytes of it
    dropped = 0
    for chunk in chunks:
        pieces = chunk.split(b"\n")
        for piece in pieces[:-1]:
            size = len(pending) + dropped + len(piece) + 1
            yield from _lines(pending + piece[: LINE_LIMIT - len(pending)], number, offset, source, size)
            number, offset, pending, dropped = number + 1, offset + size, b"", 0
        rest = pieces[-1]
        keep = rest[: max(0, LINE_LIMIT - len(pending))]
        pending, dropped = pending + keep, dropped + len(rest) - len(keep)
    if pending:
        yield from _lines(pending, number, offset, source, len(pending) + dropped)


def _lines(data: bytes, number: int, offset: int, source: str, size: int) -> Iterator[Line]:
    cut = size > len(data) + 1
    data = data.rstrip(b"\r")
    if b"\r" not in data:
        yield Line(source, number, offset, _decode(data), cut)
        return
    start = 0
    for state in data.split(b"\r"):
        if state.strip():
            yield Line(source, number, offset + start, _decode(state), cut)
        start += len(state) + 1


def _decode(data: bytes) -> str:
    # A byte that is no UTF-8 stays visible as \xNN: dropping it would quote the input wrongly.
    return data.replace(b"\0", b"").decode("utf-8", "backslashreplace")
