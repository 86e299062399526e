"""Compressed logs, told by their first bytes whatever they are called: gzip, bzip2, xz, zstd."""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Protocol, cast

import zstandard

from triage.errors import InputError

PIECE = 1 << 18
"""Bytes decompressed at a time: a small file can stand for terabytes."""

WINDOW = 1 << 27
"""Memory, in bytes, that a zstd file may ask for (its own limit for ordinary files)."""


class _Plain(Protocol):
    """What all decompressing readers can do."""

    def read1(self, size: int, /) -> bytes:
        """Give some plain bytes, at most size, nothing only at the end."""


def _zstd(stream: IO[bytes]) -> _Plain:
    return zstandard.ZstdDecompressor(max_window_size=WINDOW).stream_reader(stream, read_across_frames=True)


_FORMATS: tuple[tuple[bytes, str, Callable[[IO[bytes]], _Plain]], ...] = (
    (b"\x1f\x8b\x08", "gzip", lambda stream: gzip.GzipFile(fileobj=stream)),
    (b"BZh", "bzip2", bz2.BZ2File),
    (b"\xfd7zXZ\x00", "xz", lzma.LZMAFile),
    (b"\x28\xb5\x2f\xfd", "zstd", _zstd),
)


class _Chunks(io.RawIOBase):
    """Chunks as a file, which is what decompressors read."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill a buffer as far as the chunk at hand goes."""
        if not self._rest:
            self._rest = next(self._chunks, b"")
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def is_compressed(first: bytes) -> bool:
    """Whether a file begins like a compressed one.

    Args:
        first: its first bytes, four or more.
    """
    return any(first.startswith(magic) for magic, _, _ in _FORMATS)


def decompressed(chunks: Iterable[bytes], source: str) -> Iterator[bytes]:
    """Give the bytes as they are, or decompressed where they begin like a compressed file.

    Several streams one behind the other (rotated logs put together) are read as one.

    Args:
        chunks: bytes as read.
        source: the source's name.

    Raises:
        InputError: the data is damaged, or ends before its end; what came before was given.
    """
    stream = iter(chunks)
    first = next(stream, b"")
    for magic, name, opened in _FORMATS:
        if first.startswith(magic):
            plain = opened(cast("IO[bytes]", io.BufferedReader(_Chunks(itertools.chain((first,), stream)))))
            yield from _pieces(plain, name, source)
            return
    if first:
        yield first
    yield from stream


def _pieces(plain: _Plain, name: str, source: str) -> Iterator[bytes]:
    given = 0
    try:
        while piece := plain.read1(PIECE):
            given += len(piece)
            yield piece
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError):
        raise InputError(
            f"{source} is cut short or damaged: its {name} data cannot be read beyond {given} bytes",
            "fetch the file again",
        ) from None
