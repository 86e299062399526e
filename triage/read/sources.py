"""Where the bytes come from: standard input and files."""

from __future__ import annotations

import codecs
import itertools
import os
import select
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from triage.errors import InputError
from triage.read.archives import members_of, open_member
from triage.read.compression import decompressed

CHUNK = 1 << 16
"""Bytes asked for at a time; a pipe gives what it has."""


WAIT = 0.2
"""Seconds after which a waiting read looks whether it has been stopped."""


TELLING = 16
"""Bytes that tell an encoding."""

_CONTROLS = bytes(code for code in range(1, 32) if code not in b"\b\t\n\v\f\r\x1b") + b"\x7f"


@dataclass(frozen=True, slots=True)
class Source:
    """An open input: its name in the report, the stream, and what is to be said of it once it is read."""

    name: str
    stream: BinaryIO
    notes: list[str] = field(default_factory=list)


def open_source(path: str) -> Source:
    """Open a file, or a member of an archive.

    Args:
        path: the path as the user gave it, or as ``files_below`` did; it becomes the source's name.

    Raises:
        InputError: the file is missing or cannot be read.
    """
    try:
        return Source(path, open(path, "rb"))
    except (FileNotFoundError, NotADirectoryError):
        if (member := open_member(path)) is not None:
            return Source(path, member)
        raise InputError(f"{path} does not exist", "check the path, or pipe the log in") from None
    except PermissionError:
        raise InputError(f"{path} cannot be read: permission denied", "run as a user who may read it") from None
    except (OSError, ValueError) as failure:
        raise InputError(f"{path} cannot be read: {failure}", "check the path, or pipe the log in") from None


def files_below(path: str) -> list[str]:
    """The files that a path stands for: itself, or every file in a folder or an archive, at any depth, in order.

    Hidden files and folders are left out; links to folders are not followed, archives in folders are opened.

    Raises:
        InputError: the folder or archive holds no file, or cannot be read.
    """
    if not os.path.isdir(path):
        return (members_of(path) if os.path.isfile(path) else None) or [path]
    found: list[str] = []
    failures: list[OSError] = []
    for folder, names, files in os.walk(path, onerror=failures.append):
        names[:] = sorted(name for name in names if not name.startswith("."))
        found += [os.path.join(folder, name) for name in sorted(files) if not name.startswith(".")]
    found = [name for name in found if os.path.isfile(name)]
    if failures and not found:
        raise InputError(f"{path} cannot be read: {failures[0].strerror}", "run as a user who may read it")
    if not found:
        raise InputError(f"{path} is a folder without files", "name a log, or a folder that holds some")
    return [file for name in found for file in _opened_out(name)]


def _opened_out(path: str) -> list[str]:
    try:
        return members_of(path) or [path]
    except InputError:
        return [path]  # a damaged archive beside good logs is said when it is opened


def read_chunks(source: Source, stopped: Callable[[], bool] = lambda: False) -> Iterator[bytes]:
    """Give the bytes of a source as they come, UTF-16 turned into UTF-8.

    A pipe is handed on as soon as it has something, so that a live log is followed. PowerShell writes
    UTF-16 when it redirects a log into a file, some tools without a byte order mark; UTF-8 with a mark loses it.
    Of a binary file only the beginning is given, and a note says so.

    Args:
        source: an open input; it is closed at the end.
        stopped: asked between reads; True ends the source here, as if the input had ended.

    Raises:
        InputError: reading fails half-way.
    """
    try:
        chunks = decompressed(_begun(iter(lambda: _some(source.stream, stopped), b"")), source.name)
        first = next(_begun(chunks), b"")
        encoding = utf_16(first)
        if encoding is not None:
            decoder = codecs.getincrementaldecoder(encoding)(errors="backslashreplace")
            for chunk in itertools.chain((first,), chunks):
                yield decoder.decode(chunk).encode("utf-8", "backslashreplace")
            yield decoder.decode(b"", final=True).encode("utf-8", "backslashreplace")
            return
        if first:
            yield first.removeprefix(codecs.BOM_UTF8)
        if _is_binary(first):
            source.notes.append(f"{source.name} is binary, no text: only its beginning was looked at")
            return
        yield from chunks
    except (OSError, zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError) as failure:
        reason = getattr(failure, "strerror", None) or failure
        raise InputError(f"{source.name} cannot be read: {reason}", "check the input") from None
    finally:
        if source.stream is not sys.stdin.buffer:
            source.stream.close()


def _begun(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The chunks, the first one long enough to tell the encoding (a line is)."""
    first = b""
    for chunk in chunks:
        first += chunk
        if len(first) >= TELLING or b"\n" in first:
            break
    if first:
        yield first
    yield from chunks


def utf_16(first: bytes) -> str | None:
    """The kind of UTF-16 that a text begins in: by its mark, or by every second byte being zero.

    Args:
        first: its first bytes, a line of it or more.
    """
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    head = first[: 1 << 12]
    high, low = head[0::2].count(0), head[1::2].count(0)
    half = len(head) // 2
    if half < TELLING // 2 or max(high, low) < 0.7 * half or min(high, low) > 0.05 * half:
        return None
    return "utf-16-le" if low > high else "utf-16-be"


def _is_binary(first: bytes) -> bool:
    """Whether control characters that no log has make out a good part; NUL, with which logs are padded, counts not."""
    text = first.replace(b"\0", b"")
    return len(text) >= 64 and len(text) - len(text.translate(None, _CONTROLS)) > 0.05 * len(text)


def _some(stream: BinaryIO, stopped: Callable[[], bool]) -> bytes:
    """Read what is there, at most CHUNK bytes, without waiting for a full chunk where the stream can do that."""
    try:
        number = stream.fileno()
    except (AttributeError, OSError, ValueError):
        return b"" if stopped() else stream.read(CHUNK)  # no file behind it: a BytesIO in a program or a test
    while not stopped():
        try:
            ready = select.select([number], [], [], WAIT)[0]
        except (OSError, ValueError):
            ready = [number]  # Windows waits on sockets only
        if ready:
            return os.read(number, CHUNK)
    return b""
